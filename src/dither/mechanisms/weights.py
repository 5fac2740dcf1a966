"""Exact choices and coins by the weights exp(-rate gap), a hundred thousand of them in a few milliseconds.

Floats only bound the weights from both sides, by additions, multiplications and roundings whose errors are counted
below; what is decided inside the bounds is decided exactly, by more random bits and ball arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt

from dither.exact.balls import Ball, ball, float_up, upper
from dither.exact.precision import precision
from dither.noise.entropy import Fill, Learn, keystream, learn_bits
from dither.noise.integers.bernoulli import is_below
from dither.noise.integers.uniform import many_below, one_below
from dither.noise.lazy_uniform import LazyUniform

# Gaps are cut to this many bits: a weight is then bounded to one part in 2^17, and three small tables hold them all.
_INDEX_BITS = 24
_DIGIT = 8
# Weights below exp(-64) are bounded by exp(-64).
_DEEPEST = 64
_TINY = 2.0**-100


@dataclass(frozen=True)
class Weights:
    """lower <= exp(-rate gap) <= upper for every gap; the largest weight is that of gap 0."""

    gaps: npt.NDArray[np.int64] | npt.NDArray[np.object_]
    rate: Fraction
    lower: npt.NDArray[np.float64]
    upper: npt.NDArray[np.float64]

    def exactly(self, index: int) -> Ball:
        """One weight at the working precision of the moment."""
        return (-ball(self.rate * int(self.gaps[index]))).exp()

    @cached_property
    def _unit_bits(self) -> int:
        return 61 - int(self.gaps.size).bit_length()

    @cached_property
    def _units(self) -> npt.NDArray[np.int64]:
        """Whole numbers that the weights, times 2^unit_bits, do not exceed; their sum is below 2^62."""
        return np.ceil(self.upper * 2.0**self._unit_bits).astype(np.int64) + 1

    @cached_property
    def _cumulative(self) -> npt.NDArray[np.int64]:
        return np.cumsum(self._units)


def weights_of(gaps: npt.NDArray[np.int64] | npt.NDArray[np.object_], rate: Fraction) -> Weights:
    """Bounds of exp(-rate gap) for whole gaps >= 0.

    The gap is cut to `index = gap >> shift`, at most `deepest`; exp(-step index), step = rate 2^shift, is the product
    of exp(-step 2^b) over the bits b of the index. Each factor is rounded up by less than 2^-52 of itself, a product of
    24 factors adds less than 24 roundings of 2^-53: in all less than 2^-46.
    """
    cutoff = math.ceil(_DEEPEST / rate)
    shift = max(0, cutoff.bit_length() - _INDEX_BITS)
    step, deepest = rate * (1 << shift), cutoff >> shift
    index = _cut(gaps, shift, deepest)
    factors = _factors(step, deepest.bit_length())
    products = np.ones(index.size)
    for first in range(0, len(factors), _DIGIT):
        table = np.ones(1)
        for factor in factors[first : first + _DIGIT]:
            table = np.concatenate([table, table * factor])
        products *= table[(index >> first) & (table.size - 1)]
    upper = products * (1 + 2.0**-44)
    # Cutting lost less than one index step: a factor of at least exp(-step) >= 1 - step.
    lost = math.nextafter(1 - float_up(step), 0.0) if shift else 1.0
    lower = np.where(index < deepest, products * ((1 - 2.0**-43) * lost), 0.0)
    return Weights(gaps, rate, lower, upper)


def choose(weights: Weights, count: int) -> npt.NDArray[np.int64]:
    """Positions, each with probability exactly weight / sum of weights, independently.

    A position is proposed by whole numbers that bound the weights, and kept with probability weight / bound: kept
    proposals have exactly the distribution of the weights, and nearly all proposals are kept.
    """
    units, cumulative, bits = weights._units, weights._cumulative, weights._unit_bits
    total = int(cumulative[-1])
    out = np.empty(count, np.int64)
    pending = np.arange(count)
    while pending.size:
        draws = many_below(total, pending.size, keystream(16 * pending.size)) if count > 1 else one_below(total)
        proposed = np.atleast_1d(np.searchsorted(cumulative, draws, side="right"))
        share = 2.0**bits / units[proposed]
        low = weights.lower[proposed] * share * (1 - 2.0**-50)
        high = weights.upper[proposed] * share * (1 + 2.0**-50)

        def kept_share(i: int, proposed: npt.NDArray[np.intp] = proposed) -> Ball:
            at = int(proposed[i])
            return weights.exactly(at) * (1 << bits) / int(units[at])

        kept = flip(low, high, kept_share)
        out[pending[kept]] = proposed[kept]
        pending = pending[~kept]
    return out


def flip(
    low: npt.NDArray[np.float64],
    high: npt.NDArray[np.float64],
    exactly: Callable[[int], Ball],
    fill: Fill | None = None,
    learn: Learn = learn_bits,
) -> npt.NDArray[np.bool_]:
    """Independent coins, heads with probability exactly(i), of which low[i] <= exactly(i) <= high[i] is known.

    A 64-bit word decides nearly all of them; the others learn more bits of the same uniform number.
    """
    words = np.empty(low.size, np.uint64)
    (fill or keystream(words.nbytes))(words)
    # The uniform number lies in [start, start + 2^-53); both ends are exact floats.
    start = (words >> np.uint64(11)).astype(np.float64) * 2.0**-53
    heads: npt.NDArray[np.bool_] = start + 2.0**-53 <= low
    for i in np.flatnonzero(~heads & (start < high)).tolist():
        heads[i] = is_below(LazyUniform(int(words[i]), 64, learn), partial(exactly, i))
    return heads


def _cut(gaps: npt.NDArray[np.int64] | npt.NDArray[np.object_], shift: int, deepest: int) -> npt.NDArray[np.int64]:
    if gaps.dtype == object:
        return np.array([min(int(gap) >> shift, deepest) for gap in gaps], np.int64)
    return np.asarray(np.minimum(gaps >> min(shift, 63), deepest), np.int64)


def _factors(step: Fraction, count: int) -> list[float]:
    """exp(-step 2^b) for b = 0, 1, ..., rounded up; never below 2^-100, which is above exp(-70)."""
    with precision(128):
        balls = [None if step * (1 << b) >= 70 else (-ball(step * (1 << b))).exp() for b in range(count)]
        tops = [None if factor is None else upper(factor) for factor in balls]
    return [_TINY if top is None else float_up(top) for top in tops]
