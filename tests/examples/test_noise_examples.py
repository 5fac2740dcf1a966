"""Worked examples of Laplace and Gaussian noise. Noise is on a grid: on a fine one it has the continuous figures."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

import dither as dt


def test_laplace_count(example, fine):
    given, expected = example.given, example.expected
    count = dt.Laplace(epsilon=str(given.eps), sensitivity=dt.sensitivity.count())
    assert count.release(given.count).scale == expected.scale
    smooth = dt.Laplace(epsilon=str(given.eps), sensitivity=1, grid=fine)
    assert smooth.variance == example.near(expected.variance)
    assert float(smooth.error(1 - Fraction(str(given.beta)))) == example.near(expected.error_99)
    assert count.error("0.99") == 46, "of whole numbers"


def test_laplace_histogram(example):
    """Scale 10 only under add_remove; 20 under replace."""
    flu = [1, 0, 1, 0, 1]
    found = dt.stats.histogram(flu, categories=[0, 1], epsilon=500).value
    assert [found[cell] for cell in (0, 1)] == example.expected.cells
    for relation in ("add_remove", "replace"):
        private = dt.stats.histogram(flu, categories=[0, 1], epsilon=str(example.given.eps), relation=relation)
        assert private.scale == getattr(example.expected, f"scale_{relation}")
        assert private.guarantee.relation.value == relation


def test_laplace_tail(example, fine):
    """P[|noise| >= t b] = e^-t exactly."""
    smooth = dt.Laplace(epsilon=1, sensitivity=1, grid=fine)
    confidence = 1 - Fraction(example.expected.p)
    assert float(smooth.error(confidence)) == pytest.approx(example.given.t, abs=1e-11)
    # Discrete noise, from its exact law: q^m/(1+q) on each side.
    whole = dt.Laplace(epsilon=1, sensitivity=1)
    tail = 2 * sum(whole.pmf(k)[1] for k in range(3, 60))
    assert float(tail) == pytest.approx(2 * math.exp(-3) / (1 + math.exp(-1)), rel=1e-12)


def test_family_names(example, fine):
    """12.206 bounds the largest of all 10000 noises by the union bound, 12.181 exactly."""
    given, expected = example.given, example.expected
    smooth = dt.Laplace(epsilon=given.eps, sensitivity=dt.sensitivity.histogram(), grid=fine)
    beta = Fraction(str(given.beta))
    assert float(smooth.error(1 - beta, count=given.k)) == example.near(expected.exact)
    assert float(smooth.error(1 - beta / given.k)) == example.near(expected.bound)
    assert float(smooth.error(1 - Fraction(expected.single_name_probability))) == pytest.approx(
        expected.bound, abs=1e-8
    )
    assert dt.Laplace(epsilon=1, sensitivity=dt.sensitivity.histogram()).error("0.95", count=given.k) == 12


def with_sigma(sigma):
    """The Gaussian mechanism of sensitivity 1 with a given sigma."""
    return dt.Gaussian(rho=Fraction(1, 2) / Fraction(sigma) ** 2, sensitivity=1, grid="1e-9")


def sigma_notes(epsilon, delta):
    return math.sqrt(2 * math.log(2 / delta)) / epsilon


def test_gaussian_notes(example):
    given, expected = example.given, example.expected
    price = {"epsilon": given.eps, "delta": str(given.delta), "sensitivity": 1}
    assert float(dt.Gaussian(**price, calibration="classical").scale) == example.near(expected.sigma_classical)
    assert float(dt.Gaussian(**price).scale) == example.near(expected.sigma_analytic)
    notes = with_sigma(sigma_notes(given.eps, given.delta))
    assert float(notes.scale) == example.near(expected.sigma_notes)
    assert notes.guarantee.delta_at(given.eps) < given.delta
    assert with_sigma(expected.sigma_analytic * 0.999).guarantee.delta_at(given.eps) > given.delta


def test_gaussian_beyond(example):
    """Beyond its precondition the formula's noise is not private, and the formula is refused."""
    given, expected = example.given, example.expected
    formula = with_sigma(sigma_notes(given.eps, given.delta))
    assert float(formula.scale) == example.near(expected.sigma_formula)
    assert formula.guarantee.delta_at(given.eps) == example.near(expected.true_delta)
    assert (formula.guarantee.delta_at(given.eps) <= given.delta) == expected.private
    with pytest.raises(dt.ParameterError):
        dt.Gaussian(epsilon=given.eps, delta=str(given.delta), sensitivity=1, calibration="classical")


def test_gaussian_vs_laplace(example, fine):
    """The smallest number of counts at which Gaussian noise has the smaller variance."""
    given, price = example.given, {"epsilon": example.given.eps, "delta": str(example.given.delta)}

    def first(gaussian):
        return next(
            k
            for k in range(1, 50)
            if gaussian(k).variance < dt.Laplace(epsilon=given.eps, sensitivity=k, grid="1e-6").variance
        )

    def notes(k):
        rho = Fraction(1, 2) / Fraction(sigma_notes(given.eps, given.delta)) ** 2
        return dt.Gaussian(rho=rho, sensitivity=dt.sensitivity.counts(k), grid="1e-6")

    analytic = first(lambda k: dt.Gaussian(**price, sensitivity=dt.sensitivity.counts(k), grid="1e-6"))
    assert (analytic, first(notes)) == (example.expected.k_analytic, example.expected.k_notes_sigma)


def test_gaussian_max_error(example, fine):
    """E max error over k counts: k H_k/epsilon for Laplace, of which Gaussian noise saves most."""
    given = example.given
    counts = dt.sensitivity.counts(given.k)
    laplace = dt.Laplace(epsilon=given.eps, sensitivity=counts, grid=fine)
    assert laplace.expected_error(count=given.k) == example.near(example.expected.laplace)
    gaussian = dt.Gaussian(epsilon=given.eps, delta="1e-6", sensitivity=counts)
    median = float(gaussian.error("0.5", count=given.k))
    assert median < example.expected.laplace / 3


def test_privacy_loss_may_exceed_epsilon_far_more_often_than_delta():
    """delta is not the probability of failure: P[loss > 1] is 2.0e-5 at (1, 1e-6)."""
    sigma = float(dt.Gaussian(epsilon=1, delta="1e-6", sensitivity=1).scale)
    exceeds = math.erfc((sigma - 1 / (2 * sigma)) / math.sqrt(2)) / 2
    assert exceeds == pytest.approx(2.0e-5, rel=0.05)
