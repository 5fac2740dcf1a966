"""Float64 decides a draw only where exact arithmetic gives the same value at every place the words allow."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dither.noise.entropy import learn_bits
from dither.noise.integers.affine_noise import (
    BATCH,
    Affine,
    Scratch,
    draw,
    draw_batch,
    float_constants,
    floor_exactly,
    magnitudes_of,
    quick_pass,
    rational_offset,
    split_words,
)
from dither.noise.integers.gaussian import gaussian_affine
from dither.noise.integers.geometric import geometric_affine
from dither.noise.integers.geometric_tail import GeometricDistribution
from dither.noise.integers.laplace import laplace_affine
from dither.noise.integers.open_draws import Places
from dither.noise.integers.standard_reals import HalfNormalCells, build_standard
from dither.noise.integers.table import build_table
from dither.noise.lazy_uniform import LazyUniform

MAKERS = [geometric_affine, laplace_affine, gaussian_affine]
SCALES = [Fraction(1, 1000), Fraction(1, 3), Fraction(1), Fraction(355, 113), Fraction(10**6), Fraction(10**8 + 7, 3)]


def small_affines():
    widths = {"position_bits": 3, "coin_bits": 2, "more_bits": 2, "cell_limit": 64}
    step = Fraction(1, 4)
    exponential = build_standard(build_table(GeometricDistribution(1 / step), 8, 5), step, step, Fraction(0), **widths)
    half_normal = build_standard(build_table(HalfNormalCells(step), 8, 5), step, Fraction(0), step * step, **widths)
    for scale in (Fraction(1, 3), Fraction(2), Fraction(7, 3), Fraction(5)):
        yield Affine(exponential, scale * step, rational_offset(Fraction(0)), signed=False)
        yield Affine(exponential, scale * step, laplace_affine(scale).offset, signed=True)
        yield Affine(half_normal, scale * step, rational_offset(Fraction(1, 2)), signed=True)


def run_quick_pass(affine, words, constants=None):
    scratch = Scratch.of(words.size)
    scratch.words[:] = words
    out = np.empty(words.size, np.int64)
    left = quick_pass(affine, constants or float_constants(affine), scratch, out)
    return out, left


def wrong_draws(affine, words, script, constants=None):
    """How many draws the quick pass decides against, or without, exact arithmetic; and how many it decides."""
    standard = affine.standard
    out, left = run_quick_pass(affine, words, constants)
    top, coins, signed_places = split_words(standard, words)
    decided = np.setdiff1d(np.arange(words.size), left.where)
    wrong = 0
    for i in decided:
        cell, signed_place = int(standard.table.direct[top[i]]), int(signed_places[i])
        place = signed_place if signed_place >= 0 else ~signed_place
        highest = standard.exponent(cell, Fraction(place + 1, 1 << standard.position_bits))
        certain_coin = Fraction(int(coins[i]), 1 << standard.coin_bits) >= highest
        try:
            magnitude = floor_exactly(affine, cell, LazyUniform(place, standard.position_bits, script().learn))
        except Exception as uncertain:
            if type(uncertain).__name__ != "OutOfBits":
                raise
            magnitude = None
        expected = -magnitude if magnitude and affine.signed and signed_place < 0 else magnitude
        wrong += cell < 0 or not certain_coin or expected != out[i]
    return wrong, decided.size


def join(top, coins, signed_places):
    """64-bit words from their parts."""
    words = np.empty(len(top), np.uint64)
    words.view(np.uint16)[2::4] = top
    words.view(np.uint16)[3::4] = coins
    words.view(np.int32)[0::2] = signed_places
    return words


def all_small_words():
    parts = np.array([(t, c, p) for t in range(32) for c in range(4) for p in range(-8, 8)])
    return join(parts[:, 0] << 11, parts[:, 1] << 14, parts[:, 2] << 28)


def adversarial_words(affine):
    """Words on both sides of the places where the magnitude changes."""
    standard = affine.standard
    shift = Fraction(affine.offset(64)[0], 1 << 64)
    cells = np.unique(standard.table.direct[~np.isnan(standard.direct)]).astype(int)
    top_of = {int(cell): int(np.flatnonzero(standard.table.direct == cell)[0]) for cell in cells[::7]}
    parts = []
    for cell, top in top_of.items():
        start = affine.factor * cell + shift
        boundary = int((int(start + affine.factor / 3) + 1 - shift) / affine.step) - (cell << 31)
        for near in range(-3, 4):
            if 0 <= boundary + near < 1 << 31:
                parts += [(top, 0xFFFF, boundary + near), (top, standard.sure_coin, ~(boundary + near))]
    return join(*np.array(parts).T) if parts else np.empty(0, np.uint64)


def test_every_small_word_is_decided_as_exact_arithmetic_decides_it(script):
    for affine in small_affines():
        wrong, decided = wrong_draws(affine, all_small_words(), script)
        assert wrong == 0
        assert decided > 50


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("scale", SCALES)
def test_random_and_adversarial_words_are_decided_as_exact_arithmetic_decides_them(make, scale, script, kernel_words):
    affine = make(scale)
    words = np.concatenate([kernel_words(np.uint64, 1000), adversarial_words(affine)])
    wrong, decided = wrong_draws(affine, words, script)
    assert wrong == 0
    assert decided > 800


@pytest.mark.parametrize("make", MAKERS)
def test_adversarial_words_catch_a_float_path_without_slack(make, script):
    affine = make(Fraction(10**6))
    factor, offset, _ = float_constants(affine)
    # Planted bug: the float's own floor is taken as certain.
    wrong, _ = wrong_draws(affine, adversarial_words(affine), script, (factor, offset, 1.0))
    assert wrong > 0


@pytest.mark.parametrize("make", MAKERS)
def test_the_float_argument_is_within_its_proven_bound(make, kernel_words):
    for i in range(400):
        scale = Fraction(int(kernel_words(np.uint32, 1)[0]) + 10, int(kernel_words(np.uint32, 1)[0] >> (i % 32)) + 1)
        if not Fraction(1, 1000) <= scale <= 1 << 31:
            continue
        affine = make(scale)
        factor, offset, certain = float_constants(affine)
        low, high = (Fraction(end, 1 << 200) for end in affine.offset(200))
        assert high - low < Fraction(1, 1 << 150)
        assert Fraction(certain) <= 1 - affine.slack
        for n in [0, 1, (affine.standard.cell_limit << 31) - 1, *(kernel_words(np.uint64, 20) >> np.uint64(21))]:
            argument = Fraction(float(np.float64(int(n)) * factor + offset))
            assert argument <= affine.step * int(n) + low
            assert affine.step * (int(n) + 1) + high <= argument + affine.slack


def test_floor_exactly_waits_until_the_offset_is_known_well_enough(script):
    """Of this offset, which is 1/2, nothing is known at first."""
    affine = Affine(None, Fraction(1), lambda bits: (1 << bits - 1,) * 2 if bits > 67 else (0, 1 << bits), signed=False)
    # T in [1/4, 1/2) and then [1/4, 9/32): T + 1/2 is below 1, but T + 1 is not.
    assert floor_exactly(affine, 0, LazyUniform(1, 2, script(bits=[0, 0, 0]).learn)) == 0


@pytest.mark.parametrize(("place", "sign"), [(0, 1), (0xFFFFFFFF, -1), (1, 1), (0xFFFFFFFE, -1)])
def test_signs_of_draws_that_the_quick_pass_leaves_open(place, sign, script):
    """The smallest places too: one of both signs."""
    affine = laplace_affine(Fraction(1000))
    top = int(np.flatnonzero(affine.standard.table.direct == 300)[0])
    # A first coin of 16 zeros is not sure to accept; 32 ones more are.
    source = script([np.uint64(top << 32 | place), 0xFFFFFFFF, 0])
    out = np.empty(1, np.int64)
    draw_batch(affine, out, source.fill, source.learn)
    assert source.words == []
    assert out[0] * sign == 2344  # 1000 * 300/128 and an offset near 1/2


def test_floor_exactly_learns_bits_until_the_floor_is_certain(script):
    affine = Affine(gaussian_affine(Fraction(1)).standard, Fraction(3), rational_offset(Fraction(1, 2)), signed=True)
    # 3 T + 1/2 passes 1 at T = 1/6 = 0.0010101...: after 00101 the interval [5, 6)/32 still straddles it.
    place = LazyUniform(5, 5, script(bits=[0, 1, 1]).learn)
    assert floor_exactly(affine, 0, place) == 1
    assert (place.prefix, place.bits) == (0b00101011, 8)
    assert floor_exactly(affine, 0, LazyUniform(5, 5, script(bits=[0, 0]).learn)) == 0
    assert floor_exactly(affine, 10**30, LazyUniform(0, 1, learn_bits)) in (3 * 10**30, 3 * 10**30 + 1)


def test_a_whole_number_at_the_end_of_the_interval_needs_no_more_bits(script):
    affine = Affine(gaussian_affine(Fraction(1)).standard, Fraction(4), rational_offset(Fraction(0)), signed=False)
    assert floor_exactly(affine, 2, LazyUniform(1, 2, script().learn)) == 9


def test_draws_left_open_keep_their_sign_and_their_cell(script):
    affine = gaussian_affine(Fraction(10**6))
    top = int(np.flatnonzero(affine.standard.table.direct == 200)[0])
    out = np.empty(2, np.int64)
    place = 1 << 30
    just_open = affine.standard.sure_coin - 1
    words = join(np.array([top, top]), np.array([just_open] * 2), np.array([place, ~place]))
    # The quick pass leaves these coins open; they lie above this cell's exponent and accept.
    source = script([words, np.full(2, 0xFFFFFFFF, np.uint32), np.zeros(2, np.uint32)])
    draw_batch(affine, out, source.fill, source.learn)
    expected = floor_exactly(affine, 200, LazyUniform(place, 31))
    assert out.tolist() == [expected, -expected]


def test_uncertain_floors_are_settled_in_integers():
    affine = gaussian_affine(Fraction(1 << 30))
    words = adversarial_words(affine)
    out, left = run_quick_pass(affine, words)
    assert left.where.size > 10
    queue = [words]

    def fill(array):
        # Coins of all ones accept every place.
        array[:] = queue.pop(0) if queue else np.iinfo(array.dtype).max

    drawn = np.empty(words.size, np.int64)
    draw_batch(affine, drawn, fill)
    decided = np.setdiff1d(np.arange(words.size), left.where)
    assert np.array_equal(drawn[decided], out[decided])
    for i, top, signed_place in zip(left.where, left.top, left.signed_places, strict=True):
        place = int(signed_place) if signed_place >= 0 else ~int(signed_place)
        start = (int(affine.standard.table.direct[top]) << 31) + place
        ends = {int(affine.step * n + Fraction(1, 2)) for n in (start, start + 1)}
        assert abs(int(drawn[i])) in ends


def test_cells_beyond_the_limit_are_never_left_to_floats():
    affine = gaussian_affine(Fraction(1 << 29, 3))
    cells = np.arange(10**9, 10**9 + 500)
    places = np.arange(500) * 4_000_003
    found = magnitudes_of(affine, float_constants(affine), Places(cells, places, {}), lambda: (32, 0))
    exact = [
        floor_exactly(affine, int(c), LazyUniform(int(p), 31, lambda: (32, 0)))
        for c, p in zip(cells, places, strict=True)
    ]
    assert found.tolist() == exact


def test_nothing_left_open_is_fine(script):
    affine = gaussian_affine(Fraction(10))
    top = int(np.flatnonzero(affine.standard.table.direct == 3)[0])
    out = np.empty(1, np.int64)
    source = script([join(np.array([top]), np.array([0xFFFF]), np.array([5]))])
    draw_batch(affine, out, source.fill)
    assert out[0] == 0


@pytest.mark.parametrize("count", [0, 1, 70_001, BATCH + 5])
def test_any_number_of_draws(count):
    draws = draw(gaussian_affine(Fraction(1000)), count)
    assert draws.shape == (count,)
    assert draws.dtype == np.int64
    assert count < 10_000 or 980 < draws.std() < 1020


def test_geometric_draws_have_no_sign():
    draws = draw(geometric_affine(Fraction(1000)), 60_000)  # the mean is off by 4 or so, never by 50
    assert draws.min() >= 0
    assert 950 < draws.mean() < 1050
