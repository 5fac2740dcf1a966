"""The picture everybody draws: the distributions of the answer on two neighbours, overlapping, and their ratio."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from dither.plot.style import (
    ALARM,
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

Pair = tuple[Fraction, Fraction]

_MOST_POINTS = 320
# With fewer grid points than this every one is a visible step.
_STEPPED = 90
_MOST_TICKS = 12
_LARGEST_LOG_RATIO = 600.0
_BAR = 56  # the width of an outcome that stands beside the numbers


@dataclass(frozen=True)
class Distribution:
    """An answer's distribution on one dataset: certified bounds of the probability of each grid point, around its
    centre.

    `beside`: the same for outcomes that are no numbers, such as a refusal.
    """

    name: str
    centre: Fraction
    probability: Callable[[int], Pair]  # of an answer, in grid steps
    beside: Mapping[str, Pair] = field(default_factory=dict)


@dataclass(frozen=True)
class Neighbours:
    """Two distributions of one published number, and the grid steps at which they are drawn.

    With `density` the height is the probability divided by the grid step, for grids too fine to be seen.
    """

    first: Distribution
    second: Distribution
    grid: Fraction
    steps: Sequence[int]
    density: bool = False
    number: str = "answer"


def two_distributions(title: str, guarantee: Any, *shown: Neighbours) -> Any:
    """An altair chart of both distributions and of their ratio, for each published number; outcomes beside it are
    bars."""
    alt = load()
    width = WIDTH if len(shown) == 1 else WIDTH * 3 // 5
    delta = float(getattr(guarantee, "delta", 0) or 0)
    parts = [_panels(alt, pair, bound_of(guarantee), width, delta) for pair in shown]
    drawn = parts[0] if len(parts) == 1 else alt.hconcat(*parts, spacing=40).resolve_scale(color="independent")
    heading = alt.Title(
        safe(title), subtitle=f"{formatted(guarantee)}: the distributions of the answer on two neighbours"
    )
    return styled(drawn.properties(title=heading))


def steps_around(centres: Iterable[Fraction], reach: Fraction) -> list[int]:
    """Grid points to draw: all of them or evenly thinned out, and always those nearest the centres (in grid steps)."""
    nearest = [round(centre) for centre in centres]
    low, high = math.floor(min(nearest) - reach), math.ceil(max(nearest) + reach)
    return _thinned(low, high, nearest)


def steps_of_runs(*distributions: Sequence[object]) -> list[int]:
    """Positions at which some distribution, listed point by point, changes, with the points before them: nothing is
    left out."""
    last = len(distributions[0]) - 1
    edges = {
        i
        for distribution in distributions
        for i in range(1, len(distribution))
        if distribution[i] != distribution[i - 1]
    }
    return sorted({0, last} | edges | {edge - 1 for edge in edges})


def _thinned(low: int, high: int, kept: Iterable[int]) -> list[int]:
    return sorted({*range(low, high + 1, max(1, (high - low) // _MOST_POINTS)), *kept, high})


def _panels(alt: Any, pair: Neighbours, bound: float | None, width: int, delta: float) -> Any:
    """The curves above their ratio, and to the right of both the outcomes beside them; below, what delta pays for."""
    both, names = (pair.first, pair.second), [safe(distribution.name) for distribution in (pair.first, pair.second)]
    unit = float(pair.grid) if pair.density else 1.0
    distributions: list[dict[str, Any]] = []
    ratios: list[dict[str, Any]] = []
    known = [[_middle(distribution.probability(step)) for distribution in both] for step in pair.steps]
    for step, masses in zip(pair.steps, known, strict=True):
        at = float(step * pair.grid)
        distributions += [
            {"answer": at, "height": float(m) / unit, "distribution": n} for n, m in zip(names, masses, strict=True)
        ]
        if all(masses):
            ratios.append({"answer": at, "ratio": math.exp(_log_ratio(*masses))})
    shown = safe_labels(pair.first.beside)
    bars = [
        {"outcome": shown[outcome], "height": float(_middle(distribution.beside[outcome])), "distribution": name}
        for outcome in pair.first.beside
        for distribution, name in zip(both, names, strict=True)
    ]
    points: list[dict[str, Any]] = []
    for outcome in pair.first.beside:
        masses = [_middle(distribution.beside[outcome]) for distribution in both]
        if all(masses):
            points.append({"outcome": shown[outcome], "ratio": math.exp(_log_ratio(*masses))})
    drawn = [point["ratio"] for point in (*ratios, *points)]
    columns = [_curves(alt, pair, distributions, ratios, names, width)]
    columns += [_bars(alt, bars, points, names)] if bars else []
    last = len(columns) - 1
    stacked = [
        alt.vconcat(above, ratio_panel(alt, lines, drawn, bound, width=wide, first=not i, last=i == last), spacing=8)
        for i, (above, lines, wide) in enumerate(columns)
    ]
    whole = stacked[0] if len(stacked) == 1 else alt.hconcat(*stacked, spacing=14)
    below = _excess(alt, pair, known, bound, width, delta) if delta and bound is not None else None
    return whole if below is None else alt.vconcat(whole, below, spacing=8)


def _excess(
    alt: Any, pair: Neighbours, known: Sequence[Sequence[Fraction]], bound: float, width: int, delta: float
) -> Any:
    """By how much one distribution exceeds e^epsilon times the other, at each answer: what a delta allows in all."""
    limit, rows = Fraction(bound), []
    for step, masses in zip(pair.steps, known, strict=True):
        beyond = max(masses[0] - limit * masses[1], masses[1] - limit * masses[0])
        rows.append({"answer": float(step * pair.grid), "excess": max(0.0, float(beyond))})
    if not any(row["excess"] for row in rows):
        return None
    ends = [float(pair.steps[0] * pair.grid), float(pair.steps[-1] * pair.grid)]
    said = f"what exceeds e^ε times the other: on each side at most δ = {delta:.4g} in all"
    return (
        alt.Chart(alt.Data(values=rows))
        .mark_area(color=ALARM, opacity=0.7, interpolate="step")
        .encode(
            x=alt.X("answer:Q", title=safe(pair.number), scale=alt.Scale(domain=ends, nice=False)),
            y=alt.Y("excess:Q", title="beyond e^ε", axis=alt.Axis(tickCount=3, format="~e")),
        )
        .properties(width=width, height=70, title=alt.Title(said, fontSize=12))
    )


def _curves(
    alt: Any, pair: Neighbours, distributions: list[Any], ratios: list[Any], names: list[str], width: int
) -> Any:
    ends = [float(pair.steps[0] * pair.grid), float(pair.steps[-1] * pair.grid)]
    stepped = {"interpolate": "step"} if pair.steps[-1] - pair.steps[0] <= _STEPPED else {}
    across, ticks = alt.Scale(domain=ends, nice=False), {"values": _ticks(pair)} if stepped else {}
    above = (
        alt.Chart(alt.Data(values=distributions))
        .mark_area(opacity=0.35, line={"strokeWidth": 2}, **stepped)
        .encode(
            x=alt.X("answer:Q", title=None, scale=across, axis=alt.Axis(labels=False, ticks=False, **ticks)),
            y=alt.Y(
                "height:Q", title="density" if pair.density else "probability", stack=None, axis=alt.Axis(tickCount=4)
            ),
            color=alt.Color("distribution:N", scale=alt.Scale(domain=names, range=[FIRST, SECOND])),
        )
        .properties(width=width, height=210)
    )
    lines = (
        alt.Chart(alt.Data(values=ratios))
        .mark_line(color=INK, strokeWidth=2, **stepped)
        .encode(x=alt.X("answer:Q", title=safe(pair.number), scale=across, axis=alt.Axis(**ticks)))
    )
    return above, lines, width


def _ticks(pair: Neighbours) -> list[float]:
    """At most a dozen grid points, at round numbers of steps."""
    low, high = pair.steps[0], pair.steps[-1]
    apart = next(step for step in (1, 2, 5, 10) if (high - low) / step <= _MOST_TICKS)
    return [float(step * pair.grid) for step in range(-(-low // apart) * apart, high + 1, apart)]


def _bars(alt: Any, bars: list[Any], points: list[Any], names: list[str]) -> Any:
    order = list(dict.fromkeys(bar["outcome"] for bar in bars))
    width = _BAR * len(order)
    above = (
        alt.Chart(alt.Data(values=bars))
        .mark_bar(opacity=0.8)
        .encode(
            x=alt.X("outcome:N", title=None, scale=alt.Scale(domain=order), axis=alt.Axis(labels=False, ticks=False)),
            xOffset=alt.XOffset("distribution:N", sort=names),
            y=alt.Y("height:Q", title="probability", axis=alt.Axis(tickCount=4, orient="right")),
            color=alt.Color("distribution:N", scale=alt.Scale(domain=names, range=[FIRST, SECOND])),
        )
        .properties(width=width, height=210)
    )
    marks = (
        alt.Chart(alt.Data(values=points))
        .mark_point(color=INK, filled=True, size=60, opacity=1)
        .encode(
            x=alt.X("outcome:N", title=None, scale=alt.Scale(domain=order), axis=alt.Axis(labelAngle=0, labelLimit=140))
        )
    )
    return above, marks, width


def _middle(pair: Pair) -> Fraction:
    return (pair[0] + pair[1]) / 2


def _log_ratio(a: Fraction, b: Fraction) -> float:
    exact = a / b
    found = math.log(exact.numerator) - math.log(exact.denominator)
    return min(max(found, -_LARGEST_LOG_RATIO), _LARGEST_LOG_RATIO)
