"""Draws one by one: every path of small words has exactly the probability of the law."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction

import pytest

from dither.exact.balls import ball, outward, whole_part
from dither.exact.precision import precision
from dither.noise.entropy import random_bits
from dither.noise.integers.distribution import locate
from dither.noise.integers.gaussian import RoundedGaussianDistribution, gaussian_affine
from dither.noise.integers.geometric import geometric_affine
from dither.noise.integers.geometric_tail import GeometricDistribution
from dither.noise.integers.laplace import LaplaceDistribution, laplace_affine, laplace_shift
from dither.noise.integers.single_draws import accepted_place, draw_one
from dither.noise.integers.standard_reals import HalfNormalCells, build_standard, half_normal
from dither.noise.integers.table import build_table
from dither.noise.lazy_uniform import LazyUniform, fresh_uniform


@pytest.mark.parametrize(
    "law",
    [LaplaceDistribution(Fraction(3)), GeometricDistribution(Fraction(3)), RoundedGaussianDistribution(Fraction(3))],
    ids=str,
)
def test_single_table_draws_have_exactly_the_probabilities_of_the_law(law, script, bit_leaves, certified):
    table = build_table(law, 8, 4)
    mass: dict[int | None, Fraction] = defaultdict(Fraction)
    for word in range(256):

        def run(bits, word=word):
            return table.one(lambda width: word, script(bits=bits).learn)

        for bits, value in bit_leaves(run, 8):
            mass[value] += Fraction(1, 256 << len(bits))
    assert sum(mass.values()) == 1
    unresolved = mass.pop(None)
    assert unresolved < Fraction(1, 500)

    def tail(k):
        return certified(lambda: law.tail(k)) if k >= 0 else (Fraction(1), Fraction(1))

    for k, probability in mass.items():
        size = abs(k)
        if law.symmetric and k == 0:
            bounds = [1 - 2 * end for end in reversed(tail(0))]
        else:
            bounds = [tail(size - 1)[0] - tail(size)[1], tail(size - 1)[1] - tail(size)[0]]
        assert probability <= bounds[1]
        assert bounds[0] <= probability + unresolved


def small_standard(law_of, tilt, curve):
    step = Fraction(1, 4)
    return build_standard(build_table(law_of(step), 8, 4), step, tilt * step, curve * step * step, cell_limit=8)


STANDARDS = {
    "exponential": lambda: small_standard(lambda step: GeometricDistribution(1 / step), 1, 0),
    "half-normal": lambda: small_standard(HalfNormalCells, 0, 1),
}


class Redrawn(Exception):
    """The place was rejected."""


@pytest.mark.parametrize("name", STANDARDS)
@pytest.mark.parametrize("cell", [0, 3, 9])
def test_every_path_accepts_a_place_with_the_mean_of_exp_minus_g_over_it(name, cell, script, bit_leaves, certified):
    # Cell 9 lies beyond the limit: no float decides there.
    standard = STANDARDS[name]()
    for place in range(4):
        low = high = Fraction(0)
        for coin in range(16):
            for second in range(16):

                def run(bits, place=place, coin=coin, second=second):
                    words = [place, coin, second]

                    def source(width):
                        if (len(words) == 3 and width == 2) or (words and width == 4):
                            return words.pop(0)
                        raise Redrawn

                    try:
                        found = accepted_place(standard, cell, source, script(bits=bits).learn, 2, 4)
                    except Redrawn:
                        return "rejected"
                    assert found.prefix >> (found.bits - 2) == place
                    return "accepted"

                for bits, result in bit_leaves(run, 6):
                    mass = Fraction(1, 256 << len(bits))
                    low += mass * (result == "accepted")
                    high += mass * (result != "rejected")

        def mean(place=place):
            steps = 256
            values = [
                (-ball(standard.exponent(cell, Fraction(place, 4) + Fraction(i, 4 * steps)))).exp()
                for i in range(steps + 1)
            ]
            return (sum(values[1:], ball(0)) / steps).union(sum(values[:-1], ball(0)) / steps)

        mean_low, mean_high = certified(mean, 64)
        assert low <= mean_high
        assert mean_low <= high
        assert high - low < Fraction(1, 5)


@pytest.mark.parametrize("name", STANDARDS)
@pytest.mark.parametrize("place", [300, 700, 1000])
def test_coins_of_few_bits_are_decided_by_floats_only_where_the_unknown_bits_allow(
    name, place, script, bit_leaves, certified
):
    standard = STANDARDS[name]()
    low = high = Fraction(0)
    for coin in range(16):
        for second in range(16):

            def run(bits, coin=coin, second=second):
                words = [place, coin, second]

                def source(width):
                    if not words:
                        raise Redrawn
                    return words.pop(0)

                try:
                    accepted_place(standard, 3, source, script(bits=bits).learn, 10, 4)
                except Redrawn:
                    return False
                return True

            for bits, accepted in bit_leaves(run, 8):
                low += Fraction(accepted is True, 256 << len(bits))
                high += Fraction(accepted is not False, 256 << len(bits))
    largest = certified(lambda: (-ball(standard.exponent(3, Fraction(place, 1 << 10)))).exp())[1]
    smallest = certified(lambda: (-ball(standard.exponent(3, Fraction(place + 1, 1 << 10)))).exp())[0]
    assert low <= largest
    assert smallest <= high
    assert high - low < Fraction(1, 50)


def test_cells_beyond_the_limit_accept_as_rarely_as_they_should():
    # Steps of 1/2, cell 30: the mean of exp(-G) is 0.131, so a place takes 7.6 tries; with floats alone about three.
    step = Fraction(1, 2)
    standard = build_standard(build_table(HalfNormalCells(step), 8, 4), step, Fraction(0), step * step, cell_limit=8)
    tries = []

    def source(bits):
        tries.append(bits == 95)
        return random_bits(bits)

    for _ in range(400):
        accepted_place(standard, 30, source)
    assert 2300 < sum(tries) < 4000


def test_a_run_of_two_accepts(script):
    standard = half_normal()
    exponent = standard.exponent(300, Fraction(1, 4))
    words = iter([1 << 93, int(exponent * (1 << 48)) - (1 << 20), 0])
    found = accepted_place(standard, 300, lambda width: next(words), script(bits=[1] * 60).learn)
    assert found.prefix == 1 << 93


@pytest.mark.parametrize("make", [geometric_affine, laplace_affine, gaussian_affine])
def test_a_draw_takes_its_cell_place_and_sign_from_the_words(make):
    affine = make(Fraction(1000))
    word = int(affine.standard.table.boundaries[200]) + 1
    place, coin = 1 << 94, (1 << 48) - 1
    for sign in (0, 1):
        words = iter([word, place, coin, sign])
        drawn = draw_one(affine, lambda width, words=words: next(words))
        expected = int(affine.factor * (201 + Fraction(1, 2)) + Fraction(affine.offset(64)[0], 1 << 64))
        assert drawn == (-expected if sign and affine.signed else expected)


@pytest.mark.parametrize(
    "law",
    [LaplaceDistribution(Fraction(50)), GeometricDistribution(Fraction(50)), RoundedGaussianDistribution(Fraction(50))],
    ids=str,
)
def test_locating_a_number_in_a_law_agrees_with_its_tail(law, certified):
    for _ in range(100):
        uniform = fresh_uniform(64)
        low, high = uniform.ends()
        k = locate(law, uniform)

        def below(k):
            if k >= 0:
                return 1 - certified(lambda: law.tail(k))[0]
            return certified(lambda: law.tail(-k - 1))[1] if law.symmetric else Fraction(0)

        assert below(k - 1) <= high
        assert low <= below(k)


def test_a_number_of_which_nothing_is_known_cannot_be_located():
    with pytest.raises(ValueError, match="negative shift count"):
        locate(LaplaceDistribution(Fraction(1)), LazyUniform())


@pytest.mark.parametrize("scale", [Fraction(1, 1000), Fraction(1), Fraction(1 << 60)])
def test_the_shift_of_the_laplace_law_keeps_its_digits(scale):
    low, high = laplace_affine(scale).offset(400)
    assert high - low <= 3
    assert 0 < low < high <= 1 << 399
    with precision(600):
        shift = laplace_shift(scale)
        assert shift > ball(Fraction(low - 1, 1 << 400))
        assert shift < ball(Fraction(high + 1, 1 << 400))
        # (1 + q)/2 = exp(-c/scale)
        q = (-1 / ball(scale)).exp()
        assert ((1 + q) / 2).overlaps((-shift / ball(scale)).exp())


def test_whole_parts_are_given_only_where_they_are_certain():
    with precision(64):
        third = ball(Fraction(1, 3))
        assert whole_part(third) == 0
        assert whole_part(third * 3) is None
        assert outward(third * 3) == (0, 2)
        assert outward(ball(5)) == (5, 5)
