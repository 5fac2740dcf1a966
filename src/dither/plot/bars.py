"""A released table as bars, one panel per column, each bar with the interval around it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dither.errors import ParameterError
from dither.plot.style import FIRST, INK, QUIET, WIDTH, load, safe, safe_labels, styled

MOST_ROWS = 300
COLOURS = (FIRST, "#e0a030", "#3a9a6b", "#c0504d", "#8064a2", "#4bacc6", "#7f7f7f", "#b8860b")
CENTRE = 0.5  # of the place that a bar has
_ROW, _THIN = 26, 14
_MANY = 60  # rows from which on bars are thin


@dataclass(frozen=True)
class Panel:
    """One column: its name, its values, and the ends of their intervals if it has any; None is nothing to draw.

    `remark` is written where a cell has nothing to draw for a reason: that its interval says nothing, say.
    """

    name: str
    values: Sequence[Any]
    lower: Sequence[Any] | None = None
    upper: Sequence[Any] | None = None
    remark: Sequence[str | None] | None = None


@dataclass(frozen=True)
class Series:
    """What tells bars or lines at the same place apart: a name and a label for each of them."""

    name: str
    labels: Sequence[str]

    @cached_property
    def shown(self) -> dict[str, str]:
        """What stands for each label in the picture, in the order in which they come."""
        return safe_labels(self.labels)


def bars(
    title: str,
    subtitle: str,
    rows: Sequence[str],
    panels: Sequence[Panel],
    rows_title: str = "",
    series: Series | None = None,
) -> Any:
    """An altair chart with one bar for each row in each panel, rows from top to bottom; those of a series side by side.

    More than 300 rows are cut, and the subtitle says so.
    """
    alt = load()
    if not rows:
        raise ParameterError("this answer has no rows, so there is nothing to draw.")
    places = list(dict.fromkeys(rows))
    if len(places) > MOST_ROWS:
        subtitle = f"{subtitle}; the first {MOST_ROWS} of {len(places):,} rows are drawn"
        places = places[:MOST_ROWS]
    width = WIDTH if len(panels) == 1 else max(180, WIDTH // len(panels))
    step = _THIN if len(places) > _MANY else _ROW
    ticks = 4 if len(panels) < 3 else 3
    drawn = [
        _panel(alt, panel, rows, places, rows_title if not place else None, series, labels=not place, ticks=ticks)
        for place, panel in enumerate(panels)
    ]
    height = alt.Step(step) if series is None else alt.Step(max(8, step // 2), **{"for": "offset"})
    sized = [chart.properties(width=width, height=height) for chart in drawn]
    heading = alt.Title(safe(title), subtitle=wrapped(subtitle))
    return styled((sized[0] if len(sized) == 1 else alt.hconcat(*sized, spacing=24)).properties(title=heading))


def _panel(
    alt: Any,
    panel: Panel,
    rows: Sequence[str],
    places: list[str],
    rows_title: str | None,
    series: Series | None,
    *,
    labels: bool,
    ticks: int,
) -> Any:
    kept = set(places)
    data = [row for row in points(panel, "row", rows, series) if row["row"] in kept]
    shown = safe_labels(places)
    for row in data:
        row["row"] = shown[row["row"]]
    down = {
        "y": alt.Y(
            "row:N",
            sort=list(shown.values()),
            title=safe(rows_title) if rows_title else None,
            axis=alt.Axis(labels=labels, ticks=False, labelLimit=260),
        )
    }
    order = [] if series is None else list(series.shown.values())
    beside = {} if series is None else {"yOffset": alt.YOffset("series:N", sort=order)}
    # Marks without a height of their own stand at the edge of their place unless told where.
    centred = {} if series is None else {"yOffset": alt.YOffset("series:N", sort=order, bandPosition=CENTRE)}
    base = alt.Chart(alt.Data(values=data)).encode(**down)
    axis = alt.Axis(tickCount=ticks, format=number_format(data), labelOverlap=True)
    across = {"title": safe(panel.name), "axis": axis}
    colour = {} if series is None else {"color": series_colour(alt, series)}
    fill = {"color": FIRST} if series is None else {}
    bar = base.mark_bar(opacity=0.75, height={"band": 0.6 if series is None else 0.85}, **fill)
    layers = [bar.encode(x=alt.X("value:Q", **across), **beside, **colour)]
    if panel.lower is not None:  # a number without bounds is there, but faintly
        faint = alt.condition("datum.lower === null", alt.value(0.25), alt.value(0.75))
        layers = [layers[0].encode(opacity=faint)]
    if panel.lower is not None:
        ends = {"x": alt.X("lower:Q", **across), "x2": "upper:Q"}
        layers.append(base.mark_rule(color=INK, strokeWidth=2 if series is None else 1.5).encode(**ends, **centred))
        layers += [
            base.mark_tick(color=INK, thickness=2, height=9 if series is None else 5).encode(
                x=alt.X(f"{end}:Q", **across), **centred
            )
            for end in ("lower", "upper")
        ]
    layers += remarks(alt, data, down, centred, {"x": alt.X("at:Q", **across)})
    return alt.layer(*layers)


def points(panel: Panel, name: str, places: Sequence[Any], series: Series | None) -> list[dict[str, Any]]:
    """The cells of a panel as a chart reads them; an interval without both ends is left out."""
    nothing = [None] * len(places)
    table = zip(places, panel.values, panel.lower or nothing, panel.upper or nothing, strict=True)
    found = []
    for place, value, low, high in table:
        lower, upper = number(low), number(high)
        both = lower is not None and upper is not None
        found.append(
            {name: place, "value": number(value), "lower": lower if both else None, "upper": upper if both else None}
        )
    for row, remark in zip(found, panel.remark or (), strict=False):
        if remark:
            row["remark"] = safe(remark)
    for row, label in zip(found, series.labels if series else (), strict=False):
        row["series"] = series.shown[label] if series else ""
    return found


def remarks(
    alt: Any, data: Sequence[dict[str, Any]], places: dict[str, Any], centred: dict[str, Any], at: Any, angle: int = 0
) -> list[Any]:
    """The layer of texts in the place of numbers, if there are any."""
    said = [{**row, "at": 0} for row in data if row.get("remark")]
    if not said:
        return []
    text = alt.Chart(alt.Data(values=said)).mark_text(
        align="left", baseline="middle", dx=5, color=QUIET, fontSize=11, fontStyle="italic", angle=angle % 360
    )
    return [text.encode(**places, **centred, **at, text="remark:N")]


def series_colour(alt: Any, series: Series) -> Any:
    """A colour for each label, named in a legend."""
    labels = list(series.shown.values())
    legend = alt.Legend(title=safe(series.name), titleFontWeight="normal")
    scale = alt.Scale(domain=labels, range=[COLOURS[place % len(COLOURS)] for place in range(len(labels))])
    return alt.Color("series:N", scale=scale, legend=legend)


def number(value: Any) -> float | None:
    """A number that JSON can hold; what is missing or not finite is left out."""
    if value is None:
        return None
    shown = float(value)
    return shown if math.isfinite(shown) else None


def number_format(data: Sequence[dict[str, Any]]) -> str:
    """Short forms for large numbers, such as 200k."""
    large = any(abs(row[name] or 0) >= 100_000 for row in data for name in ("value", "lower", "upper"))
    return "~s" if large else ",~r"


def wrapped(text: str, width: int = 100) -> list[str]:
    """A long subtitle in lines, broken at its semicolons and never wider than it must be."""
    lines = [""]
    for part in safe(text).split("; "):
        joined = f"{lines[-1]}; {part}" if lines[-1] else part
        lines = [*lines[:-1], joined] if len(joined) <= width or not lines[-1] else [*lines, part]
    return lines
