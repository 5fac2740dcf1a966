"""Scores of candidates, exactly: read once, then known only by how far each lies below the best."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from dither.errors import ParameterError, RelationMismatch
from dither.exact.balls import Ball
from dither.exact.parameters import Number, positive
from dither.mechanisms.sealed_values import Exact, _unseal
from dither.mechanisms.sensitivity_bounds import Norms, read_sensitivity
from dither.mechanisms.values import whole_steps
from dither.neighbours import Relation

ScoreTable = Mapping[Any, Any] | Iterable[Any] | npt.NDArray[Any] | Exact
# One ball for each distinct gap, at the working precision of the moment.
DistributionByGap = Callable[[], list[Ball]]

_KINDS = "ints, Fractions or Decimals in a mapping, a sequence or a NumPy array of integers"


@dataclass(frozen=True)
class Scores:
    """Candidates by their gaps: score = best - gap / denominator. Selection depends on nothing else.

    Labels and the number of candidates are public and fixed in advance; the gaps are private.
    """

    labels: tuple[Any, ...] | None
    gaps: npt.NDArray[Any]  # int64, or Python ints where some need more
    denominator: int

    def label(self, index: int) -> Any:
        """What is published for the chosen candidate: its key in the mapping, or its position."""
        return index if self.labels is None else self.labels[index]

    @cached_property
    def tally(self) -> dict[int, int]:
        """How many candidates there are at each gap, in order of the gap."""
        return dict(sorted(Counter(self.gaps.tolist()).items()))

    def by_gap(self, finish: Callable[[DistributionByGap], list[Any]], distribution: DistributionByGap) -> list[Any]:
        """Numbers worked out once per distinct gap, given to every candidate at that gap."""
        known = dict(zip(self.tally, finish(distribution), strict=True))
        return [known[gap] for gap in self.gaps.tolist()]

    def labelled(self, values: list[Any]) -> Any:
        """One value per candidate, in the shape in which the scores came."""
        return values if self.labels is None else dict(zip(self.labels, values, strict=True))


def read_scores(scores: ScoreTable) -> Scores:
    """Exact scores; an empty set, a float or anything not finite is refused. No message contains a score."""
    labels = tuple(scores) if isinstance(scores, Mapping) else None
    values = (
        _unseal(scores) if isinstance(scores, Exact) else scores.values() if isinstance(scores, Mapping) else scores
    )
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise ParameterError(f"give one exact score per candidate: {_KINDS}; got {type(values).__name__}.")
    if isinstance(values, np.ndarray) and values.ndim != 1:
        raise ParameterError(f"scores are one number per candidate; got an array of {values.ndim} dimensions.")
    denominator = 1
    if not (isinstance(values, np.ndarray) and values.dtype.kind in "iu"):
        fractions = [exact_fraction(item, "a score") for item in values]
        denominator = math.lcm(*(item.denominator for item in fractions))
        values = np.array([item.numerator * (denominator // item.denominator) for item in fractions], object)
    if not len(values):
        raise ParameterError("there is nothing to choose from: give at least one candidate.")
    return Scores(labels, _gaps(whole_steps(values)), denominator)


def read_rule(
    epsilon: Number, sensitivity: Number | Norms, monotone: bool, relation: Relation | str | None
) -> dict[str, Any]:
    """The checked parameters of a mechanism that selects by scores."""
    bound, held = read_sensitivity(sensitivity, "linf", relation)
    if not isinstance(monotone, bool):
        raise ParameterError(f"monotone must be True or False; got {type(monotone).__name__}.")
    if monotone and held is Relation.REPLACE:
        raise RelationMismatch(
            "under replace one score may rise while another falls, so scores are not monotone; "
            "leave monotone=False, or state the guarantee under add_remove."
        )
    return {"epsilon": positive(epsilon, "epsilon"), "sensitivity": bound, "monotone": monotone, "relation": held}


def exact_fraction(value: Any, name: str) -> Fraction:
    """The number itself, if it is of an exact kind. It is private and never shown."""
    if isinstance(value, Fraction):
        return value
    if isinstance(value, Decimal) and value.is_finite():
        return Fraction(value)
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return Fraction(int(value))
    raise ParameterError(
        f"{name} must be an exact number: an int, a Fraction or a Decimal; got {type(value).__name__}."
    )


def _gaps(values: Any) -> npt.NDArray[Any]:
    best, worst = int(values.max()), int(values.min())
    if values.dtype == np.int64 and best - worst < 1 << 63:
        return np.asarray(best - values)
    gaps = np.empty(len(values), object)
    gaps[:] = [best - int(value) for value in values]
    return gaps
