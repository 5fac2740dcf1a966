"""The error of a formula before it is asked: from how large its parts can be in a group of so many rows.

First-order and worst-case: exact for sums and differences, an upper bound for products and quotients.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dither.sql.postprocess.formulas.terms import Apply, Number, Part, Rounded, Term


@dataclass(frozen=True)
class Expected:
    """An exact value in [low, high], known up to `error`; without bounds it can be anything."""

    low: Fraction | None
    high: Fraction | None
    error: Fraction

    @property
    def reach(self) -> Fraction | None:
        return None if self.low is None or self.high is None else max(abs(self.low), abs(self.high))


Known = Sequence[Expected | None]  # what is expected of each part


def half_width(term: Term, known: Known) -> Fraction | None:
    """The half-width of a term over these parts, or None where it cannot be said."""
    found = _expected(term, known)
    return None if found is None else found.error


def _expected(term: Term, known: Known) -> Expected | None:
    if isinstance(term, Part):
        return known[term.index]
    if isinstance(term, Number):
        value = Fraction(term.value, 10**term.decimals)
        return Expected(value, value, Fraction(0))
    if isinstance(term, Rounded):
        inner = _expected(term.operand, known)
        return None if inner is None else Expected(None, None, inner.error + Fraction(10) ** -term.digits)
    if not isinstance(term, Apply):
        return None
    operands = [_expected(operand, known) for operand in term.operands]
    rule = _RULES.get(term.function)
    if rule is None or any(operand is None for operand in operands):
        return None
    return rule(*operands)


def _add(left: Expected, right: Expected) -> Expected:
    error = left.error + right.error
    if left.low is None or left.high is None or right.low is None or right.high is None:
        return Expected(None, None, error)
    return Expected(left.low + right.low, left.high + right.high, error)


def _negate(operand: Expected) -> Expected:
    if operand.low is None or operand.high is None:
        return operand
    return Expected(-operand.high, -operand.low, operand.error)


def _multiply(left: Expected, right: Expected) -> Expected | None:
    if left.reach is None or right.reach is None:
        return None
    error = left.reach * right.error + right.reach * left.error + left.error * right.error
    reach = left.reach * right.reach
    return Expected(-reach, reach, error)


def _divide(left: Expected, right: Expected) -> Expected | None:
    """|a/b - a'/b'| <= (e_a + |a/b| e_b) / |b'| for the exact a, b and the noisy a', b'."""
    if right.low is None or right.high is None or left.reach is None or not (right.low > 0 or right.high < 0):
        return None
    nearest = min(abs(right.low), abs(right.high))
    if not nearest > right.error:
        return None
    reach = left.reach / nearest
    return Expected(-reach, reach, (left.error + reach * right.error) / (nearest - right.error))


def _largest(*operands: Expected) -> Expected:
    return Expected(None, None, max(operand.error for operand in operands))


_RULES: dict[str, Callable[..., Expected | None]] = {
    "add": _add,
    "subtract": lambda left, right: _add(left, _negate(right)),
    "negate": _negate,
    "multiply": _multiply,
    "divide": _divide,
    "absolute": _largest,
    "greatest": _largest,
    "least": _largest,
    "floor": lambda operand: Expected(None, None, operand.error + 1),
    "ceil": lambda operand: Expected(None, None, operand.error + 1),
}
