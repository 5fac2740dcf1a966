"""Quantiles chosen among answers that the caller lists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from dither.accounting.guarantees.pure import PureDP
from dither.exact.balls import ball, bounds, float_up
from dither.exact.parameters import Number, probability
from dither.mechanisms.codes import Codes
from dither.mechanisms.probabilities import certified, nearest
from dither.mechanisms.quantiles.candidates import Candidate, Standing, published, read_candidates, standing
from dither.mechanisms.quantiles.rank_mechanism import Part, RankMechanism
from dither.mechanisms.selection.exponential import Exponential
from dither.mechanisms.selection.permute_and_flip import PermuteAndFlip
from dither.neighbours import Relation

Rule = Literal["flip", "exponential"]


@dataclass(frozen=True, init=False, repr=False)
class CandidateQuantiles(RankMechanism):
    """Answers are the candidates; a code is a place in their list."""

    candidates: tuple[Candidate, ...]
    rule: Rule

    def __init__(
        self,
        *,
        q: Number | Sequence[Number],
        candidates: Sequence[Number],
        epsilon: Number | None = None,
        rho: Number | None = None,
        relation: Relation | str | None = None,
        rows_per_owner: int = 1,
    ) -> None:
        self._read_price(q, epsilon, rho, relation, rows_per_owner)
        self._keep(candidates=read_candidates(candidates), rule="flip" if rho is None else "exponential")

    def _chooser(self, q: Fraction, level: int) -> PermuteAndFlip | Exponential:
        kind = PermuteAndFlip if self.rule == "flip" else Exponential
        return kind(epsilon=self.choosing_epsilon, sensitivity=self._moved(q, level), relation=self.relation)

    @property
    def _ends(self) -> tuple[int, int]:
        return 0, len(self.candidates) - 1

    def _value(self, code: int) -> int | Fraction:
        return published(self.candidates[code])

    def _read(self, values: Any) -> Standing:
        return standing(values, self.candidates, keep_missing=self.relation is Relation.REPLACE)

    def _choose(self, records: Standing, part: Part, level: int, count: int) -> Codes:
        q = part.wanted[len(part.wanted) // 2][1]
        around = records.part(part.first, part.last + 1, part.before, part.size)
        return part.first + self._chooser(q, level)._draws(around.scores(q), count)

    def _beside(self, records: Standing, part: Part, codes: Codes) -> tuple[Codes, Codes]:
        around, places = records.part(part.first, part.last + 1, part.before, part.size), codes - part.first
        return around.below[places], around.upto[places]


@dataclass(frozen=True, init=False, repr=False)
class ListedQuantile(CandidateQuantiles):
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

    q: Fraction

    @property
    def guarantee(self) -> PureDP:
        return self._chooser(self.q, 0).guarantee

    def rank_error(self, confidence: Number) -> float:
        """w, rounded up: with at least this probability no candidate is nearer to q n by more than w ranks.

        How near the nearest one is depends on the list and on the records.
        """
        missed, others = 1 - probability(confidence, "confidence"), len(self.candidates) - 1
        if others <= missed:
            return 0.0
        _, high = bounds(lambda: ball(others / missed).log() / ball(self.rate))
        return float_up(high)

    def probabilities(self, values: Any) -> list[float]:
        """The exact probability of every candidate, in order, rounded to the nearest float; of at most 300 of them.

        As private as the values.
        """
        scores = self._read(values).scores(self.q)
        return scores.by_gap(nearest, self._chooser(self.q, 0)._distribution(scores))

    def probability_bounds(self, values: Any) -> list[tuple[Fraction, Fraction]]:
        """Certified (lower, upper) bounds of the probabilities that agree to 64 bits."""
        scores = self._read(values).scores(self.q)
        return scores.by_gap(certified, self._chooser(self.q, 0)._distribution(scores))


@dataclass(frozen=True, init=False, repr=False)
class ListedQuantiles(CandidateQuantiles):
    """epsilon-DP: for each q one of the `candidates`, whose rank is near q n, in order.

    The middle quantile is chosen as by `ListedQuantile`, and the records below, at and above it are counted with noise;
    the others are then found among the candidates and the records on their side, level by level, as by `Quantiles`. A
    side without candidates is answered by the one beside it. docs/proofs/listedquantiles.md.

    >>> m = ListedQuantiles(epsilon=1, q=["0.25", "0.5", "0.75"], candidates=[20, 30, 40, 50])
    >>> m.release([40] * 10000).value, m.levels, m.guarantee.epsilon
    ((40, 40, 40), 2, Fraction(1, 1))
    """

    q: tuple[Fraction, ...]

    _several = True

    @property
    def guarantee(self) -> PureDP:
        # A level's choices are e-DP, so e^2/2-zCDP; by the exponential mechanism e^2/8-zCDP.
        rho = self.levels * self.choosing_epsilon**2 / (2 if self.rule == "flip" else 8)
        return PureDP(self.epsilon, self.relation, proven_rho=rho + self._counting_rho)

    @property
    def first_choice(self) -> ListedQuantile:
        price = {"epsilon": self.choosing_epsilon} if self.rule == "flip" else {"rho": self.choosing_epsilon**2 / 8}
        return ListedQuantile(
            q=self.q[len(self.q) // 2],
            candidates=self.candidates,
            relation=self.relation,
            rows_per_owner=self.rows_per_owner,
            **price,
        )
