"""A released table as bars, one panel per column, each bar with the interval around it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dither.errors import ParameterError
from dither.plot.style import FIRST, INK, WIDTH, load, safe, styled

MOST_ROWS = 300
_ROW = 26


@dataclass(frozen=True)
class Panel:
    """One column: its name, its values, and the ends of their intervals if it has any; None is nothing to draw."""

    name: str
    values: Sequence[Any]
    lower: Sequence[Any] | None = None
    upper: Sequence[Any] | None = None


def bars(title: str, subtitle: str, rows: Sequence[str], panels: Sequence[Panel], rows_title: str = "") -> Any:
    """An altair chart with one bar for each row in each panel, rows from top to bottom."""
    alt = load()
    if len(rows) > MOST_ROWS:
        raise ParameterError(
            f"an answer of {len(rows)} rows has too many bars (at most {MOST_ROWS}); draw .to_pandas(intervals=True)."
        )
    width = WIDTH if len(panels) == 1 else max(180, WIDTH // len(panels))
    drawn = [
        _panel(alt, panel, [safe(row) for row in rows], rows_title if not place else None, labels=not place)
        for place, panel in enumerate(panels)
    ]
    sized = [chart.properties(width=width, height=alt.Step(_ROW)) for chart in drawn]
    heading = alt.Title(safe(title), subtitle=safe(subtitle))
    return styled((sized[0] if len(sized) == 1 else alt.hconcat(*sized, spacing=24)).properties(title=heading))


def _panel(alt: Any, panel: Panel, rows: list[str], rows_title: str | None, *, labels: bool) -> Any:
    nothing = [None] * len(rows)
    table = zip(rows, panel.values, panel.lower or nothing, panel.upper or nothing, strict=True)
    data = [
        {"row": row, "value": _number(value), "lower": _number(low), "upper": _number(high)}
        for row, value, low, high in table
    ]
    base = alt.Chart(alt.Data(values=data)).encode(
        y=alt.Y(
            "row:N",
            sort=rows,
            title=safe(rows_title) if rows_title else None,
            axis=alt.Axis(labels=labels, ticks=False, labelLimit=260),
        )
    )
    across = {"title": safe(panel.name), "axis": alt.Axis(tickCount=4, format="~s" if _large(data) else ",~r")}
    layers = [base.mark_bar(color=FIRST, opacity=0.75, height={"band": 0.6}).encode(x=alt.X("value:Q", **across))]
    if panel.lower is not None:
        ends = {"x": alt.X("lower:Q", **across), "x2": "upper:Q"}
        layers.append(base.mark_rule(color=INK, strokeWidth=2).encode(**ends))
        layers += [
            base.mark_tick(color=INK, thickness=2, height=9).encode(x=alt.X(f"{end}:Q", **across))
            for end in ("lower", "upper")
        ]
    return alt.layer(*layers)


def _number(value: Any) -> float | None:
    """A number that JSON can hold; what is missing or not finite is left out."""
    if value is None:
        return None
    shown = float(value)
    return shown if math.isfinite(shown) else None


def _large(data: Sequence[dict[str, Any]]) -> bool:
    return any(abs(row[name] or 0) >= 100_000 for row in data for name in ("value", "lower", "upper"))
