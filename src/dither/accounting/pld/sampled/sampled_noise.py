"""Noise on a secret sample: the loss of a mixture of the noise and its shifted copy, against the noise alone.

Outcomes are a line, on which the loss without sampling is straight: u(x). Transforms are Gauss-Legendre panels whose
error is certified, and atoms where the noise has some. Proofs: docs/proofs/pld.md.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt

from dither.accounting.pld.distribution import FUNCTION, UNDERFLOW, Complexes, LossDistribution, Reals, U
from dither.accounting.pld.points import Points, valley
from dither.accounting.pld.sampled.panels import ACROSS, ALONG, LOG_ERROR, nodes_and_weights
from dither.accounting.pld.work import charge

_WIDEST = 1.0  # no panel is wider, in the units in which the density varies
_TURN = 18.0  # nor moves |z| L by more
_MOST_PANELS = 1 << 14
_NEGLIGIBLE = -42.0  # ln of what may be left out at a tilt, by all that counts there
_REAL = 600.0  # real orders are looked at together up to this many by the spread of the losses
_FAR_PANELS = 1 << 11
_GROUP, _FARTHEST = 8.0, 65536.0  # beyond, orders within this factor are, and none beyond so many times as many
_TINY, _LARGE = 1e-3, 600.0


@dataclass(frozen=True)
class SampledNoise(LossDistribution):
    """The loss at x is L(x) = ln(1 - q + q e^u(x)) for a removed record, and -L(x) for an added one.

    Only the outcomes `start` <= x <= `end` count. An optimistic one is `certain`: what is left out is not lost.
    """

    rate: Fraction
    added: bool = False
    start: float = -math.inf
    end: float = math.inf
    certain: bool = field(default=False, compare=False)

    lost = Fraction(0)

    @abstractmethod
    def _straight(self) -> tuple[float, float]:
        """u(x) = x/scale - shift."""

    @abstractmethod
    def _log_density(self, x: Reals) -> Reals:
        """ln of the density of the noise, to a few units of its size."""

    @abstractmethod
    def _log_peak(self, left: Reals, right: Reals, across: Reals | float = 0.0) -> Reals:
        """At least ln of the modulus of the density at all x + iy between the ends, |y| <= across."""

    @abstractmethod
    def _log_tails(self, x: float) -> tuple[float, float]:
        """At least ln of the masses beyond x: of the noise and of its shifted copy."""

    def _atoms(self) -> tuple[Reals, Reals]:
        """Outcomes that have a mass, and its logarithm."""
        return np.empty(0), np.empty(0)

    @cached_property
    def _shares(self) -> tuple[float, float]:
        return float(self.rate), float(1 - self.rate)

    @property
    def easy_orders(self) -> float:
        return self._real_orders[0]

    @cached_property
    def top(self) -> float:
        loss, wrong = self._loss(np.array([self.start if self.added else self.end]))
        return float((-loss if self.added else loss)[0] + wrong[0])

    @property
    def log_affinity(self) -> float:
        distribution = replace(self, added=False) if self.added else self  # the mean of w^(1/2), either way
        _, edges, points = distribution._real_orders
        half = np.array([-0.5])
        value, wrong = points.cumulant(half)
        return float(np.logaddexp(value + wrong, distribution._error(edges, half, 0.0))[0]) + 1e-12

    symmetric = False

    def swapped(self) -> LossDistribution:
        return replace(self, added=not self.added)

    def optimistic(self) -> LossDistribution:
        return replace(self, certain=True)

    def trimmed(self, log_mass: float) -> Self:
        return self

    def within(self, start: float, end: float) -> Self:
        """Only the outcomes between two borders."""
        return replace(self, start=max(self.start, start), end=min(self.end, end))

    def reads_all(self, theta: Reals) -> npt.NDArray[np.bool_]:
        """At which orders the outcomes that are left out weigh less than e^-60 of the others."""
        return np.full(len(theta), True)

    def parted(self, theta: float) -> tuple[LossDistribution, LossDistribution, float] | None:
        border = self.border_at(theta)
        return None if border is None else self.parts(border)

    def parts(self, border: float) -> tuple[Self, Self, float]:
        """The outcomes below and beyond a border, and ln of a bound of the mass beyond."""
        return self.within(self.start, border), self.within(border, self.end), self._log_tail(border)

    def border_at(self, theta: float) -> float | None:
        """The outcome between those that weigh most by their number and those that do by their loss, if there is one.

        Losses of an added record are bounded: none of them is large.
        """
        if self.added:
            return None
        x, cells = self._cells(self.start, self.end, np.array([theta]))
        place = valley(cells[0])
        return float(x[place]) if place else None

    def cumulant(self, theta: Reals) -> tuple[Reals, Reals]:
        largest, edges, points = self._real_orders
        value, error = np.empty_like(theta), np.empty_like(theta)
        near = theta <= largest
        if near.any():
            value[near], wrong = points.cumulant(theta[near])
            off = self._error(edges, theta[near], 0.0) - value[near]
            error[near] = wrong + 2 * np.exp(np.minimum(off, 700.0))
        beyond = theta > _FARTHEST * largest
        if beyond.any():
            value[beyond], error[beyond] = self._ends_alone(theta[beyond])
        left = ~(near | beyond)
        while left.any():
            group = left & (theta <= _GROUP * theta[left].min())
            value[group], error[group] = self._far_cumulant(theta[group])
            left &= ~group
        return value, error

    @cached_property
    def _real_orders(self) -> tuple[float, Reals, Points]:
        """Up to which order one set of panels serves, and these."""
        loss, _ = self._loss(np.array([self.start, self.end]))
        largest = _REAL / max(float(loss[1] - loss[0]), 1e-290)
        edges = self._panels(largest + 1)
        return largest, edges, self._points(edges)

    def _far_cumulant(self, theta: Reals) -> tuple[Reals, Reals]:
        """The same where most outcomes weigh nothing: the others are looked at more closely."""
        low, high = self._where_it_weighs(float(theta.min())), self._where_it_weighs(float(theta.max()))
        kept = self.within(min(low.start, high.start), max(low.end, high.end))
        edges = kept._panels(float(theta.max()) + 1)
        if len(edges) <= _FAR_PANELS:
            value, error = kept._points(edges).cumulant(theta)
            off = np.logaddexp(kept._error(edges, theta, 0.0), self._weight_outside(kept, theta)) - value
            return value, error + 2 * np.exp(np.minimum(off, 700.0))
        return self._ends_alone(theta)

    def _ends_alone(self, theta: Reals) -> tuple[Reals, Reals]:
        """The smallest and the largest loss and the mass are all that is said."""
        points = self._real_orders[2]
        least, most, mass = points.losses.min(), points.losses.max(), float(np.logaddexp.reduce(points.log_masses))
        return mass + theta * (least + most) / 2, theta * (most - least) * 0.51 + 1e-9 * (1 + abs(mass))

    def log_moments(self, theta: Reals) -> Reals:
        # w has mean 1, so M - 1 is the mean of w^a - 1 - a(w - 1) >= 0, a = theta + 1 or -theta: sharp for tiny losses.
        found = super().log_moments(theta)
        _, edges, points = self._real_orders
        loss = -points.losses if self.added else points.losses
        base = points.log_masses if self.added else points.log_masses - points.losses
        for n in np.flatnonzero(found < _TINY):
            a = -float(theta[n]) if self.added else float(theta[n]) + 1
            grown, over = a * loss, np.expm1(loss)
            with np.errstate(over="ignore"):
                taylor = a * (a - 1) / 2 * over * over * np.exp(np.maximum(0.0, (a - 2) * loss))
                direct = np.expm1(grown) - a * over + 8 * FUNCTION * (np.abs(np.expm1(grown)) + np.abs(a * over))
            excess = float((np.exp(base) * np.minimum(taylor, direct)).sum()) * (1 + 1e-9)
            off = math.exp(float(self._error(edges, theta[n : n + 1], 0.0)[0]))
            found[n] = min(found[n], excess + off + UNDERFLOW)
        return found

    def ratio(self, theta: float, times: Reals) -> tuple[Complexes, Reals]:
        last, at = float(times[-1]), np.array([theta])
        distribution = self._where_it_weighs(theta)
        edges = distribution._panels(math.hypot(theta + 1, last))
        if len(edges) > _MOST_PANELS:
            return np.ones(len(times), dtype=complex), np.full(len(times), 2.0)
        points = distribution._points(edges)
        value, error = points.ratio(theta, times)
        off = (
            np.logaddexp(distribution._error(edges, at, last), self._weight_outside(distribution, at))
            - points.cumulant(at)[0]
        )
        return value, error + 4 * math.exp(min(float(off[0]), 700.0))

    def _where_it_weighs(self, theta: float) -> Self:
        """The distribution without outcomes that weigh next to nothing at theta."""
        x, cells = self._cells(self.start, self.end, np.array([theta]))
        weights = np.exp(cells[0] - cells.max())
        low, high = np.cumsum(weights), np.cumsum(weights[::-1])
        limit = math.exp(_NEGLIGIBLE) * low[-1]
        first, last = int(np.searchsorted(low, limit)), len(x) - 1 - int(np.searchsorted(high, limit))
        return self.within(float(x[first]), float(x[last]))

    def _weight_outside(self, kept: Self, theta: Reals) -> Reals:
        """ln of a bound of what the outcomes weigh that were not kept."""
        total = np.full_like(theta, -np.inf)
        for start, end in ((self.start, kept.start), (kept.end, self.end)):
            if end > start:
                total = np.logaddexp(total, np.logaddexp.reduce(self._cells(start, end, theta)[1], axis=1))
        return total + 1e-6 + 1e-12 * np.abs(np.where(np.isfinite(total), total, 0.0))

    def _cells(self, start: float, end: float, theta: Reals) -> tuple[Reals, Reals]:
        """Borders of narrow cells and ln of bounds of what each weighs: density and loss at their largest."""
        scale, _ = self._straight()
        x = np.linspace(start, end, math.ceil((end - start) * 8 / min(1.0, scale)) + 1)
        loss, wrong = self._loss(x)
        outer = np.multiply.outer
        tilted = outer(theta, wrong[:-1] - loss[:-1]) if self.added else outer(theta + 1, wrong[1:] + loss[1:])
        cells = tilted + self._log_peak(x[:-1], x[1:]) + math.log(x[1] - x[0])
        for atom, log_mass in zip(*self._atoms(), strict=True):
            if start <= atom <= end:
                place = 0 if atom == start else -1
                cells[:, place] = np.logaddexp(cells[:, place], tilted[:, place] + log_mass)
        return x, cells

    def _panels(self, speed: float) -> Reals:
        """Edges of panels that are narrow beside 1 and the scale, and on which the loss moves by at most 18/speed."""
        widest = min(_WIDEST, 2.4 * self._straight()[0] / ACROSS)
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
        at, own = self._atoms()
        sizes, density = np.log(weights), self._log_density(x)
        doubts = np.concatenate([FUNCTION * (2 + np.abs(sizes)) + 4 * U * np.abs(density), 4 * FUNCTION + 0 * at])
        x, log_masses = np.concatenate([x, at]), np.concatenate([sizes + density, own])
        loss, wrong = self._loss(x)
        if self.added:
            return Points(-loss, log_masses, doubts, wrong)
        return Points(loss, log_masses + loss, doubts + wrong, wrong)

    def _loss(self, x: Reals) -> tuple[Reals, Reals]:
        """L(x) and a bound of its absolute error, relative to the loss where it is small."""
        (scale, shift), q, rest = self._straight(), *self._shares
        charge(8 * len(x))
        u = x / scale - shift
        doubt = 8 * U * (np.abs(x) / scale + 2 * shift)
        small = np.minimum(u, _LARGE)
        moved, grown = q * np.expm1(small), q * np.exp(small)
        loss = np.log1p(moved) if q < 0.5 else np.log(rest + grown)
        off = np.abs(moved) / (rest + grown) if q < 0.5 else 1.0
        wrong = 3 * FUNCTION * off + FUNCTION * np.abs(loss)
        far = u >= _LARGE
        if far.any():
            loss[far] = u[far] + math.log(q) + np.log1p(np.exp(-u[far]) * (rest / q))
            wrong[far] = 4 * FUNCTION * (u[far] - math.log(q))
        return loss, wrong + doubt * grown / (rest + grown)

    def _error(self, edges: Reals, theta: Reals, last: float) -> Reals:
        """ln of a bound of the error of all panels together, at theta + it, |t| <= last."""
        (scale, shift), (q, rest) = self._straight(), self._shares
        odds = math.log(q / rest)
        half = np.diff(edges) / 2
        middle = edges[:-1] + half
        left, right, across = middle - ALONG * half, middle + ALONG * half, ACROSS * half
        angle = across / scale  # below pi/2
        far = np.exp(np.minimum(right / scale - shift + odds, 600.0))
        turn = np.arctan2(far * np.sin(angle), 1 + far * np.cos(angle))
        if self.added:
            far = np.exp(np.minimum(left / scale - shift + odds, 300.0))
            grow = -np.multiply.outer(theta, math.log(rest) + np.log1p(far * far + 2 * far * np.cos(angle)) / 2)
        else:
            loss, _ = self._loss(right)
            grow = np.multiply.outer(theta + 1, loss)
        size = grow + self._log_peak(left, right, across) + last * turn + np.log(half) + LOG_ERROR
        highest = size.max(axis=1)
        # A thousandth more covers the rounding of these exponents.
        total: Reals = highest + np.log(np.exp(size - highest[:, None]).sum(axis=1))
        return total + 1e-3 + 1e-12 * np.abs(total)

    def _log_tail(self, x: float) -> float:
        """At least ln P[outcome > x]."""
        plain, moved = self._log_tails(x)
        q, rest = self._shares
        both = float(np.logaddexp(math.log(rest) + plain, math.log(q) + moved)) + 1e-9
        return plain if self.added else both
