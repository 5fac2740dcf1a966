"""Lines for some measures together: where to put them, and how fine."""

from __future__ import annotations

import math
from copy import copy

import numpy as np

from dither.accounting.pld.distribution import U
from dither.accounting.pld.line import CUT, Line
from dither.accounting.pld.sums import GRID, Measure, Sum, best_order, markov
from dither.accounting.pld.work import exhausted

# ln of what copies and cut-off tails may be, relative to delta.
_NEGLIGIBLE = -13.0
_FIRST = 256
_MOST = 1 << 16
_MOST_WORK = 1 << 24
WANTED = 3e-4
# ln of how much larger than delta the terms of the sum may be: rounding grows with it.
_LARGER = 8.0
LIKELY = -0.5
_AROUND = np.geomspace(1 / 32, 2, 31)


class Reading:
    """The curve of some measures together, near an epsilon at which it is about delta."""

    def __init__(self, measures: tuple[Measure, ...], epsilon: float, log_delta: float) -> None:
        self.lines: list[Line] = []
        self.small: list[tuple[float, float]] = []
        for measure in measures:
            near, bound = best_order(measure, epsilon, log_delta=False)
            if bound > LIKELY:  # below the mean loss no order is best at epsilon
                near = best_order(measure, min(log_delta, LIKELY), log_delta=True)[0]
            if len(measures) > 1 and (bound < log_delta + _NEGLIGIBLE or exhausted()):
                self.small.append((near, bound + near * epsilon))
                continue
            # What is rare beside delta need not be sharp.
            rare = math.exp(min(0.0, bound - log_delta) / 2) if len(measures) > 1 else 1.0
            self.lines.append(_line(measure, near, epsilon, log_delta, rare))

    @property
    def theta(self) -> float:
        """About how fast ln delta falls."""
        return max((line.theta for line in self.lines), default=1.0)

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

    def size(self, epsilon: float, log_delta: float) -> float:
        """ln of how much larger than delta the terms of the sums are."""
        return max((line.size(epsilon) - log_delta for line in self.lines), default=0.0)

    def log_above(self, epsilon: float) -> float:
        """At least ln delta(epsilon)."""
        parts = [line.log_above(epsilon) for line in self.lines]
        parts += [top - near * epsilon + 8 * U * (abs(top) + near * epsilon) for near, top in self.small]
        return parts[0] if len(parts) == 1 else float(np.logaddexp.reduce(parts)) + 1e-14

    def log_below(self, epsilon: float) -> float:
        """At most ln delta(epsilon)."""
        parts = [line.log_below(epsilon) for line in self.lines]
        return parts[0] if len(parts) == 1 else float(np.logaddexp.reduce([-math.inf, *parts])) - 1e-14


def _line(losses: Measure, near: float, epsilon: float, log_delta: float, finer: float) -> Line:
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
        need = grid + error + markov(GRID) - GRID * (epsilon - 4 / theta[:, None]) - (log_delta + _NEGLIGIBLE)
        gap = GRID - theta[:, None]
        windows = np.where((gap > 0.02 * theta[:, None]) & np.isfinite(need), np.maximum(need, 0.0) / gap, np.inf)
        mass = 1 + losses.log_mass - log_delta - _NEGLIGIBLE
        window = np.maximum(windows.min(axis=1), mass / theta) + 1e-290
    usable = np.isfinite(size) & np.isfinite(window)
    if not usable.any():
        return Line(losses, near, (1 - log_delta - _NEGLIGIBLE) / near, _FIRST)
    least = size[usable].min()
    best = int(np.argmin(np.where(usable & (size <= least + _LARGER), window, np.inf)))
    chosen, width = float(theta[best]), float(window[best]) * 1.02
    # The smoothing s moves ln delta by about (s theta)^2, which should be small beside theta epsilon, and stay below 1.
    wanted = min(0.2, math.sqrt(WANTED * max(chosen * epsilon, 0.5) / 2))
    count, needed = _FIRST, CUT / (2 * math.pi) * (chosen + 1) * width / wanted * finer
    while count < _MOST and count < needed:
        count *= 2
    return Line(losses, chosen, width, min(count, _most_count(losses)))


Known = list[tuple[Reading, float]]  # with ln of the mass that each leaves out


def _finer(line: Line, times: float) -> Line:
    count = min(_most_count(line.losses), 1 << math.ceil(math.log2(len(line.t) * times)))
    return Line(line.losses, line.theta, line.window, count) if count > len(line.t) else line


def _most_count(losses: Measure) -> int:
    laws = len(losses.laws) if isinstance(losses, Sum) else 1
    return int(min(_MOST, max(8 * _FIRST, _MOST_WORK // (laws + 1))))


def _how_much_finer(width: float, wanted: float) -> float:
    """The smoothing moves the curve by its square, beside an atom by itself."""
    return min(max(2.0, 1.2 * math.sqrt(width / wanted)), 16.0) if width < math.inf else 4.0
