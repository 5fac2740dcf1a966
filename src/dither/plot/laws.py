"""The picture everybody draws: the laws of the answer on two neighbours, overlapping, and their ratio."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dither.errors import ParameterError
from dither.plot.style import FIRST, INK, SECOND, WIDTH, bound_of, load, ratio_panel, safe, say, styled

Pair = tuple[Fraction, Fraction]

_MOST_POINTS = 320
# With fewer grid points than this every one is a visible step.
_STEPPED = 90
_LARGEST_LOG_RATIO = 600.0


@dataclass(frozen=True)
class Law:
    """An answer's law on one dataset: certified bounds of the probability of each grid point, around its centre."""

    name: str
    centre: Fraction
    probability: Callable[[int], Pair]  # of an answer, in grid steps


def two_laws(
    title: str, guarantee: Any, first: Law, second: Law, *, grid: Fraction, reach: Fraction, density: bool = False
) -> Any:
    """An altair chart of both laws and of their ratio, as far as `reach` to either side of their centres.

    With `density` the height is the probability divided by the grid step, for grids too fine to be seen.
    """
    alt = load()
    if first.centre == second.centre:
        raise ParameterError("the two neighbours have the same answer, so there is nothing to compare: give a shift=.")
    steps = _steps(first.centre / grid, second.centre / grid, reach / grid)
    laws, ratios, unit = [], [], float(grid) if density else 1.0
    for step in steps:
        at, masses = float(step * grid), [sum(law.probability(step), Fraction(0)) / 2 for law in (first, second)]
        laws += [
            {"answer": at, "height": float(mass) / unit, "law": safe(law.name)}
            for law, mass in zip((first, second), masses, strict=True)
        ]
        if all(masses):
            ratios.append({"answer": at, "ratio": math.exp(_log_ratio(*masses))})
    ends = [float(steps[0] * grid), float(steps[-1] * grid)]
    stepped = {"interpolate": "step"} if len(steps) <= _STEPPED else {}
    across = alt.Scale(domain=ends, nice=False)
    colours = alt.Scale(domain=[safe(first.name), safe(second.name)], range=[FIRST, SECOND])
    above = (
        alt.Chart(alt.Data(values=laws))
        .mark_area(opacity=0.35, line={"strokeWidth": 2}, **stepped)
        .encode(
            x=alt.X("answer:Q", title=None, scale=across, axis=alt.Axis(labels=False, ticks=False)),
            y=alt.Y("height:Q", title="density" if density else "probability", stack=None, axis=alt.Axis(tickCount=4)),
            color=alt.Color("law:N", scale=colours),
        )
        .properties(width=WIDTH, height=210)
    )
    lines = (
        alt.Chart(alt.Data(values=ratios))
        .mark_line(color=INK, strokeWidth=2, **stepped)
        .encode(x=alt.X("answer:Q", title="answer", scale=across))
    )
    below = ratio_panel(alt, lines, [point["ratio"] for point in ratios], bound_of(guarantee))
    heading = alt.Title(safe(title), subtitle=f"{say(guarantee)}: the laws of the answer on two neighbours")
    return styled(alt.vconcat(above, below, spacing=8).properties(title=heading))


def _steps(first: Fraction, second: Fraction, reach: Fraction) -> list[int]:
    """Grid points to draw: all of them or evenly thinned out, and always those nearest the two centres."""
    low, high = math.floor(min(first, second) - reach), math.ceil(max(first, second) + reach)
    thin = max(1, (high - low) // _MOST_POINTS)
    return sorted({*range(low, high + 1, thin), round(first), round(second), high})


def _log_ratio(a: Fraction, b: Fraction) -> float:
    exact = a / b
    found = math.log(exact.numerator) - math.log(exact.denominator)
    return min(max(found, -_LARGEST_LOG_RATIO), _LARGEST_LOG_RATIO)
