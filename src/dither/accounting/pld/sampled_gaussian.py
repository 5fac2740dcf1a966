"""Gaussian noise on a secret Poisson sample: the worst pair is N(0, s^2) against a mixture with N(1, s^2)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache

import numpy as np

from dither.accounting.pld.distribution import FUNCTION, Complexes, Law, Reals, U
from dither.accounting.pld.panels import ACROSS, ALONG, LOG_ERROR, nodes_and_weights
from dither.accounting.pld.points import Points

_REACH = 36.3  # beyond it lie less than 1e-287 of the mass of N(0, 1)
_WIDEST = 1.0  # no panel is wider, in standard deviations
_TURN = 18.0  # nor moves |z| L by more
_MOST_PANELS = 1 << 14
_NEGLIGIBLE = -42.0  # ln of what may be left out at a tilt, by all that counts there
_REAL = 600.0  # real orders are looked at up to this many by the spread of the losses
_LARGE = 600.0


@lru_cache(32)
def subsampled_gaussian_law(sigma: Fraction, rate: Fraction) -> SampledGaussian:
    """Poisson sampling with probability `rate`, then N(0, sigma^2) at sensitivity 1; add or remove one record.

    Removing compares (1-q) N(0) + q N(1) with N(0), adding the reverse (Zhu, Dong and Wang 2022, Theorem 11).
    """
    return SampledGaussian(sigma, rate)


@dataclass(frozen=True)
class SampledGaussian(Law):
    """The loss at noise x sigma is L(x) = ln(1 - q + q e^u), u = x/sigma - 1/(2 sigma^2), for a removed record.

    Only the outcomes `start` <= x <= `end` count; `lost` is a bound of the mass of the others.
    """

    sigma: Fraction
    rate: Fraction
    added: bool = False
    start: float = -_REACH
    end: float = math.inf
    certain: bool = field(default=False, compare=False)  # for lower bounds: what is left out is not lost then
    lost: Fraction = field(init=False, compare=False)
    _floats: tuple[float, float, float] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_floats", (float(self.sigma), float(self.rate), float(1 - self.rate)))
        # The mixture reaches further by the shift.
        object.__setattr__(self, "end", min(self.end, _REACH + 1 / self._floats[0]))
        outside = Fraction(_tail(-self.start)) + Fraction(self._tail_of_p(self.end))
        object.__setattr__(self, "lost", Fraction(0) if self.certain else outside)

    @property
    def top(self) -> float:
        loss, wrong = self._loss(np.array([self.start if self.added else self.end]))
        return float((-loss if self.added else loss)[0] + wrong[0])

    @property
    def symmetric(self) -> bool:
        return False

    def swapped(self) -> Law:
        return SampledGaussian(self.sigma, self.rate, not self.added, self.start, self.end)

    def optimistic(self) -> Law:
        return SampledGaussian(self.sigma, self.rate, self.added, self.start, self.end, certain=True)

    def trimmed(self, mass: float) -> Law:
        start, end = -_reach(mass / 2, _tail), _reach(mass / 2, self._tail_of_p)
        return SampledGaussian(self.sigma, self.rate, self.added, max(self.start, start), min(self.end, end))

    def parted(self, mass: float) -> tuple[Law, Law] | None:
        border = _reach(mass, self._tail_of_p)
        if self.added or not self.start < border < self.end:
            return None
        low = SampledGaussian(self.sigma, self.rate, False, self.start, border)
        return low, SampledGaussian(self.sigma, self.rate, False, border, self.end)

    def cumulant(self, theta: Reals) -> tuple[Reals, Reals]:
        loss, _ = self._loss(np.array([self.start, self.end]))
        largest = _REAL / max(float(loss[1] - loss[0]), 1e-290)
        edges = self._panels(largest + 1)
        points = self._points(edges)
        value, error = np.empty_like(theta), np.empty_like(theta)
        near = theta <= largest
        if near.any():
            value[near], wrong = points.cumulant(theta[near])
            off = self._error(edges, theta[near], 0.0) - value[near]
            error[near] = wrong + 2 * np.exp(np.minimum(off, 700.0))
        if not near.all():
            value[~near], error[~near] = self._far_cumulant(theta[~near], largest, points)
        return value, error

    def _far_cumulant(self, theta: Reals, largest: float, points: Points) -> tuple[Reals, Reals]:
        """The same where most outcomes weigh nothing: the others are looked at more closely."""
        kept = self._where_it_weighs(largest)
        if kept.end - kept.start < 0.9 * (self.end - self.start):
            value, error = kept.cumulant(theta)
            off = self._weight_outside(kept, theta) - value
            return value, error + 2 * np.exp(np.minimum(off, 700.0))
        # The smallest and the largest loss and the mass are all that is said.
        low, high, mass = points.losses.min(), points.losses.max(), math.log(float(points.masses.sum()))
        return mass + theta * (low + high) / 2, theta * (high - low) * 0.51 + 1e-9 * (1 + abs(mass))

    def ratio(self, theta: float, times: Reals) -> tuple[Complexes, Reals]:
        last, at = float(times[-1]), np.array([theta])
        law = self._where_it_weighs(theta)
        edges = law._panels(math.hypot(theta + 1, last))
        if len(edges) > _MOST_PANELS:
            return np.ones(len(times), dtype=complex), np.full(len(times), 2.0)
        points = law._points(edges)
        value, error = points.ratio(theta, times)
        off = np.logaddexp(law._error(edges, at, last), self._weight_outside(law, at)) - points.cumulant(at)[0]
        return value, error + 4 * math.exp(min(float(off[0]), 700.0))

    def _where_it_weighs(self, theta: float) -> SampledGaussian:
        """The law without outcomes that weigh next to nothing at theta."""
        x, cells = self._cells(self.start, self.end, np.array([theta]))
        weights = np.exp(cells[0] - cells.max())
        low, high = np.cumsum(weights), np.cumsum(weights[::-1])
        limit = math.exp(_NEGLIGIBLE) * low[-1]
        first, last = int(np.searchsorted(low, limit)), len(x) - 1 - int(np.searchsorted(high, limit))
        return SampledGaussian(self.sigma, self.rate, self.added, float(x[first]), float(x[last]))

    def _weight_outside(self, kept: SampledGaussian, theta: Reals) -> Reals:
        """ln of a bound of what the outcomes weigh that were not kept."""
        total = np.full_like(theta, -np.inf)
        for start, end in ((self.start, kept.start), (kept.end, self.end)):
            if end > start:
                total = np.logaddexp(total, np.logaddexp.reduce(self._cells(start, end, theta)[1], axis=1))
        return total + 1e-6 + 1e-12 * np.abs(np.where(np.isfinite(total), total, 0.0))

    def _cells(self, start: float, end: float, theta: Reals) -> tuple[Reals, Reals]:
        """Borders of narrow cells and ln of bounds of what each weighs: density and loss at their largest."""
        x = np.linspace(start, end, math.ceil((end - start) * 8 / min(1.0, self._floats[0])) + 1)
        loss, wrong = self._loss(x)
        if self.added:
            tilted = np.multiply.outer(theta, wrong[:-1] - loss[:-1])
        else:
            tilted = np.multiply.outer(theta + 1, wrong[1:] + loss[1:])
        nearest = np.where(x[:-1] * x[1:] < 0, 0.0, np.minimum(np.abs(x[:-1]), np.abs(x[1:])))
        return x, tilted - nearest * nearest / 2 + math.log(x[1] - x[0])

    def _panels(self, speed: float) -> Reals:
        """Edges of panels that are narrow beside 1 and sigma, and on which the loss moves by at most 12/speed."""
        widest = min(_WIDEST, 2.4 * self._floats[0] / ACROSS)
        count = math.ceil((self.end - self.start) / widest)
        known = np.linspace(self.start, self.end, 8 * count + 1)
        loss, _ = self._loss(known)
        # As many panels as both rules ask for, spread as they ask.
        rise = np.concatenate([[0.0], np.cumsum(np.maximum(np.diff(known) / widest, np.diff(loss) * speed / _TURN))])
        edges = np.interp(np.linspace(0, rise[-1], min(math.ceil(rise[-1] * 1.1), _MOST_PANELS) + 1), rise, known)
        edges[0], edges[-1] = self.start, self.end
        return edges

    def _points(self, edges: Reals) -> Points:
        x, weights = nodes_and_weights(edges)
        loss, wrong = self._loss(x)
        moved = 0.0 if self.added else loss
        masses = weights * np.exp(moved - x * x / 2) / math.sqrt(2 * math.pi)
        relative = 3 * FUNCTION + 4 * U * (x * x + np.abs(moved)) + (0.0 if self.added else wrong)
        return Points(-loss if self.added else loss, masses, masses * relative + 1e-300, masses * wrong)

    def _loss(self, x: Reals) -> tuple[Reals, Reals]:
        """L(x) and a bound of its absolute error, relative to the loss where it is small."""
        s, q, rest = self._floats
        u = (x - 1 / (2 * s)) / s
        doubt = 8 * U * (np.abs(x) / s + 1 / (s * s))
        small = np.minimum(u, _LARGE)
        grown = np.exp(small) * q
        share = grown / (rest + grown)
        near = np.log1p(q * np.expm1(small)) if q < 0.5 else np.log(rest + grown)
        off = np.abs(q * np.expm1(small)) / (rest + grown) if q < 0.5 else 1.0
        far = u + math.log(q) + np.log1p(np.exp(-np.maximum(u, _LARGE)) * (rest / q))
        close, beyond = 3 * FUNCTION * off + FUNCTION * np.abs(near), 4 * FUNCTION * (np.abs(u) - math.log(q))
        wrong = np.where(u < _LARGE, close, beyond)
        return np.where(u < _LARGE, near, far), wrong + share * doubt

    def _error(self, edges: Reals, theta: Reals, last: float) -> Reals:
        """ln of a bound of the error of all panels together, at theta + it, |t| <= last."""
        s, q, rest = self._floats
        half = np.diff(edges) / 2
        middle = edges[:-1] + half
        left, right, across = middle - ALONG * half, middle + ALONG * half, ACROSS * half
        nearest = np.maximum(0.0, np.abs(middle) - ALONG * half)
        gauss = (across * across - nearest * nearest) / 2
        angle = across / s  # below pi/2
        odds = np.exp(np.minimum((right - 1 / (2 * s)) / s + math.log(q) - math.log(rest), 600.0))
        turn = np.arctan2(odds * np.sin(angle), 1 + odds * np.cos(angle))
        if self.added:
            far = np.exp(np.minimum((left - 1 / (2 * s)) / s + math.log(q) - math.log(rest), 300.0))
            grow = -np.multiply.outer(theta, math.log(rest) + np.log1p(far * far + 2 * far * np.cos(angle)) / 2)
        else:
            loss, _ = self._loss(right)
            grow = np.multiply.outer(theta + 1, loss)
        size = grow + gauss + last * turn + np.log(half) + LOG_ERROR
        highest = size.max(axis=1)
        # A thousandth more covers the rounding of these exponents.
        total: Reals = highest + np.log(np.exp(size - highest[:, None]).sum(axis=1))
        return total + 1e-3 + 1e-12 * np.abs(total)

    def _tail_of_p(self, x: float) -> float:
        """At least P[outcome > x]."""
        base = _tail(x)
        if self.added:
            return base
        moved = _tail(x - 1 / self._floats[0])
        return (self._floats[2] * base + self._floats[1] * moved) * (1 + 1e-9)


def _tail(x: float) -> float:
    """At least P[N(0, 1) > x], by less than 1e-9 of it."""
    return math.erfc(x / math.sqrt(2)) / 2 * (1 + 1e-9) + 1e-290


def _reach(mass: float, tail: Callable[[float], float]) -> float:
    """An x beyond which the tail is at most the mass."""
    low, high = -40.0, 80.0
    while tail(high) > mass and high < 1e6:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if tail(middle) > mass else (low, middle)
    return high
