"""The exponential mechanism: choose a candidate by its score, exactly."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from dither.accounting.guarantees.pure import PureDP
from dither.exact.balls import Ball, ball, bounds, float_up
from dither.exact.parameters import Number, probability, whole
from dither.mechanisms.scores import DistributionByGap, Scores
from dither.mechanisms.selection.choice import Choice
from dither.mechanisms.weights import choose, weights_of


@dataclass(frozen=True, init=False, repr=False)
class Exponential(Choice):
    """epsilon-DP, and epsilon^2/8-zCDP, for scores of which each moves by at most `sensitivity` between neighbours.

    Candidate r is chosen with probability proportional to exp(epsilon u_r / (2 sensitivity)), or to
    exp(epsilon u_r / sensitivity) with monotone=True: then all scores must move the same way between any two
    neighbours, as counts do under add_remove and never do under replace. The candidates are fixed in advance, without
    looking at the data. Only the name of the winner is published, never its score.

    McSherry and Talwar 2007; Dong, Durfee and Rogers 2020 for the rho; docs/proofs/exponential.md.

    >>> m = Exponential(epsilon=1, sensitivity=1)
    >>> m.probabilities({"A": 0, "B": 2})
    {'A': 0.2689414213699951, 'B': 0.7310585786300049}
    >>> m.release({"A": 0, "B": 2000}).value
    'B'
    """

    @property
    def guarantee(self) -> PureDP:
        return PureDP(self.epsilon, self.relation, proven_rho=self.epsilon**2 / 8)

    def error(self, confidence: Number, *, candidates: int, optimal: int = 1) -> float:
        """w, rounded up, such that the winner's score is above the best one less w with at least this probability.

        `optimal` is a number of candidates known to share the best score: with more of them the bound is sharper.
        """
        sure, size = probability(confidence, "confidence"), whole(candidates, "candidates")
        best = whole(optimal, "optimal", most=size)
        _, high = bounds(lambda: (ball(Fraction(size, best)).log() - ball(1 - sure).log()) / ball(self.rate))
        return float_up(high)

    def _distribution(self, scores: Scores) -> DistributionByGap:
        """The probability of one candidate for each distinct gap."""

        def evaluate() -> list[Ball]:
            weights = [(-ball(self.rate * gap / scores.denominator)).exp() for gap in scores.tally]
            total = sum((weight * many for weight, many in zip(weights, scores.tally.values(), strict=True)), ball(0))
            return [weight / total for weight in weights]

        return evaluate

    def _draws(self, scores: Scores, size: int) -> npt.NDArray[np.int64]:
        return choose(weights_of(scores.gaps, self.rate / scores.denominator), size)
