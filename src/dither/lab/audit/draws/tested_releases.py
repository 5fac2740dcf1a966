"""Many releases of mechanisms that test the data first, with the noise of all of them drawn at once.

Numbers are grid steps; REFUSED is a number of its own, far below all others.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dither.lab.audit.draws.samplers import Sampler, one_by_one
from dither.mechanisms.sparse.sparse_vector import SparseVector
from dither.mechanisms.stability.bounded_local_sensitivity import BoundedLocalSensitivity
from dither.mechanisms.stability.propose_test_release import ProposeTestRelease
from dither.mechanisms.stability.stable_release import StableRelease
from dither.mechanisms.values import on_grid, to_grid
from dither.noise import discrete_laplace
from dither.noise.request import LARGEST_SCALE

SAID_REFUSED = -(1 << 62)


def stable(mechanism: StableRelease) -> Sampler:
    """Every value has a number of its own."""
    places: dict[Any, int] = {}

    def draw(data: Any, size: int) -> npt.NDArray[Any]:
        value, distance = data
        published = places.setdefault(value, len(places))
        return np.where(mechanism.test.passes_each(distance, size), published, SAID_REFUSED)

    return draw


def proposed(mechanism: ProposeTestRelease) -> Sampler:
    """The answer's noise and the test's, for all outputs; as in a release, both are always drawn."""

    def draw(data: Any, size: int) -> npt.NDArray[Any]:
        value, distance = data
        steps = (to_grid if mechanism.rounds else on_grid)(value, mechanism.grid)
        noisy = steps + mechanism.answer._noise(size)
        return np.where(mechanism.test.passes_each(distance, size), noisy, SAID_REFUSED)

    return draw


def bounded(mechanism: BoundedLocalSensitivity) -> Sampler:
    """The bound and the value, which are published together. Values with the same bound share a scale."""

    def draw(data: Any, size: int) -> npt.NDArray[Any]:
        value, local_sensitivity = data
        local = mechanism._local_steps(local_sensitivity)
        steps = (to_grid if mechanism.rounds else on_grid)(value, mechanism.grid)
        shown = np.full((size, 2), SAID_REFUSED, np.int64)
        noises, which = np.unique(discrete_laplace(mechanism.bound_scale_steps, size), return_inverse=True)
        for i, noise in enumerate(noises.tolist()):
            bound, alike = mechanism._published(local + noise), np.flatnonzero(which == i)
            shown[alike, 0] = int(bound / mechanism.grid)
            scale = mechanism._scale_steps(bound)
            if scale <= LARGEST_SCALE:
                shown[alike, 1] = steps + discrete_laplace(scale, alike.size, public=False)
        return shown

    return draw


def sparse(mechanism: SparseVector) -> Sampler:
    """Whole sessions, from the threshold's noise to the last answer, against the threshold 0."""
    if mechanism.answer_epsilon is not None:
        return one_by_one(lambda *values: _session(mechanism, values))

    def draw(values: Any, size: int) -> npt.NDArray[Any]:
        return mechanism._sessions([int(on_grid(value, mechanism.grid)) for value in values], 0, size)

    return draw


def _session(mechanism: SparseVector, values: Any) -> tuple[Any, ...]:
    session = mechanism.session(0)
    said: list[Any] = []
    for value in values:
        said.append(session.ask(value).value)
        if not session.left:
            break
    return tuple(said)
