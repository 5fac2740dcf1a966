"""Report noisy max: add noise to every score, publish the name of the largest."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
import numpy.typing as npt

from dither.accounting.guarantees.pure import PureDP
from dither.errors import ParameterError
from dither.exact.parameters import Number
from dither.mechanisms.scores import DistributionByGap, Scores
from dither.mechanisms.selection.choice import Choice
from dither.mechanisms.selection.exponential import Exponential
from dither.mechanisms.selection.race import winners
from dither.mechanisms.selection.winners import laplace_max_distribution, permute_and_flip_distribution
from dither.mechanisms.sensitivity_bounds import Norms
from dither.neighbours import Relation

Noise = Literal["exponential", "laplace", "gumbel"]


@dataclass(frozen=True, init=False, repr=False)
class NoisyMax(Choice):
    """epsilon-DP for scores of which each moves by at most `sensitivity` between neighbours; the winner's name only.

    The noise is continuous, of scale 2 sensitivity / epsilon; sensitivity / epsilon with monotone=True, which says that
    all scores move the same way between any two neighbours: true of counts under add_remove, refused under replace.
    Real numbers are compared exactly, with as many bits as it takes, so there are no ties to break.

    noise: "exponential" has the distribution of `PermuteAndFlip` (the best of the three), "gumbel" the distribution of
    `Exponential`, and so its smaller rho = epsilon^2/8; "laplace" is the classical form. Publishing the winning noisy
    *value* is not covered: measure the winner again with its own budget.

    Dwork and Roth 2014, Claim 3.9; Ding et al. 2021; docs/proofs/noisymax.md.

    >>> NoisyMax(epsilon="0.1", sensitivity=1, monotone=True).scale
    Fraction(10, 1)
    >>> NoisyMax(epsilon="0.1", sensitivity=1, relation="replace").scale
    Fraction(20, 1)
    """

    noise: Noise

    def __init__(
        self,
        *,
        epsilon: Number,
        sensitivity: Number | Norms,
        noise: str = "exponential",
        monotone: bool = False,
        relation: Relation | str | None = None,
    ) -> None:
        if noise not in ("exponential", "laplace", "gumbel"):
            raise ParameterError(f'noise must be "exponential", "laplace" or "gumbel"; got {noise!r}.')
        self._keep(noise=noise)
        super().__init__(epsilon=epsilon, sensitivity=sensitivity, monotone=monotone, relation=relation)

    @property
    def scale(self) -> Fraction:
        """The scale of the noise, in the units of the scores."""
        return 1 / self.rate

    @property
    def guarantee(self) -> PureDP:
        rho = self.epsilon**2 / 8 if self.noise == "gumbel" else None
        return PureDP(self.epsilon, self.relation, proven_rho=rho)

    @property
    def _exponential(self) -> Exponential:
        return Exponential(
            epsilon=self.epsilon, sensitivity=self.sensitivity, monotone=self.monotone, relation=self.relation
        )

    def _distribution(self, scores: Scores) -> DistributionByGap:
        """Of at most 300 candidates, unless the noise is Gumbel noise."""
        if self.noise == "gumbel":
            return self._exponential._distribution(scores)
        if self.noise == "laplace":
            return laplace_max_distribution(scores, self.scale)
        return permute_and_flip_distribution(scores, self.rate)

    def _draws(self, scores: Scores, size: int) -> npt.NDArray[np.int64]:
        if self.noise == "gumbel":
            # The largest of score/scale + Gumbel noise is an exponential mechanism's choice, drawn directly.
            return self._exponential._draws(scores, size)
        return winners(scores.gaps, scores.denominator, self.scale, size, signed=self.noise == "laplace")
