"""Laws with finitely many losses: exact ones, and two-sided replacements of laws without a closed form."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dither.accounting.balls import ball, bounds
from dither.accounting.pld.either_order import either_order
from dither.accounting.pld.law import FUNCTION, Complexes, Law, Reals, U
from dither.errors import ParameterError

_BLOCK = 64
_LIGHT = 1e-21
_ROWS, _COLUMNS = 16, 32
_LIGHTEST = Fraction(1, 10**290)  # far enough from where floats lose their relative accuracy


@dataclass(frozen=True, eq=False)
class Points:
    """Losses and their masses under P, and how far each of them may be off."""

    losses: Reals
    masses: Reals
    mass_errors: Reals
    moves: Reals  # mass times how far its loss may be off

    @property
    def _turns(self) -> Reals:
        turns: Reals = self.moves + 8 * U * self.masses * np.abs(self.losses)
        return turns

    def cumulant(self, theta: Reals) -> tuple[Reals, Reals]:
        tilt = np.multiply.outer(theta, self.losses)
        highest = tilt.max(axis=1)
        factors = np.exp(tilt - highest[:, None])
        total = factors @ self.masses
        doubt = 2 * (factors @ self.mass_errors) / total
        doubt += 2 * theta * (factors @ self._turns) / total
        return highest + np.log(total), doubt + 4 * FUNCTION + len(self.losses) * U + 4 * U * np.abs(highest)

    def ratio(self, theta: float, times: Reals) -> tuple[Complexes, Reals]:
        """The times are multiples of a step, so that the sum over the losses is a product of two small matrices."""
        tilt = theta * self.losses
        factors = np.exp(tilt - tilt.max())
        weights = self.masses * factors
        total = float(weights.sum())
        # What weighs nothing here is left out and counted as error.
        heavy = weights > _LIGHT * total
        light = float(weights[~heavy].sum()) / total
        step = float(times[1]) if len(times) > 1 else 0.0
        angles = step * self.losses[heavy]
        fine, coarse = _powers(angles, _BLOCK), _powers(_BLOCK * angles, -(-len(times) // _BLOCK))
        value = _product(coarse * (weights[heavy] / total), fine.T).ravel()[: len(times)]
        mass = 2 * float((factors * self.mass_errors).sum()) / total + 2 * light
        turn = 2 * float((factors * self._turns).sum()) / total
        return value, mass + turn * (2 * theta + times) + 8 * FUNCTION + 4 * len(angles) * U


def _product(left: Complexes, right: Complexes) -> Complexes:
    """left @ right in pieces so small that the library does not start threads, which cost more than they save here."""
    value = np.zeros((left.shape[0], right.shape[1]), dtype=complex)
    for row in range(0, left.shape[0], _ROWS):
        for column in range(0, left.shape[1], _COLUMNS):
            piece = slice(column, column + _COLUMNS)
            value[row : row + _ROWS] += left[row : row + _ROWS, piece] @ right[piece]
    return value


def _powers(angles: Reals, count: int) -> Complexes:
    """e^(i n angle) for n = 0 ... count - 1, by doubling: each row is a product of at most log2(count) exponentials."""
    rows = np.empty((count, len(angles)), dtype=complex)
    rows[0] = 1
    known = 1
    while known < count:
        more = min(known, count - known)
        rows[known : known + more] = rows[:more] * np.exp(1j * known * angles)
        known += more
    return rows


@dataclass(frozen=True, eq=False)
class Atoms(Law):
    """A law by its points: pessimistic and optimistic ones, for both orders of the pair."""

    points: Points
    lower_points: Points
    lost: Fraction
    lower_lost: Fraction
    reverse: Atoms | None = None
    slack: float = 0.0  # how far the largest loss may be off

    @property
    def symmetric(self) -> bool:
        return self.reverse is None

    @property
    def top(self) -> float:
        if not len(self.points.losses):
            return -math.inf
        return float(self.points.losses.max()) + self.slack

    def swapped(self) -> Law:
        return self if self.reverse is None else self.reverse

    def optimistic(self) -> Law:
        if self.lower_points is self.points:
            return self
        return Atoms(self.lower_points, self.lower_points, self.lower_lost, self.lower_lost)

    def cumulant(self, theta: Reals) -> tuple[Reals, Reals]:
        return self.points.cumulant(theta)

    def ratio(self, theta: float, times: Reals) -> tuple[Complexes, Reals]:
        return self.points.ratio(theta, times)


def exact_pair(p: Sequence[Fraction], q: Sequence[Fraction]) -> Atoms:
    """The law of a release whose neighbours have the distributions p and q, in an order of its own.

    Nothing says that the record of one release is on the same side in the next, so upper bounds rest on the pair that
    dominates both orders; lower bounds on p against q in all releases, or on q against p in all.
    """
    worst, forward, backward = _exact(*either_order(p, q)), _exact(p, q), _exact(q, p)
    if forward.lost == backward.lost == worst.lost and _same(forward.points, backward.points):
        return forward
    reverse = Atoms(worst.points, backward.points, worst.lost, backward.lost, slack=worst.slack)
    return Atoms(worst.points, forward.points, worst.lost, forward.lost, reverse, worst.slack)


def _same(one: Points, two: Points) -> bool:
    return sorted(zip(one.losses, one.masses, strict=True)) == sorted(zip(two.losses, two.masses, strict=True))


def _exact(p: Sequence[Fraction], q: Sequence[Fraction]) -> Atoms:
    shared: dict[Fraction, Fraction] = {}
    lost = Fraction(0)
    for a, b in zip(p, q, strict=True):
        if a and b:
            shared[a / b] = shared.get(a / b, Fraction(0)) + a
        elif a:
            lost += a
    if any(mass < _LIGHTEST for mass in shared.values()):
        raise ParameterError("an outcome that is not impossible must have a probability of at least 1e-290.")
    losses = np.array([_log(ratio) for ratio in shared], dtype=float)
    masses = np.array([float(mass) for mass in shared.values()], dtype=float)
    points = Points(losses, masses, 2 * U * masses, 2 * U * masses * np.abs(losses))
    return Atoms(points, points, lost, lost, slack=8 * U * float(np.abs(losses).max(initial=0)))


def _log(ratio: Fraction) -> float:
    if ratio == 1:
        return 0.0
    low, high = bounds(lambda: ball(ratio).log())
    return float((low + high) / 2)


def from_cells(p: Reals, q: Reals, errors: Reals, low: Reals, high: Reals, loss_errors: Reals) -> Atoms:
    """Both replacements of a law known by cells: masses p and q (with relative errors) and losses within [low, high].

    Merging a cell into one outcome is post-processing, so it can only hide: a lower bound. Splitting it into outcomes
    of loss `low` and `high` with the cell's masses under P and under Q can be undone by merging, so it can only reveal:
    an upper bound. Both move the curve by the square of the width. A cell open above is lost; one open below moves up.
    """
    lost = sum((Fraction(float(mass)) for mass in p[np.isinf(high)]), Fraction(0)) * (1 + Fraction(1, 2**20))
    below = np.isinf(low)
    closed = ~(np.isinf(high) | below)
    mass, wrong, ends, a, b = p[closed], errors[closed], loss_errors[closed], low[closed], high[closed]
    # A cell without width sits on its upper end.
    width = np.expm1(np.where(b > a, a - b, -1.0))
    share = np.where(b > a, np.clip(np.expm1(a - np.log(mass / q[closed])) / width, 0, 1), 1.0)
    # The split is as uncertain as ln(p/q) and the ends are, in widths of the cell; a misplaced mass moves by one width.
    doubt = 4 * mass * (2 * wrong + ends + 4 * FUNCTION * np.maximum(np.abs(a), np.abs(b)))
    upper = _gathered(
        np.concatenate([a, b, high[below]]),
        np.concatenate([mass * (1 - share), mass * share, p[below]]),
        np.concatenate(
            [mass * (1 - share) * (wrong + FUNCTION), mass * share * (wrong + FUNCTION), p[below] * errors[below]]
        ),
        np.concatenate([doubt, doubt, p[below] * loss_errors[below]]),
    )
    merged = np.log(p / q)
    lower = Points(merged, p, p * errors, p * (2 * errors + FUNCTION * np.abs(merged)))
    return Atoms(upper, lower, lost, Fraction(0), slack=float(loss_errors.max()))


def _gathered(losses: Reals, masses: Reals, mass_errors: Reals, moves: Reals) -> Points:
    """Neighbouring cells share an end: equal losses become one point."""
    distinct, place = np.unique(losses, return_inverse=True)
    columns = (masses, mass_errors, moves)
    added: list[Reals] = [np.bincount(place, weights=column).astype(np.float64) for column in columns]
    return Points(distinct, *added)
