"""A whole list of certified numbers at once: as floats rounded to nearest, or as exact bounds."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from dither.exact.balls import MOST_BITS, START_BITS, Ball, lower, upper
from dither.exact.precision import precision

Pair = tuple[Fraction, Fraction]


def certified(evaluate: Callable[[], list[Ball]], bits: int = 64) -> list[Pair]:
    """Exact lower and upper bounds that agree to about `bits` bits."""
    return _until(evaluate, lambda low, high: (high - low) * 2**bits <= abs(low))


def nearest(evaluate: Callable[[], list[Ball]]) -> list[float]:
    """Each number >= 0 rounded to the nearest float."""
    return [abs(float(low)) for low, _ in _until(evaluate, lambda low, high: float(low) == float(high))]


def _until(evaluate: Callable[[], list[Ball]], agreed: Callable[[Fraction, Fraction], bool]) -> list[Pair]:
    """Bounds at rising precision until every pair agrees or the precision ends (an exact 0 never agrees)."""
    bits = START_BITS
    while True:
        with precision(bits):
            pairs = [(lower(number), upper(number)) for number in evaluate()]
        found = [(low, high) for low, high in pairs if low is not None and high is not None]
        if len(found) == len(pairs) and (bits >= MOST_BITS or all(agreed(low, high) for low, high in found)):
            return found
        if bits >= MOST_BITS:
            raise ArithmeticError("a number has no finite enclosure")
        bits *= 2
