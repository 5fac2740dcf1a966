"""Two hundred random compositions beside a second implementation: the inverse Laplace transform as a plain integral.

It shares nothing with the package: transforms from definitions, a Gaussian part that makes the integral converge, one
tilt by a crude search, the trapezoidal rule far finer than needed.
"""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from dither.accounting import GDP, PLD, PureDP, compose

NODES = np.arange(-12, 13, 0.05)


def pure(epsilon):
    right = 1 / (1 + math.exp(-epsilon))
    return lambda z: right * np.exp(z * epsilon) + (1 - right) * np.exp(-z * epsilon)


def laplace(epsilon):
    def transform(z):
        ends = np.exp(z * epsilon) / 2 + np.exp(-(z + 1) * epsilon) / 2
        w = z + 0.5
        return ends + math.exp(-epsilon / 2) * np.sinh(w * epsilon) / (2 * w)

    return transform


def sampled(sigma, rate, added):
    loss = np.log(1 - rate + rate * np.exp(NODES / sigma - 1 / (2 * sigma**2)))
    base = np.exp(-NODES * NODES / 2) * 0.05 / math.sqrt(2 * math.pi)
    losses, masses = (-loss, base) if added else (loss, base * np.exp(loss))
    return lambda z: np.exp(np.multiply.outer(z, losses)) @ masses


def delta(transforms, mu_squared, epsilon):
    def log_size(theta):
        value = mu_squared * theta * (theta + 1) / 2 - theta * epsilon
        return value + sum(k * math.log(t(np.array([theta + 0j]))[0].real) for t, k in transforms)

    theta = min((0.05 * 1.15**n for n in range(42)), key=lambda x: log_size(x) - math.log(x * (x + 1)))
    reach = 8.5 / math.sqrt(mu_squared)
    step = 2 * math.pi / (60 / theta + 40)
    t = np.arange(0, reach, step)
    z = theta + 1j * t
    logs = mu_squared * z * (z + 1) / 2 - z * epsilon
    value = np.exp(logs - logs[0]) / (z * (z + 1))
    for transform, count in transforms:
        found = transform(z)
        value = value * (found / found[0].real) ** count
    return math.exp(log_size(theta)) * step / math.pi * (value.real.sum() - value[0].real / 2)


def random_parts(draw):
    kind = draw.choice(["pure", "laplace", "sampled"])
    count = draw.randint(1, 30)
    if kind == "sampled":
        sigma, rate = draw.choice([0.7, 1.0, 2.0, 5.0]), draw.choice([0.001, 0.05, 0.4])
        return PLD.subsampled_gaussian(sigma, rate) * count, [(sampled(sigma, rate, side), count) for side in (0, 1)]
    epsilon = round(math.exp(draw.uniform(math.log(0.01), math.log(0.8))), 4)
    made = (PureDP(epsilon), pure(epsilon)) if kind == "pure" else (PLD.laplace(epsilon), laplace(epsilon))
    return made[0] * count, [(made[1], count)] * 2


@pytest.mark.parametrize("seed", range(0, 200, 20))
def test_the_inverse_transform(seed):
    for case in range(seed, seed + 20):
        draw = random.Random(case)
        parts = [random_parts(draw) for _ in range(draw.choice([1, 2]))]
        mu = round(draw.uniform(0.2, 1.5), 3)
        epsilon = round(draw.uniform(0.1, 6), 3)
        low, high = compose([GDP(mu), *(part for part, _ in parts)]).bounds_at(epsilon=epsilon)
        truth = max(delta([both[side] for _, both in parts], mu * mu, epsilon) for side in (0, 1))
        assert low * (1 - 1e-7) - 1e-13 <= truth <= high * (1 + 1e-7) + 1e-13, case
        assert high - low <= 1e-3 * high + 1e-13, case


def test_a_count_that_is_forgotten_is_caught():
    """Planted: one release too few."""
    right = delta([(laplace(0.3), 10)], 0.25, 1.0)
    low, high = compose([GDP("0.5"), PLD.laplace("0.3") * 9]).bounds_at(epsilon=1)
    assert not low * (1 - 1e-7) <= right <= high * (1 + 1e-7)
