"""Second implementations at 200 bits: exact curves from definitions, sharing no formula with the package."""

from __future__ import annotations

import itertools
from fractions import Fraction
from types import SimpleNamespace

import pytest
from flint import arb, ctx, fmpq


def number(value):
    value = Fraction(value)
    return arb(fmpq(value.numerator, value.denominator))


def normal_tail(x):
    """P[N(0,1) > x]."""
    return (1 - (x / arb(2).sqrt()).erf()) / 2


def gaussian_delta(mu, epsilon):
    """E over N(mu,1) against N(0,1), for any real epsilon."""
    if mu == 0:
        return max(1 - epsilon.exp(), arb(0))
    edge = epsilon / mu
    return normal_tail(edge - mu / 2) - epsilon.exp() * normal_tail(edge + mu / 2)


def exact_delta(pure, mu_squared, epsilon, lost=()):
    """The worst hockey-stick divergence that composed parts allow: randomised responses (`pure` epsilons), Gaussians
    (the sum of their mu^2) and events in which all is lost (`lost` deltas), by summing over the responses."""
    before = ctx.prec
    ctx.prec = 200
    try:
        target, mu = number(epsilon), number(mu_squared).sqrt()
        total = arb(0)
        for signs in itertools.product((1, -1), repeat=len(pure)):
            chance, loss = arb(1), arb(0)
            for sign, each in zip(signs, pure, strict=True):
                loss += sign * number(each)
                chance *= 1 / (1 + (-sign * number(each)).exp())
            rest = target - loss
            # Given the responses, the Gaussians must cover the rest of epsilon, which may be negative.
            total += chance * (gaussian_delta(mu, rest) if mu_squared else max(1 - rest.exp(), arb(0)))
        kept = arb(1)
        for delta in lost:
            kept *= 1 - number(delta)
        return 1 - kept + kept * total
    finally:
        ctx.prec = before


def rho_to_epsilon(rho, delta, orders=4000):
    """The optimised conversion by scanning orders, 200 bits."""
    before = ctx.prec
    ctx.prec = 200
    try:
        best = None
        for step in range(1, orders):
            b = arb(step) / 400 if step <= 2000 else arb(10) ** (arb(step - 2000) / 500) * 5
            a = b + 1
            value = number(rho) * a + (1 - 1 / a).log() - (number(delta).log() + a.log()) / b
            best = value if best is None or value < best else best
        return best
    finally:
        ctx.prec = before


@pytest.fixture(scope="session")
def reference():
    return SimpleNamespace(
        number=number, exact_delta=exact_delta, rho_to_epsilon=rho_to_epsilon, gaussian_delta=gaussian_delta
    )
