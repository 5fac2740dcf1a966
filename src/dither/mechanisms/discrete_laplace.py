"""The discrete Laplace distribution, P[X = x] = (1 - q)/(1 + q) q^|x| with q = exp(-1/scale), as balls."""

from __future__ import annotations

from fractions import Fraction

from dither.exact.balls import Ball, ball


def mass(scale: Fraction, steps: int) -> Ball:
    """P[X = steps]."""
    rate = ball(1 / scale)
    return (rate / 2).tanh() * (-rate * abs(steps)).exp()


def upper_tail(scale: Fraction, least: int) -> Ball:
    """P[X >= least]."""
    if least <= 0:
        return 1 - upper_tail(scale, 1 - least)
    rate = ball(1 / scale)
    return (-rate * least).exp() / (1 + (-rate).exp())


def reach(scale: Fraction, tail: Ball) -> Ball:
    """The real w with P(|X| > w) = 2 q^(w+1) / (1+q) = tail, as if that formula held between whole numbers too."""
    rate = ball(1 / scale)
    return (ball(2) / (1 + (-rate).exp()) / tail).log() / rate - 1
