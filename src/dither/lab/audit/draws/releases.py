"""Many releases of a mechanism of dither, by its own release, or by its own draws from what was prepared once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from dither.lab.audit.draws.real_draws import real_draws
from dither.lab.audit.draws.rejection import rejected_draws
from dither.lab.audit.draws.samplers import Sampler, one_by_one
from dither.lab.audit.draws.tested_releases import bounded, proposed, sparse, stable
from dither.mechanisms.additive.addition import AdditiveNoise
from dither.mechanisms.keys.key_selection import KeySelection
from dither.mechanisms.local.randomized_response import RandomizedResponse
from dither.mechanisms.quantiles.candidates import standing
from dither.mechanisms.quantiles.listed_quantile import ListedQuantile
from dither.mechanisms.quantiles.listed_quantiles import ListedQuantiles
from dither.mechanisms.quantiles.quantile import Quantile
from dither.mechanisms.quantiles.quantiles import Quantiles
from dither.mechanisms.quantiles.rank_choice import RankChoice
from dither.mechanisms.quantiles.rank_window import sorted_column
from dither.mechanisms.scores import read_scores
from dither.mechanisms.sealed_values import seal
from dither.mechanisms.selection.choice import Choice
from dither.mechanisms.smooth.smooth_noise import SmoothNoise
from dither.mechanisms.sparse.sparse_vector import SparseVector
from dither.mechanisms.stability.bounded_local_sensitivity import BoundedLocalSensitivity
from dither.mechanisms.stability.propose_test_release import ProposeTestRelease
from dither.mechanisms.stability.stable_release import StableRelease
from dither.mechanisms.values import on_grid
from dither.neighbours import Relation
from dither.noise.reals.cauchy import GeneralisedCauchy

_MOST_AT_ONCE = 1 << 18


def releases(mechanism: Any) -> Sampler:
    """A sampler of what the mechanism publishes; numbers on a grid are given in grid steps."""
    # Parts would repeat what is prepared for each.
    if isinstance(mechanism, Quantiles):
        return _quantiles(mechanism)
    if isinstance(mechanism, ListedQuantiles):
        return _listed_several(mechanism)
    for kind, sampler in _SAMPLERS.items():
        if isinstance(mechanism, kind):
            return in_parts(sampler(mechanism))
    return one_by_one(mechanism.release)


def _additive(mechanism: AdditiveNoise) -> Sampler:
    """One release of a long vector, counted in grid steps: noise is independent in each coordinate."""
    if mechanism.rounded_coordinates:
        return one_by_one(mechanism.release)

    def draw(value: Any, size: int) -> npt.NDArray[Any]:
        one = np.asarray(on_grid(np.asarray(value, dtype=object).reshape(-1), mechanism.grid))
        steps = np.asarray(mechanism.release(seal(np.tile(one, size))).steps)
        return steps.reshape((size, len(one)) if np.ndim(value) else size)

    return draw


def _choice(mechanism: Choice) -> Sampler:
    """Scores are read once, then winners are drawn all at once."""
    return lambda data, size: mechanism._draws(read_scores(data), size)


def _response(mechanism: RandomizedResponse) -> Sampler:
    """One release of a long list of the same answers; reports are given by their place among the values."""
    places = {value: i for i, value in enumerate(mechanism.values)}

    def draw(answers: Any, size: int) -> npt.NDArray[Any]:
        several = isinstance(answers, list)
        reports = mechanism.release((answers if several else [answers]) * size).value
        found = np.array([places[report] for report in reports], dtype=np.int64)
        return found.reshape(size, len(answers)) if several else found

    return draw


def _keys(mechanism: KeySelection) -> Sampler:
    """One release of a long list of keys: each is kept by itself. Counts of kept keys are above 0; -1 is not kept."""

    def draw(counts: Any, size: int) -> npt.NDArray[Any]:
        outcome = mechanism.release(np.tile(np.asarray(counts, dtype=np.int64), size))
        shown = np.full(len(counts) * size, -1, dtype=np.int64)
        shown[outcome.kept] = 1 if outcome.counts is None else outcome.counts
        return shown.reshape(size, len(counts))

    return draw


def _quantile(mechanism: Quantile) -> Sampler:
    """Ranks once, then choices, as codes."""

    def draw(values: Any, size: int) -> npt.NDArray[Any]:
        ranked, grid = mechanism._ranked(values), mechanism.grid
        return RankChoice.of(ranked, grid, mechanism.bands, mechanism.q, mechanism.rate).draws(size)

    return draw


def _listed(mechanism: ListedQuantile) -> Sampler:
    """Ranks once, then choices, as places in the list."""
    return lambda values, size: mechanism._chooser._draws(mechanism._standing(values).scores(mechanism.q), size)


def _listed_several(mechanism: ListedQuantiles) -> Sampler:
    """Ranks once, then all choices of a level together, as places in the list."""

    def draw(values: Any, size: int) -> npt.NDArray[Any]:
        stands = standing(values, mechanism.candidates, keep_missing=mechanism.relation is Relation.REPLACE)
        return mechanism._draws(stands, size)

    return draw


def _quantiles(mechanism: Quantiles) -> Sampler:
    """Records in order once, then all choices of a level together, as codes."""

    def draw(values: Any, size: int) -> npt.NDArray[Any]:
        ranked = sorted_column(values, mechanism.grid, keep_missing=mechanism.relation is Relation.REPLACE)
        return mechanism._draws(ranked, size)

    return draw


def _smooth(mechanism: SmoothNoise) -> Sampler:
    """The law's own formula on arrays of random numbers."""

    def draw(data: Any, size: int) -> npt.NDArray[Any]:
        law, (centre, scale) = mechanism.law, mechanism._in_steps(*data)
        if isinstance(law, GeneralisedCauchy):
            return rejected_draws(law, scale, centre, size)
        return real_draws(law, scale, centre, size)

    return draw


def in_parts(draw: Sampler) -> Sampler:
    """The same outputs, a quarter of a million of them at a time."""

    def drawn(data: Any, size: int) -> Any:
        parts = [draw(data, min(_MOST_AT_ONCE, size - done)) for done in range(0, size, _MOST_AT_ONCE)]
        if all(isinstance(part, np.ndarray) for part in parts):
            return np.concatenate(parts)
        return [item for part in parts for item in part]

    return drawn


_SAMPLERS: dict[type, Callable[[Any], Sampler]] = {
    AdditiveNoise: _additive,
    Choice: _choice,
    RandomizedResponse: _response,
    KeySelection: _keys,
    SparseVector: sparse,
    StableRelease: stable,
    ProposeTestRelease: proposed,
    BoundedLocalSensitivity: bounded,
    Quantile: _quantile,
    ListedQuantile: _listed,
    SmoothNoise: _smooth,
}
