"""Certified bounds of a composed privacy curve: which lines to read, and where.

Nothing here needs to be right for a bound to hold: every bound is a reading that was checked. Largest losses are left
out first (they may be heavy beyond any tilt), and counted as lost. Where no tilt fits both the many small and the few
large losses, sums with and without a large one are read on lines of their own. Proofs: docs/proofs/pld.md.
"""

from __future__ import annotations

import math

import numpy as np

from dither.accounting.pld.crossing import least_above, most_below
from dither.accounting.pld.distribution import U
from dither.accounting.pld.line import CUT, Line
from dither.accounting.pld.sums import GRID, Measure, Sum, best_order, markov

# ln of what copies and cut-off tails may be, relative to delta.
_NEGLIGIBLE = -13.0
_FIRST = 256
_LEVELS = 3
_LOOKS = 3
_MOST = 1 << 16
_MOST_WORK = 1 << 24
_WANTED = 3e-4
_FAR = 0.2
_WIDE = 1e-3
# ln of how much larger than delta the terms of the sum may be: rounding grows with it.
_LARGER = 8.0
_TRIES, _FAILED = 16, 8
_LIKELY = -0.5
_AROUND = np.geomspace(1 / 32, 2, 31)
# How much of delta the left out losses may take.
_TRIMMED, _TRIMMED_LESS = 2.0**-15, 2.0**-24
# Losses are looked at apart where the terms are this much (ln) larger than delta; bands by their mass beside delta.
_TOO_LARGE = 10.0
_BANDS = (2.0**-7, 1.0, 2.0**7, 2.0**14)


class Reading:
    """The curve of some measures together, near an epsilon at which it is about delta."""

    def __init__(self, measures: tuple[Measure, ...], epsilon: float, log_delta: float, finer: float = 1.0) -> None:
        self.measures = measures
        self.lines: list[Line] = []
        self.small: list[tuple[float, float]] = []
        self.theta = 0.0
        for measure in measures:
            near, bound = best_order(measure, epsilon, log_delta=False)
            if bound > _LIKELY:  # below the mean loss no order is best at epsilon
                near = best_order(measure, min(log_delta, _LIKELY), log_delta=True)[0]
            if len(measures) > 1 and bound < log_delta + _NEGLIGIBLE:
                self.small.append((near, bound + near * epsilon))
                continue
            line = _line(measure, near, epsilon, log_delta, finer)
            self.lines.append(line)
            self.theta = max(self.theta, line.theta)
        self.theta = self.theta or 1.0

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
    wanted = min(0.2, math.sqrt(_WANTED * max(chosen * epsilon, 0.5) / 2))
    count, needed = _FIRST, CUT / (2 * math.pi) * (chosen + 1) * width / wanted * finer
    while count < _MOST and count < needed:
        count *= 2
    return Line(losses, chosen, width, min(count, _most_count(losses)))


def _most_count(losses: Measure) -> int:
    laws = len(losses.laws) if isinstance(losses, Sum) else 1
    return int(min(_MOST, max(8 * _FIRST, _MOST_WORK // (laws + 1))))


def delta_bounds(above: Sum, below: Sum, epsilon: float) -> tuple[float, float]:
    """ln of certified lower and upper bounds of delta at epsilon >= 0."""
    if not _alike(above, below):
        return _delta_bounds(below, epsilon)[0], _delta_bounds(above, epsilon)[1]
    return _delta_bounds(above, epsilon)


def _alike(above: Sum, below: Sum) -> bool:
    """Whether both are the same sums once what is left out is left out."""
    return above is below or above.trimmed(_TRIMMED) == below.trimmed(_TRIMMED)


def _delta_bounds(losses: Sum, epsilon: float) -> tuple[float, float]:
    low, high = -math.inf, best_order(losses, epsilon, log_delta=False)[1]
    # Markov's bound may be far too large: what is left out is then measured by what was found.
    for _ in range(_LOOKS):
        before = high - low
        low, high = _delta_near(losses, epsilon, high if low == -math.inf else low, (low, high))
        if high - low <= _WIDE or not math.isfinite(high) or (high - low > before - 0.1 and low > -math.inf):
            break
    return low, min(high, 0.0)


def _delta_near(losses: Sum, epsilon: float, guess: float, known: tuple[float, float]) -> tuple[float, float]:
    low, high = known
    left_out, near = min(0.0, guess) + math.log(_TRIMMED), min(guess, 0.0) - 3
    kept = losses.trimmed(math.exp(left_out))
    lost = -math.inf if kept is losses else left_out + 1e-9
    ways: list[tuple[Measure, ...]] = [(kept,)]
    if Reading(ways[0], epsilon, near).size(epsilon, guess) > _TOO_LARGE:
        ways.insert(0, _bands(kept, guess))
    for way in ways:
        finer, before = 1.0, math.inf
        for _ in range(_LEVELS):
            reading = Reading(way, epsilon, near, finer)
            top, bottom = float(np.logaddexp(reading.log_above(epsilon), lost)) + 1e-14, reading.log_below(epsilon)
            low, high = max(low, bottom), min(high, top)
            wanted = _WANTED * max(1.0, reading.theta * epsilon)
            if high - low <= wanted or not top - bottom <= before / 2:
                break
            before = top - bottom
            finer *= _how_much_finer(before, wanted)
        if high - low <= _WIDE * max(1.0, reading.theta * epsilon):
            break
    return low, high


def _how_much_finer(width: float, wanted: float) -> float:
    """The smoothing moves the curve by its square."""
    return min(max(2.0, 1.2 * math.sqrt(width / wanted)), 16.0) if width < math.inf else 4.0


def _bands(losses: Sum, log_delta: float) -> tuple[Measure, ...]:
    masses = [math.exp(min(log_delta, 0.0)) * factor for factor in _BANDS]
    return losses.bands([mass for mass in masses if 0 < mass < 0.5])


def epsilon_bounds(above: Sum, below: Sum, log_delta: tuple[float, float], enough: float = 0.0) -> tuple[float, float]:
    """Certified lower and upper bounds of the epsilon >= 0 at which delta is reached; ln delta by its two roundings.

    An upper bound below `enough` need not be sharp, because something else is known to cost as much.
    """
    if not _alike(above, below):
        low = _epsilon_bounds(below, log_delta[1], log_delta[1], 0.0)[0]
        return low, max(low, _epsilon_bounds(above, log_delta[0], log_delta[0], enough)[1])
    return _epsilon_bounds(above, *log_delta, enough)


def _epsilon_bounds(losses: Sum, smallest: float, largest: float, enough: float) -> tuple[float, float]:
    low, high = _near(losses, smallest, largest, enough, _TRIMMED)
    if high <= enough or high - low <= _WIDE * high:
        return low, high
    if _delta_bounds(losses, 0.0)[1] <= smallest:
        return 0.0, 0.0
    closer = _near(losses, smallest, largest, enough, _TRIMMED_LESS)
    low, high = max(low, closer[0]), min(high, closer[1])
    # Close to the largest loss the curve falls off a cliff, where lines cannot be read. Epsilon at a larger delta is
    # smaller, so it may serve as the lower bound.
    easier, failed = largest, 0
    for _ in range(_TRIES):
        if high - low <= _WIDE * high or not math.isfinite(high):
            break
        easier *= 0.8
        found = _near(losses, easier, easier, 0.0, _TRIMMED)[0]
        failed += not found
        if failed > _FAILED:  # nothing can be read here at all
            break
        low = max(low, min(high, found))
    return low, high


def _near(losses: Sum, smallest: float, largest: float, enough: float, share: float) -> tuple[float, float]:
    """Bounds of epsilon when the largest losses are left out that take this share of delta."""
    kept = losses.trimmed(math.exp(smallest + math.log(share)))
    target = smallest if kept is losses else smallest + math.log1p(-share) - 1e-14
    low, high = 0.0, max(best_order(kept, target, log_delta=True)[1], 0.0)
    plain, high = _located((kept,), target, high, enough)
    readings = [plain]
    if high > enough and plain.size(high, target) > _TOO_LARGE:
        apart, high = _located(_bands(kept, smallest), target, high, enough)
        readings.insert(0, apart)
    for first in readings:
        reading, finer, before = first, 1.0, math.inf
        for _ in range(_LEVELS):
            if high <= enough:
                return low, high
            top = least_above(reading, target, high)
            high = min(high, top)
            bottom = most_below(reading, largest, high)
            low = max(low, min(bottom, high))
            # More points sharpen the smoothing only: rounding stays as it is.
            if high - low <= _WANTED * high or not top - bottom <= before / 2:
                break
            before = top - bottom
            finer *= _how_much_finer(before, _WANTED * high)
            reading = Reading(first.measures, high, largest, finer)
        if high - low <= _WIDE * high / 2:
            break
    return low, high


def _located(measures: tuple[Measure, ...], target: float, high: float, enough: float) -> tuple[Reading, float]:
    """A reading near where the target is reached: Markov's epsilon may be far off where tails are heavy."""
    reading = Reading(measures, high, target)
    for _ in range(_LOOKS):
        before, high = high, min(high, least_above(reading, target, high))
        if high <= enough or before - high <= _FAR * high:
            break
        reading = Reading(measures, high, target)
    return reading, high
