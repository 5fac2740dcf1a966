"""Certified bounds of a composed privacy curve, read off the product of transforms on one vertical line.

delta(epsilon) = E_P[(1 - e^(epsilon - L))_+] is an inverse transform,

    delta(epsilon) = (1/2 pi) integral M(z) e^(-z epsilon) / (z (z + 1)) dt,   z = theta + it, theta > 0,

with M the product of the parts' transforms. The trapezoidal rule with step 2 pi/window adds only copies from
epsilon +- whole windows, all positive and bounded by Markov's inequality. Two smoothed payoffs make the sum finite: one
above the payoff (one more, tiny Gaussian part) and one below it (a test that sees the loss through a little noise).
theta tilts the law to epsilon, so that no small delta drowns in rounding. Statements and proofs: docs/proofs/pld.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dither.accounting.pld.law import FUNCTION, Complexes, Law, Reals, U

# ln of what copies and cut-off tails may be, relative to delta.
_NEGLIGIBLE = -13.0
_CUT = 6.0
_FIRST = 256
_LEVELS = 4
_MOST = 1 << 16
_MOST_WORK = 1 << 24
_WANTED = 1e-4
_WIDE = 1e-3
# ln of how much larger than delta the terms of the sum may be: rounding grows with it.
_LARGER = 8.0
_TRIES = 16
_GRID = np.logspace(-8, 18, 118)
_PARTS = np.linspace(0, 1, 25)
_AROUND = np.geomspace(1 / 32, 2, 31)


@dataclass(frozen=True)
class Sum:
    """A sum of independent losses: laws with counts, and Gaussian parts by their total mu^2."""

    laws: tuple[tuple[Law, int], ...]
    mu_squared: float

    def cumulant(self, theta: Reals) -> tuple[Reals, Reals]:
        """ln M at real theta > 0 and a bound of its absolute error."""
        total = self.mu_squared * (theta * theta + theta) / 2
        error = 8 * U * total
        for law, count in self.laws:
            value, wrong = law.cumulant(theta)
            total = total + count * value
            error = error + count * (wrong + 2 * U * np.abs(value))
        return total, error + 4 * U * np.abs(total) * (1 + len(self.laws))

    @cached_property
    def on_grid(self) -> tuple[Reals, Reals]:
        with np.errstate(over="ignore", invalid="ignore"):
            return self.cumulant(_GRID)


def markov(theta: Reals) -> Reals:
    """ln of the largest (1 - e^-u) e^(-theta u): by Markov, ln delta <= ln M(theta) - theta epsilon + this."""
    return -(1 + theta) * np.log1p(1 / theta) - np.log(theta)


def best_order(losses: Sum, objective_at: float, *, log_delta: bool) -> tuple[float, float]:
    """The theta at which Markov's inequality is best (for an epsilon or a ln delta), and what it gives, rounded up."""

    def values(theta: Reals, cumulant: Reals, error: Reals) -> Reals:
        top = cumulant + error + markov(theta) + 8 * U * (np.abs(cumulant) + 1)
        found = (top - objective_at) / theta if log_delta else top - theta * objective_at
        return np.where(np.isfinite(found), found, np.inf)

    grid, known = _GRID, losses.on_grid
    best = int(np.argmin(values(grid, *known)))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    grid = low * (high / low) ** _PARTS
    found = values(grid, *losses.cumulant(grid))
    best = int(np.argmin(found))
    value = float(found[best])
    return float(grid[best]), value + abs(value) * 8 * U


class Line:
    """The transform of a sum of losses on theta + it, t = 0, tau, 2 tau ..., ready to be read at any epsilon."""

    def __init__(self, losses: Sum, theta: float, window: float, count: int) -> None:
        self.losses, self.theta, self.window = losses, theta, window
        self.tau = 2 * math.pi / window
        self.t: Reals = self.tau * np.arange(count, dtype=np.float64)
        self.end = self.tau * (count - 1)
        self.smooth = math.sqrt(max(0.0, (_CUT / self.end) ** 2 - losses.mu_squared)) * (1 + 8 * U)
        log_m, log_error = losses.cumulant(np.array([theta]))
        self.log_m, self.log_error = float(log_m[0]), float(log_error[0])
        self.drift = losses.mu_squared * (theta + 0.5)
        # A smoothing far wider than 1/theta says nothing and would overflow.
        self.usable = self.smooth * (theta + 1) < 20 and math.isfinite(self.log_m) and math.isfinite(self.end)
        if not self.usable:
            return
        z = theta + 1j * self.t
        product, bulk, self.doubt = self._product(np.exp(-losses.mu_squared * self.t * self.t / 2))
        s = self.smooth**2
        spread = s * (theta * (theta + 1) - self.t * self.t) / 2
        above = np.exp(spread + 1j * s * self.t * (theta + 0.5)) / (z * (z + 1))
        below = np.exp(s * z * z / 2) * (1 - z * np.expm1(s * (z + 0.5))) / (z * (z + 1))
        # The two terms of the lower payoff may cancel each other: its error is relative to their sizes.
        terms = np.exp(s * (theta * theta - self.t * self.t) / 2) * (1 + np.abs(z * np.expm1(s * (z + 0.5))))
        self.above, self.above_size = product * above, bulk * np.abs(above)
        self.below, self.below_size = product * below, bulk * terms / np.abs(z * (z + 1))
        self.doubt = self.doubt + FUNCTION * (12 + s * np.abs(z) ** 2 * 4)
        # Past the last t: |M| falls by the Gaussian parts alone, if there are any, and the payoffs by their smoothing.
        self.rest_above = math.exp(min(700.0, s * theta * (theta + 1) / 2 - _CUT**2 / 2)) / (math.pi * self.end)
        growth = math.exp(min(700.0, s * (theta + 1) ** 2 / 2))
        if s:
            self.rest_below = 2 * growth * math.exp(-(_CUT**2) / 2) / (math.pi * _CUT**2)
        else:
            self.rest_below = self.rest_above

    def _product(self, gaussian: Reals) -> tuple[Complexes, Reals, Reals]:
        """The product of M(z)/M(theta), a bound of its modulus, and by how much of that bound it may be off.

        The turning of the Gaussian parts is left to `_read`, where it nearly cancels with epsilon.
        """
        product: Complexes = gaussian.astype(complex)
        bulk, doubt = gaussian, FUNCTION * (4 + self.losses.mu_squared * self.t * self.t)
        phase, decay = np.zeros_like(self.t), np.zeros_like(self.t)
        for law, times in self.losses.laws:
            ratio, error = law.ratio(self.theta, self.t)
            bound = np.minimum(np.abs(ratio) + error, 1 + 4 * U)  # |M(z)| <= M(theta)
            doubt = doubt + times * (error / bound + 4 * U)
            if times == 1:
                product, bulk = product * ratio, bulk * bound
                continue
            turn, fall = np.angle(ratio), np.log(bound)
            phase, decay = phase + times * turn, decay + times * fall
            doubt = doubt + times * FUNCTION * (np.abs(turn) + np.abs(fall))
        power = np.exp(np.minimum(decay, 0.0))
        doubt = doubt + 8 * U * (np.abs(phase) + np.abs(decay) + len(self.losses.laws))
        return product * power * np.exp(1j * phase), bulk * power, doubt

    def _read(self, values: Complexes, sizes: Reals, epsilon: float) -> tuple[float, float]:
        """The trapezoidal sum at epsilon and a bound of its rounding, both without the factor M e^(-theta epsilon)."""
        turned = values * np.exp(1j * self.t * (self.drift - epsilon))
        angle = FUNCTION * self.t * (abs(epsilon) + self.drift + self.smooth**2 * (self.theta + 1))
        wrong = sizes * np.minimum(2.0, 4 * (self.doubt + angle) + 64 * U)
        weight = self.tau / math.pi
        total = weight * (float(turned.real.sum()) - float(turned[0].real) / 2)
        return total, weight * float(wrong.sum()) + 1e-300

    def log_above(self, epsilon: float) -> float:
        """At least ln delta(epsilon)."""
        if not self.usable:
            return math.inf
        total, error = self._read(self.above, self.above_size, epsilon)
        top = total + error + self.rest_above
        return math.log(top) + self._factor(epsilon) + self._factor_error(epsilon) if top > 0 else -math.inf

    def log_below(self, epsilon: float) -> float:
        """At most ln delta(epsilon)."""
        if not self.usable:
            return -math.inf
        total, error = self._read(self.below, self.below_size, epsilon)
        factor, wrong = self._factor(epsilon), self._factor_error(epsilon)
        copies = self._copies(epsilon) - factor + wrong
        left = total - error - self.rest_below - (math.exp(copies) if copies < 700 else math.inf)
        return math.log(left) + factor - wrong if left > 0 else -math.inf

    def _factor(self, epsilon: float) -> float:
        return self.log_m - self.theta * epsilon

    def _factor_error(self, epsilon: float) -> float:
        return self.log_error + 8 * U * (abs(self.log_m) + self.theta * abs(epsilon)) + FUNCTION

    def _copies(self, epsilon: float) -> float:
        """ln of a bound of all copies together: e^(theta j window) delta(epsilon + j window), j != 0."""
        return log_copies(self.losses, self.theta, self.window, epsilon)


def log_copies(losses: Sum, theta: float, window: float, epsilon: float) -> float:
    far = -theta * window
    below = far - math.log(-math.expm1(far)) if far < 0 else math.inf
    cumulant, error = losses.on_grid
    gap = (_GRID - theta) * window
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        above = cumulant + error + markov(_GRID) - _GRID * epsilon - gap - np.log(-np.expm1(-gap))
        above = np.where((gap > 1e-3) & np.isfinite(above), above, np.inf)
    return float(np.logaddexp(below, above.min())) + 1e-9


def _line(losses: Sum, near: float, epsilon: float, log_delta: float, level: int) -> Line:
    """The line with the narrowest window whose copies are negligible and whose terms are not much larger than delta.

    Any choice is valid. A heavy tail wants a smaller theta than Markov's inequality does.
    """
    theta = near * _AROUND
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        cumulant, _ = losses.cumulant(theta)
        size = cumulant - theta * epsilon + markov(theta)
        grid, error = losses.on_grid
        # Copies from above are negligible from this window on, for the best b on the grid.
        # Markov's epsilon may be too large by a few 1/theta, so the window is made for a smaller one as well.
        need = grid + error + markov(_GRID) - _GRID * (epsilon - 4 / theta[:, None]) - (log_delta + _NEGLIGIBLE)
        gap = _GRID - theta[:, None]
        windows = np.where((gap > 0.02 * theta[:, None]) & np.isfinite(need), np.maximum(need, 0.0) / gap, np.inf)
        window = np.maximum(windows.min(axis=1), (1 - log_delta - _NEGLIGIBLE) / theta) + 1e-290
    usable = np.isfinite(size) & np.isfinite(window)
    if not usable.any():
        return Line(losses, near, (1 - log_delta - _NEGLIGIBLE) / near, _least_count(level))
    least = size[usable].min()
    best = int(np.argmin(np.where(usable & (size <= least + _LARGER), window, np.inf)))
    chosen, width = float(theta[best]), float(window[best]) * 1.02
    # The smoothing s moves ln delta by about (s theta)^2, which should be small beside theta epsilon, and stay below 1.
    wanted = min(0.2, math.sqrt(_WANTED * max(chosen * epsilon, 1.0) / 2))
    count, needed = _least_count(level), _CUT / (2 * math.pi) * (chosen + 1) * width / wanted
    while count < _MOST and count < needed * 4**level:
        count *= 2
    return Line(losses, chosen, width, min(count, _most_count(losses)))


def _points(losses: Sum) -> int:
    """How many points the laws have that are kept as points."""
    return sum(len(getattr(getattr(law, "points", None), "losses", ())) for law, _ in losses.laws)


def _least_count(level: int) -> int:
    return _FIRST * int(4**level)


def _most_count(losses: Sum) -> int:
    return int(min(_MOST, max(8 * _FIRST, _MOST_WORK // (_points(losses) // 64 + len(losses.laws) + 1))))


def delta_bounds(above: Sum, below: Sum, epsilon: float) -> tuple[float, float]:
    """ln of certified lower and upper bounds of delta at epsilon >= 0."""
    theta, value = best_order(above, epsilon, log_delta=False)
    low, high = -math.inf, value
    for level in range(_LEVELS):
        line = _line(above, theta, epsilon, min(value, 0.0) - 3, level)
        high = min(high, line.log_above(epsilon))
        under = line if below is above else _line(below, theta, epsilon, min(value, 0.0) - 3, level)
        before, low = high - low, max(low, under.log_below(epsilon))
        if high - low <= _WANTED * max(1.0, theta * epsilon) or high - low > before / 2:
            break
    return low, min(high, 0.0)


def epsilon_bounds(above: Sum, below: Sum, log_delta: tuple[float, float]) -> tuple[float, float]:
    """Certified lower and upper bounds of the epsilon >= 0 at which delta is reached; ln delta by its two roundings."""
    smallest, largest = log_delta
    low, high = _near(above, below, smallest, largest)
    if high - low > _WIDE * high and delta_bounds(above, below, 0.0)[1] <= smallest:
        return 0.0, 0.0
    # Close to the largest loss the curve falls off a cliff, where lines cannot be read. Epsilon at a larger delta is
    # smaller, so it may serve as the lower bound.
    easier = largest
    for _ in range(_TRIES):
        if high - low <= _WIDE * high or not math.isfinite(high):
            break
        easier *= 0.8
        low = max(low, min(high, _near(above, below, easier, easier)[0]))
    return low, high


def _near(above: Sum, below: Sum, smallest: float, largest: float) -> tuple[float, float]:
    theta, simple = best_order(above, smallest, log_delta=True)
    low, high = 0.0, max(simple, 0.0)
    if _points(above):
        # Markov's epsilon may be far off where tails are heavy: a first reading tells where to look.
        high = min(high, _least_above(_line(above, theta, high, largest, 0), smallest, high))
    start = high
    for level in range(_LEVELS):
        line = _line(above, theta, start, largest, level)
        before, high = high - low, min(high, _least_above(line, smallest, high))
        under = line if below is above else _line(below, theta, start, largest, level)
        low = max(low, _most_below(under, largest, high))
        start = high
        # More points sharpen the smoothing only: cells that are too coarse, or rounding, stay as they are.
        if high - low <= _WANTED * high or high - low > before / 2:
            break
    return min(low, high), high


def _least_above(line: Line, target: float, start: float) -> float:
    """An epsilon near the smallest at which the upper reading is at most the target."""
    epsilon = _descend(line.log_above, target, start, line.theta)
    if epsilon == 0 and line.log_above(0.0) <= target:
        return 0.0
    slack = max(abs(epsilon), 1e-300) * 2.0**-44
    for _ in range(40):
        candidate = max(0.0, epsilon + slack)
        if line.log_above(candidate) <= target:
            return candidate
        slack *= 2
    return math.inf


def _most_below(line: Line, target: float, start: float) -> float:
    """An epsilon near the largest at which the lower reading is still above the target."""
    epsilon = _descend(line.log_below, target, start, line.theta)
    slack = max(abs(epsilon), 1e-300) * 2.0**-44
    for _ in range(40):
        candidate = epsilon - slack
        if candidate <= 0:
            return 0.0
        if line.log_below(candidate) > target:
            return candidate
        slack *= 2
    return 0.0


def _descend(read: Callable[[float], float], target: float, start: float, theta: float) -> float:
    """Newton's method on ln delta, whose slope is near -theta, then secants; not certified."""
    point, slope = start, -theta
    value = read(point)
    for _ in range(12):
        if not math.isfinite(value):
            break
        moved = max(0.0, point - (value - target) / slope)
        if abs(moved - point) <= 1e-13 * abs(point):
            break
        found = read(moved)
        if math.isfinite(found) and moved != point:
            rise = (found - value) / (moved - point)
            slope = rise if -8 * theta - 8 < rise < 0 else slope
        point, value = moved, found
    return point
