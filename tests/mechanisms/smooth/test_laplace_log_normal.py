"""The stated rho of Laplace-log-normal noise against its Renyi divergences, integrated here from the definition."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import logsumexp

from dither import SmoothLaplaceLogNormal

ORDERS = (1.05, 2, 8, 64)
NODES, WEIGHTS = np.polynomial.legendre.leggauss(8)


def log_density(z, sigma, reach):
    """ln of E[w e^(-|z| w)]/2, w = e^(-sigma Y): the trapezoidal rule, far enough for orders up to 64."""
    y = np.arange(-12 - 4 * sigma, reach, 0.1)
    return logsumexp(-sigma * y - np.abs(z)[:, None] * np.exp(-sigma * y) - y * y / 2, axis=1) + math.log(
        0.05 / math.sqrt(2 * math.pi)
    )


def divergences(sigma, u, lam):
    """The larger D_a of eta and u + e^lam eta in either order, for each of ORDERS; kinks are ends of panels."""
    reach = (ORDERS[-1] + 1) * lam / sigma + 14
    ladder = np.geomspace(1e-3, math.exp(sigma * reach + 5), int(2 * (sigma * reach + 12)))
    ends = np.unique(np.concatenate([-ladder, [0], np.linspace(0, u, 9), u + ladder]))
    half = np.diff(ends)[:, None] / 2
    z, weight = (ends[:-1, None] + half + half * NODES).ravel(), np.log((half * WEIGHTS).ravel())
    p = log_density(z, sigma, reach + 6)
    q = log_density((z - u) * math.exp(-lam), sigma, reach + 6) - lam
    assert abs(logsumexp(weight + p)) < 1e-9
    assert abs(logsumexp(weight + q)) < 1e-9
    return [max(logsumexp(weight + a * x + (1 - a) * y) for x, y in ((p, q), (q, p))) / (a - 1) for a in ORDERS]


def spent(m):
    """The largest share of a rho that neighbours spend at some order."""
    s, t, sigma, rho = (float(x) for x in (m.divisor, m.beta, m.sigma, m.rho))
    found = [divergences(sigma, u, lam) for u in (0, s / 2, s) for lam in (0, t / 2, t) if u or lam]
    return max(d / (rho * a) for one in found for d, a in zip(one, ORDERS, strict=True))


@pytest.mark.parametrize(
    ("divisor", "beta", "sigma"),
    [
        ("0.1", "0.1", "0.5"),
        (3, "0.2", "0.1"),  # shifts of epsilon 3 by themselves: the wide one's density near 0 is not below
        ("1.5", 1, "0.3"),
        ("0.2", "1.5", 1),
        ("0.9", "0.01", "0.05"),
    ],
)
def test_no_order_of_no_neighbours_spends_more_than_rho(divisor, beta, sigma):
    assert 0.1 < spent(SmoothLaplaceLogNormal(divisor=divisor, beta=beta, sigma=sigma)) < 1


@pytest.mark.parametrize(
    ("given", "planted"),
    [
        ({"divisor": "0.3", "beta": "0.002", "sigma": "0.1"}, {"divisor": "0.33"}),
        ({"divisor": "0.0137", "beta": 1, "sigma": "0.5"}, {"beta": "1.05"}),
    ],
)
def test_little_more_shift_or_stretch_than_stated_is_noticed(given, planted):
    """Planted bug: noise for a rho that is stated for a divisor or a beta a few per cent smaller."""
    honest = SmoothLaplaceLogNormal(**given)
    assert 0.85 < spent(honest) < 1
    cheat = SmoothLaplaceLogNormal(**given | planted)
    assert spent(cheat) * float(cheat.rho / honest.rho) > 1.01


@pytest.mark.parametrize("rho", ["0.01", "0.5", 8])
def test_the_default_needs_half_of_the_noise_that_adding_up_roots_would(rho):
    """The weak triangle inequality gives rho = (t/sigma + c s)^2/2, at best 3.711 sqrt(2)/e of noise for t = e/4."""
    m = SmoothLaplaceLogNormal(rho=rho)
    e = math.sqrt(2 * Fraction(rho))
    assert float(m.beta) == pytest.approx(e / 4)
    assert math.sqrt(m.moment(2)) * e / math.sqrt(2) == pytest.approx(1.9047, abs=1e-4)
