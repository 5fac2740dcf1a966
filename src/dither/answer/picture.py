"""What an answer brings to its picture: public keys as rows, noisy values with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dither.answer.columns import Key, Value, in_shown_units
from dither.answer.intervals import ends
from dither.answer.text import percent, price_line

if TYPE_CHECKING:
    from dither.answer.answer import Answer


def bar_chart(answer: Answer) -> Any:
    """Bars of all value columns, side by side over the same rows."""
    from dither.errors import ParameterError
    from dither.plot import bars

    keys = [column for column in answer.columns if isinstance(column, Key)]
    values = [column for column in answer.columns if isinstance(column, Value)]
    if not values:
        raise ParameterError("this answer has no value column, so there is nothing to draw.")
    panels = [_panel(column) for column in values]
    told = f"; lines hold the exact number with probability {percent(float(answer.confidence))}, each by itself"
    title = ", ".join(column.name for column in values) + (f" by {', '.join(key.name for key in keys)}" if keys else "")
    subtitle = price_line(answer) + (told if any(panel.lower is not None for panel in panels) else "")
    return bars(title, subtitle, _rows(answer, keys), panels, ", ".join(key.name for key in keys))


def _panel(column: Value) -> Any:
    from dither.plot import Panel

    found = ends(column)
    lower, upper = (None, None) if found is None else (in_shown_units(end, column.decimals).tolist() for end in found)
    values, *bounds = (
        _known(part, column.uninformative().tolist()) for part in (column.shown().tolist(), lower, upper)
    )
    return Panel(column.name, values or [], *bounds)


def _known(numbers: list[Any] | None, blank: list[bool]) -> list[Any] | None:
    """The numbers that tell something; nothing is drawn for the others."""
    return numbers and [None if nothing else number for number, nothing in zip(numbers, blank, strict=True)]


def _rows(answer: Answer, keys: Sequence[Key]) -> list[str]:
    """One text for each row, all different: the keys, or nothing but the place where there are none."""
    from dither.answer.answer import distinct

    if not keys:
        return [""] if len(answer) == 1 else [str(place + 1) for place in range(len(answer))]
    columns = [["NULL" if value is None else str(value) for value in key.values.to_pylist()] for key in keys]
    return distinct([" · ".join(row) for row in zip(*columns, strict=True)])
