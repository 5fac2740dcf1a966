"""Sums of losses told apart by how many of their steps had a large loss.

A few large losses among many small ones fit no single line, and all steps at once could be large, which no window can
hold. The number of large ones is small, so that each number is a measure of its own. Proof: docs/proofs/pld.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dither.accounting.pld.distribution import FUNCTION, Complexes, LossDistribution, Reals, U
from dither.accounting.pld.grid import cumulant_of
from dither.accounting.pld.sums import Measure, Sum
from dither.accounting.pld.work import charge

_MOST = 64
_APART = 4  # so many large losses are looked at one number at a time
_UNDERFLOW = 1e-280


def by_number(losses: Sum, theta: float, log_left: float) -> tuple[Sum, tuple[SomeLarge, ...]] | None:
    """Sums without large losses, and those with one, two ... of them; more have a mass of at most e^log_left.

    Large is what lies beyond the valley that the losses have at the tilt theta; None if there is none, or if too many
    large losses are likely.
    """
    parts = [(distribution.parted(theta), distribution, count) for distribution, count in losses.distributions]
    large = tuple((low, high, count) for part, _, count in parts if part for low, high, _ in [part])
    if not large:
        return None
    # The number of large losses has mean e^log_mean at most; m of them have a probability of at most mean^m/m!.
    log_mean = float(np.logaddexp.reduce([part[2] + math.log(count) for part, _, count in parts if part])) + 1e-9
    steps = sum(count for _, _, count in large)
    most = next((m for m in range(_MOST) if m == steps or _log_at_least(m + 1, log_mean) <= log_left), None)
    if most is None:
        return None
    rest = Sum(tuple((distribution, count) for part, distribution, count in parts if not part), losses.mu_squared)
    small = Sum((*rest.distributions, *((low, count) for low, _, count in large)), losses.mu_squared)
    single = range(1, min(most, _APART - 1) + 1)
    found = [SomeLarge(rest, large, number, number, log_mean) for number in single]
    if most >= _APART:
        found.append(SomeLarge(rest, large, _APART, most, log_mean))
    return small, tuple(found)


def _log_at_least(number: int, log_mean: float) -> float:
    return number * log_mean - math.lgamma(number + 1) + 1e-9


@dataclass(frozen=True)
class SomeLarge(Measure):
    """Sums of which `least` to `most` steps have a large loss: B_i and J_i are the transforms of small and large ones.

    The transform is the sum over m of the coefficients of y^m in prod (B_i + y J_i)^(k_i).
    """

    rest: Sum
    parts: tuple[tuple[LossDistribution, LossDistribution, int], ...]
    least: int
    most: int
    log_mean: float  # ln of a bound of how many large losses there are on average

    @property
    def mu_squared(self) -> float:  # type: ignore[override]
        return self.rest.mu_squared

    @property
    def cost(self) -> int:
        products = (self.most + 1) * (len(self.parts) > 1)
        return self.rest.cost + len(self.parts) * (self.most + 1) * (40 + 2 * products)

    @property
    def easy_orders(self) -> float:
        return min(self.rest.easy_orders, *(part.easy_orders for low, high, _ in self.parts for part in (low, high)))

    @property
    def steps(self) -> int:
        return self.rest.steps + sum(count for _, _, count in self.parts)

    @property
    def log_mass(self) -> float:
        return min(0.0, _log_at_least(self.least, self.log_mean))

    @cached_property
    def _choices(self) -> list[Reals]:
        """ln of the binomial coefficients C(k_i, m), m = 0 ... most."""
        found = []
        for _, _, count in self.parts:
            steps = [math.log((count - m) / (m + 1)) if count > m else -math.inf for m in range(self.most)]
            found.append(np.concatenate([[0.0], np.cumsum(steps)]))
        return found

    def cumulant(self, theta: Reals) -> tuple[Reals, Reals]:
        total, error = self.rest.cumulant(theta)
        doubt, apart, ways = 0 * theta, 0 * theta, np.full((self.most + 1, len(theta)), -np.inf)
        ways[0] = 0.0
        for (low, high, count), choices in zip(self.parts, self._choices, strict=True):
            (small, wrong), (large, off) = cumulant_of(low, theta), cumulant_of(high, theta)
            total, error = total + count * small, error + count * (wrong + 4 * U * np.abs(small))
            doubt = np.maximum(doubt, wrong + off + 4 * U * (np.abs(small) + np.abs(large)))
            apart = np.maximum(apart, np.abs(large - small))
            ways = _log_product(ways, choices[:, None] + np.arange(self.most + 1)[:, None] * (large - small))
        some = np.logaddexp.reduce(ways[self.least :], axis=0)
        return total + some, error + self.most * doubt + self._rounding(apart) + 4 * U * np.abs(total)

    def _rounding(self, apart: Reals) -> Reals:
        """Of the binomial coefficients, of the powers of ratios of at most e^apart, and of sums of their products."""
        largest = max(float(choices[np.isfinite(choices)].max()) for choices in self._choices)
        rounding: Reals = 2 * FUNCTION * (1 + len(self.parts)) * (4 + self.most) * (8 + largest + self.most * apart)
        return rounding

    def product(self, theta: float, times: Reals) -> tuple[Complexes, Reals, Reals]:
        charge(self.cost * len(times))
        product, bulk, doubt = self.rest.product(theta, times)
        numbers, at = np.arange(self.most + 1), np.array([theta])
        known = [(cumulant_of(low, at), cumulant_of(high, at)) for low, high, _ in self.parts]
        ratios = [float((large - small)[0]) for (small, _), (large, _) in known]
        highest = max(ratios)
        if not math.isfinite(highest):
            return product, bulk, np.full_like(times, np.inf)
        ways, sizes, whole = [1.0 + 0j * times], [1.0 + 0 * times], np.ones(1)
        unsure = largest = np.zeros_like(times)
        for (low, high, count), choices, ratio, (own, other) in zip(
            self.parts, self._choices, ratios, known, strict=True
        ):
            (small, wrong), (large, off) = low.ratio(theta, times), high.ratio(theta, times)
            bounds = np.minimum(np.abs(small) + wrong, 1 + 4 * U), np.minimum(np.abs(large) + off, 1 + 4 * U)
            turns, falls = (np.angle(small), np.angle(large)), (np.log(bounds[0]), np.log(bounds[1]))
            # In units of the highest ratio, so that no power leaves the range of floats.
            weights = np.exp(choices + numbers * (ratio - highest))
            own_ways, own_sizes = [], []
            for number in range(min(self.most, count) + 1):
                size = weights[number] * np.exp((count - number) * falls[0] + number * falls[1])
                own_sizes.append(size)
                own_ways.append(size * np.exp(1j * ((count - number) * turns[0] + number * turns[1])))
            ways, sizes = _product(ways, own_ways, self.most), _product(sizes, own_sizes, self.most)
            whole = np.convolve(whole, weights)[: self.most + 1]
            doubt = doubt + count * (wrong / bounds[0] + FUNCTION * (4 + np.abs(turns[0]) + np.abs(falls[0])))
            largest = np.maximum(largest, off / bounds[1] + FUNCTION * (4 + np.abs(turns[1]) + np.abs(falls[1])))
            unsure = np.maximum(unsure, float((own[1] + other[1])[0]) + 4 * U * (abs(highest) + abs(ratio)))
        scale = np.exp((numbers - (self.most if highest > 0 else self.least)) * highest)
        total = float((whole * scale[: len(whole)])[self.least :].sum())
        if not total > _UNDERFLOW:
            return product, bulk, np.full_like(times, np.inf)
        value, bound = np.zeros(len(times), dtype=complex), np.zeros_like(times)
        for number in range(self.least, min(self.most + 1, len(ways))):
            share = scale[number] / total
            value, bound = value + share * ways[number], bound + share * sizes[number]
        # The figures at theta, by which all is divided, are as uncertain as the shares of the ways.
        rounding = self._rounding(np.array([max(abs(ratio) for ratio in ratios)]))
        return product * value, bulk * bound, doubt + self.most * (largest + 2 * unsure) + rounding


def _log_product(one: Reals, two: Reals) -> Reals:
    found = np.full_like(one, -np.inf)
    for shift in range(len(one)):
        found[shift:] = np.logaddexp(found[shift:], one[: len(one) - shift] + two[shift])
    return found


def _product(one: list[Complexes], two: list[Complexes], most: int) -> list[Complexes]:
    found = []
    for degree in range(min(most, len(one) + len(two) - 2) + 1):
        terms = [one[n] * two[degree - n] for n in range(len(one)) if 0 <= degree - n < len(two)]
        found.append(sum(terms[1:], terms[0]))
    return found
