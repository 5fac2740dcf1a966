"""A released table over a few numbers or months in order: columns side by side, each with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dither.errors import ParameterError
from dither.plot.bars import CENTRE, Panel, Series, number_format, points, remarks, series_colour, wrapped
from dither.plot.style import FIRST, INK, WIDTH, load, safe, safe_labels, styled

_HEIGHT = 220
_NARROW, _WIDE = 10, 44  # pixels of a column and its gap
_LETTER = 7


def columns(
    title: str,
    subtitle: str,
    places: Sequence[str],
    panels: Sequence[Panel],
    places_title: str = "",
    series: Series | None = None,
) -> Any:
    """An altair chart with one column for each place in each panel, from left to right; panels below each other."""
    alt = load()
    if not places:
        raise ParameterError("this answer has no rows, so there is nothing to draw.")
    shown = safe_labels(places)
    drawn = [
        _panel(alt, panel, places, shown, places_title if place == len(panels) - 1 else None, series)
        for place, panel in enumerate(panels)
    ]
    heading = alt.Title(safe(title), subtitle=wrapped(subtitle))
    return styled((drawn[0] if len(drawn) == 1 else alt.vconcat(*drawn, spacing=16)).properties(title=heading))


def _panel(
    alt: Any,
    panel: Panel,
    places: Sequence[str],
    shown: dict[Any, str],
    places_title: str | None,
    series: Series | None,
) -> Any:
    data = [{**row, "place": shown[row["place"]]} for row in points(panel, "place", places, series)]
    step = max(_NARROW, min(_WIDE, WIDTH // len(shown)))
    angle = 0 if max(map(len, shown.values())) * _LETTER <= step else -45
    across = {
        "x": alt.X(
            "place:N",
            sort=list(shown.values()),
            title=safe(places_title) if places_title else None,
            axis=alt.Axis(ticks=False, labelAngle=angle, labels=places_title is not None),
        )
    }
    order = [] if series is None else list(series.shown.values())
    beside = {} if series is None else {"xOffset": alt.XOffset("series:N", sort=order)}
    centred = {} if series is None else {"xOffset": alt.XOffset("series:N", sort=order, bandPosition=CENTRE)}
    base = alt.Chart(alt.Data(values=data)).encode(**across)
    up = {"title": safe(panel.name), "axis": alt.Axis(tickCount=5, format=number_format(data))}
    fill = {"color": FIRST} if series is None else {}
    colour = {} if series is None else {"color": series_colour(alt, series)}
    faint = alt.condition("datum.lower === null", alt.value(0.25), alt.value(0.75))
    opacity = {} if panel.lower is None else {"opacity": faint}
    bar = base.mark_bar(opacity=0.75, width={"band": 0.7 if series is None else 0.85}, **fill)
    layers = [bar.encode(y=alt.Y("value:Q", **up), **beside, **colour, **opacity)]
    if panel.lower is not None:
        thick = 2 if series is None else 1.5
        rule = base.mark_rule(color=INK, strokeWidth=thick).encode(y=alt.Y("lower:Q", **up), y2="upper:Q", **centred)
        ticks = [
            base.mark_tick(color=INK, thickness=thick, width=9 if series is None else 5, orient="horizontal").encode(
                y=alt.Y(f"{end}:Q", **up), **centred
            )
            for end in ("lower", "upper")
        ]
        layers += [rule, *ticks]
    layers += remarks(alt, data, across, centred, {"y": alt.Y("at:Q", **up)}, angle=-90)
    width = alt.Step(step) if series is None else alt.Step(max(6, step // max(1, len(order))), **{"for": "offset"})
    return alt.layer(*layers).properties(width=width, height=_HEIGHT)
