"""Many draws of continuous noise on a grid: the distribution's own formula on arrays, exact arithmetic where that
leaves doubt.

A distribution draws uniform numbers and signs from a source and evaluates its formula on them. Here the source hands
out whole arrays, and the formula is evaluated in intervals. What they leave open is drawn again from the same numbers,
one by one, by the code that a release runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from dither.exact.balls import ball
from dither.lab.audit.draws.intervals import Intervals
from dither.noise.entropy import random_words
from dither.noise.lazy_uniform import LazyUniform
from dither.noise.reals.rounded_reals import RealDistribution, Rounding, Source

# Larger numbers are cut to this: a function of what is published, like any reading of it.
LARGEST = 1 << 62
_EXACT = 2.0**52


@dataclass
class Numbers:
    """A source of arrays: what it handed out can be handed out again, for one place."""

    size: int
    uniforms: list[npt.NDArray[np.uint64]] = field(default_factory=list)
    signs: list[npt.NDArray[np.int64]] = field(default_factory=list)

    def uniform(self) -> npt.NDArray[np.uint64]:
        """The first 64 bits of a uniform number for each place."""
        self.uniforms.append(random_words(np.uint64, self.size))
        return self.uniforms[-1]

    def sign(self) -> npt.NDArray[np.int64]:
        """A fair sign for each place."""
        self.signs.append(1 - 2 * (random_words(np.uint8, self.size) & 1).astype(np.int64))
        return self.signs[-1]

    def again(self, place: int) -> Source:
        """The same numbers for one place, in the order in which they were asked for; more bits are fresh."""
        uniforms, signs = iter(self.uniforms), iter(self.signs)
        return again(
            lambda: LazyUniform(int(next(uniforms)[place]), 64),
            lambda: int(next(signs)[place]),
        )


class _Again(Source):
    """A source of numbers drawn before."""

    def __init__(self, uniform: Any, sign: Any) -> None:
        object.__setattr__(self, "uniform", uniform)
        object.__setattr__(self, "sign", sign)


def again(uniform: Callable[[], LazyUniform], sign: Callable[[], int]) -> Source:
    """A source that hands out what it is told to."""
    return _Again(uniform, sign)


def real_draws(distribution: RealDistribution, scale: Fraction, centre: Fraction, size: int) -> npt.NDArray[np.int64]:
    """`size` independent numbers centre + scale eta, rounded to the nearest whole number."""
    return settled(distribution, Rounding.of(scale, centre), Numbers(size))[0]


def settled(
    distribution: RealDistribution, rounding: Rounding, numbers: Numbers
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """The rounded numbers, and which of them the intervals decided."""
    real = distribution.draw(cast(Source, numbers))
    eta = real.evaluate(*(enclosed(cast(Any, words)) for words in real.uniforms))
    floors, decided = whole_parts(ball(rounding.scale) * (eta + ball(rounding.rest)))
    return exactly(distribution, rounding, floors, decided, numbers.again), decided


def whole_parts(numbers: Intervals) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """The floors of numbers known by intervals, and where they are certain."""
    with np.errstate(invalid="ignore"):
        floors = np.floor(numbers.low)
        return floors, (floors == np.floor(numbers.high)) & (np.abs(floors) < _EXACT)


def exactly(
    distribution: RealDistribution,
    rounding: Rounding,
    floors: npt.NDArray[np.float64],
    decided: npt.NDArray[np.bool_],
    numbers: Callable[[int], Source],
) -> npt.NDArray[np.int64]:
    """The rounded numbers: from their floors where these are decided, else by a draw from the same numbers."""
    out = np.where(decided, floors, 0).astype(np.int64) + rounding.whole
    for i in np.flatnonzero(~decided).tolist():
        out[i] = max(-LARGEST, min(LARGEST, rounding.one(distribution, numbers(i))))
    return out


def enclosed(words: npt.NDArray[np.uint64]) -> Intervals:
    """The uniform numbers whose first 64 bits are known: both ends are exact floats of 53 bits."""
    low = (words >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return Intervals(low, low + 2.0**-53)
