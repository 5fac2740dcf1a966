"""Certified bounds of a composed privacy curve: which lines to read, and where.

Nothing here needs to be right for a bound to hold: every bound is a reading that was checked. Largest losses are left
out first (they may be heavy beyond any tilt), and counted as lost. Where no tilt fits both the many small and the few
large losses, sums with and without a large one are read on lines of their own. Proofs: docs/proofs/pld.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain

import numpy as np

from dither.accounting.pld import plain_bounds
from dither.accounting.pld.crossing import least_above, most_below
from dither.accounting.pld.grid import best_order
from dither.accounting.pld.reading import WANTED, Known, Reading
from dither.accounting.pld.sums import Sum
from dither.accounting.pld.work import exhausted

_LEVELS = 3
_LOOKS, _MOVES = 3, 8
_FAR = 0.2
# A finer line that narrows the bounds less than so is lost in rounding.
_GAIN = 0.7
# A line so many times wider than wanted is made finer at once, others after something else was tried.
_CLOSE = 12
_CHEAPER = 8
# ln of how far below the upper bound a lower one says nothing of where the curve is.
_FAR_BELOW = 20.0
# ln of what no float can hold.
_SMALLEST = -745.0
_WIDE = 1e-3
_TRIES, _EASIER = 12, 0.7
_BEYOND = 3.0  # where a known reading is looked at first, in units of how fast it falls
# How much of delta the left out losses may take.
_TRIMMED, _TRIMMED_LESS = 2.0**-15, 2.0**-24
_RARE = math.log(_TRIMMED)
_SHARE = math.log(2.0**-13)


def delta_bounds(
    above: Sum, below: Sum, epsilon: float, enough: float = -math.inf, known: Known | None = None
) -> tuple[float, float]:
    """ln of certified lower and upper bounds of delta between epsilon >= 0 and the next float.

    An upper bound below `enough` need not be sharp, because something else is known to be as large. `known` holds
    readings of the same losses at other places, which may serve here; new ones are added to it.
    """
    if not _alike(above, below):
        return _delta_bounds(below, epsilon, enough)[0], _delta_bounds(above, epsilon, enough)[1]
    return _delta_bounds(above, epsilon, enough, known)


@lru_cache(64)
def _alike(above: Sum, below: Sum) -> bool:
    """Whether both are the same sums once what is left out is left out."""
    return above is below or above.trimmed(_RARE) == below.trimmed(_RARE)


def _delta_bounds(losses: Sum, epsilon: float, enough: float, known: Known | None = None) -> tuple[float, float]:
    low, high = -math.inf, 0.0
    for reading, lost in reversed(known or []):  # the last is the nearest, as a rule
        top, bottom = _read(reading, epsilon, lost)
        low, high = max(low, bottom), min(high, top)
        if high - low <= WANTED or high < enough:
            return low, high
    plain = plain_bounds.log_delta_bounds(losses, epsilon)
    low, high = max(low, plain[0]), min(high, plain[1])
    # Markov's bound may be far too large: what is left out is then measured by what was found.
    for _ in range(_LOOKS):
        if high - low <= WANTED or high < max(_SMALLEST, enough) or exhausted():
            break
        before = high - low
        high = _without_tails(losses, epsilon, high)
        # Markov's bound is some way above the curve.
        low, high = _delta_near(losses, epsilon, low if low > high - _FAR_BELOW else high - 3, (low, high), known)
        if high - low > before - 0.1 and low > -math.inf:
            break
    return low, high


def log_variation_read(known: Known) -> float:
    """At least ln delta at 0, by readings that were made nearby; 0 if there are none."""
    return min([0.0, *(_read(reading, 0.0, lost)[0] for reading, lost in known)])


def _read(reading: Reading, epsilon: float, left_out: float) -> tuple[float, float]:
    """Above and below the curve, which falls, at all epsilons up to the next float."""
    top = float(np.logaddexp(reading.log_above(epsilon), left_out)) + 1e-14
    return top, reading.log_below(math.nextafter(epsilon, math.inf))


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
    left_out, near = min(0.0, guess) + _RARE, min(guess, 0.0)
    kept = losses.trimmed(left_out)
    lost = -math.inf if kept is losses else left_out + 1e-9
    for reading, left, levels in _ways(kept, epsilon, near, lost, left_out, sharp=True):
        wide = math.inf
        for level in range(_LEVELS):
            if exhausted():
                break
            top, bottom = _read(reading, epsilon, left)
            low, high = max(low, bottom), min(high, top)
            if high - low <= WANTED or not top - bottom <= wide * _GAIN or exhausted():
                break
            if level + 1 >= levels and top - bottom > _CLOSE * WANTED:
                break
            wide, reading = top - bottom, reading.sharper(epsilon, WANTED)
        if high - low <= _WIDE:
            if known is not None:
                known.append((reading, left))
            break
        if left > high + _SHARE:  # too much was left out: the guess was too large
            break
    return low, high


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
    low, high = 0.0, math.inf
    for reading, lost in reversed(known or []):
        if lost < smallest + _SHARE:
            high = min(high, least_above(reading, _target(smallest, lost), reading.epsilon + _BEYOND / reading.theta))
            low = max(low, min(high, most_below(reading, largest, high))) if high < math.inf else low
        if high - low <= WANTED * high < math.inf or high <= enough:
            return min(low, high), high
    plain = plain_bounds.epsilon_bounds(losses, smallest, largest)
    low, high = max(low, plain[0]), min(high, plain[1])
    for share in (_TRIMMED, _TRIMMED_LESS):
        if high <= enough or high - low <= WANTED * high or exhausted():
            return min(low, high), high
        found = _near(losses, smallest, largest, enough, share, known, high)
        low, high = max(low, found[0]), min(high, found[1])
        if high > enough and high - low > _WIDE * high and _delta_bounds(losses, 0.0, smallest)[1] <= smallest:
            return 0.0, 0.0
    # Close to the largest loss the curve falls off a cliff, where lines cannot be read. Epsilon at a larger delta is
    # smaller, so it may serve as the lower bound.
    easier = largest
    for _ in range(_TRIES):
        if high - low <= _WIDE * high or not math.isfinite(high) or exhausted():
            break
        easier *= _EASIER
        smaller = _near(losses, easier, easier, 0.0, _TRIMMED)[0]
        low = max(low, min(high, smaller))
        if smaller:  # what follows is further off
            break
    return min(low, high), high


def _ways(
    kept: Sum, epsilon: float, log_delta: float, lost: float, left_out: float, *, sharp: bool = False
) -> Iterator[tuple[Reading, float, int]]:
    """Readings to be tried in turn, ln of the mass that each leaves out, and how many times they may be made finer.

    The losses as they are, if that looks easy; apart by large ones; as they are, whatever it costs.
    """
    plain = Reading((kept,), epsilon, log_delta, sharp=sharp)
    if not plain.hard:
        yield plain, lost, 1
    apart = Reading.apart(kept, epsilon, log_delta, left_out)
    if apart is not None:
        other = Reading(apart[0], epsilon, log_delta, sharp=sharp)
        if other.work > _CHEAPER * plain.work:
            yield plain, lost, _LEVELS
        yield other, float(np.logaddexp(lost, apart[1])) + 1e-9, _LEVELS
    yield plain, lost, _LEVELS


def _near(
    losses: Sum,
    smallest: float,
    largest: float,
    enough: float,
    share: float,
    known: Known | None = None,
    start: float = math.inf,
) -> tuple[float, float]:
    """Bounds of epsilon, `start` at most, when the largest losses are left out that take this share of delta."""
    left_out = smallest + math.log(share)
    kept = losses.trimmed(left_out)
    lost = -math.inf if kept is losses else left_out + 1e-9
    low, high = 0.0, start
    if kept is not losses or start == math.inf:
        high = max(min(best_order(kept, _target(smallest, lost), log_delta=True)[1], kept.top), 0.0)
    # Markov's epsilon may be far off where tails are heavy: lines are moved to what they read.
    for _ in range(_MOVES):
        ways = _ways(kept, high, smallest, lost, left_out)
        first = next(ways)
        target = _target(smallest, first[1])
        if 0 < enough < high and first[0].rough().log_above(enough) <= target:
            return 0.0, enough
        before, high = high, min(high, least_above(first[0], target, high))
        if high <= enough or not before - high > 0 or exhausted():
            break
        if before - high <= _FAR * high and not first[0].moved(high):
            break
    for reading, left, levels in chain([first], ways):
        target, wide = _target(smallest, left), math.inf
        for _ in range(_MOVES):
            top = least_above(reading, target, high)
            high = min(high, top)
            better = None if exhausted() else reading.moved(high)
            if better is None:
                break
            reading = better
        for level in range(_LEVELS):
            if high <= enough or exhausted():
                return low, high
            if level:
                top = least_above(reading, target, high)
                high = min(high, top)
            bottom = most_below(reading, largest, high)
            low = max(low, min(bottom, high))
            # More points sharpen the smoothing only: rounding stays as it is.
            if high - low <= WANTED * high or not top - bottom <= wide * _GAIN:
                break
            if level + 1 >= levels and high - low > _CLOSE * WANTED * high:
                break
            wide = top - bottom
            # What is wanted of epsilon is so much of delta.
            reading = reading.sharper(high, WANTED * max(1.0, reading.theta * high))
        if high - low <= _WIDE * high / 2:
            if known is not None:
                known.append((reading, left))
            break
    return low, high


def _target(log_delta: float, left: float) -> float:
    """ln of what is left of delta, rounded down."""
    return log_delta if left == -math.inf else log_delta + math.log1p(-math.exp(left - log_delta)) - 1e-14
