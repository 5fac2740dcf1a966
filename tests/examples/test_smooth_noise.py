"""Worked examples of noise for smooth sensitivities."""

from __future__ import annotations

import pytest

import dither as dt


def test_lln():
    """Laplace-log-normal noise: rho = e^2/2 with e = t/sigma + e^(3 sigma^2/2) s."""
    mechanism = dt.SmoothLaplaceLogNormal(divisor=0.1, beta=0.1, sigma=0.5)
    assert float(mechanism.guarantee.rho) == pytest.approx(0.05968482837542741, abs=1e-12)
    assert (2 * float(mechanism.guarantee.rho)) ** 0.5 == pytest.approx(0.34549914146182015, abs=1e-12)


def test_smooth_constant():
    """The global sensitivity is a smooth bound for every beta: any mechanism takes it."""
    for make in (dt.SmoothCauchy, dt.SmoothStudentT, dt.SmoothLomax):
        assert make(epsilon=1, grid=1).release(100, 5).guarantee == dt.PureDP(1, "replace")
