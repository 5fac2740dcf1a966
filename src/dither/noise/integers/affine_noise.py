"""Noise of any scale from standard reals: floor(factor (J + T) + offset), decided in float64 where that is certain.

With a = factor / 2**position_bits and n = 2**position_bits J + t, where t is the known part of T, the real argument
lies in [a n + c, a (n + 1) + c). The float argument y is a lower bound for it, and y + slack an upper bound (proof in
docs/toolbox/noise.md), so the floor is certain wherever y - floor(y) <= 1 - slack. The rest is settled in integers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.exact.balls import float_down
from dither.noise.entropy import Fill, Learn, keystream, learn_bits
from dither.noise.integers.open_draws import Places, settle
from dither.noise.integers.standard_reals import Standard
from dither.noise.lazy_uniform import LazyUniform

# A number c in [0, 1), as floor(2**bits c) and ceil(2**bits c) for the bits asked for, or integers just outside them.
Offset = Callable[[int], tuple[int, int]]

# Draws per piece of the quick pass (its arrays stay in cache), and per round of settling what it leaves open.
CHUNK = 1 << 15
BATCH = 1 << 20
_LIFT_BITS = 80
_LIFT = 1 << _LIFT_BITS


@dataclass(frozen=True)
class Affine:
    """floor(factor Y' + offset) for Y' = J + T of a standard distribution, with a fair sign if `signed`."""

    standard: Standard
    factor: Fraction
    offset: Offset
    signed: bool

    @property
    def step(self) -> Fraction:
        """The argument's growth from one known place to the next."""
        return self.factor / (1 << self.standard.position_bits)

    @property
    def float_error(self) -> Fraction:
        """Bounds the float error of the argument in every cell below the limit, on either side."""
        return (self.factor * self.standard.cell_limit + 1) / (1 << 51)

    @property
    def slack(self) -> Fraction:
        """How far the true argument can lie above the float one."""
        return self.step + 3 * self.float_error


def rational_offset(value: Fraction) -> Offset:
    """A rational c."""
    numerator, denominator = value.numerator, value.denominator
    return lambda bits: ((numerator << bits) // denominator, -((-numerator << bits) // denominator))


def float_constants(affine: Affine) -> tuple[float, float, float]:
    """(a, c - error, 1 - slack) as floats: a to nearest, the other two rounded down."""
    offset = Fraction(affine.offset(64)[0], 1 << 64) - affine.float_error
    return float(affine.step), float_down(offset), float_down(1 - affine.slack)


def floor_exactly(affine: Affine, cell: int, place: LazyUniform) -> int:
    """The magnitude in integer arithmetic, learning bits of T until it is certain."""
    numerator, denominator = affine.factor.numerator, affine.factor.denominator
    while True:
        bits = place.bits + 64
        low, high = affine.offset(bits)
        start = (cell << place.bits) + place.prefix
        divisor = denominator << bits
        # Quotients of the same length for small and large magnitudes take the same time.
        lift = divisor << _LIFT_BITS
        lowest = (((numerator * start) << 64) + low * denominator + lift) // divisor - _LIFT
        # The upper end is not reached, so a whole number there still belongs below.
        highest = (((numerator * (start + 1)) << 64) + high * denominator + lift - 1) // divisor - _LIFT
        if lowest == highest:
            return lowest
        place.refine()


@dataclass(frozen=True)
class Scratch:
    """Arrays of the quick pass, made once per batch."""

    words: NDArray[np.uint64]
    argument: NDArray[np.float64]
    side: NDArray[np.float64]
    whole: NDArray[np.float64]
    good: NDArray[np.bool_]
    sure: NDArray[np.bool_]

    @staticmethod
    def of(size: int) -> Scratch:
        """Room for `size` draws."""
        return Scratch(np.empty(size, np.uint64), *np.empty((3, size)), *np.empty((2, size), bool))

    def first(self, size: int) -> Scratch:
        """The same arrays, cut to the first `size` draws."""
        if size == self.words.size:
            return self
        return Scratch(*(array[:size] for array in vars(self).values()))


@dataclass(frozen=True)
class Open:
    """Draws that the quick pass leaves open: where they go, and the words they have so far."""

    where: NDArray[np.intp]
    top: NDArray[Any]
    coins: NDArray[Any]
    signed_places: NDArray[Any]


def draw(affine: Affine, count: int) -> NDArray[np.int64]:
    """`count` draws, all from one batch of random bits. Needs slack < 1/2."""
    out = np.empty(count, np.int64)
    fill = keystream(8 * count)
    for start in range(0, count, BATCH):
        draw_batch(affine, out[start : start + BATCH], fill)
    return out


def draw_batch(affine: Affine, out: NDArray[np.int64], fill: Fill, learn: Learn = learn_bits) -> None:
    """The quick pass in cache-sized pieces, then the few draws it left open, together."""
    constants = float_constants(affine)
    scratch = Scratch.of(min(out.size, CHUNK))
    left = []
    for start in range(0, out.size, CHUNK):
        piece = out[start : start + CHUNK]
        part = scratch.first(piece.size)
        fill(part.words)
        left.append(quick_pass(affine, constants, part, piece, start))
    rest = Open(
        np.concatenate([part.where for part in left]),
        np.concatenate([part.top for part in left]),
        np.concatenate([part.coins for part in left]),
        np.concatenate([part.signed_places for part in left]),
    )
    if rest.where.size:
        settled = settle_open(affine.standard, rest, fill, learn)
        magnitudes = magnitudes_of(affine, constants, settled, learn)
        out[rest.where] = np.where(rest.signed_places < 0, -magnitudes, magnitudes) if affine.signed else magnitudes


def split_words(standard: Standard, words: NDArray[np.uint64]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Each 64-bit word as (top word of the cell, coin, signed place): views where every bit is used."""
    quarters = words.view(np.uint16)
    top, coins, signed_places = quarters[2::4], quarters[3::4], words.view(np.int32)[0::2]
    if standard.table.guide < 16:
        top = top >> np.uint16(16 - standard.table.guide)
    if standard.coin_bits < 16:
        coins = coins >> np.uint16(16 - standard.coin_bits)
    if standard.position_bits < 31:
        signed_places = signed_places >> np.int32(31 - standard.position_bits)
    return top, coins, signed_places


def quick_pass(
    affine: Affine,
    constants: tuple[float, float, float],
    scratch: Scratch,
    out: NDArray[np.int64],
    start: int = 0,
) -> Open:
    """The draws that belong to `scratch.words`, written to `out`, and those that the words leave open."""
    standard = affine.standard
    factor, offset, certain = constants
    argument, side, whole, good = scratch.argument, scratch.side, scratch.whole, scratch.good
    top, coins, signed_places = split_words(standard, scratch.words)
    # The array is free until the next step: it holds the indices first.
    index = whole.view(np.intp)
    np.copyto(index, top)
    np.take(standard.direct, index, out=argument, mode="clip")
    # A signed place s stands for the place s if s >= 0, else for ~s = -s - 1: |s + 1/2| - 1/2 either way.
    np.copyto(side, signed_places)
    np.add(side, 0.5, out=side)
    np.abs(side, out=whole)
    np.add(argument, whole, out=argument)
    np.multiply(argument, factor, out=argument)
    np.add(argument, offset, out=argument)
    np.floor(argument, out=whole)
    np.subtract(argument, whole, out=argument)
    # False for NaN too: cells that are not decided yet.
    np.less_equal(argument, certain, out=good)
    np.greater_equal(coins, standard.sure_coin, out=scratch.sure)
    np.logical_and(good, scratch.sure, out=good)
    left = np.flatnonzero(np.logical_not(good, out=good))
    whole[left] = 0.0
    if affine.signed:
        np.copysign(whole, side, out=whole)
    np.copyto(out, whole, casting="unsafe")
    return Open(left + start, top[left], coins[left], signed_places[left])


def settle_open(standard: Standard, rest: Open, fill: Fill, learn: Learn) -> Places:
    """Cells and accepted places of the draws left open."""
    places = rest.signed_places.astype(np.int64)
    np.bitwise_xor(places, places >> 63, out=places)
    return settle(standard, rest.top, places, rest.coins.astype(np.int64), fill, learn)


def magnitudes_of(
    affine: Affine, constants: tuple[float, float, float], settled: Places, learn: Learn
) -> NDArray[np.int64]:
    """The magnitudes of settled numbers: float64 where certain, integers elsewhere."""
    bits = affine.standard.position_bits
    factor, offset, certain = constants
    argument = ((settled.cells << bits) + settled.places).astype(np.float64) * factor + offset
    whole = np.floor(argument)
    magnitudes = whole.astype(np.int64)
    good = (argument - whole <= certain) & (settled.cells < affine.standard.cell_limit)
    for i in np.flatnonzero(~good):
        magnitudes[i] = floor_exactly(affine, int(settled.cells[i]), settled.place(int(i), bits, learn))
    return magnitudes
