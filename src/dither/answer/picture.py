"""What an answer brings to its picture: which key is an axis, which gives colours, and the numbers with intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from dither.answer.columns import Chosen, Key, Value, distinct, in_shown_units
from dither.answer.coverage import claim, lines
from dither.answer.intervals import ends
from dither.answer.text import price_line, unbounded
from dither.errors import ParameterError

if TYPE_CHECKING:
    from dither.answer.answer import Answer

MOST_COLOURS = 8
LONG_RANGE = 30  # whole numbers from which on a key is an axis rather than a list


@dataclass(frozen=True)
class Layout:
    """The key along which numbers stand, or all of them written together; and the key that gives colours."""

    axis: Key | None = None
    axis_kind: Literal["temporal", "quantitative"] | None = None  # of a line; None for bars
    colours: Key | None = None


def chart(answer: Answer, title: str | None = None) -> Any:
    """Lines over days, times and long ranges, bars for anything else; all value columns over the same rows."""
    from dither.plot.bars import Series, bars
    from dither.plot.lines import lines as line_chart

    keys = [column for column in answer.columns if isinstance(column, Key) and not isinstance(column, Chosen)]
    values = [column for column in answer.columns if isinstance(column, Value)]
    if not values:
        raise ParameterError("this answer has no value column, so there is nothing to draw.")
    layout = arranged(keys)
    panels = [_panel(column) for column in values]
    grouped = f" by {', '.join(key.name for key in keys)}" if keys else ""
    title = ", ".join(column.name for column in values) + grouped if title is None else str(title)
    subtitle = price_line(answer) + _told(answer, layout, any(panel.lower is not None for panel in panels))
    series = None if layout.colours is None else Series(layout.colours.name, _texts(layout.colours))
    if layout.axis is None or layout.axis_kind is None:
        rows = _rows(answer, keys) if layout.axis is None else _texts(layout.axis)
        name = ", ".join(key.name for key in keys) if layout.axis is None else layout.axis.name
        return bars(title, subtitle, rows, panels, name, series)
    places = _places(layout.axis)
    kept = [row for row, place in enumerate(places) if place is not None]
    return line_chart(
        title,
        subtitle,
        [places[row] for row in kept],
        [_only(panel, kept) for panel in panels],
        layout.axis.name,
        kind=layout.axis_kind,
        series=None if series is None else Series(series.name, [series.labels[row] for row in kept]),
    )


def arranged(keys: Sequence[Key]) -> Layout:
    """How an answer with these keys is drawn."""
    if len(keys) not in (1, 2):
        return Layout()
    kinds = [_axis_kind(key) for key in keys]
    if len(keys) == 1:
        return Layout(keys[0], kinds[0]) if kinds[0] else Layout()
    axis = 0 if kinds[0] or not kinds[1] else 1
    counts = [len(key.values.unique()) for key in keys]
    if not any(kinds) and counts[1] > MOST_COLOURS >= counts[0]:
        axis = 1
    other = keys[1 - axis]
    return Layout(keys[axis], kinds[axis], other) if counts[1 - axis] <= MOST_COLOURS else Layout()


def _axis_kind(key: Key) -> Literal["temporal", "quantitative"] | None:
    import pyarrow as pa

    kind = key.values.type
    if (pa.types.is_date(kind) or pa.types.is_timestamp(kind)) and len(key.values.unique()) > 1:
        return "temporal"
    return "quantitative" if pa.types.is_integer(kind) and len(key.values.unique()) > LONG_RANGE else None


def _told(answer: Answer, layout: Layout, intervals: bool) -> str:
    told = ""
    if intervals:
        drawn = "bands" if layout.axis_kind else "lines"
        told += "".join(f"; {said}" for said in (claim(answer, f"{drawn} hold"), *lines(answer, always=True)))
        if any(unbounded(column) for column in answer.columns if isinstance(column, Value)):
            told += f"; where {drawn} are missing, no bound is known on one side"
    if layout.axis is not None and layout.axis_kind and layout.axis.values.null_count:
        told += f"; {layout.axis.name} NULL is not drawn"
    return told


def _panel(column: Value) -> Any:
    from dither.plot import Panel

    found = ends(column)
    lower, upper = (None, None) if found is None else (in_shown_units(end, column.decimals).tolist() for end in found)
    blank = column.uninformative().tolist()
    ended = [math.isfinite(low) and math.isfinite(high) for low, high in zip(lower or (), upper or (), strict=True)]
    open_ended = [nothing or not known for nothing, known in zip(blank, ended, strict=False)]
    bounds = (_known(part, open_ended) for part in (lower, upper))
    return Panel(column.name, _known(column.shown().tolist(), blank) or [], *bounds)


def _known(numbers: list[Any] | None, blank: list[bool]) -> list[Any] | None:
    """The numbers that tell something; nothing is drawn for the others."""
    return numbers and [None if nothing else number for number, nothing in zip(numbers, blank, strict=True)]


def _only(panel: Any, kept: Sequence[int]) -> Any:
    from dither.plot import Panel

    parts = ([part[row] for row in kept] if part else part for part in (panel.values, panel.lower, panel.upper))
    return Panel(panel.name, *parts)


def _places(key: Key) -> list[Any]:
    """Numbers as they are; dates and times as ISO text, times without zone as if in UTC, in which they are drawn."""
    local = hasattr(key.values.type, "tz") and key.values.type.tz is None
    return [
        value.isoformat() + ("Z" if local else "") if hasattr(value, "isoformat") else value
        for value in key.values.to_pylist()
    ]


def _texts(key: Key) -> list[str]:
    return ["NULL" if value is None else str(value) for value in key.values.to_pylist()]


def _rows(answer: Answer, keys: Sequence[Key]) -> list[str]:
    """One text for each row, all different: the keys, or nothing but the place where there are none."""
    if not keys:
        return [""] if len(answer) == 1 else [str(place + 1) for place in range(len(answer))]
    return distinct([" · ".join(row) for row in zip(*map(_texts, keys), strict=True)])
