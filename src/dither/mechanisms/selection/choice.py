"""What mechanisms that choose by scores have in common: one candidate is published, by an exact distribution."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from dither.accounting.guarantees.guarantee import Guarantee
from dither.exact.frozen import Frozen
from dither.exact.parameters import Number
from dither.mechanisms.outcome import Outcome
from dither.mechanisms.probabilities import certified, nearest
from dither.mechanisms.scores import DistributionByGap, Scores, ScoreTable, read_rule, read_scores
from dither.mechanisms.sensitivity_bounds import Norms
from dither.neighbours import Relation


@dataclass(frozen=True, init=False, repr=False)
class Choice(Frozen, ABC):
    """Only the name of the winner is published, never its score."""

    epsilon: Fraction
    sensitivity: Fraction
    monotone: bool
    relation: Relation

    def __init__(
        self,
        *,
        epsilon: Number,
        sensitivity: Number | Norms,
        monotone: bool = False,
        relation: Relation | str | None = None,
    ) -> None:
        self._keep(**read_rule(epsilon, sensitivity, monotone, relation))

    @property
    def rate(self) -> Fraction:
        """By how much one unit of score raises the logarithm of a candidate's weight."""
        return self.epsilon / (self.sensitivity if self.monotone else 2 * self.sensitivity)

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """The guarantee of one choice."""

    @abstractmethod
    def _distribution(self, scores: Scores) -> DistributionByGap:
        """The probability of one candidate for each distinct gap."""

    @abstractmethod
    def _draws(self, scores: Scores, size: int) -> npt.NDArray[np.int64]:
        """The positions of the candidates chosen in `size` independent runs on the same scores."""

    def release(self, scores: ScoreTable) -> Outcome:
        """The chosen candidate: its key if the scores are a mapping, its position otherwise."""
        read = read_scores(scores)
        return Outcome(read.label(int(self._draws(read, 1)[0])), self)

    def draws(self, scores: ScoreTable, size: int) -> npt.NDArray[np.int64]:
        """The positions of the candidates that `size` independent releases choose. Each costs the whole guarantee."""
        return self._draws(read_scores(scores), size)

    def probabilities(self, scores: ScoreTable) -> Any:
        """The exact probabilities, each rounded to the nearest float. They are as private as the scores."""
        read = read_scores(scores)
        return read.labelled(read.by_gap(nearest, self._distribution(read)))

    def probability_bounds(self, scores: ScoreTable) -> Any:
        """Certified (lower, upper) bounds of the probabilities that agree to 64 bits."""
        read = read_scores(scores)
        return read.labelled(read.by_gap(certified, self._distribution(read)))

    def plot(self, scores: ScoreTable | None = None, neighbour: ScoreTable | None = None) -> Any:
        """An altair chart: the exact distributions on these scores and on a neighbour's, and their ratio. Never for
        data."""
        from dither.mechanisms.pictures.choices import plot_choice

        return plot_choice(self, scores, neighbour)
