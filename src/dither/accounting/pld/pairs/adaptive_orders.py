"""Equal releases of a pair in either order, the order of each chosen from the answers before: by backward induction.

With j releases left and r = e^x still to be covered, W_j(r) = sup over tests and orders of P - r Q is

    W_j(r) = max(sum_i p_i W_(j-1)(r q_i/p_i), sum_i q_i W_(j-1)(r p_i/q_i)),      W_0(r) = (1 - r)_+ .

W_j is convex and falls in r. Above: chords between the points of a grid that is even in x. Below: at each point one
test, by its two error probabilities, which is a line below W_j everywhere. Proof: docs/proofs/pld.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dither.accounting.pld.distribution import Reals, U
from dither.exact.balls import float_down, float_up

Bracket = tuple[float, float]
Masses = Sequence[Fraction]

_MOST_WORK = 10**8
_FIRST = 4.0  # points per standard deviation of a loss
_LEFT = 40.0  # W(r) is as good as 1 - r below e^-40
_WANTED = 3e-4
_SHARE_ERROR = 1e-11


def adaptive_epsilon(p: Masses, q: Masses, count: int, delta: Fraction, known: Bracket) -> Bracket:
    """Bounds of epsilon at delta that sharpen known ones, as far as the work allows."""
    low, high = known
    fine = _FIRST
    while high - low > _WANTED * high:
        found = _induction(p, q, count, high, fine)
        if found is None:
            break
        low, high = max(low, found.least_epsilon(float_up(delta))), min(high, found.most_epsilon(float_down(delta)))
        fine *= 2
    return min(low, high), high


def adaptive_delta(p: Masses, q: Masses, count: int, epsilon: Fraction, known: Bracket) -> Bracket:
    """Bounds of delta at epsilon, the same way."""
    low, high = known
    fine = _FIRST
    while high - low > _WANTED * high:
        found = _induction(p, q, count, max(float(epsilon), 1.0), fine)
        if found is None:
            break
        low, high = max(low, found.least_delta(float_up(epsilon))), min(high, found.most_delta(float_down(epsilon)))
        fine *= 2
    return min(low, high), high


@dataclass(frozen=True)
class _Curve:
    """Values above W at the points x, and tests of power a and size b at each of them."""

    x: Reals
    above: Reals
    power: Reals
    size: Reals

    def most_epsilon(self, delta: float) -> float:
        under = np.flatnonzero(self.above <= delta)
        if not len(under) or self.x[under[0]] <= 0:
            return 0.0 if len(under) else math.inf
        n = int(under[0])
        share = (self.above[n - 1] - delta) / (self.above[n - 1] - self.above[n])
        moved = self.x[n - 1] + math.log1p(share * math.expm1(self.x[n] - self.x[n - 1]))
        return float(min(self.x[n], max(0.0, moved) * (1 + 64 * U) + 1e-15))

    def least_epsilon(self, delta: float) -> float:
        good = (self.power > delta) & (self.size > 0)
        if not good.any():
            return 0.0
        best = float(np.log((self.power[good] - delta) / self.size[good]).max())
        return max(0.0, best * (1 - 64 * U) - 1e-14)

    def most_delta(self, epsilon: float) -> float:
        n = int(np.searchsorted(self.x, epsilon, side="right"))
        if n >= len(self.x):
            return float(self.above[-1])
        share = math.expm1(epsilon - self.x[n - 1]) / math.expm1(self.x[n] - self.x[n - 1])
        return float(self.above[n - 1] * (1 - share) + self.above[n] * share) * (1 + 64 * U)

    def least_delta(self, epsilon: float) -> float:
        return max(0.0, float((self.power - self.size * (math.exp(epsilon) * (1 + 64 * U))).max()))


def _induction(p: Masses, q: Masses, count: int, reach: float, fine: float) -> _Curve | None:
    shared = [(float(a), float(b), _log(a, b)) for a, b in zip(p, q, strict=True) if a and b]
    lost = (
        float(sum((a for a, b in zip(p, q, strict=True) if not b), Fraction(0))),
        float(sum((b for a, b in zip(p, q, strict=True) if not a), Fraction(0))),
    )
    if not shared or not math.isfinite(reach):
        return None
    spread = math.sqrt(sum((a + b) / 2 * loss * loss for a, b, loss in shared))
    most = max(abs(loss) for _, _, loss in shared)
    if not spread > 0:
        return None
    step = spread / fine
    right = math.ceil((reach * 1.25 + 4 * spread + most) / step)
    before = min(right, math.ceil((_LEFT + most) / step))
    if count * (right + before) * len(shared) > _MOST_WORK:
        return None
    x: Reals = step * np.arange(-before, right + 1, dtype=np.float64)
    pad = math.ceil(most / step) + 2
    above, power, size = np.maximum(-np.expm1(np.minimum(x, 0.0)), 0.0), (x < 0).astype(float), (x < 0).astype(float)
    growth = np.exp(np.minimum(x, 600.0))
    left = np.exp(step * np.arange(-pad, 0))
    orders = [_shifts(shared, lost[0], step), _shifts([(b, a, -loss) for a, b, loss in shared], lost[1], step)]
    for _ in range(count):
        # Beyond the left end W lies below the chord from W(0) = 1; beyond the right end it is no larger than there.
        wide = np.concatenate([1 - (1 - above[0]) * left, above, np.full(pad, above[-1])])
        tests = (
            np.concatenate([np.ones(pad), power, np.zeros(pad)]),
            np.concatenate([np.ones(pad), size, np.zeros(pad)]),
        )
        powers, sizes = tests
        found = [_step(order, wide, powers, sizes, pad, len(x)) for order in orders]
        above = np.maximum(found[0][0], found[1][0])
        better = found[0][1] - growth * found[0][2] >= found[1][1] - growth * found[1][2]
        power, size = (np.where(better, found[0][k], found[1][k]) for k in (1, 2))
    # All terms are positive, so their rounding is relative: a few units for each release and outcome.
    slack = 4 * U * count * (len(shared) + 8)
    return _Curve(x, np.minimum(above * (1 + slack) + 1e-300, 1.0), power * (1 - slack), size * (1 + slack))


@dataclass(frozen=True)
class _Shifts:
    """One order: for each outcome its masses, the point left of its goal, the chord's share, the nearest point."""

    outcomes: tuple[tuple[float, float, int, float, int], ...]
    lost: float


def _shifts(shared: Sequence[tuple[float, float, float]], lost: float, step: float) -> _Shifts:
    outcomes = []
    for a, b, loss in shared:
        # x - loss lies between two points; the chord is taken in e^x
        down = -math.ceil(loss / step)
        part = max(0.0, -loss - down * step)
        share = min(1.0, math.expm1(step - part) * math.exp(part) / math.expm1(step) + _SHARE_ERROR)
        outcomes.append((a, b, down, share, -round(loss / step)))
    return _Shifts(tuple(outcomes), lost)


def _step(order: _Shifts, wide: Reals, power: Reals, size: Reals, pad: int, count: int) -> tuple[Reals, Reals, Reals]:
    above, a, b = np.full(count, order.lost), np.full(count, order.lost), np.zeros(count)
    for mass, other, down, share, nearest in order.outcomes:
        at = pad + down
        above += (mass * share) * wide[at : at + count]
        above += (mass * (1 - share) + mass * _SHARE_ERROR) * wide[at + 1 : at + 1 + count]
        near = pad + nearest
        a += mass * power[near : near + count]
        b += other * size[near : near + count]
    return above, a, b


def _log(a: Fraction, b: Fraction) -> float:
    return math.log(a / b) if Fraction(1, 2) < a / b < 2 else math.log(a) - math.log(b)
