"""Noise that aggregators add to their shares of a sum, so that no one of them, and nobody else, sees the sum itself.

`each`: every aggregator adds discrete Laplace noise that is enough alone; one honest aggregator suffices. `split`: the
aggregators add parts of one such noise, enough together if at least `honest` of them add theirs. A discrete Laplace
number is the difference of two geometric ones, and a geometric number the sum of t negative binomials of shape 1/t.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from itertools import accumulate, pairwise

import numpy as np

from dither.errors import ParameterError
from dither.exact.balls import Ball, ball, ceil_of, floor_of
from dither.noise import discrete_laplace, geometric, uniform_below
from dither.noise.integers.bernoulli import is_below
from dither.noise.lazy_uniform import LazyUniform

_FINEST = 1024  # steps of a scale in which the distribution of a sum is computed
_WORD = 64  # bits of a height under the hat; more are drawn where these do not decide
_OUTWARD = 1e-9  # relative; more than the error of the sums of floats below


@dataclass(frozen=True)
class NoiseShare:
    """What each of `aggregators` adds, of which at least `honest` do; `split` if their noise counts together."""

    aggregators: int = 2
    honest: int = 1
    split: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.honest <= self.aggregators:
            raise ParameterError("honest is how many aggregators surely add noise, 1 to all of them.")

    def draw(self, scale: Fraction, size: int) -> list[int]:
        """One aggregator's noise for each of `size` sums."""
        if not self.split:
            return [int(number) for number in discrete_laplace(scale, size)]
        ups, downs = (negative_binomial(self.honest, scale, size) for _ in range(2))
        return [up - down for up, down in zip(ups, downs, strict=True)]

    @property
    def shape(self) -> Fraction:
        """The noise of all aggregators together is the difference of two negative binomials of this shape."""
        return Fraction(self.aggregators, self.honest if self.split else 1)

    def reach(self, scale: Fraction, confidence: Fraction) -> int:
        """r with P(|noise of all aggregators| > r) <= 1 - confidence."""
        return reach(scale, self.shape, 1 - confidence)

    def bound(self, scale: Fraction, missed: Fraction) -> int:
        """As `reach`, and larger, but known at once: |X - Y| is at most the larger of the two, which is at most the sum
        of as many geometric numbers as the shape, rounded up."""
        count = math.ceil(self.shape)
        return count * math.ceil(scale * math.ceil(math.log(2 * count / missed) + 1))


@dataclass(frozen=True)
class _Piece:
    """A part of the hat under which negative binomials are drawn: `count` numbers from `first` on with this height, in
    units of 2^-64; or, without an end, all that follow with falling heights that add up to it."""

    first: int
    count: int | None
    height: int

    @property
    def weight(self) -> int:
        return (self.count or 1) * self.height

    @property
    def tail(self) -> int | None:
        """Where its heights begin to fall; None if they do not."""
        return self.first if self.count is None else None


def negative_binomial(parts: int, scale: Fraction, size: int) -> list[int]:
    """Exact draws of shape 1/parts: P[k] is C(k + 1/parts - 1, k) q^k (1 - q)^(1/parts), q = exp(-1/scale).

    P falls. A number is drawn under a hat, which is flat from each power of two to the next up to the scale and falls
    as q^k beyond, and kept if a uniform height under the hat lies below P. So the time hardly depends on the scale.
    """
    pieces = _pieces(parts, scale)
    ends, kept = [*accumulate(piece.weight for piece in pieces)], list[int]()
    known: dict[tuple[int, int | None], int] = {}
    while len(kept) < size:
        places = uniform_below(ends[-1], max(64, 2 * (size - len(kept)))).tolist()
        for place, more in zip(places, np.asarray(geometric(scale, len(places))).tolist(), strict=True):
            at = bisect_right(ends, place)
            piece = pieces[at]
            within, word = divmod(ends[at] - 1 - place, piece.height)
            number, first = piece.first + (more if piece.count is None else within), piece.tail
            relative = partial(_relative, parts, scale, number, first)
            if (number, first) not in known:
                known[number, first] = floor_of(partial(_in_words, relative))
            last = known[number, first]
            if word < last or (word == last and is_below(LazyUniform(word, _WORD), relative)):
                kept.append(number)
    return kept[:size]


@lru_cache(maxsize=64)
def _pieces(parts: int, scale: Fraction) -> tuple[_Piece, ...]:
    """From 0, from 1, from 2, from 4 and so on up to the first power of two that is no smaller than the scale."""

    def height(number: int, first: int | None = None) -> int:
        return ceil_of(partial(_in_words, partial(_relative, parts, scale, number, first)))

    powers = [1 << place for place in range((math.ceil(scale) - 1).bit_length() + 1)]
    flat = [_Piece(first, end - first, height(first)) for first, end in pairwise([0, *powers])]
    return (*flat, _Piece(powers[-1], None, height(powers[-1], powers[-1])))


def _in_words(relative: Callable[[], Ball]) -> Ball:
    return relative() * ball(1 << _WORD)


def _relative(parts: int, scale: Fraction, number: int, first: int | None) -> Ball:
    """P[number] / P[0]; where the hat falls from `first` on, over what is (1 - q) q^k there, k from 0 on."""
    if not number:
        return ball(1)
    shape = ball(Fraction(1, parts))
    ways = (shape + number).lgamma() - shape.lgamma() - ball(number + 1).lgamma()
    chance = (ways - ball((number if first is None else first) / scale)).exp()
    return chance if first is None else -chance / ball(-1 / scale).expm1()


@lru_cache(maxsize=1024)
def reach(scale: Fraction, shape: Fraction, missed: Fraction) -> int:
    """r with P(|X - Y| > r) <= missed, X and Y negative binomial of that shape with q = exp(-1/scale).

    A large scale is measured in steps: a geometric number differs by less than a step from one of the coarser scale,
    and a whole shape is that many of them. Another shape is rounded up there, to noise that is less peaked.
    """
    step = max(1, math.ceil(scale / _FINEST))
    if step > 1:
        shape = Fraction(math.ceil(shape))
    coarse = float(scale / step)
    from scipy.stats import nbinom

    stop = -math.expm1(-1 / coarse)  # 1 - q
    allowed = float(missed) * (1 - _OUTWARD)
    most = int(nbinom.isf(allowed * 1e-6, float(shape), stop)) + 1
    numbers = np.arange(most + 1)
    chances = nbinom.pmf(numbers, float(shape), stop)

    def beyond(distance: int) -> float:
        """P(|X - Y| > distance), by symmetry twice P(X > Y + distance); Y above `most` counts as beyond."""
        inside = float(chances @ nbinom.sf(numbers + distance, float(shape), stop))
        return 2 * (inside + allowed * 1e-6)

    low, high = -1, 1
    while beyond(high) > allowed:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if beyond(middle) <= allowed else (middle, high)
    return high if step == 1 else (high + int(shape)) * step
