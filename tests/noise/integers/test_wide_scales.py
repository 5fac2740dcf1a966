"""Scales beyond float64: int64 and float64 decide only what exact arithmetic decides the same way."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dither.noise.integers.affine_noise import floor_exactly
from dither.noise.integers.gaussian import gaussian_affine
from dither.noise.integers.geometric import geometric_affine
from dither.noise.integers.laplace import laplace_affine
from dither.noise.integers.wide_scales import Split, draw_wide, draw_wide_batch, is_wide, wide_magnitudes
from dither.noise.lazy_uniform import LazyUniform

MAKERS = [geometric_affine, laplace_affine, gaussian_affine]
SCALES = [Fraction(1 << 31), Fraction(10**13, 7), Fraction((1 << 50) + 1, 3), Fraction((1 << 57) - 5)]


@pytest.mark.parametrize("make", MAKERS)
def test_only_large_scales_are_wide(make):
    assert not is_wide(make(Fraction(10**6)))
    assert all(is_wide(make(scale)) for scale in SCALES)
    assert Split.of(make(Fraction(1 << 60))) is None


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("scale", SCALES)
def test_a_split_is_exact_and_stays_within_int64(make, scale):
    affine = make(scale)
    split = Split.of(affine)
    rest = affine.step - Fraction(split.whole, 1 << split.shift)
    assert 0 <= rest < Fraction(1, 1 << split.shift)
    assert split.whole * (affine.standard.cell_limit << 31) < 1 << 62
    assert split.certain > 0.9


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("scale", [*SCALES, Fraction(1 << 60)])
def test_every_magnitude_is_that_of_exact_arithmetic(make, scale, kernel_words):
    affine = make(scale)
    count = 1000
    cells = kernel_words(np.uint16, count).astype(np.int64) % affine.standard.cell_limit
    places = kernel_words(np.uint32, count).astype(np.int64) >> 1
    more = kernel_words(np.uint64, count)
    learnt = []

    def fill(array):
        array[:] = more

    def learn():
        learnt.append(1)
        return 32, 0

    magnitudes = wide_magnitudes(affine, Split.of(affine), cells, places, {}, fill, learn)
    for i in range(count):
        place = LazyUniform((int(places[i]) << 53) | (int(more[i]) >> 11), 84, lambda: (32, 0))
        assert int(magnitudes[i]) == floor_exactly(affine, int(cells[i]), place)
    assert len(learnt) < 5


def test_no_float_error_is_large_enough_to_matter(kernel_words):
    # The largest scale with a split, and the last cell: here the bracket's roundings are as large as they get.
    affine, count = laplace_affine(Fraction((1 << 57) - 5)), 20_000
    cells = np.full(count, affine.standard.cell_limit - 1, np.int64)
    places = kernel_words(np.uint32, count).astype(np.int64) >> 1
    more = kernel_words(np.uint64, count)

    def fill(array):
        array[:] = more

    magnitudes = wide_magnitudes(affine, Split.of(affine), cells, places, {}, fill, lambda: (32, 0))
    exact = [
        floor_exactly(
            affine, int(cells[i]), LazyUniform((int(places[i]) << 53) | (int(more[i]) >> 11), 84, lambda: (32, 0))
        )
        for i in range(count)
    ]
    assert magnitudes.tolist() == exact


def test_without_slack_the_float_bracket_would_be_wrong(kernel_words):
    affine = laplace_affine(Fraction((1 << 57) - 5))
    # Planted bug: every float floor is taken as certain.
    careless = replace(Split.of(affine), certain=1.0)
    count = 6000  # about one in 130 is wrong
    cells = np.full(count, 1500, np.int64)
    places = kernel_words(np.uint32, count).astype(np.int64) >> 1
    more = kernel_words(np.uint64, count)

    def fill(array):
        array[:] = more

    magnitudes = wide_magnitudes(affine, careless, cells, places, {}, fill, lambda: (32, 0))
    exact = [
        floor_exactly(affine, 1500, LazyUniform((int(places[i]) << 53) | (int(more[i]) >> 11), 84))
        for i in range(count)
    ]
    assert any(int(m) != e for m, e in zip(magnitudes, exact, strict=True))


def test_places_known_better_and_cells_beyond_the_limit_are_settled_exactly(kernel_words):
    affine = gaussian_affine(Fraction(1 << 40))
    cells = np.array([5, 6, 5000], np.int64)
    places = np.array([7, 8, 9], np.int64)
    refined = {1: LazyUniform((8 << 60) | 12345, 91)}

    def fill(array):
        array[:] = 1 << 63

    magnitudes = wide_magnitudes(affine, Split.of(affine), cells, places, refined, fill, lambda: (32, 0))
    assert int(magnitudes[1]) == floor_exactly(affine, 6, LazyUniform((8 << 60) | 12345, 91))
    assert int(magnitudes[2]) == floor_exactly(affine, 5000, LazyUniform((9 << 53) | (1 << 52), 84))


def test_a_batch_settles_open_draws_and_keeps_places_that_became_known_better(script):
    affine = gaussian_affine(Fraction(1 << 40))
    standard = affine.standard
    top = int(np.flatnonzero(standard.table.direct == 300)[0])
    place = 1 << 29
    exponent = standard.exponent(300, Fraction(place, 1 << 31))
    first = int(exponent * (1 << 48)) + 3
    words = np.empty(1, np.uint64)
    words.view(np.uint16)[2] = top
    words.view(np.uint16)[3] = first >> 32
    words.view(np.int32)[0] = ~place
    # V1 lies so close to the exponent that T and V1 must learn bits; ones for V1 (first asked) lift it above.
    source = script([words, np.uint32(first & 0xFFFFFFFF), np.uint32(0xFFFFFFFF), np.uint64(0)], bits=[1, 0] * 40)
    drawn = draw_wide_batch(affine, Split.of(affine), 1, source.fill, source.learn)
    assert len(source.bits) < 80
    assert drawn[0] < 0
    assert abs(int(drawn[0]) - (-(300 + place / 2**31) * 2**32)) < 10


@pytest.mark.parametrize(
    ("make", "signed"), [(geometric_affine, False), (laplace_affine, True), (gaussian_affine, True)]
)
def test_draws_at_the_largest_scale_are_python_ints_where_int64_is_too_small(make, signed):
    draws = draw_wide(make(Fraction(1 << 60)), 12_000)
    scaled = draws.astype(float) / 2.0**60
    assert 0.9 < np.abs(scaled).mean() < 1.1 or 0.7 < np.abs(scaled).mean() < 0.9
    assert (scaled.min() < 0) == signed
    assert all(isinstance(x, int) for x in draws) if draws.dtype == object else draws.dtype == np.int64


def test_batches_of_both_kinds_are_joined():
    # Batches of 20 draws of mean 2**60: one draw in e^8 passes 2**63, so about 34 batches of 5,000 have one.
    draws = draw_wide(geometric_affine(Fraction(1 << 60)), 100_000, batch=20)
    assert draws.dtype == object
    assert max(draws) > 1 << 63
    assert min(draws) >= 0
