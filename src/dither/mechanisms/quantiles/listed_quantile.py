"""A quantile chosen among answers that the caller lists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

from dither.accounting.guarantees.pure import PureDP
from dither.exact.balls import ball, bounds, float_up
from dither.exact.parameters import Number, probability
from dither.mechanisms.outcome import Outcome
from dither.mechanisms.probabilities import certified, nearest
from dither.mechanisms.quantiles.candidates import Candidate, Standing, published, read_candidates, standing
from dither.mechanisms.quantiles.quantile import rank_sensitivity, read_epsilon, read_relation
from dither.mechanisms.selection.exponential import Exponential
from dither.mechanisms.selection.permute_and_flip import PermuteAndFlip
from dither.neighbours import Relation

Rule = Literal["flip", "exponential"]


@dataclass(frozen=True, init=False)
class ListedQuantile:
    """epsilon-DP: one of the `candidates`, whose rank is near q n.

    The candidates are public: fixed without looking at the records. Each has the score -d, d being the distance from
    q n to the ranks that it has among the n records (from how many are smaller to how many are not larger); between
    neighbours d moves by at most max(q, 1 - q) when a record comes or goes, 1 when one is replaced, rows_per_owner
    max(q, 1 - q) when all rows of an owner come or go. Permute-and-flip chooses by these scores: noisy max with
    exponential noise, the sharpest choice that is known for pure DP. No bounds are needed: records beyond all
    candidates are records like others. Missing ones are left out, under replace they count as the smallest candidate.

    Give epsilon=, or rho= for the exponential mechanism with the largest epsilon that has epsilon^2/8 <= rho: at equal
    rho that is the sharper one. docs/proofs/listedquantile.md.

    >>> m = ListedQuantile(epsilon=1, q="0.5", candidates=range(0, 101, 10))
    >>> m.release([40] * 1000).value, m.guarantee.epsilon, round(m.rank_error("0.95"), 1)
    (40, Fraction(1, 1), 5.3)
    """

    epsilon: Fraction
    q: Fraction
    candidates: tuple[Candidate, ...] = field(repr=False)
    relation: Relation
    rows_per_owner: int
    rule: Rule

    def __init__(
        self,
        *,
        q: Number,
        candidates: Sequence[Number],
        epsilon: Number | None = None,
        rho: Number | None = None,
        relation: Relation | str | None = None,
        rows_per_owner: int = 1,
    ) -> None:
        object.__setattr__(self, "epsilon", read_epsilon(epsilon, rho))
        object.__setattr__(self, "q", probability(q, "q"))
        held, rows = read_relation(relation, rows_per_owner)
        object.__setattr__(self, "relation", held)
        object.__setattr__(self, "rows_per_owner", rows)
        object.__setattr__(self, "rule", "flip" if rho is None else "exponential")
        object.__setattr__(self, "candidates", read_candidates(candidates))

    @property
    def sensitivity(self) -> Fraction:
        """How far the distance of a candidate's ranks from q n can move between neighbours."""
        return rank_sensitivity(self.q, self.relation, self.rows_per_owner)

    @property
    def rate(self) -> Fraction:
        """By how much one rank farther away lowers the logarithm of a candidate's chance."""
        return self._chooser.rate

    @property
    def guarantee(self) -> PureDP:
        return self._chooser.guarantee

    def rank_error(self, confidence: Number) -> float:
        """w, rounded up: with at least this probability no candidate is nearer to q n by more than w ranks.

        How near the nearest one is depends on the list and on the records.
        """
        missed, others = 1 - probability(confidence, "confidence"), len(self.candidates) - 1
        if others <= missed:
            return 0.0
        _, high = bounds(lambda: ball(others / missed).log() / ball(self.rate))
        return float_up(high)

    def release(self, values: Any) -> Outcome:
        """One of the candidates, about a NumPy array, a list, or an Arrow, pandas or polars column of numbers."""
        chosen = self._chooser._draw(self._standing(values).scores(self.q))
        return Outcome(published(self.candidates[chosen]), self)

    def probabilities(self, values: Any) -> list[float]:
        """The exact probability of every candidate, in order, rounded to the nearest float; of at most 300 of them.

        As private as the values.
        """
        scores = self._standing(values).scores(self.q)
        return scores.by_gap(nearest, self._chooser._law(scores))

    def probability_bounds(self, values: Any) -> list[tuple[Fraction, Fraction]]:
        """Certified (lower, upper) bounds of the probabilities that agree to 64 bits."""
        scores = self._standing(values).scores(self.q)
        return scores.by_gap(certified, self._chooser._law(scores))

    def plot(self, values: Any | None = None, neighbour: Any | None = None) -> Any:
        """An altair chart: the exact laws on these records and on a neighbour's, and their ratio. Never for data."""
        from dither.mechanisms.pictures.ranks import plot_listed

        return plot_listed(self, values, neighbour)

    @property
    def _chooser(self) -> PermuteAndFlip | Exponential:
        kind = PermuteAndFlip if self.rule == "flip" else Exponential
        return kind(epsilon=self.epsilon, sensitivity=self.sensitivity, relation=self.relation)

    def _standing(self, values: Any) -> Standing:
        return standing(values, self.candidates, keep_missing=self.relation is Relation.REPLACE)
