"""What an estimate brings to its picture: its numbers, with their interval where one is public."""

from __future__ import annotations

from fractions import Fraction
from numbers import Real
from typing import TYPE_CHECKING, Any

from dither.errors import NotPublic, ParameterError

if TYPE_CHECKING:
    from dither.stats.estimate import Estimate


def bar_chart(estimate: Estimate, confidence: Fraction) -> Any:
    """A bar for each number."""
    from dither.plot import Panel, bars

    rows, values = _listed(estimate.value)
    if not values or not all(isinstance(value, Real) and not isinstance(value, bool) for value in values):
        raise ParameterError("this answer is no number, so there is nothing to draw.")
    subtitle = str(estimate.guarantee)
    try:
        ends = [_listed(end)[1] for end in estimate.interval(confidence)]
    except NotPublic:
        ends = []
    if ends:
        subtitle += f"; the line holds the exact number with probability {float(confidence):g}"
        subtitle += ", all together" if len(values) > 1 else ""
    return bars(estimate.method, subtitle, rows, [Panel("value", values, *ends)])


def _listed(value: Any) -> tuple[list[str], list[Any]]:
    """Rows, all named differently, and what is in them."""
    if isinstance(value, dict):
        names = [str(name) for name in value]
        if len(set(names)) != len(names):
            names = [repr(name) for name in value]
        return names, list(value.values())
    if isinstance(value, (tuple, list)):
        return [str(place + 1) for place in range(len(value))], list(value)
    return [""], [value]
