"""Added noise: overlapping curves."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dither.accounting.guarantees.approx import ApproxDP
from dither.errors import ParameterError
from dither.exact.parameters import Number, exact, positive
from dither.mechanisms.pictures.names import name, short

if TYPE_CHECKING:
    from dither.mechanisms.additive.addition import AdditiveNoise
    from dither.mechanisms.smooth.smooth_noise import SmoothNoise

SHOWN = Fraction("0.998")
_SHOWN_OF_HEAVY_TAILS = Fraction("0.93")


def plot_addition(mechanism: AdditiveNoise, value: Number, shift: Number | None) -> Any:
    """value + noise and value + shift + noise; by default they are as far apart as the sensitivity allows."""
    from dither.mechanisms.values import on_grid
    from dither.plot import Distribution, Neighbours, steps_around, two_distributions

    grid = mechanism.grid
    apart = max(1, math.floor(mechanism.sensitivity / grid)) * grid if shift is None else exact(shift, "shift")
    if not apart:
        raise ParameterError("the two neighbours have the same answer, so there is nothing to compare: give a shift=.")
    start = exact(value, "value")
    places = [int(at) for at in on_grid([start, start + apart], grid)]  # type: ignore[union-attr]

    def distribution(at: int) -> Distribution:
        return Distribution(f"answer {short(at * grid)}", at * grid, lambda step: mechanism.pmf(step - at))

    reach = max(mechanism.error(SHOWN) / grid, _where_delta_begins(mechanism))
    steps = steps_around(map(Fraction, places), reach)
    shown = Neighbours(distribution(places[0]), distribution(places[1]), grid, steps)
    return two_distributions(name(mechanism), mechanism.guarantee, shown)


def _where_delta_begins(mechanism: AdditiveNoise) -> Fraction:
    """How many steps from the centre Gaussian noise passes e^epsilon, and a little more; 0 where it never does."""
    claim, mu_squared = mechanism.guarantee, mechanism.guarantee.gaussian_mu_squared
    if not isinstance(claim, ApproxDP) or not mu_squared:
        return Fraction(0)
    far = (claim.epsilon / mu_squared - Fraction(1, 2)) * mechanism.sensitivity + mechanism.scale
    return max(Fraction(0), far / mechanism.grid)


def plot_smooth(mechanism: SmoothNoise, value: Number | None, smooth_sensitivity: Number | None) -> Any:
    """Neighbours as far apart as they may be: answers apart by S, the second with an S e^beta times as large."""
    from dither.plot import Distribution, Neighbours, steps_around, two_distributions

    low, high, grid = mechanism.lower, mechanism.upper, mechanism.grid
    middle = Fraction(0) if low is None or high is None else (low + high) / 2
    usual = Fraction(1) if low is None or high is None else (high - low) / 64
    centre = middle if value is None else exact(value, "value")
    smooth = usual if smooth_sensitivity is None else positive(smooth_sensitivity, "smooth_sensitivity")
    wider = smooth * Fraction(math.exp(min(float(mechanism.beta), 50.0)))

    def distribution(label: str, at: Fraction, bound: Fraction) -> Distribution:
        return Distribution(label, at, lambda step: mechanism.pmf(step, at, bound))

    pair = (
        distribution(f"answer {short(centre)}", centre, smooth),
        distribution(f"answer {short(centre + smooth)}, noise e^β as wide", centre + smooth, wider),
    )
    reach = mechanism.spread(_SHOWN_OF_HEAVY_TAILS) * wider / grid
    steps = steps_around([centre / grid, (centre + smooth) / grid], reach)
    return two_distributions(name(mechanism), mechanism.guarantee, Neighbours(*pair, grid, steps, density=True))
