"""Worked examples of the Gaussian mechanism."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from dither import sensitivity
from dither.errors import ParameterError
from dither.mechanisms import Gaussian, Laplace


def with_sigma(sigma):
    """The Gaussian mechanism of sensitivity 1 with a given sigma (grid fine enough for any of them)."""
    return Gaussian(rho=Fraction(1, 2) / Fraction(sigma) ** 2, sensitivity=1, grid="0.001")


def test_three_calibrations():
    """epsilon 1, delta 1e-6: 5.3868 with ln(2/delta), 5.2988 classical, 4.2247 suffices."""
    notes = math.sqrt(2 * math.log(2e6))
    assert notes == pytest.approx(5.386772268905419, abs=1e-8)
    assert with_sigma(notes).guarantee.delta_at(1) < 1e-6
    classical = Gaussian(epsilon=1, delta="1e-6", sensitivity=1, calibration="classical")
    analytic = Gaussian(epsilon=1, delta="1e-6", sensitivity=1)
    assert float(classical.scale) == pytest.approx(5.298802526850474, abs=1e-8)
    assert float(analytic.scale) == pytest.approx(4.224678889, abs=1e-8)
    assert with_sigma(float(analytic.scale) * 0.999).guarantee.delta_at(1) > 1e-6
    saved = 1 - (float(analytic.scale) / notes) ** 2
    assert saved == pytest.approx(0.38, abs=0.01)


def test_beyond_the_precondition():
    """epsilon 20, delta 1e-5: the formula's sigma 0.2470 has a true delta of 9.7e-4, and the formula is refused."""
    sigma = math.sqrt(2 * math.log(2e5)) / 20
    assert sigma == pytest.approx(0.2470432416150073, abs=1e-8)
    assert with_sigma(sigma).guarantee.delta_at(20) == pytest.approx(0.00096971722, abs=1e-8)
    with pytest.raises(ParameterError):
        Gaussian(epsilon=20, delta="1e-5", sensitivity=1, calibration="classical")


def test_against_laplace():
    """The smallest number of counts at which Gaussian noise has the smaller variance: 9, or 15 with ln(2/delta)."""

    def first(sigma_of_one):
        return next(k for k in range(1, 50) if k * sigma_of_one**2 < 2 * k**2)

    assert first(float(Gaussian(epsilon=1, delta="1e-6", sensitivity=1).scale)) == 9
    assert first(math.sqrt(2 * math.log(2e6))) == 15
    for k, smaller in ((8, "laplace"), (9, "gaussian")):
        counts = sensitivity.counts(k)
        laplace = Laplace(epsilon=1, sensitivity=counts)
        gaussian = Gaussian(epsilon=1, delta="1e-6", sensitivity=counts)
        assert (gaussian.variance < laplace.variance) == (smaller == "gaussian")


def test_other_deltas():
    for delta, k in (("1e-5", 7), ("1e-9", 16)):
        sigma = float(Gaussian(epsilon=1, delta=delta, sensitivity=1).scale)
        assert next(n for n in range(1, 50) if n * sigma**2 < 2 * n**2) == k


def test_privacy_loss_may_exceed_epsilon_far_more_often_than_delta():
    """delta is not the probability of failure: P[loss > 1] is 2.0e-5 at (1, 1e-6)."""
    sigma = float(Gaussian(epsilon=1, delta="1e-6", sensitivity=1).scale)
    exceeds = math.erfc((sigma - 1 / (2 * sigma)) / math.sqrt(2)) / 2
    assert exceeds == pytest.approx(2.0e-5, rel=0.05)
