"""The sigma of Gaussian noise as lecture notes print it, beside the classical and the analytic one."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from dither.accounting.guarantees.gaussian_curve import classical_sigma
from dither.errors import ParameterError
from dither.exact.balls import ball, bounds, dyadic_up


@lru_cache(64)
def textbook_sigma(epsilon: Fraction, delta: Fraction) -> Fraction:
    """sqrt(2 ln(2/delta))/epsilon, rounded up, for epsilon <= 1 only: never less than `classical_sigma`.

    From epsilon 6.4 on it is too little for some delta: at epsilon 20 and delta 1e-5 the true delta is 9.7e-4.
    """
    if not epsilon <= 1:
        raise ParameterError(
            f"the textbook calibration is stated for epsilon up to 1 only; got {float(epsilon):g}. "
            'Use calibration="analytic".'
        )
    _, high = bounds(lambda: ((ball(2) / ball(delta)).log() * 2).sqrt() / ball(epsilon))
    return max(dyadic_up(high), classical_sigma(epsilon, delta))
