"""Many releases of a mechanism of dither, by its own release, or by its own draws from what was prepared once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from dither.audit.sampling import Sampler, one_by_one
from dither.mechanisms.additive import AdditiveNoise
from dither.mechanisms.choice import Choice
from dither.mechanisms.exponential import Exponential
from dither.mechanisms.key_selection import KeySelection
from dither.mechanisms.name_and_shame import NameAndShame
from dither.mechanisms.permute_and_flip import PermuteAndFlip
from dither.mechanisms.quantile import Quantile
from dither.mechanisms.randomized_response import RandomizedResponse
from dither.mechanisms.rank_choice import RankChoice
from dither.mechanisms.scores import read_scores
from dither.mechanisms.sparse_vector import SparseVector
from dither.mechanisms.weights import choose, flip, weights_of
from dither.noise.uniform import one_below

_MOST_AT_ONCE = 1 << 20


def releases(mechanism: Any) -> Sampler:
    """A sampler of what the mechanism publishes; numbers on a grid are given in grid steps."""
    for kind, sampler in _SAMPLERS.items():
        if isinstance(mechanism, kind):
            return sampler(mechanism)
    return one_by_one(mechanism.release)


def _additive(mechanism: AdditiveNoise) -> Sampler:
    """One release of a long vector: noise is independent in each coordinate."""
    if mechanism.rounded_coordinates:
        return one_by_one(mechanism.release)

    def draw(value: Any, size: int) -> npt.NDArray[Any]:
        one = np.asarray(value, dtype=object).reshape(-1)
        whole = all(isinstance(item, int) or getattr(item, "denominator", 0) == 1 for item in one)
        tiled = np.tile(one.astype(np.int64) if whole else one, size)
        steps = np.asarray(mechanism.release(tiled).steps)
        return steps.reshape((size, len(one)) if np.ndim(value) else size)

    return draw


def _exponential(mechanism: Exponential) -> Sampler:
    """Weights once, then choices by them, all at once."""

    def draw(data: Any, size: int) -> npt.NDArray[Any]:
        scores = read_scores(data)
        return choose(weights_of(scores.gaps, mechanism.rate / scores.denominator), size)

    return draw


def _permute_and_flip(mechanism: PermuteAndFlip) -> Sampler:
    """Weights once, then coins and a choice among the heads for each output."""

    def draw(data: Any, size: int) -> list[int]:
        scores = read_scores(data)
        weights = weights_of(scores.gaps, mechanism.rate / scores.denominator)
        best = scores.gaps == 0

        def one() -> int:
            heads = np.flatnonzero(best | flip(weights.lower, weights.upper, weights.exactly))
            return int(heads[one_below(int(heads.size))])

        return [one() for _ in range(size)]

    return draw


def _choice(mechanism: Choice) -> Sampler:
    """Scores are read once."""

    def draw(data: Any, size: int) -> list[int]:
        scores = read_scores(data)
        return [mechanism._draw(scores) for _ in range(size)]

    return draw


def _response(mechanism: RandomizedResponse) -> Sampler:
    """One release of a long list of the same answers; reports are given by their place among the values."""
    places = {value: i for i, value in enumerate(mechanism.values)}

    def draw(answers: Any, size: int) -> npt.NDArray[Any]:
        several = isinstance(answers, list)
        reports = mechanism.release((answers if several else [answers]) * size).value
        found = np.array([places[report] for report in reports], dtype=np.int64)
        return found.reshape(size, len(answers)) if several else found

    return draw


def _shame(mechanism: NameAndShame) -> Sampler:
    """One release of a long list of records: each is exposed by itself. A number for each record, -1 where none is."""
    places: dict[Any, int] = {None: -1}

    def draw(records: Any, size: int) -> npt.NDArray[Any]:
        for record in records:
            places.setdefault(record, len(places))
        shown = mechanism.release(list(records) * size, counterexample=True).value
        return np.array([places[record] for record in shown], dtype=np.int64).reshape(size, len(records))

    return draw


def _keys(mechanism: KeySelection) -> Sampler:
    """One release of a long list of keys: each is kept by itself. Counts of kept keys are above 0; -1 is not kept."""

    def draw(counts: Any, size: int) -> npt.NDArray[Any]:
        outcome = mechanism.release(np.tile(np.asarray(counts, dtype=np.int64), size))
        shown = np.full(len(counts) * size, -1, dtype=np.int64)
        shown[outcome.kept] = 1 if outcome.counts is None else outcome.counts
        return shown.reshape(size, len(counts))

    return draw


def _sparse(mechanism: SparseVector) -> Sampler:
    """Whole sessions, from the threshold's noise to the last answer."""

    def one(values: Any) -> tuple[Any, ...]:
        session = mechanism.session(0)
        said: list[Any] = []
        for value in values:
            said.append(session.ask(value).value)
            if not session.left:
                break
        return tuple(said)

    return lambda values, size: [one(values) for _ in range(size)]


def _quantile(mechanism: Quantile) -> Sampler:
    """Ranks once, then a choice for each output."""

    def draw(values: Any, size: int) -> list[int]:
        ready = RankChoice.of(mechanism._ranked(values), mechanism.grid, mechanism.bands, mechanism.q, mechanism.rate)
        return [ready.draw() for _ in range(size)]

    return draw


def in_parts(draw: Sampler) -> Sampler:
    """The same outputs, never more than a million of them drawn at once."""

    def drawn(data: Any, size: int) -> Any:
        parts = [draw(data, min(_MOST_AT_ONCE, size - done)) for done in range(0, size, _MOST_AT_ONCE)]
        if all(isinstance(part, np.ndarray) for part in parts):
            return np.concatenate(parts)
        return [item for part in parts for item in part]

    return drawn


_SAMPLERS: dict[type, Callable[[Any], Sampler]] = {
    AdditiveNoise: lambda mechanism: in_parts(_additive(mechanism)),
    Exponential: lambda mechanism: in_parts(_exponential(mechanism)),
    PermuteAndFlip: _permute_and_flip,
    Choice: _choice,
    RandomizedResponse: lambda mechanism: in_parts(_response(mechanism)),
    NameAndShame: lambda mechanism: in_parts(_shame(mechanism)),
    KeySelection: lambda mechanism: in_parts(_keys(mechanism)),
    SparseVector: _sparse,
    Quantile: _quantile,
}
