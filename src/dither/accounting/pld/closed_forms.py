"""Distributions whose transforms have closed forms: randomised response, continuous and discrete Laplace noise.

With w = z + 1/2 all of them are even in w: a pair and its mirror image have the same losses.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dither.accounting.pld.distribution import (
    FUNCTION,
    UNDERFLOW,
    Complexes,
    ExactAtoms,
    LossDistribution,
    Reals,
    U,
)
from dither.exact.balls import Ball, ball, float_up

_LARGE = 300.0
_FEW_STEPS = 200


@dataclass(frozen=True)
class Stated(LossDistribution):
    """No finite loss exceeds the epsilon that was stated, and none is infinite unless the distribution says so."""

    epsilon: Fraction

    lost = Fraction(0)

    @property
    def top(self) -> float:
        return float_up(self.epsilon)

    @property
    def stated_epsilon(self) -> Fraction:
        return self.epsilon

    @property
    def certain_top(self) -> Fraction:
        return self.epsilon

    @property
    def variation(self) -> float:
        return math.tanh(float(self.epsilon) / 2) * (1 + 2 * FUNCTION)

    def log_moments(self, theta: Reals) -> Reals:
        # What is epsilon-DP is also epsilon^2/2-zCDP: sharp for tiny losses, where a transform is all rounding.
        small = min(float(self.epsilon), 1e150) ** 2 / 2 * (1 + 8 * U) + UNDERFLOW
        with np.errstate(over="ignore", invalid="ignore"):
            general = np.minimum(theta * self.top, np.where(self.top < 1e150, small * theta * (theta + 1), np.inf)) * (
                1 + 8 * U
            )
            return np.minimum(general, super().log_moments(theta))


@dataclass(frozen=True)
class TwoPoint(Stated):
    """Loss +epsilon or -epsilon: the worst pair of everything that is (epsilon, lost)-DP.

    M(z) = (1 - lost) cosh(w epsilon)/cosh(epsilon/2) (Kairouz, Oh and Viswanath 2015).
    """

    lost: Fraction = Fraction(0)

    @property
    def log_affinity(self) -> float:
        half = float(self.epsilon) / 2
        return (math.log(2) - half - math.log1p(math.exp(-2 * half))) * (1 - 4 * FUNCTION) + 4 * FUNCTION

    @property
    def log_top_mass(self) -> float:
        kept = math.log(1 - self.lost) if self.lost < 1 else -math.inf
        return kept - math.log1p(math.exp(-float(self.epsilon))) - 4 * FUNCTION * (1 + abs(kept))

    def cumulant(self, theta: Reals) -> tuple[Reals, Reals]:
        epsilon = float(self.epsilon)
        kept = float(1 - self.lost)
        x, y = (theta + 0.5) * epsilon, epsilon / 2
        small = np.minimum(x, _LARGE)
        # cosh x - cosh y as a product keeps the relative accuracy of tiny losses.
        ratio = np.sinh(np.minimum((theta + 1) * y, _LARGE)) * np.sinh(np.minimum(theta * y, _LARGE))
        near = np.log1p(2 * ratio / np.cosh(min(y, _LARGE)))
        far = theta * epsilon + np.log1p(np.exp(-2 * small)) - np.log1p(np.exp(-2 * min(y, _LARGE)))
        value = np.where(x < _LARGE / 2, near, far)
        lost = np.log1p(-float(self.lost)) if kept > 0.5 else np.log(kept)
        # sinh magnifies the rounding of its argument as many times as that is large. A product of tiny losses may fall
        # below all floats; it is not 0 for that.
        turned = 4 * U * min(y, _LARGE) * np.abs(value)
        rounding = 4 * FUNCTION * (np.abs(value) + abs(lost)) + turned
        return value + lost, rounding + (UNDERFLOW if self.epsilon else 0.0)

    def ratio(self, theta: float, times: Reals) -> tuple[Complexes, Reals]:
        epsilon = float(self.epsilon)
        y = times * epsilon
        value = np.empty(y.shape, dtype=complex)
        value.real = np.cos(y)
        value.imag = np.tanh((theta + 0.5) * epsilon) * np.sin(y)
        return value, 2 * FUNCTION + 8 * U * y

    def exact_atoms(self) -> ExactAtoms:
        def masses() -> dict[Any, Ball]:
            rare = (-ball(self.epsilon)).exp()
            right = ball(1 - self.lost) / (1 + rare)
            return {1: right, -1: rare * right}

        return ExactAtoms(masses, self.epsilon)

    def log_ratio(self, theta: float, times: Reals) -> tuple[Complexes, Reals]:
        ratio, error = self.ratio(theta, times)
        x, y = min((theta + 0.5) * float(self.epsilon), _LARGE), times * float(self.epsilon)
        # For small angles |ratio|^2 = 1 - (sin y/cosh x)^2 and the turn are accurate beside themselves, elsewhere as
        # the ratio is; what is lost in rounding counts as large as its error.
        modulus, turn = np.maximum(np.abs(ratio), error), np.angle(ratio)
        fall = np.where(y < 0.5, np.log1p(-np.square(np.sin(np.minimum(y, 0.5)) / np.cosh(x))) / 2, np.log(modulus))
        doubt = np.where(y < 0.5, 16 * FUNCTION * (np.abs(fall) + np.abs(turn)), 4 * error / modulus)
        return fall + 1j * turn, np.minimum(doubt, 1.0)


@dataclass(frozen=True)
class ContinuousLaplace(Stated):
    """Laplace noise of scale D/epsilon moved by D in L1.

    M(z) = e^(-epsilon/2) (cosh(w epsilon) + sinh(w epsilon)/(2w)).
    """

    log_top_mass = -math.log(2) - U

    @property
    def variation(self) -> float:
        return -math.expm1(-float(self.epsilon) / 2) * (1 + 2 * FUNCTION)

    @property
    def log_affinity(self) -> float:
        half = float(self.epsilon) / 2
        return math.log1p(half) - half + 2 * FUNCTION * (1 + half)

    def log_moments(self, theta: Reals) -> Reals:
        # (2 theta + 1)(M - 1) = (theta + 1)(e^x - 1 - x) + theta (e^-y - 1 + y), x = theta epsilon, y = x + epsilon.
        with np.errstate(over="ignore", invalid="ignore"):
            x = theta * float(self.epsilon)
            y = x + float(self.epsilon)
            excess = ((theta + 1) * _excess(x) + theta * _excess(-y)) / (2 * theta + 1)
            sharp = np.where(x < 1, np.log1p(excess) * (1 + 16 * FUNCTION) + UNDERFLOW, np.inf)
            return np.minimum(sharp, super().log_moments(theta))

    def cumulant(self, theta: Reals) -> tuple[Reals, Reals]:
        epsilon = float(self.epsilon)
        a = theta + 0.5
        shrink = np.exp(-2 * np.minimum(a * epsilon, _LARGE))
        # e^(-x) (cosh x + sinh x/2a) e^(-epsilon/2) = e^(theta epsilon) (...), the bracket without cancellation.
        inner = -(1 - shrink) * (1 - 1 / (2 * a)) / 2
        value = theta * epsilon + np.log1p(inner)
        return value, 4 * FUNCTION * (1 + theta * epsilon)

    def ratio(self, theta: float, times: Reals) -> tuple[Complexes, Reals]:
        epsilon, a = float(self.epsilon), theta + 0.5
        tanh = float(np.tanh(a * epsilon))
        y = times * epsilon
        cos, sin = np.cos(y), np.sin(y)
        value = (cos + 1j * tanh * sin + (tanh * cos + 1j * sin) / (2 * (a + 1j * times))) / (1 + tanh / (2 * a))
        return value, 8 * FUNCTION + 16 * U * y


@dataclass(frozen=True)
class DiscreteLaplace(Stated):
    """Discrete Laplace noise of scale steps/epsilon moved by `steps` whole steps in L1.

    M(z) = e^(-epsilon/2) (2/(1+q) cosh(w epsilon) + tanh(h/2) sinh(w(epsilon - h))/sinh(w h)), h = epsilon/steps,
    q = e^-h; one step is randomised response, ever more steps tend to continuous noise.
    """

    steps: int

    @property
    def log_affinity(self) -> float:
        epsilon, h = float(self.epsilon), float(self.epsilon / self.steps)
        whole = 2 / (1 + math.exp(-h)) + (self.steps - 1) * math.tanh(h / 2)
        return math.log(whole) - epsilon / 2 + 4 * FUNCTION * (2 + epsilon)

    @property
    def log_top_mass(self) -> float:
        return -math.log1p(math.exp(-float(self.epsilon / self.steps))) - 4 * FUNCTION

    def cumulant(self, theta: Reals) -> tuple[Reals, Reals]:
        if self.steps == 1:
            return TwoPoint(self.epsilon).cumulant(theta)
        epsilon, h = float(self.epsilon), float(self.epsilon / self.steps)
        a = theta + 0.5
        ends = (1 + np.exp(-2 * np.minimum(a * epsilon, _LARGE))) / (1 + np.exp(-h))
        # tanh(h/2) sinh(x - ah)/sinh(ah) with e^x taken out
        rest = float((self.steps - 1) * self.epsilon / self.steps)
        falls = np.expm1(-2 * np.minimum(a * rest, _LARGE)) / np.expm1(-2 * np.minimum(a * h, _LARGE))
        between = np.tanh(h / 2) * np.exp(-2 * np.minimum(a * h, _LARGE)) * falls
        value = theta * epsilon + np.log(ends + between)
        return value, 8 * FUNCTION * (2 + theta * epsilon)

    def exact_atoms(self) -> ExactAtoms | None:
        def masses() -> dict[Any, Ball]:
            q = (-ball(self.epsilon / self.steps)).exp()
            inner = {self.steps - 2 * x: (1 - q) * q**x / (1 + q) for x in range(1, self.steps)}
            return {self.steps: 1 / (1 + q), **inner, -self.steps: q**self.steps / (1 + q)}

        return ExactAtoms(masses, self.epsilon / self.steps) if self.steps <= _FEW_STEPS else None

    def ratio(self, theta: float, times: Reals) -> tuple[Complexes, Reals]:
        if self.steps == 1:
            return TwoPoint(self.epsilon).ratio(theta, times)
        epsilon, h = float(self.epsilon), float(self.epsilon / self.steps)
        rest = float((self.steps - 1) * self.epsilon / self.steps)
        a = theta + 0.5
        x, near, step = (2 * min(a * length, _LARGE) for length in (epsilon, rest, h))
        full = times * epsilon
        ends = ((1 + np.exp(-x)) * np.cos(full) - 1j * np.expm1(-x) * np.sin(full)) / (1 + np.exp(-h))
        upper = -np.expm1(-near) * np.cos(times * rest) + 1j * (1 + np.exp(-near)) * np.sin(times * rest)
        turn = times * h
        lower = -np.expm1(-step) * np.cos(turn) + 1j * (1 + np.exp(-step)) * np.sin(turn)
        between = np.tanh(h / 2) * np.exp(-step) * upper / lower
        whole = (1 + np.exp(-x)) / (1 + np.exp(-h)) + np.tanh(h / 2) * np.exp(-step) * np.expm1(-near) / np.expm1(-step)
        # Near a multiple of pi the sine of `turn` keeps only absolute accuracy, and `lower` may be small there.
        angle = FUNCTION + 8 * U * times * epsilon
        error = 8 * angle * (1 + np.abs(between) * (1 + 2 * np.where(turn < 1, 1.0, 1 / np.abs(lower))))
        # |upper| is at most 2 and 1/2 of it is rounding at worst: covered relative to tanh(h/2)/|lower| as well.
        error += 8 * angle * np.tanh(h / 2) * np.exp(-step) / np.abs(lower)
        return (ends + between) / whole, error / whole


def _excess(x: Reals) -> Reals:
    """At least e^x - 1 - x for x <= 1, by less than 1e-12 of it."""
    series = x * x * (0.5 + x * (1 / 6 + x * (1 / 24 + x * (1 / 120 + x / 720))))
    value: Reals = np.where(np.abs(x) < 1e-2, series * (1 + 1e-13), np.expm1(x) - x + 2 * FUNCTION * np.abs(x))
    return value
