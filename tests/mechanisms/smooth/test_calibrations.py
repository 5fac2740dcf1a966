"""The calibrations for smooth sensitivities against the definition: suprema and integrals over shifts and stretches.

Densities are plain float formulas written here; each check is run on a planted bug that it must catch.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dither import SmoothCauchy, SmoothGaussian, SmoothLaplace, SmoothLaplaceLogNormal, SmoothLomax, SmoothStudentT
from dither.errors import ParameterError
from dither.exact.balls import ball, bounds
from dither.mechanisms.smooth import gaussian, laplace
from dither.mechanisms.smooth.smooth_noise import below

# Points at which density ratios are looked at: dense near 0 and 1, far out, and mirrored.
OUT = np.geomspace(1e-4, 1e7, 1500)
POINTS = np.unique(np.concatenate([-OUT, [0], OUT, 1 - OUT, 1 + OUT]))


def largest_log_ratio(log_density, s, t, steps=9):
    """sup |ln p(z) - ln q(z)|, q the law of u + e^lam eta, over a grid of |u| <= s and 0 <= lam <= t."""
    worst = 0.0
    for lam in np.linspace(0, t, steps):
        for u in np.linspace(0, s, steps):
            z = np.unique(np.concatenate([POINTS * max(s, 1e-3), POINTS, [u]]))
            ratio = log_density(z) + lam - log_density((z - u) * math.exp(-lam))
            worst = max(worst, np.abs(ratio).max())
    return worst


def cauchy(z):
    return -np.log1p(z**2)


def generalised(gamma):
    return lambda z: -np.logaddexp(0, gamma * np.log(np.maximum(np.abs(z), 1e-300)))


def student(d):
    return lambda z: -(d + 1) / 2 * np.log1p(z**2 / d)


def lomax(a):
    return lambda z: -a * np.log1p(np.abs(z))


@pytest.mark.parametrize("epsilon", ["0.05", "0.5", "1", "3"])
@pytest.mark.parametrize("share", [None, "0.2", "0.6", "0.95"])
def test_cauchy_attains_epsilon_exactly_and_three_per_cent_less_scale_exceeds_it(epsilon, share):
    beta = None if share is None else Fraction(share) * Fraction(epsilon)
    m = SmoothCauchy(epsilon=epsilon, beta=beta)
    found = largest_log_ratio(cauchy, float(m.divisor), float(m.beta))
    assert found <= float(epsilon) * (1 + 1e-9)
    assert found >= float(epsilon) * (1 - 1e-4)
    assert largest_log_ratio(cauchy, float(m.divisor) * 1.03, float(m.beta)) > float(epsilon) * 1.001


def test_the_cauchy_identity():
    """s = 2 sinh(epsilon/2) with t = ln(2 cosh epsilon - 1): both terms of the calibration equal cosh epsilon."""
    for epsilon in (1, 2, 5):
        m = SmoothCauchy(epsilon=epsilon)
        s, t = float(m.divisor), float(m.beta)
        assert s == pytest.approx(2 * math.sinh(epsilon / 2), rel=1e-15)
        assert t == pytest.approx(math.log(2 * math.cosh(epsilon) - 1), rel=1e-15)
        assert 1 + s * s / 2 == pytest.approx(math.cosh(epsilon), rel=1e-14)
        assert math.cosh(t) + s * s * math.exp(-t) / 2 == pytest.approx(math.cosh(epsilon), rel=1e-14)


def test_cauchy_with_little_stretch_is_limited_by_the_shift():
    """Planted bug: for t = 0.4 at epsilon 1 the second term alone would allow 1.174, which is not private."""
    second = math.sqrt(2 * math.exp(0.4) * (math.cosh(1) - math.cosh(0.4)))
    assert second == pytest.approx(1.174, abs=1e-3)
    assert largest_log_ratio(cauchy, second, 0.4) > 1.05
    assert float(SmoothCauchy(epsilon=1, beta="0.4").divisor) == pytest.approx(2 * math.sinh(0.5), rel=1e-15)


def test_rounding_is_on_the_safe_side():
    m = SmoothCauchy(epsilon=1)
    assert m.divisor < Fraction(2 * math.sinh(0.5)) * (1 + Fraction(1, 10**14))
    assert m.divisor**2 / 2 + 1 <= bounds(lambda: ball(1).cosh())[0]


@pytest.mark.parametrize(("gamma", "true"), [(2, 0.226), (3, 0.364), (4, 0.458), (6, 0.576)])
def test_the_textbook_cauchy_is_private_and_loose(gamma, true):
    m = SmoothCauchy(epsilon=1, gamma=gamma, calibration="textbook")
    assert m.beta == m.divisor == Fraction(1, 2 * (gamma + 1))
    found = largest_log_ratio(generalised(gamma), float(m.divisor), float(m.beta))
    assert found == pytest.approx(true, abs=1.5e-3)


@pytest.mark.parametrize("gamma", ["1.5", "3", "4", "7"])
@pytest.mark.parametrize("epsilon", ["0.1", "1", "4"])
def test_the_bound_of_the_generalised_cauchy_holds_and_far_larger_shifts_break_it(gamma, epsilon):
    m = SmoothCauchy(epsilon=epsilon, gamma=gamma)
    shape, s, t = generalised(float(gamma)), float(m.divisor), float(m.beta)
    assert largest_log_ratio(shape, s, t) <= float(epsilon)
    assert largest_log_ratio(shape, 15 * s, t) > float(epsilon)


@pytest.mark.parametrize("degrees", [1, 3, "4.5", 30])
@pytest.mark.parametrize("epsilon", ["0.1", "1", "3"])
@pytest.mark.parametrize("share", ["0.01", "0.5", "0.9"])
def test_student_t_attains_epsilon_exactly_and_three_per_cent_less_scale_exceeds_it(degrees, epsilon, share):
    beta = Fraction(epsilon) * Fraction(share) / Fraction(degrees)
    m = SmoothStudentT(epsilon=epsilon, degrees=degrees, beta=beta)
    shape, s, t = student(float(degrees)), float(m.divisor), float(m.beta)
    assert SmoothStudentT(epsilon=epsilon, degrees=degrees).beta == Fraction(epsilon) / (2 * Fraction(degrees))
    found = largest_log_ratio(shape, s, t)
    assert float(epsilon) * (1 - 1e-3) <= found <= float(epsilon) * (1 + 1e-9)
    assert max(largest_log_ratio(shape, s * 1.03, t), largest_log_ratio(shape, s, t * 1.03)) > float(epsilon) * 1.0001


@pytest.mark.parametrize("epsilon", ["0.1", "1", "3"])
@pytest.mark.parametrize("shape", [None, "1.5", "2.5", 11])
def test_lomax_attains_epsilon_exactly_and_three_per_cent_less_scale_exceeds_it(epsilon, shape):
    m = SmoothLomax(epsilon=epsilon, shape=shape)
    density, s, t = lomax(float(m.shape)), float(m.divisor), float(m.beta)
    found = largest_log_ratio(density, s, t)
    assert float(epsilon) * (1 - 1e-3) <= found <= float(epsilon) * (1 + 1e-9)
    assert largest_log_ratio(density, s * 1.03, t) > float(epsilon) * 1.003


def test_lomax_figures():
    for beta, shape, spread in (("0.05", 21, 1.57), ("0.1", 11, 1.77), ("0.2", 6, 2.34)):
        m = SmoothLomax(epsilon=1, beta=beta)
        assert m.shape == shape
        deviation = math.sqrt(2 / ((shape - 2) * (shape - 3))) / float(m.divisor)
        assert deviation == pytest.approx(spread, abs=6e-3)


def laplace_stick(epsilon, u, lam, order):
    """The hockey-stick divergence of eta and u + e^lam eta, by numerical integration between the kinks."""
    v = math.exp(lam)
    reach = 60 + 60 * v + u
    z = np.unique(np.concatenate([np.linspace(-reach, reach, 100_001), np.linspace(-1, u + 1, 20_001)]))
    middle, width = (z[1:] + z[:-1]) / 2, np.diff(z)
    p, q = np.exp(-np.abs(middle)) / 2, np.exp(-np.abs(middle - u) / v) / (2 * v)
    p, q = (q, p) if order == "wide" else (p, q)
    return float((np.maximum(0, p - math.exp(epsilon) * q) * width).sum())


@pytest.mark.parametrize(("epsilon", "u", "lam"), [(1, 0.6, 0.04), (2, 1.9, 0.3), (0.5, 0.1, 0.2), (12, 6, 0.4)])
def test_the_closed_form_of_the_laplace_divergence_is_the_integral(epsilon, u, lam):
    exact = [Fraction(str(x)) for x in (epsilon, u, lam)]
    low, high = bounds(lambda: laplace.hockey_stick(*exact))
    assert float(low) == pytest.approx(laplace_stick(epsilon, u, lam, "wide"), rel=1e-3, abs=1e-12)
    assert high - low <= low / 10**15


def worst_laplace(epsilon, s, t, steps=5):
    return max(
        laplace_stick(epsilon, u, lam, order)
        for u in np.linspace(0, s, steps)
        for lam in np.linspace(0, t, steps)
        for order in ("wide", "narrow")
    )


@pytest.mark.parametrize(("epsilon", "delta"), [(1, "1e-3"), (4, "1e-2"), (15, "1e-3")])
def test_laplace_keeps_delta_on_every_shift_and_stretch_and_three_per_cent_less_scale_does_not(epsilon, delta):
    m = SmoothLaplace(epsilon=epsilon, delta=delta)
    s, t = float(m.divisor), float(m.beta)
    assert worst_laplace(epsilon, s, t) == pytest.approx(float(delta), rel=2e-3)
    assert laplace_stick(epsilon, 1.03 * s, t, "wide") > float(delta) * 1.02


def test_the_textbook_laplace_beyond_its_range_is_refused_and_would_be_caught():
    """Planted bug: the textbook's formula at epsilon 15, delta 1e-3 and 1e-6, exceeds its delta."""
    for delta in ("1e-3", "1e-6"):
        s, t = 7.5, 15 / (2 * math.log(2 / float(delta)))
        assert laplace_stick(15, s, t, "wide") > 1.2 * float(delta)
        with pytest.raises(ParameterError, match="shown to be private"):
            SmoothLaplace(epsilon=15, delta=delta, calibration="textbook")
    for epsilon, delta in ((1, "1e-6"), (10, "1e-6"), ("10", "0.1"), ("7.5", "0.5")):
        assert SmoothLaplace(epsilon=epsilon, delta=delta, calibration="textbook").divisor == Fraction(epsilon) / 2


@pytest.mark.parametrize(("delta", "turn"), [("1e-3", 12.1), ("1e-6", 13.7), ("1e-9", 14.7)])
def test_where_the_textbook_laplace_stops_being_private(delta, turn):
    SmoothLaplace(epsilon=turn - 0.1, delta=delta, calibration="textbook")
    with pytest.raises(ParameterError):
        SmoothLaplace(epsilon=turn + 0.1, delta=delta, calibration="textbook")


def test_laplace_figures():
    assert float(SmoothLaplace(epsilon=1, delta="1e-6").divisor) == pytest.approx(0.693, abs=1e-3)
    assert float(SmoothLaplace(epsilon=2, delta="1e-6").divisor) == pytest.approx(1.326, abs=1e-3)
    half = SmoothLaplace(epsilon=1, delta="1e-6").beta / 2
    assert float(SmoothLaplace(epsilon=1, delta="1e-6", beta=half).divisor) == pytest.approx(0.860, abs=1e-3)


def gaussian_stick(epsilon, u, lam, order):
    v = math.exp(lam)
    z = np.linspace(-12 * v, 12 * v + u, 60_001)
    p, q = stats.norm.pdf(z), stats.norm.pdf(z, u, v)
    p, q = (q, p) if order == "wide" else (p, q)
    return float(np.trapezoid(np.maximum(0, p - math.exp(epsilon) * q), z))


@pytest.mark.parametrize(("epsilon", "u", "lam"), [(1, 0.6, 0.04), (2, 1.9, 0.3), (0.5, 0.1, 0.2), (0.3, 0.05, 0.28)])
def test_the_closed_forms_of_the_gaussian_divergence_are_the_integrals(epsilon, u, lam):
    exact = [Fraction(str(x)) for x in (epsilon, u, lam)]
    wide = float(bounds(lambda: gaussian.wide_over_narrow(*exact))[1])
    assert wide == pytest.approx(gaussian_stick(epsilon, u, lam, "wide"), rel=1e-4, abs=1e-10)
    narrow = float(bounds(lambda: gaussian.narrow_over_wide(*exact))[1])
    assert narrow == pytest.approx(gaussian_stick(epsilon, u, lam, "narrow"), rel=1e-3, abs=1e-9)
    still = float(bounds(lambda: gaussian.narrow_over_wide(exact[0], exact[1], Fraction(0)))[1])
    assert still == pytest.approx(gaussian_stick(epsilon, u, 0, "narrow"), rel=1e-4, abs=1e-10)


@pytest.mark.parametrize(("epsilon", "delta", "beta"), [(1, "1e-6", None), (1, "1e-3", "0.05"), (8, "1e-3", "0.3")])
def test_gaussian_keeps_delta_on_every_shift_and_stretch_and_three_per_cent_less_scale_does_not(epsilon, delta, beta):
    m = SmoothGaussian(epsilon=epsilon, delta=delta, beta=beta)
    s, t = float(m.divisor), float(m.beta)
    sticks = [
        gaussian_stick(epsilon, u, lam, order)
        for u in np.linspace(0, s, 4)
        for lam in np.linspace(0, t, 4)
        for order in ("wide", "narrow")
    ]
    assert float(delta) * 0.9 <= max(sticks) <= float(delta) * (1 + 1e-4)
    assert gaussian_stick(epsilon, 1.03 * s, t, "wide") > float(delta) * 1.02


def test_the_textbook_gaussian_is_private_and_loose():
    m = SmoothGaussian(epsilon=1, delta="1e-6", calibration="textbook")
    assert float(m.divisor) == pytest.approx(1 / (5 * math.sqrt(2 * math.log(2e6))), rel=1e-12)
    low, _ = bounds(lambda: gaussian.wide_over_narrow(Fraction(1), m.divisor, m.beta))
    assert float(low) < 1e-12
    with pytest.raises(ParameterError, match="textbook"):
        SmoothGaussian(epsilon=200, delta="1e-6", calibration="textbook")


def test_a_beta_that_leaves_nothing_for_shifts_is_refused():
    with pytest.raises(ParameterError, match="beta"):
        SmoothLaplace(epsilon=1, delta="1e-6", beta="0.5")
    with pytest.raises(ParameterError, match="beta"):
        SmoothGaussian(epsilon=1, delta="1e-6", beta="0.5")
    for make in (SmoothCauchy, SmoothStudentT, SmoothLomax):
        with pytest.raises(ParameterError, match="beta must be less"):
            make(epsilon=1, beta=1)
    with pytest.raises(ParameterError, match="beta must be less"):
        SmoothLaplaceLogNormal(rho="0.5", sigma="0.5", beta=1)
    with pytest.raises(ParameterError, match="shape"):
        SmoothLomax(epsilon=1, shape=12, beta="0.1")


def test_divisors_beyond_what_the_proofs_cover_are_never_used():
    """The worst pair is known for shifts up to epsilon (Laplace) and up to sqrt(2 epsilon) (Gaussian) only."""
    assert SmoothLaplace(epsilon=10, delta="0.5").divisor == 10
    assert not laplace.keeps(Fraction(10), Fraction(99, 100), Fraction(11), Fraction(1))
    assert not gaussian.keeps(Fraction(2), Fraction(99, 100), Fraction(201, 100), Fraction(1))
    assert gaussian.keeps(Fraction(2), Fraction(99, 100), Fraction(2), Fraction(1))
    with pytest.raises(ParameterError, match="no noise"):
        below(lambda: ball(0))


def test_calibrations_that_do_not_exist_are_refused():
    for make, more in ((SmoothCauchy, {}), (SmoothLaplace, {"delta": "1e-6"}), (SmoothGaussian, {"delta": "1e-6"})):
        with pytest.raises(ParameterError, match="calibration"):
            make(epsilon=1, calibration="guess", **more)
    with pytest.raises(ParameterError, match="calibration"):
        SmoothCauchy(epsilon=1, gamma=3, calibration="exact")
    with pytest.raises(ParameterError, match="fixes beta"):
        SmoothCauchy(epsilon=1, beta="0.1", calibration="textbook")
    with pytest.raises(ParameterError, match="gamma"):
        SmoothCauchy(epsilon=1, gamma=1)
    with pytest.raises(ParameterError, match="degrees"):
        SmoothStudentT(epsilon=1, degrees="0.9")
    with pytest.raises(ParameterError, match="either rho="):
        SmoothLaplaceLogNormal(rho=1, divisor=1, beta=1, sigma=1)
    with pytest.raises(ParameterError, match="either rho="):
        SmoothLaplaceLogNormal(beta=1, sigma=1)
    with pytest.raises(ParameterError, match="sigma"):
        SmoothLaplaceLogNormal(rho=1, sigma=11)


@pytest.mark.parametrize("epsilon", ["1e-9", 30, 10**6])
def test_extreme_epsilons_have_a_mechanism(epsilon):
    for m in (
        SmoothCauchy(epsilon=epsilon),
        SmoothStudentT(epsilon=epsilon),
        SmoothLomax(epsilon=epsilon),
        SmoothLaplace(epsilon=epsilon, delta="1e-6"),
        SmoothGaussian(epsilon=epsilon, delta="1e-6"),
    ):
        assert m.beta > 0
        assert m.divisor > 0
        assert m.guarantee.epsilon == Fraction(epsilon)
        m.release(0, 1)


@pytest.mark.parametrize(("rho", "beta"), [("0.5", None), ("0.01", "0.02"), (2, 1)])
def test_the_default_sigma_of_laplace_log_normal_noise_has_the_smallest_variance(rho, beta):
    chosen = SmoothLaplaceLogNormal(rho=rho, beta=beta)

    def variance(m):
        return 2 * math.exp(2 * float(m.sigma) ** 2) / float(m.divisor) ** 2

    for factor in (Fraction(9, 10), Fraction(11, 10)):
        other = SmoothLaplaceLogNormal(rho=rho, beta=chosen.beta, sigma=chosen.sigma * factor)
        assert variance(other) > variance(chosen)
    again = SmoothLaplaceLogNormal(divisor=chosen.divisor, beta=chosen.beta, sigma=chosen.sigma)
    assert float(again.rho) == pytest.approx(float(chosen.rho), rel=1e-12)
    assert again.rho <= chosen.rho * (1 + Fraction(1, 10**15))


def test_the_slope_of_the_laplace_log_normal_density_is_largest_at_zero():
    sigma = 0.5
    y = np.arange(-9, 9.01, 0.02)
    weights = stats.norm.pdf(y) * 0.02

    def density(z):
        rates = np.exp(-sigma * y)
        return (weights * rates * np.exp(-z * rates)).sum() / 2

    slopes = [(math.log(density(z)) - math.log(density(z + 1e-4))) / 1e-4 for z in (0, 0.01, 0.1, 1, 10)]
    assert slopes[0] == pytest.approx(math.exp(1.5 * sigma**2), rel=1e-3)
    assert slopes == sorted(slopes, reverse=True)
