"""Bernoulli(exp(-x)): a coin that is True with probability exactly exp(-x)."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from dither.noise.balls import Ball, LazyUniform, ball, resolve
from dither.noise.request import checked_size
from dither.parameters import Number, non_negative


def bernoulli_exp(x: Number, size: int | None = None) -> Any:
    """True with probability exp(-x), x >= 0: a bool, or an array of `size` of them."""
    exponent, count = non_negative(x, "x"), checked_size(size)
    if count is None:
        return below(LazyUniform(), lambda: (-ball(exponent)).exp())
    return np.array([below(LazyUniform(), lambda: (-ball(exponent)).exp()) for _ in range(count)], bool)


def below(uniform: LazyUniform, threshold: Callable[[], Ball]) -> bool:
    """Whether U lies below a real threshold, given as a ball at any working precision."""

    def decide(u: Ball) -> int | None:
        t = threshold()
        return 1 if u < t else 0 if u >= t else None

    return bool(resolve(uniform, decide))


def exp_coin(exponent: Fraction, uniform: LazyUniform) -> bool:
    """Whether U < exp(-exponent)."""
    return below(uniform, lambda: (-ball(exponent)).exp())
