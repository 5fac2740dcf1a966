"""The careful path: float64 decides only what exact arithmetic would decide the same way."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dither.noise.entropy import keystream
from dither.noise.integers.geometric_tail import GeometricDistribution
from dither.noise.integers.open_draws import settle
from dither.noise.integers.standard_reals import HalfNormalCells, build_standard, exponential, half_normal
from dither.noise.integers.table import build_table

SMALL = {"position_bits": 2, "coin_bits": 2, "more_bits": 2, "cell_limit": 8}


def small_exponential():
    step = Fraction(1, 4)
    return build_standard(
        build_table(GeometricDistribution(1 / step), 8, 4), step, tilt=step, curve=Fraction(0), **SMALL
    )


def small_half_normal():
    step = Fraction(1, 4)
    return build_standard(build_table(HalfNormalCells(step), 8, 4), step, Fraction(0), step * step, **SMALL)


def top_word_of(table, cell):
    return int(np.flatnonzero(table.direct == cell)[0])


class Redrawn(Exception):
    """The place was rejected: the sampler asks for another."""


def acceptance(standard, cell, place, script, bit_leaves, depth=9):
    """Bounds on the chance that a place with these first bits is accepted: every word and bit of the coin walked."""
    low = high = Fraction(0)
    top = np.array([top_word_of(standard.table, cell)], np.uint16)
    for coin in range(4):
        for more in range(4):
            for second in range(4):

                def run(bits, coin=coin, more=more, second=second):
                    source = script([more << 30, second << 30], bits)

                    def fill(array):
                        if array.size and not source.words:
                            raise Redrawn
                        source.fill(array)

                    places, coins = np.array([place], np.int64), np.array([coin], np.int64)
                    try:
                        settled = settle(standard, top, places, coins, fill, source.learn)
                    except Redrawn:
                        return "rejected"
                    assert settled.cells[0] == cell
                    assert settled.place(0, 2).prefix >> (settled.place(0, 2).bits - 2) == place
                    return "accepted"

                for bits, result in bit_leaves(run, depth):
                    mass = Fraction(1, 64 << len(bits))
                    low += mass * (result == "accepted")
                    high += mass * (result != "rejected")
    return low, high


@pytest.mark.parametrize("make", [small_exponential, small_half_normal])
@pytest.mark.parametrize("cell", [0, 1, 3])
def test_every_path_of_small_words_accepts_a_place_with_the_mean_of_exp_minus_g_over_it(
    make, cell, script, bit_leaves, certified
):
    from flint import arb

    standard = make()
    for place in range(4):
        low, high = acceptance(standard, cell, place, script, bit_leaves)

        def mean(place=place):
            # A lower and an upper sum of exp(-G) over small steps of the quarter: G grows with the place.
            steps = 512
            at = [
                (-arb(1) * arb(e.numerator) / arb(e.denominator)).exp()
                for e in (
                    standard.exponent(cell, Fraction(place, 4) + Fraction(i, 4 * steps)) for i in range(steps + 1)
                )
            ]
            return (sum(at[1:]) / steps).union(sum(at[:-1]) / steps)

        mean_low, mean_high = certified(mean, 64)
        assert low <= mean_high
        assert mean_low <= high
        assert high - low < Fraction(1, 30)


@pytest.mark.parametrize("make", [exponential, half_normal])
def test_decisions_at_full_width_are_those_of_exact_arithmetic(make, kernel_words):
    """First coins at random, and right at the exponent, where the float alone cannot tell."""
    standard = make()
    tops = np.flatnonzero(~np.isnan(standard.direct)).astype(np.uint16)
    seen = {True: 0, False: 0}
    for i in range(600):
        top = tops[kernel_words(np.uint32, 1) % tops.size]
        place = kernel_words(np.uint32, 1).astype(np.int64) >> 1
        cell = int(standard.table.direct[top][0])
        lowest, highest = (standard.exponent(cell, Fraction(int(place[0]) + end, 1 << 31)) for end in (0, 1))
        off = int(kernel_words(np.int32, 1)[0]) >> (i % 33)
        first = max(0, int(lowest * (1 << 48)) + off)
        second = kernel_words(np.uint32, 1)
        words = [np.uint32(first & 0xFFFFFFFF), second]

        def fill(array, words=words):
            if array.size and not words:
                raise Redrawn
            array[:] = words.pop(0) if array.size else array

        try:
            settle(standard, top, place, np.array([first >> 32]), fill)
            accepted = True
        except Redrawn:
            accepted = False
        seen[accepted] += 1
        first_low, first_high = Fraction(first, 1 << 48), Fraction(first + 1, 1 << 48)
        if first_low >= highest:
            assert accepted
        elif first_high <= lowest and Fraction(int(second[0]), 1 << 32) >= first_high:
            assert not accepted
    assert min(seen.values()) > 50


def test_cells_beyond_the_limit_are_settled_exactly(script):
    standard = small_half_normal()
    # Word 255 is the last boundary word: with 24 more ones the cell lies far out.
    far = np.array([15], np.uint16)
    source = script([15 << 12, 3 << 30, 3 << 30], [1] * 60)
    settled = settle(standard, far, np.array([2]), np.array([3]), source.fill, source.learn)
    assert settled.cells[0] >= standard.cell_limit
    assert settled.refined[0].prefix >> (settled.refined[0].bits - 2) == 2


def test_rejected_places_are_drawn_again_within_their_cell():
    standard = half_normal()
    count = 20_000
    # Coins of zero are below every exponent: nearly all first places are rejected.
    top = np.full(count, top_word_of(standard.table, 100), np.uint16)
    fill = keystream(1 << 20)
    first = np.full(count, 1 << 30, np.int64)
    settled = settle(standard, top, first.copy(), np.zeros(count, np.int64), fill)
    assert (settled.cells == 100).all()
    assert (settled.places != first).mean() > 0.99
    assert 0 <= settled.places.min() < 1 << 22
    assert (1 << 31) - (1 << 22) < settled.places.max() < 1 << 31


def near_the_exponent(standard, cell, place, below):
    """A first coin of 48 bits that lies this far below the exponent of a place."""
    return int(standard.exponent(cell, Fraction(place, 1 << 31)) * (1 << 48)) - below


def test_a_place_rejected_after_learning_its_bits_is_forgotten(script):
    standard = half_normal()
    place, again = 1 << 29, 12345
    first = near_the_exponent(standard, 300, place, below=-1)
    # V1 and T must learn bits to be told apart: zeros for V1 and ones for T put V1 below G; V2 above V1 rejects.
    source = script([first & 0xFFFFFFFF, 0xFFFFFFFF, again << 1, 0xFFFFFFFF, 0, 0], [0, 1] * 40)
    top = np.array([top_word_of(standard.table, 300)], np.uint16)
    settled = settle(standard, top, np.array([place]), np.array([first >> 32]), source.fill, source.learn)
    assert len(source.bits) < 80
    assert settled.places.tolist() == [again]
    assert settled.refined == {}


@pytest.mark.parametrize("second", [0, 1])
def test_a_run_of_two_accepts(script, second):
    standard = half_normal()
    place = 1 << 29
    first = near_the_exponent(standard, 300, place, below=1 << 30)
    # G > V1 > V2 = 0.00..., and a third coin of ones.
    source = script([first & 0xFFFFFFFF, second], [1] * 40)
    top = np.array([top_word_of(standard.table, 300)], np.uint16)
    settled = settle(standard, top, np.array([place]), np.array([first >> 32]), source.fill, source.learn)
    assert settled.places.tolist() == [place]


def test_coins_that_begin_alike_are_told_apart_by_more_bits(script):
    standard = half_normal()
    place = 1 << 29
    # V1 is known to 48 bits, the last 16 of them 0; V2 to 32 bits, the same.
    second = near_the_exponent(standard, 300, place, below=1 << 30) >> 16
    first = second << 16
    # In turn, V2 learns zeros and V1 ones, until V2 is surely smaller; then a third coin of ones.
    source = script([first & 0xFFFFFFFF, second], [0, 1] * 17 + [1] * 2)
    top = np.array([top_word_of(standard.table, 300)], np.uint16)
    settled = settle(standard, top, np.array([place]), np.array([first >> 32]), source.fill, source.learn)
    assert settled.places.tolist() == [place]
    assert source.bits == []
