"""Scales so large that a float64 cannot hold the argument: int64 for most of it, float64 for the rest.

With n the known part of a standard real (affine.py), u in [0, 1) further bits of its place, and the growth per place
split as a = A / 2**s + f with A whole and 0 <= f < 2**-s, the argument is A n / 2**s + (f n + a u + c): the first part
is exact, only the bracket is a float. Uncertain draws, and scales beyond all this, are settled in Python ints.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.exact.balls import float_down
from dither.noise.entropy import Fill, Learn, keystream, learn_bits
from dither.noise.integers.affine_noise import Affine, Open, floor_exactly, settle_open, split_words
from dither.noise.lazy_uniform import LazyUniform
from dither.noise.request import as_array

# n < 2**43 in every cell below the limit, so that A n stays below 2**62.
_LARGEST_WHOLE = 1 << 19
_MORE_BITS = 53
_BATCH = 1 << 16


def is_wide(affine: Affine) -> bool:
    """Whether the plain float path would leave too many draws uncertain."""
    return affine.slack > Fraction(1, 1 << 10)


@dataclass(frozen=True)
class Split:
    """a = whole / 2**shift + rest, the float constants of the bracket, and the largest fraction that is certain."""

    whole: int
    shift: int
    rest: float
    growth: float
    offset: float
    certain: float

    @staticmethod
    def of(affine: Affine) -> Split | None:
        """None where no split keeps A n within int64."""
        growth = affine.step
        if not growth < _LARGEST_WHOLE:
            return None
        shift = max(0, _LARGEST_WHOLE.bit_length() - 2 - max(0, math.floor(growth).bit_length() - 1))
        whole = math.floor(growth * (1 << shift))
        rest = growth - Fraction(whole, 1 << shift)
        # Five roundings of numbers below the bracket's bound, each of relative size 2**-53, on either side.
        largest_place = affine.standard.cell_limit << affine.standard.position_bits
        error = (Fraction(largest_place, 1 << shift) + growth + 2) / (1 << 50)
        slack = growth / (1 << _MORE_BITS) + 3 * error
        offset = Fraction(affine.offset(64)[0], 1 << 64) - error
        return Split(whole, shift, float(rest), float(growth), float_down(offset), float_down(1 - slack))


def draw_wide(affine: Affine, count: int, batch: int = _BATCH) -> NDArray[Any]:
    """`count` > 0 draws under one key: int64 where every value fits, Python ints otherwise."""
    fill = keystream(16 * count)
    split = Split.of(affine)
    parts = [draw_wide_batch(affine, split, min(batch, count - start), fill) for start in range(0, count, batch)]
    if any(part.dtype == object for part in parts):
        parts = [part.astype(object) for part in parts]
    return np.concatenate(parts)


def draw_wide_batch(
    affine: Affine, split: Split | None, count: int, fill: Fill, learn: Learn = learn_bits
) -> NDArray[Any]:
    """Cells and places for all draws first, then their magnitudes."""
    standard = affine.standard
    words = np.empty(count, np.uint64)
    fill(words)
    top, coins, signed_places = split_words(standard, words)
    cells = standard.table.direct[top].astype(np.int64)
    negative = signed_places < 0
    places = signed_places.astype(np.int64)
    np.bitwise_xor(places, places >> 63, out=places)
    left = np.flatnonzero(np.isnan(standard.direct[top]) | (coins < standard.sure_coin))
    settled = settle_open(standard, Open(left, top[left], coins[left], signed_places[left]), fill, learn)
    cells[left], places[left] = settled.cells, settled.places
    refined = {int(left[i]): place for i, place in settled.refined.items()}
    magnitudes = wide_magnitudes(affine, split, cells, places, refined, fill, learn)
    if affine.signed:
        np.negative(magnitudes, out=magnitudes, where=negative)
    return magnitudes


def wide_magnitudes(
    affine: Affine,
    split: Split | None,
    cells: NDArray[np.int64],
    places: NDArray[np.int64],
    refined: dict[int, LazyUniform],
    fill: Fill,
    learn: Learn,
) -> NDArray[Any]:
    """floor(argument) for each cell and place: by the split where that is certain, in Python ints elsewhere."""
    bits = affine.standard.position_bits
    more = np.empty(cells.size, np.uint64)
    fill(more)
    more >>= np.uint64(64 - _MORE_BITS)

    def exactly(i: int) -> int:
        known = LazyUniform((int(places[i]) << _MORE_BITS) | int(more[i]), bits + _MORE_BITS, learn)
        return floor_exactly(affine, int(cells[i]), refined.get(i, known))

    if split is None:
        return as_array([exactly(i) for i in range(cells.size)])
    limit = affine.standard.cell_limit
    start = (np.minimum(cells, limit - 1) << bits) + places
    product = start * split.whole
    bracket = (product & ((1 << split.shift) - 1)) * 2.0**-split.shift
    bracket += start * split.rest
    bracket += more * (split.growth * 2.0**-_MORE_BITS)
    bracket += split.offset
    floors = np.floor(bracket)
    magnitudes: NDArray[np.int64] = (product >> split.shift) + floors.astype(np.int64)
    uncertain = ~(bracket - floors <= split.certain) | (cells >= limit)
    uncertain[list(refined)] = True
    for i in np.flatnonzero(uncertain):
        magnitudes[i] = exactly(int(i))
    return magnitudes
