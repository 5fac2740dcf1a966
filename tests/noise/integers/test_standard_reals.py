"""The coin exp(-G) in exact arithmetic, and the pieces of the standard laws."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dither.exact.balls import ball
from dither.noise.integers.geometric_tail import GeometricDistribution
from dither.noise.integers.standard_reals import HalfNormalCells, accepts, build_standard, exponential, half_normal
from dither.noise.integers.table import UNDECIDED, build_table
from dither.noise.lazy_uniform import LazyUniform


def coarse_exponential(**widths):
    step = Fraction(1, 2)
    return build_standard(
        build_table(GeometricDistribution(1 / step), 8, 4), step, tilt=step, curve=Fraction(0), **widths
    )


def coarse_half_normal(**widths):
    step = Fraction(1, 2)
    return build_standard(build_table(HalfNormalCells(step), 8, 4), step, Fraction(0), step * step, **widths)


def acceptance_bounds(standard, cell, script, bit_leaves, depth):
    """Mass of bit strings that accept, and that accept or are cut off: they bracket the chance to accept."""
    accepted = unresolved = Fraction(0)

    def run(bits):
        source = script(bits=bits)
        place = LazyUniform(learn=source.learn)
        return accepts(standard, cell, place, learn=source.learn)

    for bits, result in bit_leaves(run, depth):
        accepted += Fraction(result is True, 1 << len(bits))
        unresolved += Fraction(result is None, 1 << len(bits))
    return accepted, accepted + unresolved


@pytest.mark.parametrize("cell", [0, 1, 5])
def test_the_coin_accepts_a_uniform_place_with_the_mean_of_exp_minus_g_for_the_exponential(
    cell, script, bit_leaves, certified
):
    low, high = acceptance_bounds(coarse_exponential(), cell, script, bit_leaves, 14)
    step = ball(Fraction(1, 2))
    mean_low, mean_high = certified(lambda: (1 - (-step).exp()) / step)
    assert low <= mean_low <= mean_high <= high
    assert high - low < Fraction(1, 20)


# Cell 6 has G up to 1.6: there the coin is made of two, and more paths are cut off.
@pytest.mark.parametrize(("cell", "cut_off"), [(0, 0.1), (1, 0.2), (2, 0.25), (6, 0.5)])
def test_the_coin_accepts_a_uniform_place_with_the_mean_of_exp_minus_g_for_the_half_normal(
    cell, cut_off, script, bit_leaves, certified
):
    low, high = acceptance_bounds(coarse_half_normal(), cell, script, bit_leaves, 12)

    def mean():
        # The integral of exp(-x^2/2) over the cell, over its width and its largest value.
        left, right = ball(Fraction(cell, 2)), ball(Fraction(cell + 1, 2))
        mass = (ball(1).atan() * 2).sqrt() * ((right / ball(2).sqrt()).erf() - (left / ball(2).sqrt()).erf())
        return mass * 2 / (-left * left / 2).exp()

    mean_low, mean_high = certified(mean)
    assert low <= mean_low <= mean_high <= high
    assert high - low < cut_off


def test_cells_with_large_exponents_accept_as_rarely_as_they_should():
    # Cell 30 of the coarse half-normal: G = 7.5 T + T^2/8 and the mean of exp(-G) is 0.131; one coin gives above 0.3.
    standard = coarse_half_normal()
    accepted = sum(accepts(standard, 30, LazyUniform()) for _ in range(4000))
    assert 300 < accepted < 750


def test_a_coin_with_the_wrong_exponent_is_noticed(script, bit_leaves, certified):
    # Planted bug: half the tilt, so too many places are accepted.
    low, _ = acceptance_bounds(replace(coarse_exponential(), tilt=Fraction(1, 4)), 0, script, bit_leaves, 14)
    step = ball(Fraction(1, 2))
    assert not low <= certified(lambda: (1 - (-step).exp()) / step)[0]


def test_known_coins_are_used_in_order(script):
    source = script()
    # V1 > G accepts at once; V1 < G < V2 rejects; V1 < G, V2 < V1 < V3 accepts.
    standard = coarse_exponential()
    place = LazyUniform(1, 1, source.learn)  # T in [1/2, 1): G in [1/4, 1/2)
    high, low, lower = (LazyUniform(word, 4, source.learn) for word in (15, 2, 1))
    assert accepts(standard, 0, place, [high])
    assert not accepts(standard, 0, place, [low, high])
    assert accepts(standard, 0, place, [low, lower, high])


@pytest.mark.parametrize("make", [exponential, half_normal])
def test_a_sure_coin_accepts_at_every_place_of_every_directly_decided_cell(make):
    standard = make()
    decided = ~np.isnan(standard.direct)
    assert decided.mean() > 0.98
    cells = (standard.direct[decided] + 0.5) * 2.0**-standard.position_bits
    assert np.array_equal(cells, standard.table.direct[decided])
    assert UNDECIDED not in cells
    largest = max(standard.exponent(int(cells.max()), Fraction(1)), standard.exponent(0, Fraction(1)))
    assert Fraction(standard.sure_coin, 1 << standard.coin_bits) >= largest
    assert standard.sure_coin < 0.02 * (1 << standard.coin_bits)


@pytest.mark.parametrize("make", [exponential, half_normal])
def test_the_slope_bounds_the_exponent_and_its_growth(make):
    standard = make()
    for cell in (0, 1, 77, 4096, 10**6):
        for place in (Fraction(0), Fraction(1, 3), Fraction(99, 100)):
            growth = standard.exponent(cell, place + Fraction(1, 100)) - standard.exponent(cell, place)
            assert 0 <= growth <= standard.slope(cell) / 100
        assert standard.exponent(cell, Fraction(1)) <= standard.slope(cell)


@pytest.mark.parametrize("make", [exponential, half_normal])
def test_slopes_are_exact_as_floats(make):
    standard = make()
    for cell in (0, 1, 77, standard.cell_limit):
        b, c = (Fraction(number) for number in standard.slopes(float(cell)))
        t = Fraction(2, 7)
        assert (b + c * t) * t == standard.exponent(cell, t)


def test_exponents_are_the_logarithms_of_the_density_ratio():
    e, n = exponential(), half_normal()
    t = Fraction(2, 7)
    assert e.exponent(5, t) == e.step * t
    assert n.exponent(5, t) == ((n.step * (5 + t)) ** 2 - (n.step * 5) ** 2) / 2
