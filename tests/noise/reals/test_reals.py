"""Continuous laws on a grid: every path of few bits, the exact probabilities, and draws against them."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dither.errors import ParameterError
from dither.exact.balls import ball
from dither.exact.precision import precision
from dither.noise.lazy_uniform import LazyUniform
from dither.noise.reals.cauchy import Cauchy, GeneralisedCauchy
from dither.noise.reals.gaussian import RealGaussian
from dither.noise.reals.laplace import RealLaplace
from dither.noise.reals.laplace_log_normal import LaplaceLogNormal
from dither.noise.reals.lomax import Lomax
from dither.noise.reals.rounded_reals import (
    Real,
    Rounding,
    Source,
    SymmetricDistribution,
    enclosure,
    many_rounded,
    mass,
    rounded,
)
from dither.noise.reals.student_t import StudentT

# Each law, an independent float formula of P[eta > z], and how many draws never fail to tell a scale 3% off apart.
DISTRIBUTIONS = {
    "laplace": (RealLaplace(), stats.laplace.sf, 230_000),
    "gaussian": (RealGaussian(), stats.norm.sf, 125_000),
    "cauchy": (Cauchy(), stats.cauchy.sf, 410_000),
    "generalised cauchy": (GeneralisedCauchy(Fraction(4)), lambda z: quartic_sf(z), 145_000),
    "student": (StudentT(Fraction(3)), stats.t(3).sf, 220_000),
    "lomax": (Lomax(Fraction(4)), lambda z: 0.5 * (1 + z) ** -3 if z >= 0 else 1 - 0.5 * (1 - z) ** -3, 355_000),
    "laplace log-normal": (LaplaceLogNormal(Fraction(1, 2)), lambda z: log_normal_sf(z), 305_000),
}
each = pytest.mark.parametrize("name", DISTRIBUTIONS)
THIRD = Fraction(1, 3)
FALSE_ALARM = 1e-9
OFF = Fraction(103, 100)


def quartic_sf(z):
    from scipy.integrate import quad

    inside = quad(lambda x: 1 / (1 + x**4), 0, abs(z), epsabs=1e-13)[0] * math.sqrt(2) / math.pi
    return 0.5 - math.copysign(inside, z)


def log_normal_sf(z):
    points = np.arange(-9, 9, 0.05)
    upper = 0.05 * np.sum(stats.norm.pdf(points) * 0.5 * np.exp(-abs(z) * np.exp(-0.5 * points)))
    return upper if z >= 0 else 1 - upper


@each
@pytest.mark.parametrize("z", [Fraction(0), Fraction(1, 10), Fraction(7, 3), Fraction(-2), Fraction(40)], ids=str)
def test_the_tail_is_that_of_an_independent_formula(name, z):
    law, formula, _ = DISTRIBUTIONS[name]
    with precision(128):
        assert float(law.above(z)) == pytest.approx(float(formula(float(z))), rel=1e-9, abs=1e-15)


def path_masses(law, scale, centre, script, bit_leaves, depth):
    """The mass of the bit strings that lead to each whole number; None for those cut off."""
    found = defaultdict(Fraction)

    def run(bits):
        source = Source(0, script(bits=bits).learn, lambda width: 0)
        return rounded(law, scale, centre, source)

    for bits, value in bit_leaves(run, depth):
        found[value] += Fraction(1, 1 << len(bits))
    assert sum(found.values()) == 1
    return found


def agrees(law, scale, centre, masses, certified):
    """Whether every number's mass is possible: not above its probability, and not below it by more than was cut off."""
    cut_off = masses.get(None, Fraction(0))
    for k, probability in masses.items():
        if k is not None:
            low, high = certified(lambda k=k: mass(law, k, scale, centre), 128)
            if not probability <= high or not low <= probability + cut_off:
                return False
    return True


# Laws of one uniform number are followed further: their paths are settled after few bits.
PATHS = {"laplace": 12, "cauchy": 12, "lomax": 12, "gaussian": 13, "student": 13}
CUT_OFF = {"gaussian": Fraction(1, 3), "student": Fraction(2, 5)}


@pytest.mark.parametrize("name", PATHS)
@pytest.mark.parametrize(("scale", "centre"), [(Fraction(2), Fraction(0)), (Fraction(1, 2), Fraction(26, 5))], ids=str)
def test_every_path_of_few_bits_has_its_probability(name, scale, centre, script, bit_leaves, certified):
    law = DISTRIBUTIONS[name][0]
    masses = path_masses(law, scale, centre, script, bit_leaves, PATHS[name])
    assert masses[None] < CUT_OFF.get(name, Fraction(1, 20))
    assert agrees(law, scale, centre, masses, certified)
    if name not in CUT_OFF:
        assert not agrees(law, scale * Fraction(11, 10), centre, masses, certified), "power: a scale 10% off"


@pytest.mark.parametrize("name", ["generalised cauchy", "laplace log-normal"])
def test_every_path_of_few_bits_has_its_probability_where_many_numbers_are_drawn(name, script, bit_leaves, certified):
    law = DISTRIBUTIONS[name][0]
    masses = path_masses(law, Fraction(1, 3), Fraction(1, 4), script, bit_leaves, 13)
    assert masses[None] < Fraction(3, 4)
    assert agrees(law, Fraction(1, 3), Fraction(1, 4), masses, certified)


@dataclass(frozen=True)
class HalfBits(SymmetricDistribution):
    """Planted bug: the number is taken for certain at the middle of what its bits allow."""

    def draw(self, source):
        sign = source.sign()
        return Real((source.uniform(),), lambda u: -sign * (u.mid() if u.mid() > 0 else u).log())

    def tail(self, z):
        return (-ball(z)).exp() / 2


def test_a_law_that_rounds_its_uniform_number_is_noticed(script, bit_leaves, certified):
    masses = path_masses(HalfBits(), Fraction(2), Fraction(0), script, bit_leaves, 12)
    assert not agrees(HalfBits(), Fraction(2), Fraction(0), masses, certified)


@each
def test_the_probabilities_of_the_grid_add_up(name, certified):
    law = DISTRIBUTIONS[name][0]
    scale, centre = Fraction(3), Fraction(1, 7)
    with precision(128):
        inside = sum((mass(law, k, scale, centre) for k in range(-30, 31)), ball(0))
        outside = law.above((Fraction(61, 2) - centre) / scale) + 1 - law.above((Fraction(-61, 2) - centre) / scale)
        assert float(inside + outside) == pytest.approx(1, abs=1e-12)
        if isinstance(law, SymmetricDistribution):
            assert mass(law, 5, scale, centre).overlaps(mass(law, -5, scale, -centre))


def fit(draws, law, scale):
    """The chi-square p-value of rounded draws under the law at a scale: sizes, in bins of about their own quantiles."""
    symmetric = isinstance(law, SymmetricDistribution)
    sizes = (np.abs(draws) if symmetric else draws).astype(float)
    edges = np.unique(np.quantile(sizes[:5000], [0.2, 0.45, 0.7, 0.9]).round())
    with precision(96):
        above = [float(law.above((Fraction(int(edge)) + Fraction(1, 2)) / scale)) for edge in edges]
    chances = -np.diff([1.0, *((1 + symmetric) * chance for chance in above), 0.0])
    seen = np.bincount(np.searchsorted(edges, sizes), minlength=chances.size)
    return stats.chisquare(seen, chances * draws.size).pvalue


@each
def test_draws_have_the_law_and_a_scale_off_by_3_percent_does_not(name):
    law, _, count = DISTRIBUTIONS[name]
    scale = Fraction(1000)
    draws = many_rounded(law, scale, count)
    assert fit(draws, law, scale) > FALSE_ALARM
    assert fit(draws, law, scale * OFF) < FALSE_ALARM
    assert fit(draws, law, scale / OFF) < FALSE_ALARM
    if isinstance(law, SymmetricDistribution):
        assert stats.binomtest(int((draws > 0).sum()), int((draws != 0).sum())).pvalue > FALSE_ALARM


def test_the_enclosure_is_exactly_what_the_bits_allow():
    with precision(64):
        held = enclosure(LazyUniform(5, 3))
        assert held.overlaps(ball(Fraction(5, 8)))
        assert held.overlaps(ball(Fraction(6, 8)))
        assert float(held.lower()) == 0.625
        assert float(held.upper()) == 0.75


def test_a_centre_off_the_grid_is_rounded_with_the_noise():
    # A tiny scale shows the rounding of the centre: to the nearest whole number, ties by the sign of the noise.
    tiny = Fraction(1, 10**80)
    for centre, expected in [(Fraction(12, 5), 2), (Fraction(-12, 5), -2), (Fraction(10**40) + THIRD, 10**40)]:
        assert {rounded(RealLaplace(), tiny, centre) for _ in range(20)} == {expected}
    assert {rounded(RealLaplace(), tiny, Fraction(5, 2)) for _ in range(80)} == {2, 3}


def test_a_tie_is_settled_without_more_bits_however_small_the_scale():
    learned = []

    def learn():
        learned.append(1)
        return 32, 1

    rounding = Rounding.of(Fraction(1, 1 << 3000), Fraction(1, 2))
    rounding.one(RealGaussian(), Source(192, learn))
    assert not learned


def test_huge_scales_give_every_residue():
    draws = many_rounded(Cauchy(), Fraction(1 << 50), 20_000)
    counts = np.bincount((draws % 16).astype(int), minlength=16)
    assert stats.chisquare(counts).pvalue > FALSE_ALARM
    wide = [rounded(StudentT(Fraction(3)), Fraction(1 << 200)) for _ in range(50)]
    assert len({value % 1024 for value in wide}) > 30


def test_neither_the_value_nor_the_scale_shows_in_the_time_of_a_draw():
    """Threat 31: the work is the same whatever comes out, and whatever private scale goes in."""

    def correlation(law):
        sizes, scales, times = np.empty(4000), np.empty(4000), np.empty(4000)
        for i in range(4000):
            scales[i] = i % 2
            scale = Fraction(10**9 + 7 * i, 997) if i % 2 else Fraction(10**3 + 7 * i, 997)
            start = time.perf_counter_ns()
            value = rounded(law, scale, THIRD)
            times[i] = time.perf_counter_ns() - start
            sizes[i] = np.log1p(abs(float(value / scale)))
        times = np.minimum(times, 3 * np.median(times))
        return max(abs(np.corrcoef(sizes, times)[0, 1]), abs(np.corrcoef(scales, times)[0, 1]) - 0.2)

    # The second bound is wider: integers of another length take a few nanoseconds more or less.
    assert any(correlation(RealLaplace()) < 0.08 for _ in range(4))
    assert any(correlation(Cauchy()) < 0.08 for _ in range(4))


@pytest.mark.parametrize("size", [-1, True, 1.5, None])
def test_a_size_that_is_not_a_whole_number_is_refused(size):
    with pytest.raises(ParameterError):
        many_rounded(RealLaplace(), Fraction(1), size)
