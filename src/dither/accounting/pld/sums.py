"""Sums of independent losses."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from dither.accounting.pld.distribution import FUNCTION, Complexes, LossDistribution, Reals, U
from dither.accounting.pld.grid import Grid, cumulant_of
from dither.accounting.pld.work import charge
from dither.exact.balls import ball, bounds

_MANY = 10**4  # steps whose rounding would add up


class Measure(ABC):
    """A measure of total losses, known by its transform."""

    mu_squared: float  # of the Gaussian parts: the transform falls at least as fast as theirs

    @property
    @abstractmethod
    def cost(self) -> int:
        """About how many operations a point of `product` takes, apart from the transforms of the parts."""

    @property
    @abstractmethod
    def log_mass(self) -> float:
        """ln of a bound of the total mass."""

    @property
    @abstractmethod
    def easy_orders(self) -> float:
        """Up to which order the cumulants of many orders take little more work than that of one."""

    @property
    @abstractmethod
    def steps(self) -> int:
        """How many losses are added up, Gaussian ones apart: rounding grows with it."""

    @abstractmethod
    def cumulant(self, theta: Reals) -> tuple[Reals, Reals]:
        """ln of the transform at real theta > 0 and a bound of its absolute error."""

    @abstractmethod
    def product(self, theta: float, times: Reals) -> tuple[Complexes, Reals, Reals]:
        """The transform by that at theta, a bound of its modulus, and by how much of that bound it may be off.

        Without the turning of the Gaussian parts, which a line adds where it nearly cancels with epsilon.
        """

    def on_grid(self, epsilon: float) -> Reals:
        """Bounds of the cumulant on `GRID`, infinite past all orders that Markov's inequality may want at epsilon."""
        return self._grid.up_to(epsilon)

    @cached_property
    def _grid(self) -> Grid:
        return Grid(self)


@dataclass(frozen=True)
class Sum(Measure):
    """A sum of independent losses: distributions with counts, and Gaussian parts by their total mu^2."""

    distributions: tuple[tuple[LossDistribution, int], ...]
    mu_squared: float

    @property
    def log_mass(self) -> float:
        return 0.0

    @property
    def steps(self) -> int:
        return sum(count for _, count in self.distributions)

    @property
    def cost(self) -> int:
        return 20 * (len(self.distributions) + 1)

    @property
    def easy_orders(self) -> float:
        return min((distribution.easy_orders for distribution, _ in self.distributions), default=math.inf)

    @property
    def log_kept(self) -> float:
        """At most ln of the probability that nothing is lost or not read."""
        total = 0.0
        for distribution, count in self.distributions:
            share = float(distribution.lost + distribution.unread) * (1 + 4 * U)
            total += count * (math.log1p(-share) if share < 1 else -math.inf) if share else 0.0
        return total * (1 + FUNCTION) if total else 0.0

    @cached_property
    def top_atoms(self) -> list[tuple[float, float, float]]:
        """The largest loss of the parts that can lose most, of one, two ... of them, and at most ln of its mass.

        And at most the probability that nothing is lost of the other parts.
        """
        found: list[tuple[float, float, float]] = []
        exact, mass = Fraction(0), 0.0
        largest_first = sorted(self.distributions, key=lambda part: -float(part[1] * part[0].certain_top))
        for number, (distribution, count) in enumerate(largest_first):
            exact, mass = exact + count * distribution.certain_top, mass + count * distribution.log_top_mass
            if not math.isfinite(mass):
                break
            others = Sum(tuple(largest_first[number + 1 :]), 0.0)
            kept = math.exp(others.log_kept) * (1 - 4 * FUNCTION) if others.distributions else 1.0
            top = float(exact)
            found.append((top - 4 * U * abs(top), mass, kept))
        return found

    @cached_property
    def top(self) -> float:
        """No finite loss is larger; rounded up."""
        if self.mu_squared or not all(math.isfinite(distribution.top) for distribution, _ in self.distributions):
            return math.inf
        total = float(
            sum((count * Fraction(distribution.top) for distribution, count in self.distributions), Fraction(0))
        )
        return total + 4 * U * abs(total)

    def cumulant(self, theta: Reals) -> tuple[Reals, Reals]:
        total = self.mu_squared * (theta * theta + theta) / 2
        error = 8 * U * total
        for distribution, count in self.distributions:
            value, wrong = cumulant_of(distribution, theta)
            total = total + count * value
            error = error + count * (wrong + 2 * U * np.abs(value))
        return total, error + 4 * U * np.abs(total) * (1 + len(self.distributions))

    def product(self, theta: float, times: Reals) -> tuple[Complexes, Reals, Reals]:
        gaussian = np.exp(-self.mu_squared * times * times / 2)
        product: Complexes = gaussian.astype(complex)
        bulk, doubt = gaussian, FUNCTION * (4 + self.mu_squared * times * times)
        phase, decay = np.zeros_like(times), np.zeros_like(times)
        for distribution, count in self.distributions:
            charge(20 * len(times))
            logs = distribution.log_ratio(theta, times) if count > _MANY else None
            if logs is not None:
                value, wrong = logs
                fall = np.minimum(value.real + wrong, 0.0)
                phase, decay = phase + count * value.imag, decay + count * fall
                doubt = doubt + count * (wrong + 8 * U * (np.abs(value.imag) + np.abs(fall)))
                continue
            ratio, error = distribution.ratio(theta, times)
            bound = np.minimum(np.abs(ratio) + error, 1 + 4 * U)  # |M(z)| <= M(theta)
            doubt = doubt + count * (error / bound + 4 * U)
            if count == 1:
                product, bulk = product * ratio, bulk * bound
                continue
            turn, fall = np.angle(ratio), np.log(bound)
            phase, decay = phase + count * turn, decay + count * fall
            doubt = doubt + count * FUNCTION * (np.abs(turn) + np.abs(fall))
        power = np.exp(np.minimum(decay, 0.0))
        doubt = doubt + 8 * U * (np.abs(phase) + np.abs(decay) + len(self.distributions))
        return product * power * np.exp(1j * phase), bulk * power, doubt

    def log_moments(self, theta: Reals) -> Reals:
        """At least ln E[e^(theta L)] for each theta > 0."""
        with np.errstate(over="ignore", invalid="ignore"):
            total = self.mu_squared * (theta * theta + theta) / 2
            for distribution, count in self.distributions:
                total = total + count * distribution.log_moments(theta)
            return np.where(np.isfinite(total), total * (1 + 8 * U * (1 + len(self.distributions))), np.inf)

    def trimmed(self, log_mass: float) -> Sum:
        """Without the largest losses: all steps together leave out at most so much mass, by its logarithm."""
        each = log_mass - math.log(max(1, self.steps))
        distributions = tuple((distribution.trimmed(each), count) for distribution, count in self.distributions)
        return (
            self
            if all(a is b for (a, _), (b, _) in zip(distributions, self.distributions, strict=True))
            else Sum(distributions, self.mu_squared)
        )


def lost(losses: Sum, *, unread: bool = True) -> tuple[Fraction, Fraction]:
    """Bounds of the probability that some part is lost, or not read."""
    shares = [
        (min(distribution.lost + distribution.unread * unread, Fraction(1)), count)
        for distribution, count in losses.distributions
    ]
    shares = [(share, count) for share, count in shares if share]
    if not shares or any(share == 1 for share, _ in shares):
        return (Fraction(1), Fraction(1)) if shares else (Fraction(0), Fraction(0))
    low, high = bounds(lambda: -sum((ball(-share).log1p() * count for share, count in shares), ball(0)).expm1())
    return max(low, Fraction(0)), min(high, Fraction(1))
