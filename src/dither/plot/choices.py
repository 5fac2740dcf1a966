"""Which of several candidates is published, on two neighbours: bars side by side, and their ratio."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from dither.errors import ParameterError
from dither.plot.style import (
    FIRST,
    INK,
    SECOND,
    WIDTH,
    bound_of,
    formatted,
    load,
    ratio_panel,
    safe,
    safe_labels,
    styled,
)

_MOST_CANDIDATES = 60
_LETTER = 7


def two_choices(
    title: str,
    guarantee: Any,
    first: Mapping[Any, float],
    second: Mapping[Any, float],
    names: tuple[str, str] = ("one dataset", "a neighbour"),
) -> Any:
    """An altair chart of two distributions on the same candidates and of the ratio of their probabilities."""
    alt = load()
    if list(first) != list(second):
        raise ParameterError("the two neighbours must have the same candidates, in the same order.")
    if len(first) > _MOST_CANDIDATES:
        raise ParameterError(f"at most {_MOST_CANDIDATES} candidates can be drawn; got {len(first)}.")
    shown, names = safe_labels(first), (safe(names[0]), safe(names[1]))
    distributions = [
        {"candidate": shown[candidate], "probability": probability, "distribution": name}
        for name, distribution in zip(names, (first, second), strict=True)
        for candidate, probability in distribution.items()
    ]
    lone = {
        up: [shown[candidate] for candidate in first if one[candidate] > 0 and not other[candidate] > 0]
        for up, one, other in ((True, first, second), (False, second, first))
    }
    both = [candidate for candidate in first if first[candidate] > 0 and second[candidate] > 0]
    ratios = {candidate: first[candidate] / second[candidate] for candidate in both}
    order = list(shown.values())
    places = alt.Scale(domain=order)
    # Upright if all labels fit side by side.
    angle = 0 if max(map(len, order)) * _LETTER * len(order) <= WIDTH else -35
    colours = alt.Scale(domain=list(names), range=[FIRST, SECOND])
    above = (
        alt.Chart(alt.Data(values=distributions))
        .mark_bar(opacity=0.8)
        .encode(
            x=alt.X("candidate:N", title=None, scale=places, axis=alt.Axis(labels=False, ticks=False)),
            xOffset=alt.XOffset("distribution:N", sort=list(names)),
            y=alt.Y("probability:Q", title="probability", axis=alt.Axis(tickCount=4)),
            color=alt.Color("distribution:N", scale=colours),
        )
        .properties(width=WIDTH, height=210)
    )
    across = alt.X("candidate:N", title="published", scale=places, axis=alt.Axis(labelAngle=angle, labelLimit=180))
    points = (
        alt.Chart(alt.Data(values=[{"candidate": shown[candidate], "ratio": ratios[candidate]} for candidate in both]))
        .mark_point(color=INK, filled=True, size=60, opacity=1)
        .encode(x=across)
    )
    endless, vanishing = (
        alt.Chart(alt.Data(values=[{"candidate": name} for name in lone[up]])).encode(x=across) if lone[up] else None
        for up in (True, False)
    )
    held = list(ratios.values())
    below = ratio_panel(alt, points, held, bound_of(guarantee), endless=endless, vanishing=vanishing)
    heading = alt.Title(safe(title), subtitle=f"{formatted(guarantee)}: what is published on two neighbours")
    return styled(alt.vconcat(above, below, spacing=8).properties(title=heading))


def neighbouring_scores(scores: Mapping[Hashable, Any] | Sequence[Any], step: Fraction, *, monotone: bool) -> Any:
    """Scores a neighbour may have: every other candidate gains one step and the best loses one, if it may.

    >>> neighbouring_scores([3, 5], Fraction(1), monotone=False)
    [Fraction(4, 1), Fraction(4, 1)]
    """
    labelled = scores.items() if isinstance(scores, Mapping) else enumerate(scores)
    exact: dict[Hashable, Fraction] = {label: Fraction(score) for label, score in labelled}
    best = max(exact, key=exact.__getitem__)
    moved = {label: score + step for label, score in exact.items()}
    moved[best] = exact[best] if monotone else exact[best] - step
    return moved if isinstance(scores, Mapping) else list(moved.values())
