"""Lines for some measures together: where to put them, and how fine."""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dither.accounting.pld.distribution import Reals, U
from dither.accounting.pld.grid import GRID, MARKOV, best_order, markov
from dither.accounting.pld.large_losses import by_number
from dither.accounting.pld.line import CUT, Line
from dither.accounting.pld.sums import Measure, Sum
from dither.accounting.pld.work import exhausted

# ln of what copies and cut-off tails may be, relative to delta.
_NEGLIGIBLE = -13.0
_FIRST = 256
_MOST = 1 << 16
_MOST_WORK = 60_000_000  # operations of the products of one line
WANTED = 5e-4
# ln of how much larger than delta the terms of the sum may be: rounding grows with it.
_LARGER = 8.0
LIKELY = -0.5
# Losses are looked at apart where so many points are needed. About how uncertain each step makes a line.
_MANY, _UNSURE = 8192.0, 2e-13
_POINT = 200  # operations that a point takes in any case
_SMOOTH, _FARTHEST = 0.7, 1e280
_AROUND = np.geomspace(1 / 32, 2, 31)
_TIMES_APART = 4


@dataclass(frozen=True)
class Place:
    """Where a line goes, and how many points its smoothing asks for."""

    losses: Measure
    theta: float
    window: float
    needed: float
    too_large: bool  # its terms beside delta, so that it is lost in their rounding
    markov: tuple[float, float]  # an order, and ln of Markov's bound at epsilon 0

    def line(self) -> Line:
        count = _FIRST
        while count < _MOST and count < self.needed:
            count *= 2
        return Line(self.losses, self.theta, self.window, min(count, _most_count(self.losses)))


class Reading:
    """The curve of some measures together, near an epsilon at which it is about delta.

    Delta is moved by as little as is wanted of it if `sharp`, otherwise by what is wanted of epsilon.
    """

    close = 2.0**-26

    def __init__(self, measures: tuple[Measure, ...], epsilon: float, log_delta: float, *, sharp: bool = False) -> None:
        self.measures, self.epsilon, self.log_delta = measures, epsilon, log_delta
        self.places: list[Place] = []
        self.small: list[tuple[float, float]] = []
        for measure in measures:
            if len(measures) > 1 and measure.log_mass < log_delta + _NEGLIGIBLE:
                self.small.append((0.0, measure.log_mass))
                continue
            near, bound = _near(measure, epsilon, log_delta)
            if len(measures) > 1 and (bound < log_delta + _NEGLIGIBLE or exhausted()):
                self.small.append((near, bound + near * epsilon))
                continue
            # What is rare beside delta need not be sharp.
            rare = math.exp(min(0.0, bound - log_delta) / 2) if len(measures) > 1 else 1.0
            place = _place(measure, near, epsilon, log_delta, rare, sharp=sharp)
            self.places.append(replace(place, markov=(near, bound + near * epsilon)))

    @staticmethod
    def apart(
        losses: Sum, epsilon: float, log_delta: float, log_left: float
    ) -> tuple[tuple[Measure, ...], float] | None:
        """The losses by the number of large ones, again and again, and ln of the mass that is left out for it."""
        small, times = losses, 0
        found: tuple[Measure, ...] = ()
        while times < _TIMES_APART:
            theta, bound = _near(small, epsilon, log_delta)
            parts = by_number(small, theta, log_left) if not times or bound > log_delta + _NEGLIGIBLE else None
            if parts is None:
                break
            small, found, times = parts[0], (*parts[1], *found), times + 1
        return ((small, *found), log_left + math.log(times) + 1e-9) if times else None

    @cached_property
    def lines(self) -> list[Line]:
        found: list[Line] = []
        for place in self.places:
            if found and exhausted():
                self.small.append(place.markov)
            else:
                found.append(place.line())
        return found

    def moved(self, epsilon: float) -> Reading | None:
        """Other lines, if epsilon lies so far to the left of where these were meant for that they are out of place."""
        # Of several lines one may fall far more steeply than all together.
        most = 3.0 if len(self.places) == 1 else 1.0
        far = not self.places or self.theta * (self.epsilon - epsilon) > most
        far = far or any(top - near * epsilon > self.log_delta + _NEGLIGIBLE for near, top in self.small)
        return Reading(self.measures, epsilon, self.log_delta) if far and epsilon < self.epsilon else None

    @property
    def work(self) -> float:
        """About how much computing the lines takes, in points; infinite if it is of no use."""
        if any(place.too_large or place.needed > 2 * _MOST for place in self.places):
            return math.inf
        return sum(min(place.needed, _MOST) * (_POINT + place.losses.cost) for place in self.places)

    @property
    def hard(self) -> bool:
        """Whether other measures of the same losses may be easier to read."""
        return any(place.needed > _MANY or place.too_large for place in self.places)

    @property
    def theta(self) -> float:
        """About how fast ln delta falls."""
        return max((place.theta for place in self.places), default=1.0)

    def rough(self) -> Reading:
        """The same with a quarter of the points: enough to compare."""
        other = copy(self)
        other.lines = [replace(place, needed=place.needed / 4).line() for place in self.places]
        return other

    def sharper(self, epsilon: float, wanted: float) -> Reading:
        """The same with finer lines where these leave most in doubt at epsilon."""
        total, other = self.log_above(epsilon), copy(self)
        other.lines = []
        for line in self.lines:
            high, low = line.log_above(epsilon), line.log_below(epsilon)
            doubt = math.exp(min(high - total, 0.0)) - math.exp(min(low - total, 0.0)) if total < math.inf else math.inf
            doubt *= len(self.lines)
            other.lines.append(_finer(line, _how_much_finer(doubt, wanted)) if doubt > wanted / 2 else line)
        return other

    def log_above(self, epsilon: float) -> float:
        """At least ln delta(epsilon)."""
        parts = [line.log_above(epsilon) for line in self.lines]
        parts += [top - near * epsilon + 8 * U * (abs(top) + near * epsilon) for near, top in self.small]
        return parts[0] if len(parts) == 1 else float(np.logaddexp.reduce(parts)) + 1e-14

    def log_below(self, epsilon: float) -> float:
        """At most ln delta(epsilon)."""
        parts = [line.log_below(epsilon) for line in self.lines]
        return parts[0] if len(parts) == 1 else float(np.logaddexp.reduce([-math.inf, *parts])) - 1e-14


def _near(losses: Measure, epsilon: float, log_delta: float) -> tuple[float, float]:
    """The order that fits epsilon, and Markov's bound there."""
    near, bound = best_order(losses, epsilon, log_delta=False)
    if bound > LIKELY:  # below the mean loss no order is best at epsilon
        near = best_order(losses, min(log_delta, LIKELY), log_delta=True)[0]
    return near, bound


def _readable(losses: Measure) -> float:
    """ln of how much larger than delta the terms of a sum may be, about, before it is lost in their rounding."""
    return math.log(WANTED / (4 * _UNSURE * (losses.steps + 5)))


def _place(losses: Measure, near: float, epsilon: float, log_delta: float, finer: float, *, sharp: bool) -> Place:
    """The line with the narrowest window whose copies are negligible and whose terms are not much larger than delta.

    Any choice is valid. A heavy tail wants a smaller theta than Markov's inequality does.
    """
    around = near * _AROUND
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        cumulants, _ = losses.cumulant(around)
    readable = log_delta + _readable(losses)
    known, width = -1, 0.0
    while known < (now := int(np.isfinite(grid := losses.on_grid(epsilon + width)).sum())):
        # Where all of a measure lies beyond epsilon, Markov's inequality is best at 0, and larger orders are as good.
        beyond = around[-1] < GRID
        theta, cumulant = np.append(around, GRID[beyond]), np.append(cumulants, grid[beyond])
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            size = cumulant - theta * epsilon + markov(theta)
            least_window = (1 + losses.log_mass - log_delta - _NEGLIGIBLE) / theta + 1e-290
            window = np.maximum(least_window, _windows(grid, theta, epsilon, log_delta))
        usable = np.isfinite(size) & np.isfinite(window)
        least = size[usable].min() if usable.any() else math.inf
        most = max(least, min(least + _LARGER, readable))
        best = int(np.argmin(np.where(usable & (size <= most), window, np.inf)))
        known, width = now, float(window[best]) * 1.02 if usable.any() else _FARTHEST
        if window[best] == least_window[best]:
            break
        # Larger orders may make the window narrower: they are computed as far as that is possible.
    if not usable.any():
        return Place(losses, near, (1 - log_delta - _NEGLIGIBLE) / near, math.inf, True, (1.0, math.inf))
    chosen = float(theta[best])
    # The smoothing s moves ln delta by about s^2 theta (theta + 1): small beside theta epsilon, and below 1.
    wanted = min(_SMOOTH, math.sqrt(WANTED * (1.0 if sharp else max(chosen * epsilon, 0.5)) / 4))
    needed = CUT / (2 * math.pi) * math.sqrt(chosen * (chosen + 1)) * width / wanted * finer
    return Place(losses, chosen, width, needed, float(size[best]) > readable, (1.0, math.inf))


def _windows(grid: Reals, theta: Reals, epsilon: float, log_delta: float) -> Reals:
    """From which window on copies from above are negligible, for each theta and the best b on the grid."""
    # Markov's epsilon may be too large by a few 1/theta, so the window is made for a smaller one as well.
    need = grid + MARKOV - GRID * (epsilon - 4 / theta[:, None]) - (log_delta + _NEGLIGIBLE)
    gap = GRID - theta[:, None]
    windows = np.where((gap > 0.02 * theta[:, None]) & np.isfinite(need), np.maximum(need, 0.0) / gap, np.inf)
    found: Reals = windows.min(axis=1)
    return found


Known = list[tuple[Reading, float]]  # with ln of the mass that each leaves out


def _finer(line: Line, times: float) -> Line:
    count = min(_most_count(line.losses), 1 << math.ceil(math.log2(len(line.t) * times)))
    if count <= len(line.t):
        return line
    if line.finer is None or len(line.finer.t) != count:
        line.finer = Line(line.losses, line.theta, line.window, count)
    return line.finer


def _most_count(losses: Measure) -> int:
    return int(min(_MOST, max(8 * _FIRST, _MOST_WORK // losses.cost)))


def _how_much_finer(width: float, wanted: float) -> float:
    """The smoothing moves the curve by its square, beside an atom by itself."""
    return min(max(2.0, 1.2 * math.sqrt(width / wanted)), 16.0) if width < math.inf else 4.0
