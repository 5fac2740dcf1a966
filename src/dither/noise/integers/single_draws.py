"""One draw at a time: the same steps for every value, so that time tells nothing about the noise.

The cell by a search of fixed depth, the place by the coin of standard.py, the magnitude in integers, and no arrays.
"""

from __future__ import annotations

from collections.abc import Callable

from dither.noise.entropy import Learn, learn_bits, random_bits
from dither.noise.integers.affine_noise import Affine, floor_exactly
from dither.noise.integers.standard_reals import Standard, accepts
from dither.noise.lazy_uniform import LazyUniform

Draw = Callable[[int], int]


def draw_one(affine: Affine, source: Draw = random_bits, learn: Learn = learn_bits) -> int:
    """One exact draw."""
    cell = affine.standard.table.one(source, learn)
    place = accepted_place(affine.standard, cell, source, learn)
    magnitude = floor_exactly(affine, cell, place)
    negative = source(1)
    return -magnitude if negative and affine.signed else magnitude


def accepted_place(
    standard: Standard,
    cell: int,
    source: Draw = random_bits,
    learn: Learn = learn_bits,
    place_bits: int = 95,
    coin_bits: int = 48,
) -> LazyUniform:
    """A place in the cell, accepted with probability exp(-G): by float64 where certain, else by exact arithmetic."""
    # Covers the unknown bits of T and V1 and the float error (below 2**-50).
    margin = standard.largest_slope * 2.0**-place_bits + 2.0 ** (1 - coin_bits) + 2.0**-50
    slope, half_curve = standard.slopes(cell)
    while True:
        place = LazyUniform(source(place_bits), place_bits, learn)
        coin = source(coin_bits)
        t, v = place.prefix * 2.0**-place_bits, coin * 2.0**-coin_bits
        exponent = (slope + half_curve * t) * t
        if cell < standard.cell_limit:
            if v > exponent + margin:
                return place
            second = source(coin_bits)
            # V1 < G and V2 > V1: a run of length one, so rejected.
            if v < exponent - margin and second > coin:
                continue
            coins = [LazyUniform(coin, coin_bits, learn), LazyUniform(second, coin_bits, learn)]
        else:
            coins = [LazyUniform(coin, coin_bits, learn)]
        if accepts(standard, cell, place, coins, learn):
            return place
