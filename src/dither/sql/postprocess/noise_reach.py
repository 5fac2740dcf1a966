"""How far noise reaches: the exact half-width of an interval, given by how much what is measured may lie to one side.

The exact number is `limited + R` with an unknown R in [low, high], `room` = high - low apart, and the noisy one is
`limited + Z`. The interval [noisy - w + low, noisy + w + high] misses where Z > w + (R - low) or Z < -w - (high - R).
Noise here is symmetric and its density falls off on both sides, so that this is likeliest at R = low or R = high, where
it has the probability P(Z > w) + P(Z < -w - room): w is the least for which that is at most what may be missed. Twice
the tail at w, the rule without room, asks for more; the tail at w alone is right only if room has no end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist

from dither.errors import ParameterError
from dither.exact.balls import Ball, ball, sign
from dither.mechanisms import Gaussian, Laplace
from dither.sql.postprocess.recorded_mechanisms import Mechanism, noise_of

_OUTWARD = 1 + 2.0**-30  # more than the relative error of the float operations of `_of_sum`

Tail = Callable[[float], float]


@lru_cache(maxsize=1024)  # columns of one answer share their noise
def reach(mechanism: Mechanism, missed: Fraction, room: Fraction | None = Fraction(0)) -> Fraction:
    """The least whole w with P(Z > w) + P(Z < -w - room) <= missed for the noise Z really drawn; at least 0.

    `room` None is without end. A value that was chosen has no noise: its error is one of ranks.
    """
    noise = noise_of(mechanism)
    if noise is None:
        return Fraction(0)
    if not 0 < missed < 1 or not (room is None or room >= 0):
        raise ParameterError("an interval may be missed with a probability between 0 and 1, and has room from 0 on.")
    low, high = -1, math.ceil(noise.error(1 - missed))  # without room it holds, and so with any
    if room != 0:
        low, high = _around(_estimate(noise, missed, room), low, high, lambda w: _holds(noise, w, missed, room))
    while room != 0 and high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _holds(noise, middle, missed, room) else (middle, high)
    return Fraction(high)


def _around(guess: int, low: int, high: int, holds: Callable[[int], bool]) -> tuple[int, int]:
    """The same bounds, or closer ones if a guess is right: it holds, and one less does not."""
    for w in (guess, guess - 1):
        if low < w < high:
            low, high = (low, w) if holds(w) else (w, high)
    return low, high


def _estimate(noise: Laplace | Gaussian, missed: Fraction, room: Fraction | None) -> int:
    """About where to look: of Laplace noise in closed form, of Gaussian noise after a few steps of a fixed point."""
    tail, apart = float(missed), math.inf if room is None else float(room)
    if isinstance(noise, Laplace):
        scale = float(noise.scale_steps)
        both = tail * (1 + math.exp(-1 / scale)) / (1 + math.exp(-apart / scale))
        return math.ceil(-scale * math.log(both)) - 1
    normal = NormalDist(0, float(noise.sigma_steps))
    far = 0.0
    for _ in range(8):
        w = -normal.inv_cdf(tail / (1 + far))
        far = normal.cdf(-w - apart) / normal.cdf(-w)
    return math.ceil(-normal.inv_cdf(tail / (1 + far)) - 0.5)


def _holds(noise: Laplace | Gaussian, w: int, missed: Fraction, room: Fraction | None) -> bool:
    def left() -> Ball:
        near = ball(missed) - _tail(noise, w)
        return near if room is None else near - _tail(noise, w + math.floor(room))

    return sign(left, undecided=-1) > 0


def _tail(noise: Laplace | Gaussian, w: int) -> Ball:
    """P(Z > w) for whole w >= 0: q^(w+1) / (1 + q), and P(G > w + 1/2) for a rounded Gaussian G."""
    if isinstance(noise, Laplace):
        rate = ball(1 / noise.scale_steps)
        return (-rate * (w + 1)).exp() / (1 + (-rate).exp())
    return (ball(Fraction(2 * w + 1, 2)) / (ball(noise.sigma_steps) * ball(2).sqrt())).erfc() / 2


def reach_of_sum(
    mechanisms: Sequence[Mechanism], coefficients: Sequence[int], missed: Fraction, room: Fraction | None = Fraction(0)
) -> Fraction | None:
    """The same for a sum of noises, each times its coefficient; None where their distribution is not known.

    A rounded Gaussian is within half a step of a Gaussian. A discrete Laplace variable is within a step of a Laplace
    variable of the same scale: P(|X| >= k) = 2 q^k / (1 + q) lies between q^k and q^(k-1).
    """
    used = [(mechanism, abs(factor)) for mechanism, factor in zip(mechanisms, coefficients, strict=True) if factor]
    if len(used) == 1 and used[0][1] == 1:
        return reach(used[0][0], missed, room)
    noises = [(noise_of(mechanism), factor) for mechanism, factor in used]
    scales = [float(noise.scale) * factor for noise, factor in noises if noise is not None]
    steps, apart = sum((factor for _, factor in noises), 0), math.inf if room is None else float(room)
    for kind, off in ((Gaussian, Fraction(steps, 2)), (Laplace, Fraction(steps))):
        if len(noises) == len(scales) == 2 and all(isinstance(noise, kind) for noise, _ in noises):
            return Fraction(together(scales, float(missed), apart, gaussian=kind is Gaussian)) + off
    return None


def together(scales: Sequence[float], missed: float, room: float, *, gaussian: bool) -> float:
    """The same for the sum of two continuous noises of these scales, rounded up."""
    spread, (narrow, wide) = math.hypot(*scales) * math.sqrt(2), sorted(scales)
    tail: Tail = (lambda t: math.erfc(t / spread) / 2) if gaussian else (lambda t: _of_laplace(t, wide, narrow))
    return _of_sum(tail, missed, room)


def _of_sum(tail: Tail, missed: float, room: float) -> float:
    """The least t, rounded up, beyond which, or below -t - room, the sum is with at most this probability."""
    allowed, apart = missed / _OUTWARD, room / _OUTWARD

    def beyond(t: float) -> float:
        return tail(t) + (0.0 if math.isinf(apart) else tail(t + apart))

    low, high = 0.0, 1.0
    while beyond(high) > allowed:
        low, high = high, 2 * high
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (low, middle) if beyond(middle) <= allowed else (middle, high)
    return high * _OUTWARD


def _of_laplace(t: float, wide: float, narrow: float) -> float:
    """P(X + Y > t) for Laplace variables of these scales."""
    if wide - narrow < 1e-6 * wide:  # the limit for equal scales; of the wider one it is an upper bound
        return (1 + t / (2 * wide)) * math.exp(-t / wide) / 2
    between = wide**2 * math.exp(-t / wide) - narrow**2 * math.exp(-t / narrow)
    return between / (wide**2 - narrow**2) / 2
