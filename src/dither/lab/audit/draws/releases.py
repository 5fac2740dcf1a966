"""Many releases of a mechanism of dither: by its own draws, of which its release is one."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dither.lab.audit.draws.real_draws import real_draws
from dither.lab.audit.draws.rejection import rejected_draws
from dither.lab.audit.draws.samplers import Sampler, one_by_one
from dither.mechanisms.quantiles.rank_mechanism import RankMechanism
from dither.mechanisms.refusal import REFUSED_CODE
from dither.mechanisms.smooth.smooth_noise import SmoothNoise
from dither.mechanisms.stability.stable_release import StableRelease
from dither.noise.reals.cauchy import GeneralisedCauchy

_MOST_AT_ONCE = 1 << 18


def releases(mechanism: Any) -> Sampler:
    """A sampler of what the mechanism publishes; numbers on a grid are given in grid steps."""
    if isinstance(mechanism, RankMechanism) and mechanism.levels > 1:
        return mechanism.draws  # parts would repeat what is prepared for each
    if isinstance(mechanism, SmoothNoise):
        return in_parts(_smooth(mechanism))
    if isinstance(mechanism, StableRelease):
        return in_parts(_stable(mechanism))
    return in_parts(mechanism.draws) if hasattr(mechanism, "draws") else one_by_one(mechanism.release)


def _stable(mechanism: StableRelease) -> Sampler:
    """Every value has a number of its own."""
    places: dict[Any, int] = {}

    def draw(data: Any, size: int) -> npt.NDArray[Any]:
        return np.where(mechanism.draws(data, size), places.setdefault(data[0], len(places)), REFUSED_CODE)

    return draw


def _smooth(mechanism: SmoothNoise) -> Sampler:
    """What the mechanism's own draws give one by one, hundreds of times as fast: the same formula on whole arrays."""

    def draw(data: Any, size: int) -> npt.NDArray[Any]:
        distribution, (centre, scale) = mechanism.distribution, mechanism.in_steps(*data)
        if isinstance(distribution, GeneralisedCauchy):
            return rejected_draws(distribution, scale, centre, size)
        return real_draws(distribution, scale, centre, size)

    return draw


def in_parts(draw: Sampler) -> Sampler:
    """The same outputs, a quarter of a million of them at a time."""

    def drawn(data: Any, size: int) -> npt.NDArray[Any]:
        return np.concatenate([draw(data, min(_MOST_AT_ONCE, size - done)) for done in range(0, size, _MOST_AT_ONCE)])

    return drawn
