"""Report noisy max: add noise to every score, publish the name of the largest."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, cast

from dither.accounting.pure import PureDP
from dither.errors import ParameterError
from dither.mechanisms.exponential import Exponential
from dither.mechanisms.outcome import Outcome
from dither.mechanisms.probabilities import certified, nearest
from dither.mechanisms.race import largest
from dither.mechanisms.scores import LargestChange, Scores, ScoreTable, read_rule, read_scores
from dither.mechanisms.winning import laplace_max_law, permute_and_flip_law
from dither.neighbours import Relation
from dither.parameters import Number

Noise = Literal["exponential", "laplace", "gumbel"]


@dataclass(frozen=True, init=False)
class NoisyMax:
    """epsilon-DP for scores of which each moves by at most `sensitivity` between neighbours; the winner's name only.

    The noise is continuous, of scale 2 sensitivity / epsilon; sensitivity / epsilon with monotone=True, which says that
    all scores move the same way between any two neighbours: true of counts under add_remove, refused under replace.
    Real numbers are compared exactly, with as many bits as it takes, so there are no ties to break.

    noise: "exponential" has the law of `PermuteAndFlip` (the best of the three), "gumbel" the law of `Exponential`, and
    so its smaller rho = epsilon^2/8; "laplace" is the classical form. Publishing the winning noisy *value* is not
    covered: measure the winner again with its own budget.

    Dwork and Roth 2014, Claim 3.9; Ding et al. 2021; docs/proofs/noisymax.md.

    >>> NoisyMax(epsilon="0.1", sensitivity=1, monotone=True).scale
    Fraction(10, 1)
    >>> NoisyMax(epsilon="0.1", sensitivity=1, relation="replace").scale
    Fraction(20, 1)
    """

    epsilon: Fraction
    sensitivity: Fraction
    noise: Noise
    monotone: bool
    relation: Relation

    def __init__(
        self,
        *,
        epsilon: Number,
        sensitivity: Number | LargestChange,
        noise: str = "exponential",
        monotone: bool = False,
        relation: Relation | str | None = None,
    ) -> None:
        if noise not in ("exponential", "laplace", "gumbel"):
            raise ParameterError(f'noise must be "exponential", "laplace" or "gumbel"; got {noise!r}.')
        object.__setattr__(self, "noise", cast(Noise, noise))
        for name, checked in read_rule(epsilon, sensitivity, monotone, relation).items():
            object.__setattr__(self, name, checked)

    @property
    def scale(self) -> Fraction:
        """The scale of the noise, in the units of the scores."""
        return (self.sensitivity if self.monotone else 2 * self.sensitivity) / self.epsilon

    @property
    def guarantee(self) -> PureDP:
        rho = self.epsilon**2 / 8 if self.noise == "gumbel" else None
        return PureDP(self.epsilon, self.relation, proven_rho=rho)

    def release(self, scores: ScoreTable) -> Outcome:
        """The winner: its key if the scores are a mapping, its position otherwise."""
        read = read_scores(scores)
        return Outcome(read.label(self._draw(read)), self)

    def probabilities(self, scores: ScoreTable) -> Any:
        """The exact winning probabilities, each rounded to the nearest float (at most 300 candidates)."""
        if self.noise == "gumbel":
            return self._exponential.probabilities(scores)
        read = read_scores(scores)
        return read.labelled(read.by_gap(nearest, self._law(read)))

    def probability_bounds(self, scores: ScoreTable) -> Any:
        """Certified (lower, upper) bounds of the probabilities that agree to 64 bits."""
        if self.noise == "gumbel":
            return self._exponential.probability_bounds(scores)
        read = read_scores(scores)
        return read.labelled(read.by_gap(certified, self._law(read)))

    @property
    def _exponential(self) -> Exponential:
        return Exponential(
            epsilon=self.epsilon, sensitivity=self.sensitivity, monotone=self.monotone, relation=self.relation
        )

    def _law(self, scores: Scores) -> Any:
        if self.noise == "laplace":
            return laplace_max_law(scores, self.scale)
        return permute_and_flip_law(scores, 1 / self.scale)

    def plot(self, scores: ScoreTable | None = None, neighbour: ScoreTable | None = None) -> Any:
        """An altair chart: the exact laws on these scores and on a neighbour's, and their ratio. Never for data."""
        from dither.mechanisms.pictures.choices import plot_choice

        return plot_choice(self, scores, neighbour)

    def _draw(self, scores: Scores) -> int:
        if self.noise == "gumbel":
            # The largest of score/scale + Gumbel noise is an exponential mechanism's choice, drawn directly.
            return int(self._exponential._draw(scores, 1)[0])
        return largest(scores.gaps, scores.denominator, self.scale, signed=self.noise == "laplace")
