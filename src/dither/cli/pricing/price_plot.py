"""epsilon against the number of repetitions, as a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dither.plot.style import WIDTH, load, styled


def draw(counts: Sequence[int], curves: Mapping[str, Sequence[float]], delta: float) -> Any:
    """An altair chart: one line a theorem; those far above the best leave through the top."""
    alt = load()
    top = 1.3 * min((values[-1] for values in curves.values() if values[-1] > 0), default=1.0)
    points = [
        {"k": count, "epsilon": value, "theorem": name}
        for name, values in curves.items()
        for count, value in zip(counts, values, strict=True)
    ]
    across = alt.X("k:Q", scale=alt.Scale(type="log", nice=False), axis=alt.Axis(format=",d", grid=False))
    up = alt.Y("epsilon:Q", scale=alt.Scale(domain=[0, top], nice=False))
    colour = alt.Color("theorem:N", sort=None, scale=alt.Scale(scheme="dark2"))
    chart = alt.Chart(alt.Data(values=points)).mark_line(clip=True, strokeWidth=2)
    title = f"epsilon at delta = {delta:g}, the plan carried out k times"
    return styled(chart.encode(x=across, y=up, color=colour).properties(title=title, width=WIDTH, height=320))
