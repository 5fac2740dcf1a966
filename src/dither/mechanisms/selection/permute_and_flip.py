"""Permute-and-flip: a choice by scores that is never worse on average than the exponential mechanism."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dither.accounting.guarantees.pure import PureDP
from dither.mechanisms.scores import DistributionByGap, Scores
from dither.mechanisms.selection.choice import Choice
from dither.mechanisms.selection.winners import permute_and_flip_distribution
from dither.mechanisms.weights import flip, weights_of
from dither.noise.integers.uniform import each_below


@dataclass(frozen=True, init=False, repr=False)
class PermuteAndFlip(Choice):
    """epsilon-DP for scores of which each moves by at most `sensitivity` between neighbours.

    Candidates are visited in random order; r is taken with probability exp(rate (u_r - max u)), rate = epsilon /
    (2 sensitivity), or epsilon / sensitivity if monotone=True (all scores move the same way, as counts under
    add_remove). The best candidate is always taken when visited. The expected score is at least that of `Exponential`.
    Its loss is not confined to an interval of length epsilon, so it is charged epsilon tanh(epsilon/2) in zCDP.

    McKenna and Sheldon 2020; docs/proofs/permuteandflip.md.

    >>> m = PermuteAndFlip(epsilon=2, sensitivity=1)
    >>> [round(p, 3) for p in m.probabilities([3, 3, 2, 3, 4])]
    [0.137, 0.137, 0.047, 0.137, 0.541]
    """

    @property
    def guarantee(self) -> PureDP:
        return PureDP(self.epsilon, self.relation)

    def _distribution(self, scores: Scores) -> DistributionByGap:
        """Of at most 300 candidates."""
        return permute_and_flip_distribution(scores, self.rate)

    def _draws(self, scores: Scores, size: int) -> npt.NDArray[np.int64]:
        # All coins at once: the first heads of a random order is a uniform choice among the heads.
        weights, many = weights_of(scores.gaps, self.rate / scores.denominator), scores.gaps.size
        low, high = np.tile(weights.lower, size), np.tile(weights.upper, size)
        coins = flip(low, high, lambda i: weights.exactly(i % many)).reshape(size, many)
        heads = coins | (scores.gaps == 0)
        rank = each_below(heads.sum(axis=1)) + 1
        return np.asarray(np.argmax(np.cumsum(heads, axis=1) == rank[:, None], axis=1), np.int64)
