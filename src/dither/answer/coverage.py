"""What the intervals of an answer hold, and how surely: the same words wherever they are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from dither.answer.columns import Value
from dither.exact.digits import counted

if TYPE_CHECKING:
    from dither.answer.answer import Answer

# each: the exact number, each by itself. shown: on average over rows that noisy numbers chose (false coverage rate).
# groups: in so many of the groups. noise: the noise alone, in answers of versions that did not say what is left out.
Covers = Literal["each", "shown", "groups", "noise"]


def claim(answer: Answer, holds: str = "± holds") -> str:
    """One sentence about the intervals, which begins with what is drawn for them and its verb."""
    sure = percent(float(answer.confidence))
    said = {
        "each": f"{holds} the exact number with probability {sure}, each by itself",
        "shown": f"{holds} the exact number in at least {sure} of the rows shown, on average: noisy numbers chose the "
        "rows, and intervals are wider for it (false coverage rate)",
        "groups": f"{holds} the exact number in at least {sure} of the groups, on average; which are missed is not "
        "known, and a group of owners with many rows may be missed for certain",
        "noise": f"{holds} the noise alone with probability {sure}; what was left out is not in it",
    }[answer.covers]
    if answer.limited is not None:
        return (
            f"counting at most {counted(answer.limited, 'row')} of each owner: {said}; "
            "'all rows' does so for the number over all declared rows"
        )
    return said


def lines(answer: Answer, *, always: bool = False) -> list[str]:
    """What else has to be known about the intervals of single columns; what is said in the only row, if `always`."""
    values = [column for column in answer.columns if isinstance(column, Value)]
    said = [
        f"{column.name}: {column.left_out}" for column in values if column.left_out and (always or len(answer) != 1)
    ]
    said += [
        f"{column.name}: its interval is that of its noise before the keys were chosen by it, and may miss more often"
        for column in values
        if column.selecting
    ]
    return said


def percent(probability: float) -> str:
    """A probability as a percentage, in as few digits as say it.

    >>> percent(0.95), percent(0.999)
    ('95%', '99.9%')
    """
    return f"{probability * 100:.10g}%"
