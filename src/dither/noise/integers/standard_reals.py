"""Standard exponential and half-normal real numbers, exactly: a cell of the real line and a lazily refined place in it.

Y = step (J + T): the cell J >= 0 comes from a table, the place T in [0, 1) from rejection. Within cell J the density
falls from the left edge as exp(-G(J, T)), G a polynomial; T is uniform and accepted with probability exp(-G). That coin
is von Neumann's: for uniform V1, V2, ... let N be the length of the run G > V1 > V2 > ...; P[N >= n] = G^n/n!, so N is
even with probability exp(-G). Nothing here depends on the scale of the noise: one table serves every scale.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dither.exact.balls import Ball, ball
from dither.noise.entropy import Learn, learn_bits
from dither.noise.integers.geometric_tail import GeometricDistribution
from dither.noise.integers.table import UNDECIDED, Table, build_table
from dither.noise.lazy_uniform import LazyUniform

FloatOrArray = TypeVar("FloatOrArray", float, NDArray[np.float64])


@dataclass(frozen=True)
class HalfNormalCells:
    """P[J > k] = P[|N| > (k + 1) step] for a standard normal N."""

    step: Fraction
    symmetric: bool = False

    def tail(self, k: int) -> Ball:
        return (ball(k + 1) * ball(self.step) / ball(2).sqrt()).erfc()


@dataclass(frozen=True)
class Standard:
    """One standard distribution. G(J, T) = (tilt + curve J) T + (curve / 2) T^2."""

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
    more_bits: int
    # Cells from here on are left to the exact path: float bounds are stated for smaller ones.
    cell_limit: int

    def exponent(self, cell: int, place: Fraction) -> Fraction:
        """G(J, T), which grows with T."""
        return (self.tilt + self.curve * cell) * place + self.curve / 2 * place * place

    def slope(self, cell: int) -> Fraction:
        """An upper bound on G's growth per unit of T, and so on G."""
        return self.tilt + self.curve * (cell + 1)

    @cached_property
    def largest_slope(self) -> float:
        """The slope at the cell limit."""
        return float(self.slope(self.cell_limit))

    @cached_property
    def _floats(self) -> tuple[float, float]:
        return float(self.tilt), float(self.curve)

    def slopes(self, cell: FloatOrArray) -> tuple[FloatOrArray, float]:
        """(b, c) with G = (b + c T) T, as floats; exact, because tilt and curve are powers of two or 0."""
        tilt, curve = self._floats
        return tilt + curve * cell, curve / 2


def build_standard(
    table: Table,
    step: Fraction,
    tilt: Fraction,
    curve: Fraction,
    position_bits: int = 31,
    coin_bits: int = 16,
    more_bits: int = 32,
    cell_limit: int = 1 << 12,
) -> Standard:
    """A standard distribution over a given table of its cells."""
    # Cells far out have a smaller chance of sure acceptance: they are left to the careful path too.
    nearest = min(cell_limit, int(Fraction(7, 2) / step)) if curve else cell_limit
    near = (table.direct != UNDECIDED) & (table.direct < nearest)
    farthest = int(table.direct[near].max())
    direct = np.where(near, table.direct.astype(np.float64) * 2.0**position_bits - 0.5, np.nan)
    sure_coin = math.ceil((tilt + curve * (farthest + 1)) * (1 << coin_bits))
    return Standard(step, tilt, curve, table, position_bits, direct, coin_bits, sure_coin, more_bits, cell_limit)


@lru_cache(maxsize=1)
def exponential() -> Standard:
    """Exp(1) in cells of 1/128: J is geometric, and T has the same distribution in each cell."""
    step = Fraction(1, 128)
    return build_standard(build_table(GeometricDistribution(1 / step)), step, tilt=step, curve=Fraction(0))


@lru_cache(maxsize=1)
def half_normal() -> Standard:
    """|N(0, 1)| in cells of 1/256."""
    step = Fraction(1, 256)
    return build_standard(build_table(HalfNormalCells(step)), step, tilt=Fraction(0), curve=step * step)


def accepts(
    standard: Standard,
    cell: int,
    place: LazyUniform,
    coins: Iterable[LazyUniform] = (),
    learn: Learn = learn_bits,
) -> bool:
    """The coin exp(-G(cell, T)) in exact arithmetic. `coins` are V1, V2, ... as far as they are known already.

    Where G could pass 1 the coin is made of several, each exp(-G/parts), all of which must accept.
    """
    known = list(coins)
    parts = math.ceil(standard.slope(cell))
    return all(_run_is_even(standard, cell, place, parts, known, learn) for _ in range(parts))


def _run_is_even(
    standard: Standard, cell: int, place: LazyUniform, parts: int, known: list[LazyUniform], learn: Learn
) -> bool:
    """Whether the run G/parts > V1 > V2 > ... has even length."""

    def exponent() -> tuple[Fraction, Fraction]:
        low, high = place.ends()
        return standard.exponent(cell, low) / parts, standard.exponent(cell, high) / parts

    latest = known.pop(0) if known else LazyUniform(learn=learn)
    smaller = _is_less(latest, exponent, place.refine)
    run = 0
    while smaller:
        run += 1
        previous, latest = latest, known.pop(0) if known else LazyUniform(learn=learn)
        smaller = _is_less(latest, previous.ends, previous.refine)
    return run % 2 == 0


def _is_less(
    number: LazyUniform, other_ends: Callable[[], tuple[Fraction, Fraction]], refine_other: Callable[[], None]
) -> bool:
    """Whether a uniform number lies below another number, learning bits of both until it is certain."""
    while True:
        (low, high), (other_low, other_high) = number.ends(), other_ends()
        if high <= other_low:
            return True
        if low >= other_high:
            return False
        number.refine()
        refine_other()
