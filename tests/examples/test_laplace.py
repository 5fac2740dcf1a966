"""Worked examples of the Laplace mechanism. The noise is discrete: figures of the continuous law are its limits."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from dither import sensitivity
from dither.mechanisms import Laplace

FINE = Fraction(1, 10**6)  # a grid on which the discrete law is the continuous one to six digits


def test_count():
    """A count of 3 at epsilon 0.1: scale 10, variance 200, error 46.05 at 99 %."""
    mechanism = Laplace(epsilon=0.1, sensitivity=sensitivity.count())
    assert mechanism.scale == 10
    assert mechanism.variance == pytest.approx(200, rel=1e-3)
    assert mechanism.error("0.99") == 46
    smooth = Laplace(epsilon=0.1, sensitivity=1, grid=FINE)
    assert smooth.variance == pytest.approx(200, rel=1e-9)
    assert float(smooth.error("0.99")) == pytest.approx(46.051701859880914, abs=2e-6)
    assert mechanism.release(3).scale == 10


def test_histogram():
    """Scale 10 only under add_remove; 20 under replace."""
    cells = [2, 3]
    for relation, scale in (("add_remove", 10), ("replace", 20)):
        mechanism = Laplace(epsilon=0.1, sensitivity=sensitivity.histogram(relation))
        assert mechanism.scale == scale
        assert mechanism.release(cells).guarantee.relation.value == relation


def test_tail():
    """P[|noise| >= t b] = e^-t exactly: 0.0498 at t = 3."""
    smooth = Laplace(epsilon=1, sensitivity=1, grid=FINE)
    p = 0.049787068367863944
    assert float(smooth.error(Fraction(1 - p))) == pytest.approx(3, abs=2e-6)
    # For discrete noise the tail is q^m/(1+q) on each side, summed from the exact law.
    mechanism = Laplace(epsilon=1, sensitivity=1)
    tail = 2 * sum(mechanism.pmf(k)[1] for k in range(3, 60))
    assert float(tail) == pytest.approx(2 * math.exp(-3) / (1 + math.exp(-1)), rel=1e-12)


def test_family_names():
    """10000 names, epsilon 1: 12.206 bounds the largest of all noises by the union bound, 12.181 exactly."""
    smooth = Laplace(epsilon=1, sensitivity=sensitivity.histogram(), grid=FINE)
    exact = float(smooth.error("0.95", count=10_000))
    assert exact == pytest.approx(12.18053818568197, abs=2e-6)
    union = float(smooth.error(1 - Fraction(5, 100) / 10_000))
    assert union == pytest.approx(12.206072645530174, abs=2e-6)
    assert exact < union
    # One name alone passes 12.206 with probability 5e-6; whole counts move by 12 at most with 95 %.
    assert float(smooth.error(1 - Fraction(5, 10**6))) == pytest.approx(union)
    assert Laplace(epsilon=1, sensitivity=sensitivity.histogram()).error("0.95", count=10_000) == 12


def test_k_counts_growth():
    """E max error of Laplace over k counts is k H_k / epsilon: 518.74 at k = 100."""
    mechanism = Laplace(epsilon=1, sensitivity=sensitivity.counts(100))
    harmonic = sum(1 / i for i in range(1, 101))
    assert float(mechanism.scale) * harmonic == pytest.approx(518.737751763962, abs=1e-9)


def test_the_smallest_scale_is_the_least_private():
    scales = [Laplace(epsilon=e, sensitivity=1).scale for e in ("0.1", 1, 4)]
    assert scales == sorted(scales, reverse=True)


def test_head_count_that_is_short_at_most_one_time_in_twenty():
    """Shift upward by ln(1/(2 beta))/epsilon = 2.3026: one-sided, so half of the two-sided tail."""
    smooth = Laplace(epsilon=1, sensitivity=1, grid=FINE)
    assert float(smooth.error("0.9")) == pytest.approx(2.302585092994046, abs=2e-6)
