"""Standard exponential and half-normal real numbers, exactly: a cell of the real line and a lazily refined place in it.

Y = step (J + T): the cell J >= 0 comes from a table, the place T in [0, 1) from rejection. Within cell J the density
falls from the left edge as exp(-G(J, T)), G a polynomial; T is uniform and accepted with probability exp(-G). That coin
is von Neumann's: for uniform V1, V2, ... let N be the length of the run G > V1 > V2 > ...; P[N >= n] = G^n / n!, so N is
even with probability exp(-G). Nothing here depends on the scale of the noise: one table serves every scale.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dither.noise.balls import Ball, BitSource, LazyUniform, ball
from dither.noise.entropy import random_bits
from dither.noise.geometric_law import GeometricLaw
from dither.noise.table import UNDECIDED, Table, build_table

# Cells from here on are left to the exact path: every float bound below is stated for smaller ones.
CELL_LIMIT = 1 << 12


@dataclass(frozen=True)
class HalfNormalCellLaw:
    """P[J > k] = P[|N| > (k + 1) step] for a standard normal N."""

    step: Fraction
    symmetric: bool = False

    def tail(self, k: int) -> Ball:
        return (ball(k + 1) * ball(self.step) / ball(2).sqrt()).erfc()


@dataclass(frozen=True)
class Standard:
    """One standard law. G(J, T) = (tilt + curve J) T + (curve / 2) T^2."""

    step: Fraction
    tilt: Fraction
    curve: Fraction
    table: Table
    position_bits: int
    # The table's direct values in units of 2**-position_bits, less a half (see affine.py); NaN where undecided.
    direct: NDArray[np.float64]
    # A coin word of `coin_bits` from here on accepts in every cell that is decided directly.
    coin_bits: int
    sure_coin: int
    # How many more bits of the coins the careful path draws at once.
    more_bits: int = 32

    def exponent(self, cell: int, place: Fraction) -> Fraction:
        """G(J, T), which grows with T."""
        return (self.tilt + self.curve * cell) * place + self.curve / 2 * place * place

    def slope(self, cell: int) -> Fraction:
        """An upper bound on G's growth per unit of T, and so on G."""
        return self.tilt + self.curve * (cell + 1)


def build_standard(
    table: Table,
    step: Fraction,
    tilt: Fraction,
    curve: Fraction,
    position_bits: int = 31,
    coin_bits: int = 16,
    more_bits: int = 32,
) -> Standard:
    """A standard law over a given table of its cells."""
    decided = table.direct != UNDECIDED
    # Cells far out have a smaller chance of sure acceptance: leave them to the careful path too.
    near = decided & (table.direct < int(Fraction(7, 2) / step)) if curve else decided
    farthest = int(table.direct[near].max())
    direct = np.where(near, table.direct.astype(np.float64) * 2.0**position_bits - 0.5, np.nan)
    sure_coin = math.ceil((tilt + curve * (farthest + 1)) * (1 << coin_bits))
    return Standard(step, tilt, curve, table, position_bits, direct, coin_bits, sure_coin, more_bits)


@lru_cache(maxsize=1)
def exponential() -> Standard:
    """Exp(1) in cells of 1/128: J is geometric, and T has the same law in each cell."""
    step = Fraction(1, 128)
    return build_standard(build_table(GeometricLaw(1 / step)), step, tilt=step, curve=Fraction(0))


@lru_cache(maxsize=1)
def half_normal() -> Standard:
    """|N(0, 1)| in cells of 1/256."""
    step = Fraction(1, 256)
    return build_standard(build_table(HalfNormalCellLaw(step)), step, tilt=Fraction(0), curve=step * step)


def accepts(
    standard: Standard,
    cell: int,
    place: LazyUniform,
    coins: Iterable[LazyUniform] = (),
    source: BitSource = random_bits,
) -> bool:
    """The coin exp(-G(cell, T)) in exact arithmetic. `coins` are V1, V2, ... as far as they are known already."""
    known = list(coins)
    smaller, run = _less_than_exponent(standard, cell, place, _next(known, source)), 0
    while smaller[0]:
        run += 1
        following = _next(known, source)
        smaller = (_less_than(following, smaller[1]), following)
    return run % 2 == 0


def _next(known: list[LazyUniform], source: BitSource) -> LazyUniform:
    return known.pop(0) if known else LazyUniform(source=source)


def _less_than_exponent(
    standard: Standard, cell: int, place: LazyUniform, coin: LazyUniform
) -> tuple[bool, LazyUniform]:
    """Whether V < G(cell, T), and V."""
    while True:
        lowest, highest = (standard.exponent(cell, end) for end in place.ends())
        low, high = coin.ends()
        if high <= lowest:
            return True, coin
        if low >= highest:
            return False, coin
        place.refine(32)
        coin.refine(32)


def _less_than(one: LazyUniform, other: LazyUniform) -> bool:
    """Whether one uniform number lies below another."""
    while True:
        (low, high), (other_low, other_high) = one.ends(), other.ends()
        if high <= other_low:
            return True
        if low >= other_high:
            return False
        one.refine(32)
        other.refine(32)
