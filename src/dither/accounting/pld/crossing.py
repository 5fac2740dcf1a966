"""Where a certified reading of a curve passes a target."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

_STEPS = 60
_BEYOND = (1.0, 1.0001, 1.01, 1.1)


class Readable(Protocol):
    """Certified readings of ln delta at an epsilon."""

    @property
    def theta(self) -> float:
        """About how fast ln delta falls."""
        ...

    @property
    def close(self) -> float:
        """How closely a place should be found, relative to it."""
        ...

    def log_above(self, epsilon: float) -> float: ...

    def log_below(self, epsilon: float) -> float: ...


def least_above(reading: Readable, target: float, start: float) -> float:
    """An epsilon near the smallest at which the upper reading is at most the target; infinity if none was found."""
    for factor in _BEYOND:
        gap = reading.log_above(start * factor) - target
        if gap <= 0:
            return _bracket(reading.log_above, target, start * factor, gap, reading)[1]
    return math.inf


def most_below(reading: Readable, target: float, start: float) -> float:
    """An epsilon near the largest, up to `start`, at which the lower reading is above the target, or 0."""
    gap = reading.log_below(start) - target
    if gap > 0:
        return start
    return _bracket(reading.log_below, target, start, gap, reading)[0]


def _bracket(
    read: Callable[[float], float], target: float, start: float, gap: float, reading: Readable
) -> tuple[float, float]:
    """Two epsilons close together: above the target at the left one, or it is 0; not above it at the right one."""
    right, under = start, gap
    left, over = 0.0, math.nan
    step = max(-gap / reading.theta, reading.close * right / 2)
    for _ in range(_STEPS):
        # To the left by what the slope -theta asks for, or a quarter where nothing was read, then twice as far.
        step = step if 0 < step < math.inf else 0.25 * right
        point = max(0.0, right - step * 1.01)
        value = read(point) - target
        if value > 0:
            left, over = point, value
            break
        right, under, step = point, value, 2 * step
        if point <= 0:
            return 0.0, 0.0
    side = 0
    for turn in range(_STEPS):
        if right - left <= reading.close * right:
            break
        share = over / (over - under) if math.isfinite(over) and math.isfinite(under) else 0.5
        # Where secants do not get there soon, every second point is the middle.
        share = min(max(share, 1e-3), 1 - 1e-3) if turn < 8 or turn % 2 else 0.5
        point = left + share * (right - left)
        value = read(point) - target
        # A secant that hits the same side again is drawn to half the height of the other (the Illinois rule).
        if value > 0:
            left, over, under = point, value, under / 2 if side > 0 else under
            side = 1
        else:
            right, under, over = point, value, over / 2 if side < 0 else over
            side = -1
    return left, right
