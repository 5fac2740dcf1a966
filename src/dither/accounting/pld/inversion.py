"""Certified bounds of a composed privacy curve: which lines to read, and where.

Nothing here needs to be right for a bound to hold: every bound is a reading that was checked. Largest losses are left
out first (they may be heavy beyond any tilt), and counted as lost. Where no tilt fits both the many small and the few
large losses, sums with and without a large one are read on lines of their own. Proofs: docs/proofs/pld.md.
"""

from __future__ import annotations

import math

import numpy as np

from dither.accounting.pld import plain_bounds
from dither.accounting.pld.crossing import least_above, most_below
from dither.accounting.pld.reading import LIKELY, WANTED, Known, Reading
from dither.accounting.pld.sums import Measure, Sum, best_order, markov
from dither.accounting.pld.work import exhausted

_LEVELS = 3
_LOOKS = 3
_FAR = 0.2
# A finer line that narrows the bounds less than so is lost in rounding.
_GAIN = 0.7
# ln of what no float can hold.
_SMALLEST = -745.0
_WIDE = 1e-3
_TRIES, _FAILED = 16, 8
# How much of delta the left out losses may take.
_TRIMMED, _TRIMMED_LESS = 2.0**-15, 2.0**-24
_RARE = math.log(_TRIMMED)
_SHARE = math.log(2.0**-13)
# Losses are looked at apart where the terms are this much (ln) larger than delta; bands by their mass beside delta.
_TOO_LARGE = 10.0
_BANDS = (-5.0, 0.0, 5.0, 10.0, 15.0)


def delta_bounds(above: Sum, below: Sum, epsilon: float, known: Known | None = None) -> tuple[float, float]:
    """ln of certified lower and upper bounds of delta at epsilon >= 0.

    `known` holds readings of the same losses at other places, which may serve here; new ones are added to it.
    """
    if not _alike(above, below):
        return _delta_bounds(below, epsilon)[0], _delta_bounds(above, epsilon)[1]
    return _delta_bounds(above, epsilon, known)


def _alike(above: Sum, below: Sum) -> bool:
    """Whether both are the same sums once what is left out is left out."""
    return above is below or above.trimmed(_RARE) == below.trimmed(_RARE)


def _delta_bounds(losses: Sum, epsilon: float, known: Known | None = None) -> tuple[float, float]:
    low, high = plain_bounds.log_delta_bounds(losses, epsilon)
    for reading, lost in known or ():
        top, bottom = float(np.logaddexp(reading.log_above(epsilon), lost)) + 1e-14, reading.log_below(epsilon)
        low, high = max(low, bottom), min(high, top)
    # Markov's bound may be far too large: what is left out is then measured by what was found.
    for _ in range(_LOOKS):
        if high - low <= WANTED or high < _SMALLEST or exhausted():
            break
        before = high - low
        high = _without_tails(losses, epsilon, high)
        low, high = _delta_near(losses, epsilon, high if low == -math.inf else low, (low, high), known)
        if high - low > before - 0.1 and low > -math.inf:
            break
    return low, high


def _without_tails(losses: Sum, epsilon: float, high: float) -> float:
    """Markov's bound of what is left without the largest losses, and these: far sharper where tails are heavy."""
    while high > _SMALLEST and not exhausted():
        left_out = high + _RARE
        kept = losses.trimmed(left_out)
        found = float(np.logaddexp(best_order(kept, epsilon, log_delta=False)[1], left_out)) + 1e-9
        if kept is losses or found > high - 1:
            break
        high = found
    return high


def _delta_near(
    losses: Sum, epsilon: float, guess: float, bounds: tuple[float, float], known: Known | None
) -> tuple[float, float]:
    low, high = bounds
    left_out, near = min(0.0, guess) + _RARE, min(guess, 0.0) - 3
    kept = losses.trimmed(left_out)
    lost = -math.inf if kept is losses else left_out + 1e-9
    ways: list[tuple[Measure, ...]] = [(kept,)]
    theta, bound = best_order(kept, epsilon, log_delta=False)
    if bound - float(markov(np.array([theta]))[0]) - guess > _TOO_LARGE:
        ways.insert(0, _bands(kept, guess))
    for way in ways:
        if exhausted():
            break
        reading, before = Reading(way, epsilon, near), math.inf
        for _ in range(_LEVELS):
            top, bottom = float(np.logaddexp(reading.log_above(epsilon), lost)) + 1e-14, reading.log_below(epsilon)
            low, high = max(low, bottom), min(high, top)
            if high - low <= WANTED or not top - bottom <= before * _GAIN or exhausted():
                break
            before, reading = top - bottom, reading.sharper(epsilon, WANTED)
        if high - low <= _WIDE:
            if known is not None:
                known.append((reading, lost))
            break
    return low, high


def _bands(losses: Sum, log_delta: float) -> tuple[Measure, ...]:
    masses = [min(log_delta, 0.0) + factor for factor in _BANDS]
    return losses.bands([mass for mass in masses if mass < LIKELY])


def epsilon_bounds(
    above: Sum, below: Sum, log_delta: tuple[float, float], enough: float = 0.0, known: Known | None = None
) -> tuple[float, float]:
    """Certified lower and upper bounds of the epsilon >= 0 at which delta is reached; ln delta by its two roundings.

    An upper bound below `enough` need not be sharp, because something else is known to cost as much.
    """
    if not _alike(above, below):
        low = _epsilon_bounds(below, log_delta[1], log_delta[1], 0.0)[0]
        return low, max(low, _epsilon_bounds(above, log_delta[0], log_delta[0], enough)[1])
    return _epsilon_bounds(above, *log_delta, enough, known)


def _epsilon_bounds(
    losses: Sum, smallest: float, largest: float, enough: float, known: Known | None = None
) -> tuple[float, float]:
    low, high = plain_bounds.epsilon_bounds(losses, largest)[0], plain_bounds.epsilon_bounds(losses, smallest)[1]
    for reading, lost in known or ():
        if high - low > WANTED * high and lost < smallest + _SHARE:
            target = smallest + math.log1p(-math.exp(lost - smallest)) - 1e-14
            high = min(high, least_above(reading, target, high))
            low = max(low, min(high, most_below(reading, largest, high)))
    for share in (_TRIMMED, _TRIMMED_LESS):
        if high <= enough or high - low <= WANTED * high or exhausted():
            return min(low, high), high
        found = _near(losses, smallest, largest, enough, share, known)
        low, high = max(low, found[0]), min(high, found[1])
        if high - low > _WIDE * high and _delta_bounds(losses, 0.0)[1] <= smallest:
            return 0.0, 0.0
    # Close to the largest loss the curve falls off a cliff, where lines cannot be read. Epsilon at a larger delta is
    # smaller, so it may serve as the lower bound.
    easier, failed = largest, 0
    for _ in range(_TRIES):
        if high - low <= _WIDE * high or not math.isfinite(high) or exhausted():
            break
        easier *= 0.8
        found = _near(losses, easier, easier, 0.0, _TRIMMED)
        failed += not found[0]
        if failed > _FAILED:  # nothing can be read here at all
            break
        low = max(low, min(high, found[0]))
    return min(low, high), high


def _near(
    losses: Sum, smallest: float, largest: float, enough: float, share: float, known: Known | None = None
) -> tuple[float, float]:
    """Bounds of epsilon when the largest losses are left out that take this share of delta."""
    kept = losses.trimmed(smallest + math.log(share))
    target = smallest if kept is losses else smallest + math.log1p(-share) - 1e-14
    low, high = 0.0, max(best_order(kept, target, log_delta=True)[1], 0.0)
    plain, high = _located((kept,), target, high, enough)
    readings = [plain]
    if high > enough and plain.size(high, target) > _TOO_LARGE:
        apart, high = _located(_bands(kept, smallest), target, high, enough)
        readings.insert(0, apart)
    for first in readings:
        reading, before = first, math.inf
        for _ in range(_LEVELS):
            if high <= enough or exhausted():
                return low, high
            top = least_above(reading, target, high)
            high = min(high, top)
            bottom = most_below(reading, largest, high)
            low = max(low, min(bottom, high))
            # More points sharpen the smoothing only: rounding stays as it is.
            if high - low <= WANTED * high or not top - bottom <= before * _GAIN:
                break
            before = top - bottom
            # What is wanted of epsilon is so much of delta.
            reading = reading.sharper(high, WANTED * max(1.0, reading.theta * high))
        if high - low <= _WIDE * high / 2:
            if known is not None:
                known.append((reading, -math.inf if kept is losses else smallest + math.log(share) + 1e-9))
            break
    return low, high


def _located(measures: tuple[Measure, ...], target: float, high: float, enough: float) -> tuple[Reading, float]:
    """A reading near where the target is reached: Markov's epsilon may be far off where tails are heavy."""
    reading = Reading(measures, high, target)
    for _ in range(_LOOKS):
        before, high = high, min(high, least_above(reading, target, high))
        if high <= enough or before - high <= _FAR * high or exhausted():
            break
        reading = Reading(measures, high, target)
    return reading, high
