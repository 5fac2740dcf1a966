"""Sums of independent losses, and the part of such a sum in which some step had a large loss."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from dither.accounting.pld.distribution import FUNCTION, Complexes, Law, Reals, U
from dither.accounting.pld.work import charge

GRID = np.logspace(-8, 18, 118)
_PARTS = np.linspace(0, 1, 25)
_CLOSE = 0.5
_OVERFLOW, _UNDERFLOW = 600.0, 1e-280
_MANY = 10**4  # steps whose rounding would add up


class Measure(ABC):
    """A measure of total losses, known by its transform."""

    mu_squared: float  # of the Gaussian parts: the transform falls at least as fast as theirs

    @property
    @abstractmethod
    def log_mass(self) -> float:
        """ln of a bound of the total mass."""

    @abstractmethod
    def cumulant(self, theta: Reals) -> tuple[Reals, Reals]:
        """ln of the transform at real theta > 0 and a bound of its absolute error."""

    @abstractmethod
    def product(self, theta: float, times: Reals) -> tuple[Complexes, Reals, Reals]:
        """The transform by that at theta, a bound of its modulus, and by how much of that bound it may be off.

        Without the turning of the Gaussian parts, which a line adds where it nearly cancels with epsilon.
        """

    @cached_property
    def on_grid(self) -> tuple[Reals, Reals]:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return self.cumulant(GRID)


@dataclass(frozen=True)
class Sum(Measure):
    """A sum of independent losses: laws with counts, and Gaussian parts by their total mu^2."""

    laws: tuple[tuple[Law, int], ...]
    mu_squared: float

    @property
    def log_mass(self) -> float:
        return 0.0

    @property
    def log_kept(self) -> float:
        """At most ln of the probability that nothing is lost or not read."""
        total = 0.0
        for law, count in self.laws:
            share = float(law.lost + law.unread) * (1 + 4 * U)
            total += count * (math.log1p(-share) if share < 1 else -math.inf) if share else 0.0
        return total * (1 + FUNCTION) if total else 0.0

    @cached_property
    def top_atom(self) -> tuple[float, float]:
        """The largest loss, rounded down, and at most ln of its mass."""
        mass = sum(count * law.log_top_mass for law, count in self.laws)
        if self.mu_squared or not math.isfinite(mass):
            return 0.0, -math.inf
        top = float(sum((count * law.certain_top for law, count in self.laws), Fraction(0)))
        return top - 4 * U * abs(top), mass

    def cumulant(self, theta: Reals) -> tuple[Reals, Reals]:
        total = self.mu_squared * (theta * theta + theta) / 2
        error = 8 * U * total
        for law, count in self.laws:
            value, wrong = law.cumulant(theta)
            total = total + count * value
            error = error + count * (wrong + 2 * U * np.abs(value))
        return total, error + 4 * U * np.abs(total) * (1 + len(self.laws))

    def product(self, theta: float, times: Reals) -> tuple[Complexes, Reals, Reals]:
        gaussian = np.exp(-self.mu_squared * times * times / 2)
        product: Complexes = gaussian.astype(complex)
        bulk, doubt = gaussian, FUNCTION * (4 + self.mu_squared * times * times)
        phase, decay = np.zeros_like(times), np.zeros_like(times)
        for law, count in self.laws:
            charge(20 * len(times))
            logs = law.log_ratio(theta, times) if count > _MANY else None
            if logs is not None:
                value, wrong = logs
                fall = np.minimum(value.real + wrong, 0.0)
                phase, decay = phase + count * value.imag, decay + count * fall
                doubt = doubt + count * (wrong + 8 * U * (np.abs(value.imag) + np.abs(fall)))
                continue
            ratio, error = law.ratio(theta, times)
            bound = np.minimum(np.abs(ratio) + error, 1 + 4 * U)  # |M(z)| <= M(theta)
            doubt = doubt + count * (error / bound + 4 * U)
            if count == 1:
                product, bulk = product * ratio, bulk * bound
                continue
            turn, fall = np.angle(ratio), np.log(bound)
            phase, decay = phase + count * turn, decay + count * fall
            doubt = doubt + count * FUNCTION * (np.abs(turn) + np.abs(fall))
        power = np.exp(np.minimum(decay, 0.0))
        doubt = doubt + 8 * U * (np.abs(phase) + np.abs(decay) + len(self.laws))
        return product * power * np.exp(1j * phase), bulk * power, doubt

    def log_moments(self, theta: Reals) -> Reals:
        """At least ln E[e^(theta L)] for each theta > 0."""
        with np.errstate(over="ignore", invalid="ignore"):
            total = self.mu_squared * (theta * theta + theta) / 2
            for law, count in self.laws:
                total = total + count * law.log_moments(theta)
            return np.where(np.isfinite(total), total * (1 + 8 * U * (1 + len(self.laws))), np.inf)

    def trimmed(self, log_mass: float) -> Sum:
        """Without the largest losses: all steps together leave out at most so much mass, by its logarithm."""
        steps = max(1, sum(count for _, count in self.laws))
        laws = tuple((law.trimmed(log_mass - math.log(steps)), count) for law, count in self.laws)
        return (
            self if all(a is b for (a, _), (b, _) in zip(laws, self.laws, strict=True)) else Sum(laws, self.mu_squared)
        )

    def bands(self, log_masses: Sequence[float]) -> tuple[Measure, ...]:
        """Sums apart by the size of their largest loss; the masses rise, those beyond each border have at most so much.

        The first measure has no loss above the lowest border, each other one some loss in its band and none above.
        """
        found: list[Measure] = []
        small = self
        for log_mass in log_masses:
            parts = small._parted(log_mass)
            if parts is not None:
                small = parts[0]
                found.append(parts[1])
        return (small, *found)

    def _parted(self, log_mass: float) -> tuple[Sum, SomeLarge] | None:
        steps = max(1, sum(count for _, count in self.laws))
        parts = [(law.parted(log_mass - math.log(steps)), law, count) for law, count in self.laws]
        large = tuple((*part, count) for part, _, count in parts if part is not None)
        if not large:
            return None
        rest = Sum(tuple((law, count) for part, law, count in parts if part is None), self.mu_squared)
        small = Sum((*rest.laws, *((low, count) for low, _, count in large)), self.mu_squared)
        return small, SomeLarge(rest, large, log_mass)


@dataclass(frozen=True)
class SomeLarge(Measure):
    """Sums with at least one large loss: the transform is that of all sums less that of sums of small losses.

    prod (B_i + J_i)^(k_i) - prod B_i^(k_i) is evaluated as prod B_i^(k_i) times expm1(sum k_i log1p(J_i/B_i)), so that
    what is rare keeps its relative accuracy.
    """

    rest: Sum
    parts: tuple[tuple[Law, Law, int], ...]
    largest_mass: float  # ln of it

    @property
    def mu_squared(self) -> float:  # type: ignore[override]
        return self.rest.mu_squared

    @property
    def log_mass(self) -> float:
        return min(0.0, self.largest_mass + 1e-9)

    def cumulant(self, theta: Reals) -> tuple[Reals, Reals]:
        total, error = self.rest.cumulant(theta)
        gain, doubt = np.zeros_like(theta), np.zeros_like(theta)
        for low, high, count in self.parts:
            (small, wrong), (large, off) = low.cumulant(theta), high.cumulant(theta)
            total, error = total + count * small, error + count * (wrong + 4 * U * np.abs(small))
            more = np.logaddexp(0.0, large - small)
            gain = gain + count * more
            # d log(1 + e^x) = e^x/(1 + e^x) dx, at most log(1 + e^x) dx; expm1 at most doubles a relative error below.
            doubt = doubt + count * (np.minimum(more, 1.0) * (wrong + off) + 4 * FUNCTION * more)
        some = gain + np.log(-np.expm1(-gain))
        # d ln(e^g - 1) = dg/(1 - e^-g), and dg is at most g times a relative error or an absolute one.
        grown = doubt / -np.expm1(-gain)
        return total + some, error + 2 * grown + 8 * FUNCTION * (1 + np.abs(some)) + 4 * U * np.abs(total)

    def product(self, theta: float, times: Reals) -> tuple[Complexes, Reals, Reals]:
        product, bulk, doubt = self.rest.product(theta, times)
        at = np.array([theta])
        power = np.zeros(len(times), dtype=complex)  # ln of prod (B_i(z)/B_i(theta))^(k_i)
        gain = np.zeros(len(times), dtype=complex)
        size, size_gain, whole = np.zeros_like(times), np.zeros_like(times), 0.0
        rare = np.zeros_like(times)
        for low, high, count in self.parts:
            (small, wrong), (large, off) = low.ratio(theta, times), high.ratio(theta, times)
            (log_small, e_small), (log_large, e_large) = low.cumulant(at), high.cumulant(at)
            more = float((log_large - log_small)[0])
            if not more < _OVERFLOW:
                return product, bulk, np.full_like(times, np.inf)
            share = math.exp(more)
            small_bound = np.minimum(np.abs(small) + wrong, 1 + 4 * U)
            large_bound = share * np.minimum(np.abs(large) + off, 1 + 4 * U)
            unsure = float(e_small[0] + e_large[0]) + 4 * FUNCTION
            # A transform that vanishes is as good as one that is tiny: its bound says how far it may be off.
            safe = np.where(np.abs(small) < 1e-300, 1e-300, small)
            log_safe, log_more = np.log(safe), _log1p(share * large / safe)
            power, gain = power + count * log_safe, gain + count * log_more
            size, size_gain = (
                size + count * np.log(small_bound),
                size_gain + count * np.log1p(large_bound / small_bound),
            )
            whole += count * math.log1p(share)
            doubt = doubt + count * (wrong / small_bound + FUNCTION * (4 + 2 * np.abs(log_safe)))
            # The large losses are off by their own errors, once for each step that may have one.
            own = (off / (large_bound / share) + unsure) * large_bound / (small_bound + large_bound)
            rare = rare + count * (own + 4 * FUNCTION * np.abs(log_more))
        if not _UNDERFLOW < whole < _OVERFLOW:
            return product, bulk, np.full_like(times, np.inf)
        scale = math.expm1(whole)
        near = np.abs(gain) < 1
        some = np.exp(power) * _expm1(np.where(near, gain, 0.0))
        value = product * np.where(near, some, np.exp(power + gain) - np.exp(power)) / scale
        bound = bulk * np.exp(size + size_gain) * -np.expm1(-size_gain) / scale
        # sum k j (b+j)^(k-1) / ((b+j)^k - b^k)
        wrong_rare = rare / -np.expm1(-size_gain)
        # The figure at theta itself, by which all is divided, is as uncertain as the first of them.
        return value, bound, doubt + wrong_rare + wrong_rare[0] + 8 * FUNCTION * (4 + np.abs(size) + size_gain)


def _log1p(z: Complexes) -> Complexes:
    """ln(1 + z), accurate for small z."""
    real = np.where(
        np.abs(z) < _CLOSE, np.log1p(2 * z.real + np.abs(z) ** 2) / 2, np.log(np.maximum(np.abs(1 + z), 1e-300))
    )
    value: Complexes = real + 1j * np.angle(1 + z)
    return value


def _expm1(z: Complexes) -> Complexes:
    """e^z - 1, accurate for small z."""
    half = np.sin(z.imag / 2)
    real = np.expm1(z.real) * np.cos(z.imag) - 2 * half * half
    value: Complexes = real + 1j * np.exp(z.real) * np.sin(z.imag)
    return value


def markov(theta: Reals) -> Reals:
    """ln of the largest (1 - e^-u) e^(-theta u): by Markov, ln delta <= ln M(theta) - theta epsilon + this."""
    return -(1 + theta) * np.log1p(1 / theta) - np.log(theta)


def best_order(losses: Measure, objective_at: float, *, log_delta: bool) -> tuple[float, float]:
    """The theta at which Markov's inequality is best (for an epsilon or a ln delta), and what it gives, rounded up."""

    def values(theta: Reals, cumulant: Reals, error: Reals) -> Reals:
        top = cumulant + error + markov(theta) + 8 * U * (np.abs(cumulant) + 1)
        found = (top - objective_at) / theta if log_delta else top - theta * objective_at
        return np.where(np.isfinite(found), found, np.inf)

    grid, known = GRID, losses.on_grid
    best = int(np.argmin(values(grid, *known)))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    grid = low * (high / low) ** _PARTS
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        found = values(grid, *losses.cumulant(grid))
    best = int(np.argmin(found))
    value = float(found[best])
    return float(grid[best]), value + abs(value) * 8 * U
