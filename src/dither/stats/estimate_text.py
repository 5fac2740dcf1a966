"""An estimate in one line: its value, how far the noise may have moved it, and its price."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from numbers import Real
from typing import TYPE_CHECKING, Any

from dither.errors import NotPublic
from dither.escape import markup, shortened
from dither.exact.digits import decimal_text, write
from dither.exact.intervals import Interval
from dither.exact.short_forms import stated_price

if TYPE_CHECKING:
    from dither.stats.estimate import Estimate

_MOST_SHOWN = 10  # of several numbers
_LARGE = 100_000  # from here on only whole numbers are shown


def estimate_text(estimate: Estimate) -> str:
    """As in `mean 42.1 ± 0.3 (95%), epsilon 0.5`; of several numbers the first ten."""
    price, title = _price(estimate), estimate.statistic or estimate.method
    rows, sure = _rows(estimate), _sure(estimate)
    if rows is None:
        value = estimate.value
        return f"{title} {shortened(value if isinstance(value, str) else repr(value))}, {price}"
    if len(rows) == 1 and not rows[0][0]:
        return f"{title} {_single(*rows[0][1:], sure)}, {price}"
    spread = _common(rows)
    listed = [
        f"{label} {cell}".strip() + (f" ({low} to {high})" if low and not spread else "")
        for label, cell, low, high in _written(rows[:_MOST_SHOWN])
    ]
    more = f", ... {len(rows) - _MOST_SHOWN:,} more" if len(rows) > _MOST_SHOWN else ""
    error = f" ± {spread} ({sure} together)" if spread else ""
    return f"{title} [{', '.join(listed)}{more}]{error}, {price}"


def estimate_html(estimate: Estimate) -> str:
    """The line; of several numbers a table with their intervals."""
    rows, sure = _rows(estimate), _sure(estimate)
    if rows is None or (len(rows) == 1 and not rows[0][0]):
        return f"<span>{markup(estimate_text(estimate))}</span>"
    head = f"<tr><th></th><th>{markup(estimate.statistic or estimate.method)}</th><th>{sure}, all together</th></tr>"
    cells = [
        (label.removesuffix(":"), cell, f"{low} to {high}" if low else "") for label, cell, low, high in _written(rows)
    ]
    body = "".join("<tr>" + "".join(f"<td>{markup(cell)}</td>" for cell in row) + "</tr>" for row in cells)
    return f"<div><table>{head}{body}</table><small>{markup(stated_price(estimate.guarantee))}</small></div>"


def _price(estimate: Estimate) -> str:
    """The price, and what each of its parts bought."""
    paid = ", ".join(f"{name} {stated_price(part)}" for name, part in estimate.parts.items())
    within = getattr(estimate, "within", None)
    bought = "" if within is None else f"within [{_short(within[0])}, {_short(within[1])}], "
    return f"{bought}{stated_price(estimate.guarantee)}" + (f" ({paid})" if paid else "")


Row = tuple[str, Any, Any, Any]  # a label, a number and the ends of its interval, None where there is none


def _rows(estimate: Estimate) -> list[Row] | None:
    """The numbers of an estimate with their ends; None if it is no number."""
    labels, values = _listed(estimate.value)
    if not values or not all(isinstance(value, Real) and not isinstance(value, bool) for value in values):
        return None
    try:
        ends = estimate.interval()
    except NotPublic:
        ends = Interval(None, None)
    nothing = [None] * len(values)
    low, high = (nothing if end is None else _listed(end)[1] for end in ends)
    return list(zip(labels, values, low, high, strict=True))


def _listed(value: Any) -> tuple[list[str], list[Any]]:
    if isinstance(value, dict):
        return [f"{shortened(name, 40)}:" for name in value], list(value.values())
    return ([""] * len(value), list(value)) if isinstance(value, (tuple, list)) else ([""], [value])


def _sure(estimate: Estimate) -> str:
    return f"{float(estimate.confidence) * 100:.10g}%"


def _single(value: Any, low: Any, high: Any, sure: str) -> str:
    if low is None:
        return _short(value)
    below, above = Fraction(value) - Fraction(low) if math.isfinite(low) else None, high - value
    if below is not None and math.isclose(float(below), above, rel_tol=1e-6):
        number, error = write(Fraction(value), max(below, Fraction(above)), unit=_unit(value))
        return f"{number} ± {error} ({sure})"
    return f"{_short(value)}, {sure} in [{_end(low, up=False)}, {_end(high, up=True)}]"


def _written(rows: Iterable[Row]) -> list[tuple[str, str, str, str]]:
    return [
        (label, _short(value), "" if low is None else _end(low, up=False), "" if high is None else _end(high, up=True))
        for label, value, low, high in rows
    ]


def _common(rows: list[Row]) -> str:
    """The half-width, if it is one and the same for all."""
    widths = {None if low is None else (value - low, high - value) for _, value, low, high in rows}
    found = widths.pop() if len(widths) == 1 else None
    return _short(found[0]) if found is not None and found[0] == found[1] else ""


def _unit(value: Any) -> Fraction | None:
    return Fraction(1) if isinstance(value, int) else None


def _short(value: Any) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return f"{round(value):,}" if _LARGE <= abs(value) < math.inf else f"{float(value):,.6g}"


def _end(value: Any, *, up: bool) -> str:
    """An end of an interval, rounded outward."""
    if not math.isfinite(value):
        return "∞" if value > 0 else "-∞"
    if abs(value) >= _LARGE or isinstance(value, int):
        return f"{math.ceil(value) if up else math.floor(value):,}"
    return decimal_text(Fraction(value), up=up, digits=6)
