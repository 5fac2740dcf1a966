"""Short forms: what an object is on one line of a terminal, and the same in a notebook.

Numbers are written as decimals; each attribute keeps its exact number.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from fractions import Fraction
from typing import Any, ClassVar

from dither.escape import markup, shortened
from dither.exact.digits import decimal, decimal_text

_DIGITS = 6
_MOST_LISTED = 6
_USUAL = "add_remove"  # the relation that is not mentioned


class ShortForm:
    """Written as its stated parameters, those left at their defaults omitted: `Laplace(epsilon=0.5, sensitivity=1)`.

    What changes while it is used, as an account does, names what is shown instead.
    """

    SHOWN: ClassVar[tuple[str, ...]] = ()

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={figure(value)}" for name, value in self._stated())
        return f"{type(self).__name__}({shown})"

    def _stated(self) -> Iterator[tuple[str, Any]]:
        if self.SHOWN:
            yield from ((name, getattr(self, name)) for name in self.SHOWN)
            return
        kept: list[str] = [each.name for each in fields(self) if each.repr] if is_dataclass(self) else []
        for name, parameter in inspect.signature(type(self)).parameters.items():
            value = getattr(self, name, None) if name in kept else None
            if value is not None and not _left_out(value, parameter.default):
                yield name, value

    def _repr_html_(self) -> str:
        return f"<code>{markup(repr(self))}</code>"


def figure(value: Any) -> str:
    """A value as it is shown: decimals of six digits, rounded up, and long lists cut.

    >>> figure(Fraction(1, 3)), figure((1, Fraction(1, 4))), figure("analytic")
    ('0.333334', '[1, 0.25]', "'analytic'")
    """
    if isinstance(value, Enum):
        return repr(value.value)
    if isinstance(value, (Fraction, int)) and not isinstance(value, bool):
        return decimal_text(Fraction(value), up=True, digits=_DIGITS)
    if isinstance(value, float):
        return f"{value:.{_DIGITS}g}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        rest = f", ... {len(value) - _MOST_LISTED:,} more" if len(value) > _MOST_LISTED else ""
        return f"[{', '.join(map(figure, value[:_MOST_LISTED]))}{rest}]"
    if callable(value):
        return "..."
    if is_dataclass(value) and not isinstance(value, ShortForm):
        return f"{type(value).__name__}({', '.join(figure(getattr(value, each.name)) for each in fields(value))})"
    return shortened(repr(value))


def stated_price(guarantee: Any) -> str:
    """The figures that a guarantee states.

    >>> from types import SimpleNamespace
    >>> stated_price(SimpleNamespace(epsilon=Fraction(1, 2), delta=0))
    'epsilon 0.5'
    """
    stated = ((name, getattr(guarantee, name, None)) for name in ("epsilon", "rho", "delta"))
    return ", ".join(f"{name} {decimal(Fraction(amount))}" for name, amount in stated if amount)


def _left_out(value: Any, default: Any) -> bool:
    """Whether a parameter has its default, which may be written in other words: "0.5", or None for the usual one."""
    if isinstance(value, Enum):
        return value is default if isinstance(default, Enum) else value.value == _USUAL
    if isinstance(default, str) and isinstance(value, Fraction):
        return Fraction(default) == value
    return bool(default is not inspect.Parameter.empty and value == default)
