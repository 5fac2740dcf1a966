"""Quantiles by the exponential mechanism, on a public grid of answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dither.errors import ParameterError
from dither.exact.balls import Ball, ball, bounds, float_up
from dither.exact.parameters import Number, positive, probability, sqrt_down, whole
from dither.mechanisms.codes import Codes, Grid
from dither.mechanisms.outcome import Outcome
from dither.mechanisms.probabilities import certified, nearest
from dither.mechanisms.quantiles.bands import Bands
from dither.mechanisms.quantiles.rank_choice import RankChoice, Target, near_runs
from dither.mechanisms.quantiles.rank_mechanism import Part, RankMechanism
from dither.mechanisms.quantiles.rank_window import Ranked, RankedPart, ranked_column, ranked_counts, sorted_column
from dither.mechanisms.values import times_grid
from dither.neighbours import Relation

_MOST_LISTED = 100_000


@dataclass(frozen=True, init=False, repr=False)
class GridQuantiles(RankMechanism):
    """Answers are the multiples of the grid's step within its bounds; a code is how many steps an answer is from 0."""

    grid: Grid

    def __init__(
        self,
        *,
        q: Number | Sequence[Number],
        lower: Number,
        upper: Number,
        grid: Number = 1,
        epsilon: Number | None = None,
        rho: Number | None = None,
        relation: Relation | str | None = None,
        rows_per_owner: int = 1,
    ) -> None:
        self._read_price(q, epsilon, rho, relation, rows_per_owner)
        self._keep(grid=Grid.within(lower, upper, grid))

    def _stated(self) -> Iterator[tuple[str, Any]]:
        for name, value in super()._stated():
            if name == "grid":
                yield "lower", self.grid.first * self.grid.step
                yield "upper", self.grid.last * self.grid.step
                yield from [("grid", self.grid.step)] if self.grid.step != 1 else []
            else:
                yield name, value

    def release_from_counts(self, codes: Any, counts: Any) -> Outcome:
        """The same for whole codes (value / grid) with how often each occurs; sealed aggregates are opened here.

        The codes may come in any order and more than once; those outside the bounds are clamped.
        """
        return self._release(ranked_counts(codes, counts, self.grid))

    @property
    def _ends(self) -> tuple[int, int]:
        return self.grid.first, self.grid.last

    def _value(self, code: int) -> int | Fraction:
        found: int | Fraction = times_grid(code, self.grid.step)
        return found

    def _read(self, values: Any) -> Ranked:
        # One choice looks at the ranks near its target alone, several at all of them.
        read = sorted_column if self._several else ranked_column
        return read(values, self.grid, keep_missing=self.relation is Relation.REPLACE)

    def _choose(self, records: Ranked, part: Part, level: int, count: int) -> Codes:
        position, q = part.wanted[len(part.wanted) // 2]
        around, grid = RankedPart(records, part.before, part.size), Grid(self.grid.step, part.first, part.last)
        bands = Bands.of(self.grid, self._shares[position])
        return RankChoice.of(around, grid, bands, q, self._rate(q, level)).draws(count)

    def _beside(self, records: Ranked, part: Part, codes: Codes) -> tuple[Codes, Codes]:
        around = RankedPart(records, part.before, part.size)
        beside = np.array([around.beside(code) for code in codes.tolist()], np.int64)
        return beside[:, 0], beside[:, 1]


@dataclass(frozen=True, init=False, repr=False)
class Quantile(GridQuantiles):
    """epsilon-DP, and epsilon^2/8-zCDP: a multiple of `grid` within [lower, upper] whose rank is near q n.

    An answer c has probability proportional to b exp(-epsilon d / (2 D)), where d is the distance from q n to the ranks
    that c has among the n records (from how many are smaller to how many are not larger), D bounds how far d moves
    between neighbours: max(q, 1 - q) when a record comes or goes, 1 when one is replaced, rows_per_owner max(q, 1 - q)
    when all rows of an owner come or go, and b is a public weight: more for answers of small magnitude, so that bounds
    far wider than the data cost little (`bands`). Records are clamped to the bounds and rounded to the grid, each by
    itself; missing ones are left out, under replace they count as `lower`. Every dataset has an answer, the empty one
    included.

    Give epsilon=, or rho= for the largest epsilon with epsilon^2/8 <= rho. Smith 2011; McSherry and Talwar 2007;
    docs/proofs/quantile.md.

    >>> m = Quantile(epsilon=1, q="0.5", lower=0, upper=100)
    >>> m.release([40] * 1000).value, m.guarantee.epsilon, round(m.rank_error("0.95"), 1)
    (40, Fraction(1, 1), 9.1)
    """

    q: Fraction

    @property
    def bands(self) -> Bands:
        """The public weights of the answers: from q, the bounds and the grid."""
        return Bands.of(self.grid, self.q)

    def rank_error(self, confidence: Number, *, optimal: int = 1) -> float:
        """w, rounded up: with at least this probability the answer's ranks are within w of q n, whatever the data.

        `optimal` is a number of grid steps known to have ranks that contain q n: with more, the bound is sharper.
        """
        sure, best = probability(confidence, "confidence"), whole(optimal, "optimal", most=self.grid.size)
        others = max(Fraction(1), Fraction(self.bands.total - best, best))
        _, high = bounds(lambda: (ball(others / (1 - sure))).log() / ball(self.rate))
        return float_up(high)

    def probabilities(self, values: Any) -> list[float]:
        """The exact probability of every answer, in order, rounded to the nearest float. As private as the values."""
        return [float(p) for p, width in self._distribution(values, nearest) for _ in range(width)]

    def probability_bounds(self, values: Any) -> list[tuple[Fraction, Fraction]]:
        """Certified (lower, upper) bounds of the probabilities that agree to 64 bits."""
        return [p for p, width in self._distribution(values, certified) for _ in range(width)]

    def _distribution(self, values: Any, finish: Any) -> list[tuple[Any, int]]:
        """Probabilities with how many neighbouring answers have each."""
        if self.grid.size > _MOST_LISTED:
            raise ParameterError(f"probabilities are listed for at most {_MOST_LISTED} answers; got {self.grid.size}.")
        ranked = self._read(values)
        target = Target(self.q * ranked.size, self.rate)
        runs = near_runs(ranked, self.grid, self.bands, target.rank, ranked.size)
        widths = [int(width) for width in runs.widths]
        ranks = list(zip(runs.below.tolist(), runs.upto.tolist(), runs.doublings.tolist(), strict=True))

        def evaluate() -> list[Ball]:
            weights = [target.weight(below, upto) * (1 << doublings) for below, upto, doublings in ranks]
            total = sum((weight * width for weight, width in zip(weights, widths, strict=True)), ball(0))
            return [weight / total for weight in weights]

        return list(zip(finish(evaluate), widths, strict=True))


@dataclass(frozen=True, init=False, repr=False)
class Quantiles(GridQuantiles):
    """epsilon-DP: for each q a multiple of `grid` within [lower, upper] whose rank is near q n, in order.

    A quantile in the middle of the list is chosen as by `Quantile`, and the records below, at and above it are counted
    with noise; the others are then found among the records on their side, all of a level at the price of one because
    every record is on one side only. So m quantiles cost about log2(m + 1) prices instead of m, and values that many
    records share are found as such. docs/proofs/quantiles.md.

    >>> m = Quantiles(epsilon=1, q=["0.25", "0.5", "0.75"], lower=0, upper=100)
    >>> m.release([40] * 10000).value, m.levels, m.guarantee.epsilon
    ((40, 40, 40), 2, Fraction(1, 1))
    """

    q: tuple[Fraction, ...]

    _several = True

    @property
    def first_choice(self) -> Quantile:
        step, (first, last) = self.grid.step, self._ends
        return Quantile(
            epsilon=self.choosing_epsilon,
            q=self.q[len(self.q) // 2],
            lower=first * step,
            upper=last * step,
            grid=step,
            relation=self.relation,
            rows_per_owner=self.rows_per_owner,
        )

    def rank_error(self, confidence: Number) -> float:
        """w, rounded up: with at least this probability all answers' ranks are within w of their q n."""
        missed = (1 - probability(confidence, "confidence")) / 2
        slowest = min(self._rate(Fraction(1), level) for level in range(self.levels))
        choices = len(self.q) * max(1, *(Bands.of(self.grid, q).total - 1 for q in self.q)) / missed
        _, chosen = bounds(lambda: ball(choices).log() / ball(slowest))
        counted = self.counting.error(1 - missed / (3 * len(self.q))) if self.levels > 1 else Fraction(0)
        return float_up(chosen + 4 * (self.levels - 1) * counted)


def epsilon_of_rho(rho: Number) -> Fraction:
    """The largest epsilon, rounded down, for which the exponential mechanism is rho-zCDP."""
    return sqrt_down(8 * positive(rho, "rho"))
