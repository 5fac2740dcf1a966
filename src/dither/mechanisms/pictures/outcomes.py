"""What was published: a bar for each number with its interval where one is public, or the words themselves."""

from __future__ import annotations

from fractions import Fraction
from numbers import Real
from typing import Any

import numpy as np

from dither.errors import NotPublic
from dither.mechanisms.refusal import REFUSED


def plot_published(title: str, answer: Any, confidence: Fraction) -> Any:
    """A chart of `answer.value`, which is a number, several, or something that is none; free, as it was published."""
    from dither.plot import Panel, bars, columns, formatted, words

    labels, values = listed(answer.value)
    subtitle = formatted(answer.guarantee)
    if not values:
        return words(title, subtitle, ["nothing"])
    if not all(isinstance(value, Real) and not isinstance(value, (bool, np.bool_)) for value in values):
        said = [f"{label}: {value}" if label else str(value) for label, value in zip(labels, values, strict=True)]
        return words(title, subtitle, said)
    ends = _ends(answer, confidence)
    if ends:
        subtitle += f"; the line holds the exact number with probability {float(confidence):g}"
        subtitle += ", all together" if len(values) > 1 else ""
    axis = getattr(answer, "statistic", "") or "value"
    panel = Panel("records" if axis == "histogram" else axis, values, *ends)
    if getattr(answer, "ordered", False):
        return columns(title, subtitle, labels, [panel], "cell")
    return bars(title, subtitle, labels, [panel])


def listed(value: Any) -> tuple[list[str], list[Any]]:
    """Rows, all named differently, and what is in them."""
    if isinstance(value, dict):
        names = [str(name) for name in value]
        if len(set(names)) != len(names):
            names = [repr(name) for name in value]
        return names, list(value.values())
    if isinstance(value, np.ndarray):
        value = value.ravel().tolist()
    if isinstance(value, (tuple, list)):
        return [str(place + 1) for place in range(len(value))], list(value)
    return [""], [value]


def _ends(answer: Any, confidence: Fraction) -> list[list[Any]]:
    """Lower and upper ends, covering all numbers together, or nothing where no interval is public."""
    interval = getattr(answer, "interval", None)
    if interval is None or answer.value is REFUSED:
        return []
    try:
        found = interval(confidence, together=True) if isinstance(answer.value, np.ndarray) else interval(confidence)
    except NotPublic:
        return []
    return [listed(end)[1] for end in found]
