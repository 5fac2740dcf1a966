"""From the reach A^(k) to a smooth upper bound of local sensitivity: max over k of A^(k) e^(-beta k), certified.

What is returned is a Fraction S with three exact properties, so that a mechanism needs no allowance for rounding:

* S(D) is at least the local sensitivity of D, and at least the smallest beta-smooth bound S*(D);
* S(D) <= e^beta S(D') for all neighbours, of the returned numbers themselves;
* S(D) is at most the global sensitivity.

How: S* is taken at a smoothness smaller by 2^-80 of itself, and rounded up by less than that difference pays for.
Maximum and minimum with a constant keep smoothness, so S is kept within [2^-200, 1] times the global sensitivity:
a public bound on how far any scan has to look. (Nissim, Raskhodnikova, Smith 2007, Definitions 2.1 and 2.2.)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction

from dither.errors import ParameterError
from dither.exact.balls import ball, dyadic_up, upper
from dither.exact.parameters import Number, exact
from dither.exact.precision import precision

FLOOR_BITS = 200
_HELD_BACK_BITS = 80
# Float values closer than this are decided by exact arithmetic; the float error is below 2^-45.
SLACK = 2.0**-40

Step = tuple[int, Fraction]  # k and A^(k)


def smoothness(beta: Number) -> Fraction:
    """beta > 0, exact."""
    read = exact(beta, "beta")
    if not read > 0:
        raise ParameterError(
            "beta must be greater than 0; at 0 the only smooth bound is the global sensitivity, "
            "which calling the statistic gives."
        )
    return read


def farthest(beta: Fraction, last: int) -> int:
    """The largest k worth reading: beyond it A^(k) e^(-beta k) is under the floor, or A^(k) does not grow."""
    return min(last, math.ceil(FLOOR_BITS * Fraction(7, 10) / beta))


def scan(reach: Callable[[int], Fraction], beta: Fraction, ceiling: Fraction, last: int) -> Fraction:
    """The smooth bound from A^(0), A^(1), ... where A^(last) is the largest; stops when no later k can win.

    Stopping is exact: A^(k) <= ceiling, so once ceiling e^(-beta (k+1)) is below the best so far nothing follows.
    """
    rate, best = float(beta), 0.0
    steps: list[tuple[float, int, Fraction]] = []
    for k in range(farthest(beta, last) + 1):
        reached = reach(k)
        value = float(reached / ceiling) * math.exp(-rate * k)
        steps.append((value, k, reached))
        best = max(best, value)
        if reached == ceiling or math.exp(-rate * (k + 1)) < best * (1 - SLACK):
            break
    return certify(((k, reached) for value, k, reached in steps if value >= best * (1 - SLACK)), beta, ceiling)


def certify(steps: Iterable[Step], beta: Fraction, ceiling: Fraction) -> Fraction:
    """The smooth bound, when `steps` holds every k that may attain the maximum."""
    held_back = beta * (1 - Fraction(1, 1 << _HELD_BACK_BITS))
    bits = _HELD_BACK_BITS + 2 + max(0, beta.denominator.bit_length() - beta.numerator.bit_length() + 1)
    best = ceiling / (1 << FLOOR_BITS)
    # Guard bits: the exponent may be as large as 200, and the ball must be far narrower than the rounding.
    with precision(2 * bits + 64):
        for k, reached in steps:
            # An exponent of 0 or less has a finite exponential, so there is always an upper bound.
            best = max(best, upper(ball(reached) * ball(-held_back * k).exp()) or best if k else reached)
    return min(ceiling, dyadic_up(best, bits))
