"""Bernoulli(exp(-x)): a coin that is True with probability exactly exp(-x)."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.exact.balls import Ball, ball, whole_part
from dither.exact.parameters import Number, non_negative
from dither.exact.precision import precision
from dither.noise.entropy import Fill, Learn, keystream, learn_bits
from dither.noise.lazy_uniform import LazyUniform, fresh_uniform, resolve
from dither.noise.request import checked_size

_WIDTH = 32


def bernoulli_exp(x: Number, size: int | None = None) -> Any:
    """True with probability exp(-x), x >= 0: a bool, or an array of `size` of them."""
    exponent, count = non_negative(x, "x"), checked_size(size)
    if count is None:
        return is_below(fresh_uniform(), exp_minus(exponent))
    return coins_below(exp_minus(exponent), count, keystream(4 * count))


def exp_minus(exponent: Fraction) -> Callable[[], Ball]:
    """exp(-exponent), at the working precision of the moment."""
    return lambda: (-ball(exponent)).exp()


def coins_below(
    threshold: Callable[[], Ball], count: int, fill: Fill, width: int = _WIDTH, learn: Learn = learn_bits
) -> NDArray[np.bool_]:
    """Whether each of `count` uniform numbers lies below a threshold in (0, 1]: one word each, more bits for ties."""
    words = np.empty(count, np.uint32)
    fill(words)
    words >>= np.uint32(32 - width)
    boundary = _boundary_word(threshold, width)
    coins = words < boundary
    for i in np.flatnonzero(words == boundary):
        coins[i] = is_below(LazyUniform(int(words[i]), width, learn), threshold)
    return coins


def _boundary_word(threshold: Callable[[], Ball], width: int) -> int:
    """The word that contains the threshold; 2**width for the threshold 1."""
    bits = width + 32
    while True:
        with precision(bits):
            word = whole_part(threshold() * ball(1 << width))
        if word is not None:
            return word
        bits *= 2


def is_below(uniform: LazyUniform, threshold: Callable[[], Ball]) -> bool:
    """Whether a uniform number lies below the threshold, learning bits until it is certain."""

    def decide(u: Ball) -> int | None:
        t = threshold()
        return 1 if u < t else 0 if u >= t else None

    return bool(resolve(uniform, decide))
