"""A statistic with noise in proportion to its smooth sensitivity, and an interval for it if one is bought."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from dither.errors import ParameterError
from dither.exact.balls import ball, bounds
from dither.mechanisms.additive.laplace import Laplace
from dither.mechanisms.smooth.smooth_noise import SmoothNoise
from dither.sensitivity.order.gap_statistic import GapStatistic
from dither.stats.estimate import Estimate, plain
from dither.stats.price import Price

_LOG_STEP = Fraction(1, 1 << 20)
# The logarithm itself is rounded in its 64th bit.
_ROUNDED_LOG = 1 + Fraction(1, 1 << 40)
_BUY = (
    "the noise follows the smooth sensitivity, which is private; interval=True buys an interval with part of the price."
)


def smooth_estimate(
    statistic: GapStatistic,
    records: npt.NDArray[np.int64],
    price: Price,
    ends: tuple[int, int],
    step: Fraction,
    mechanism: Callable[[Price], SmoothNoise],
    *,
    interval: bool,
    sure: Fraction,
) -> Estimate:
    """Of codes between the ends, one code being worth `step`. An interval takes a third of the price."""
    noise = mechanism(value_price(price, interval))
    found, bound = statistic.with_smooth(records, noise.beta, *ends)
    return noisy_estimate(noise, found, bound, price, ends, step, interval=interval, sure=sure)


def value_price(price: Price, interval: bool) -> Price:
    """What is left for the value itself if an interval is bought."""
    return price.part(Fraction(2, 3)) if interval else price


def noisy_estimate(
    noise: SmoothNoise,
    found: Fraction | int,
    bound: Fraction | int,
    price: Price,
    ends: tuple[Fraction | int, Fraction | int],
    step: Fraction,
    *,
    interval: bool,
    sure: Fraction,
) -> Estimate:
    """A value with noise for its smooth bound, both in steps; with an interval for a third of the price."""
    value = min(max(Fraction(noise.release(found, bound).value), Fraction(ends[0])), Fraction(ends[1])) * step
    method = type(noise).__name__
    if not interval:
        return Estimate(plain(value), price.guarantee, method, value, hidden=_BUY)
    missed = (1 - sure) / 2
    # What the noise was drawn for, not what was found: a smooth sensitivity of about 0 still has noise.
    used = noise.effective(bound)
    largest = _private_bound(used, noise.beta, price.part(Fraction(1, 3)), missed, Fraction(ends[1] - ends[0]))
    reach = (noise.spread(1 - missed) * largest + noise.grid) * step
    low, high = max(value - reach, ends[0] * step), min(value + reach, ends[1] * step)

    def shown(asked: Fraction) -> tuple[Any, Any]:
        if asked > sure:
            raise ParameterError(f"this interval was bought at confidence {float(sure):g}; no larger one can be shown.")
        return float(low), float(high)

    return Estimate(plain(value), price.guarantee, method, value, shown, _BUY, confidence=sure)


def _private_bound(smooth: Fraction, beta: Fraction, price: Price, missed: Fraction, most: Fraction) -> Fraction:
    """A noisy number that is at least the smooth sensitivity, but for a probability of `missed`.

    Smoothness says that ln S moves by at most beta between neighbours, so its global sensitivity is beta.
    """
    noise = Laplace(
        epsilon=price.pure_epsilon,
        sensitivity=beta * _ROUNDED_LOG,
        grid=min(_LOG_STEP, beta / 1024),
        rounded_coordinates=1,
        relation=price.relation,
    )
    # The logarithm is rounded to the noise's own grid, which is paid for, upwards within a step.
    _, logarithm = bounds(lambda: ball(smooth).log())
    # P(noise < -w) <= missed when P(|noise| > w) <= 2 missed.
    raised = (
        Fraction(noise.release(logarithm).value) + noise.error(1 - min(2 * missed, Fraction(1, 2))) + 2 * noise.grid
    )
    if raised > 700:
        return most
    return min(most, Fraction(math.exp(float(raised)) * (1 + 1e-12)))
