"""Trade-off functions side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dither.plot.style import FIRST, SECOND, WIDTH, load, safe, styled

_POINTS = 61
_MORE = ("#59a14f", "#b07aa1", "#9c755f", "#76b7b2")


def tradeoffs(title: str, subtitle: str, curves: Mapping[str, Callable[[float], float]]) -> Any:
    """An altair chart of the smallest type II error at each type I error; the straight line is perfect privacy."""
    alt = load()
    # Evenly spaced in both errors: points are close where curves are steep.
    levels = [(k / (_POINTS - 1)) ** 2 for k in range(_POINTS)]
    names = {name: safe(name) for name in curves}
    rows = [
        {"alpha": level, "beta": read(level), "line": names[name]} for name, read in curves.items() for level in levels
    ]
    colours = [FIRST, SECOND, *_MORE][: len(names)]
    lines = (
        alt.Chart(alt.Data(values=rows))
        .mark_line(strokeWidth=1.8)
        .encode(
            x=alt.X("alpha:Q", title="false alarms (type I error)", scale=alt.Scale(domain=[0, 1])),
            y=alt.Y("beta:Q", title="misses (type II error), at least", scale=alt.Scale(domain=[0, 1])),
            color=alt.Color(
                "line:N",
                scale=alt.Scale(domain=[*names.values()], range=colours),
                legend=alt.Legend(title=None) if len(names) > 1 else None,
            ),
        )
    )
    ends = alt.Data(values=[{"alpha": 0, "beta": 1}, {"alpha": 1, "beta": 0}])
    perfect = (
        alt.Chart(ends).mark_line(strokeDash=[4, 4], strokeWidth=1, color="#888888").encode(x="alpha:Q", y="beta:Q")
    )
    chart = (perfect + lines).properties(width=WIDTH, height=WIDTH * 2 // 3)
    return styled(chart.properties(title=alt.Title(safe(title), subtitle=[safe(subtitle)])))
