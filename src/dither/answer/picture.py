"""What an answer brings to its picture: which key is an axis, which gives colours, and the numbers with intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any, Literal

from dither.answer.columns import Chosen, Key, Value, at_midnight, distinct, in_shown_units
from dither.answer.coverage import claim, lines
from dither.answer.intervals import ends
from dither.answer.text import price, unbounded
from dither.errors import ParameterError

if TYPE_CHECKING:
    from dither.answer.answer import Answer

MOST_COLOURS = 8
LONG_RANGE = 30  # whole numbers from which on a key is an axis rather than a list


AxisKind = Literal["temporal", "quantitative", "columns"]


@dataclass(frozen=True)
class Layout:
    """The key along which numbers stand, or all of them written together; and the key that gives colours."""

    axis: Key | None = None
    axis_kind: AxisKind | None = None  # of a line, or columns; None for bars
    colours: Key | None = None


def chart(answer: Answer, title: str | None = None) -> Any:
    """Lines over days, times and long ranges, columns over months and a few numbers, bars for anything else.

    What it says may be published: nothing about when it was paid for.
    """
    from dither.plot.bars import Series, bars
    from dither.plot.columns import columns
    from dither.plot.lines import lines as line_chart

    keys = [column for column in answer.columns if isinstance(column, Key) and not isinstance(column, Chosen)]
    values = [column for column in answer.columns if isinstance(column, Value)]
    if not values:
        raise ParameterError("this answer has no value column, so there is nothing to draw.")
    layout = arranged(keys)
    panels = [_panel(column) for column in values]
    grouped = f" by {', '.join(key.name for key in keys)}" if keys else ""
    title = ", ".join(column.name for column in values) + grouped if title is None else str(title)
    subtitle = price(answer) + _told(answer, layout, any(panel.lower is not None for panel in panels))
    series = None if layout.colours is None else Series(layout.colours.name, _texts(layout.colours))
    if layout.axis is None or layout.axis_kind is None:
        rows = _rows(answer, keys) if layout.axis is None else _texts(layout.axis)
        name = ", ".join(key.name for key in keys) if layout.axis is None else layout.axis.name
        return bars(title, subtitle, rows, panels, name, series)
    if layout.axis_kind == "columns":
        return columns(title, subtitle, _short_texts(layout.axis), panels, layout.axis.name, series)
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


def _axis_kind(key: Key) -> AxisKind | None:
    import pyarrow as pa

    kind, distinct_values = key.values.type, key.values.unique()
    many, several = len(distinct_values) > LONG_RANGE, len(distinct_values.drop_null()) > 1
    if (pa.types.is_date(kind) or pa.types.is_timestamp(kind)) and len(distinct_values) > 1:
        return "columns" if several and not many and _are_months(distinct_values.to_pylist()) else "temporal"
    if pa.types.is_integer(kind):
        return "quantitative" if many else "columns" if several else None
    return "columns" if pa.types.is_decimal(kind) and several and not many else None


def _are_months(values: Sequence[Any]) -> bool:
    """Whether these are all the first of a month, at midnight where they are moments."""
    known = [value for value in values if value is not None]
    return all(value.day == 1 and at_midnight(value) for value in known)


def _told(answer: Answer, layout: Layout, intervals: bool) -> str:
    told = ""
    if intervals:
        drawn = "bands" if layout.axis_kind in ("temporal", "quantitative") else "lines"
        told += "".join(f"; {said}" for said in (claim(answer, f"{drawn} hold"), *lines(answer, always=True)))
        if any(unbounded(column) for column in answer.columns if isinstance(column, Value)):
            told += f"; where {drawn} are missing, no bound is known on one side"
    if layout.axis is not None and layout.axis_kind in ("temporal", "quantitative") and layout.axis.values.null_count:
        told += f"; {layout.axis.name} NULL is not drawn"
    return told


def _panel(column: Value) -> Any:
    from dither.plot import Panel

    found = ends(column)
    lower, upper = (None, None) if found is None else (in_shown_units(end, column.decimals).tolist() for end in found)
    blank = column.uninformative().tolist()
    ended = [math.isfinite(low) and math.isfinite(high) for low, high in zip(lower or (), upper or (), strict=True)]
    open_ended = [nothing or not known for nothing, known in zip(blank, ended, strict=False)]
    low, high = (_known(part, open_ended) for part in (lower, upper))
    remark = ["no information" if nothing else None for nothing in blank]
    return Panel(column.name, _known(column.shown().tolist(), blank) or [], low, high, remark)


def _known(numbers: list[Any] | None, blank: list[bool]) -> list[Any] | None:
    """The numbers that tell something; nothing is drawn for the others."""
    return numbers and [None if nothing else number for number, nothing in zip(numbers, blank, strict=True)]


def _only(panel: Any, kept: Sequence[int]) -> Any:
    from dither.plot import Panel

    whole = (panel.values, panel.lower, panel.upper, panel.remark)
    return Panel(panel.name, *([part[row] for row in kept] if part else part for part in whole))


def _places(key: Key) -> list[Any]:
    """Numbers as they are; dates and times as ISO text, times without zone as if in UTC, in which they are drawn."""
    local = hasattr(key.values.type, "tz") and key.values.type.tz is None
    return [
        value.isoformat() + ("Z" if local else "") if hasattr(value, "isoformat") else value
        for value in key.values.to_pylist()
    ]


def _texts(key: Key) -> list[str]:
    return ["NULL" if value is None else str(value) for value in key.labels()]


def _short_texts(key: Key) -> list[str]:
    """Numbers as they are, months without their day."""
    texts = (f"{value:%Y-%m}" if isinstance(value, date) else str(value) for value in key.labels())
    return ["NULL" if text == "None" else text for text in texts]


def _rows(answer: Answer, keys: Sequence[Key]) -> list[str]:
    """One text for each row, all different: the keys, or nothing but the place where there are none."""
    if not keys:
        return [""] if len(answer) == 1 else [str(place + 1) for place in range(len(answer))]
    return distinct([" · ".join(row) for row in zip(*map(_texts, keys), strict=True)])
