"""Two hundred random compositions beside a contour integral in 36 digits, written apart from the package.

delta(e) = 1/(2 pi i) times the integral of M(z) e^(-z e)/(z (z + 1)) along Re z = theta: transforms from their
definitions, a Gaussian part that makes the integral converge, the trapezoidal rule with a window far wider than needed.
"""

from __future__ import annotations

import math
import random

import pytest
from mpmath import mp, mpc, mpf
from mpmath.calculus.quadrature import GaussLegendre

from dither.accounting import GDP, PLD, PureDP, compose

pytestmark = pytest.mark.filterwarnings("ignore")
mp.prec = 120
CASES, CHUNK = 200, 20


def points_of(kind, x, side):
    """Losses and masses of one part; continuous ones by quadratures of spectral accuracy."""
    if kind == "pure":
        right = 1 / (1 + mp.exp(-x))
        return [(x, right), (-x, 1 - right)]
    if kind == "discrete":
        epsilon, steps = x
        q, h = mp.exp(-epsilon / steps), epsilon / steps
        ends = [1 if n in (0, steps) else 1 - q for n in range(steps + 1)]
        return [(h * (steps - 2 * n), ends[n] * q**n / (1 + q)) for n in range(steps + 1)]
    if kind == "laplace":
        return [(-u, mass) for u, mass in noise(x)]
    if kind == "sampled laplace":
        epsilon, rate = x
        outcomes = [(1 - rate + rate * mp.exp(u), mass) for u, mass in noise(epsilon)]
    else:
        sigma, rate = x
        step = mpf(1) / 5
        grid = [step * n for n in range(-65, 96)]
        outcomes = [
            (1 - rate + rate * mp.exp(y / sigma - 1 / (2 * sigma**2)), step * mp.exp(-y * y / 2) / mp.sqrt(2 * mp.pi))
            for y in grid
        ]
    if side == "added":
        return [(-mp.log(w), mass) for w, mass in outcomes]
    return [(mp.log(w), mass * w) for w, mass in outcomes]


def noise(epsilon):
    """Laplace noise by its loss against the moved noise: two atoms and a density between them."""
    nodes = GaussLegendre(mp).calc_nodes(4, 120)
    between = [(epsilon * y, w * epsilon * mp.exp(-(epsilon * y + epsilon) / 2) / 4) for y, w in nodes]
    return [(-epsilon, mpf(1) / 2), (epsilon, mp.exp(-epsilon) / 2), *between]


def delta(parts, mu_squared, epsilon):
    def cumulant(theta):
        value = mu_squared * theta * (theta + 1) / 2
        return value + sum(k * mp.log(mp.fsum(m * mp.exp(theta * loss) for loss, m in points)) for points, k in parts)

    def size(theta):
        return cumulant(theta) - theta * epsilon

    theta = min((mpf("0.1") * mpf("1.3") ** n for n in range(40)), key=lambda x: size(x) - mp.log(x))
    small = -(size(theta) - 2 * mp.log(theta + 1)) + 6
    spread = mp.sqrt((cumulant(theta * 1.01) - 2 * cumulant(theta) + cumulant(theta * 0.99)) / (theta * 0.01) ** 2)
    step = 2 * mp.pi / ((small + 40) / theta + 20 * spread)
    tilted = [[m * mp.exp(theta * loss) for loss, m in points] for points, _ in parts]
    turns = [[mp.expj(step * loss) for loss, _ in points] for points, _ in parts]
    start = [mp.fsum(masses) for masses in tilted]
    total, n = mpf(0), 0
    while True:
        z = mpc(theta, n * step)
        value = mp.exp(mu_squared * (z * z + z - theta * theta - theta) / 2 - mpc(0, n * step * epsilon))
        for (_, count), masses, whole in zip(parts, tilted, start, strict=True):
            value *= (mp.fsum(masses) / whole) ** count
        term = value / (z * (z + 1))
        total += term.real / (1 if n else 2)
        if mp.exp(-mu_squared * (n * step) ** 2 / 2) < mpf("1e-25"):
            return mp.exp(size(theta)) * step / mp.pi * total
        tilted = [[m * turn for m, turn in zip(*both, strict=True)] for both in zip(tilted, turns, strict=True)]
        n += 1


def random_part(draw):
    kind = draw.choice(["pure", "discrete", "laplace", "sampled gaussian", "sampled laplace"])
    epsilon = mpf(round(math.exp(draw.uniform(math.log(0.001), math.log(2))), 5))
    rate = mpf(draw.choice([0.0001, 0.01, 0.3]))
    if kind == "sampled gaussian":
        x = (mpf(draw.choice([0.75, 1.0, 2.5, 20.0])), rate)
        return kind, x, PLD.subsampled_gaussian(float(x[0]), float(rate))
    if kind == "sampled laplace":
        return kind, (epsilon, rate), PLD.subsampled_laplace(float(epsilon), float(rate))
    if kind == "discrete":
        steps = draw.randint(2, 5)
        return kind, (epsilon, steps), PLD.discrete_laplace(float(epsilon), steps)
    return kind, epsilon, PureDP(float(epsilon)) if kind == "pure" else PLD.laplace(float(epsilon))


def random_case(seed):
    draw = random.Random(seed)
    parts = [(random_part(draw), draw.choice([1, 3, 20, 300])) for _ in range(draw.choice([1, 2]))]
    return parts, mpf(round(draw.uniform(0.4, 1.5), 3)), mpf(round(draw.uniform(0.1, 12), 3))


def truth(parts, mu, epsilon):
    sides = [
        [
            (points_of(kind, x, "plain" if kind in ("pure", "discrete", "laplace") else side), k)
            for (kind, x, _), k in parts
        ]
        for side in ("removed", "added")
    ]
    return max(delta(side, mu * mu, epsilon) for side in sides)


@pytest.mark.parametrize("first", range(0, CASES, CHUNK))
def test_against_the_contour_integral(first):
    for seed in range(first, first + CHUNK):
        parts, mu, epsilon = random_case(seed)
        whole = compose([GDP(float(mu)), *(made * k for (_, _, made), k in parts)])
        low, high = whole.bounds_at(epsilon=float(epsilon))
        exact = truth(parts, mu, epsilon)
        assert low * (1 - 1e-9) <= exact <= high * (1 + 1e-9), (seed, low, high, exact)
        assert high - low <= 1e-3 * high, (seed, low, high)


def test_a_count_that_is_forgotten_is_caught():
    """Planted: one release too few."""
    parts = [(("laplace", mpf("0.3"), None), 10)]
    low, high = compose([GDP("0.5"), PLD.laplace("0.3") * 9]).bounds_at(epsilon=1)
    assert not low <= truth(parts, mpf("0.5"), mpf(1)) <= high
