"""A released table over days, times or a long range of numbers: lines with the band that their intervals make."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from dither.errors import ParameterError
from dither.plot.bars import Panel, Series, number_format, points, series_colour, wrapped
from dither.plot.style import FIRST, WIDTH, load, safe, styled

MOST_POINTS = 5_000
_HEIGHT = 220


def lines(
    title: str,
    subtitle: str,
    places: Sequence[Any],
    panels: Sequence[Panel],
    places_title: str = "",
    *,
    kind: Literal["temporal", "quantitative"],
    series: Series | None = None,
) -> Any:
    """An altair chart with one line a series in each panel, panels below each other.

    `places` are numbers, or dates and times as ISO text. More than 5,000 points are cut, and the subtitle says so.
    """
    alt = load()
    if not places:
        raise ParameterError("this answer has no rows, so there is nothing to draw.")
    if len(places) > MOST_POINTS:
        subtitle = f"{subtitle}; the first {MOST_POINTS:,} of {len(places):,} rows are drawn"
    drawn = [
        _panel(alt, panel, places, places_title if place == len(panels) - 1 else None, kind, series)
        for place, panel in enumerate(panels)
    ]
    heading = alt.Title(safe(title), subtitle=wrapped(subtitle))
    return styled((drawn[0] if len(drawn) == 1 else alt.vconcat(*drawn, spacing=16)).properties(title=heading))


def _panel(
    alt: Any, panel: Panel, places: Sequence[Any], places_title: str | None, kind: str, series: Series | None
) -> Any:
    data = points(panel, "place", places, series)[:MOST_POINTS]
    temporal = kind == "temporal"
    axis = alt.Axis(tickCount=8, grid=False, **({} if temporal else {"format": "d"}))
    scale = alt.Scale(type="utc") if temporal else alt.Scale(zero=False, nice=False)
    across = alt.X(f"place:{'T' if temporal else 'Q'}", title=safe(places_title or "") or None, axis=axis, scale=scale)
    base = alt.Chart(alt.Data(values=data)).encode(x=across)
    up = {"title": safe(panel.name), "axis": alt.Axis(tickCount=5, format=number_format(data))}
    coloured = {} if series is None else {"color": series_colour(alt, series)}
    fill = {"color": FIRST} if series is None else {}
    marks = [
        base.mark_line(strokeWidth=1.8, point={"size": 18} if len(data) <= 60 else False, **fill).encode(
            y=alt.Y("value:Q", **up), **coloured
        )
    ]
    if panel.lower is not None:
        band = base.mark_area(opacity=0.22, **fill).encode(y=alt.Y("lower:Q", **up), y2="upper:Q", **coloured)
        marks.insert(0, band)
    return alt.layer(*marks).properties(width=WIDTH, height=_HEIGHT)
