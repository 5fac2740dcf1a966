"""What is published is one of a few outcomes: bars side by side."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from dither.errors import ParameterError
from dither.exact.parameters import Number, exact
from dither.mechanisms.pictures.names import name

if TYPE_CHECKING:
    from dither.mechanisms.local.randomized_response import RandomizedResponse
    from dither.mechanisms.sparse.sparse_vector import SparseVector
    from dither.mechanisms.stability.stable_release import StableRelease

Bars = dict[Hashable, float]


def plot_choice(mechanism: Any, scores: Any | None, neighbour: Any | None) -> Any:
    """A choice by scores; by default the neighbour is one that moves the winner's probability far."""
    from dither.plot import neighbouring_scores, two_choices

    table = [place * mechanism.sensitivity for place in range(4)] if scores is None else scores
    if neighbour is None:
        neighbour = neighbouring_scores(table, mechanism.sensitivity, monotone=mechanism.monotone)
    first, second = (_labelled(mechanism.probabilities(given)) for given in (table, neighbour))
    return two_choices(name(mechanism), mechanism.guarantee, first, second)


def plot_responses(mechanism: RandomizedResponse, first: Hashable, second: Hashable, title: str = "") -> Any:
    """What is reported by two respondents with different answers."""
    from dither.plot import two_choices

    distributions: list[Bars] = [
        {value: float(low) for value, (low, _) in zip(mechanism.values, bounds, strict=True)}
        for bounds in (mechanism.probability_bounds(first), mechanism.probability_bounds(second))
    ]
    names = (f"the true answer is {first}", f"the true answer is {second}")
    return two_choices(title or name(mechanism), mechanism.guarantee, distributions[0], distributions[1], names)


def plot_stable(mechanism: StableRelease, distance: int | None, *, same_value: bool) -> Any:
    """The same value one step nearer to another one, or two neighbours with different values."""
    from dither.plot import two_choices

    if not same_value and distance:
        raise ParameterError("where a neighbour has another value the distance is 0; leave distance= out.")
    near = (mechanism.threshold if same_value else 0) if distance is None else distance
    passing, farther = (float(mechanism.published(at)[1]) for at in (near, near + 1))
    if same_value:
        distributions: list[Bars] = [{"the value": p, "REFUSED": 1 - p} for p in (passing, farther)]
        names = (f"distance {near}", f"distance {near + 1}")
    else:
        distributions = [
            {"one value": passing, "another value": 0.0, "REFUSED": 1 - passing},
            {"one value": 0.0, "another value": passing, "REFUSED": 1 - passing},
        ]
        names = ("one value", "another value")
    return two_choices(name(mechanism), mechanism.guarantee, distributions[0], distributions[1], names)


def plot_stream(
    mechanism: SparseVector, values: Sequence[Any] | None, neighbour: Sequence[Any] | None, threshold: Number
) -> Any:
    """Whole transcripts of a session; by default every query of the neighbour is larger by the sensitivity."""
    from dither.plot import two_choices

    stream = [threshold] * 3 if values is None else list(values)
    moved = (
        [value + mechanism.sensitivity for value in (exact(one, "a value") for one in stream)]
        if neighbour is None
        else list(neighbour)
    )
    first, second = (
        {_formatted(transcript): p for transcript, p in mechanism.probabilities(given, threshold).items()}
        for given in (stream, moved)
    )
    return two_choices(name(mechanism), mechanism.guarantee, first, second)


def _formatted(transcript: tuple[bool, ...]) -> str:
    """Answers in order, repeated ones counted.

    >>> _formatted((False, False, True))
    'below ×2, above'
    """
    runs = [("above" if above else "below", len(list(many))) for above, many in groupby(transcript)]
    return ", ".join(word if many == 1 else f"{word} ×{many}" for word, many in runs)


def _labelled(distribution: Any) -> Bars:
    return dict(distribution.items() if isinstance(distribution, Mapping) else enumerate(distribution))
