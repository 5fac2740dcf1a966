"""A quantile by the exponential mechanism, on a public grid of answers."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dither.accounting.guarantees.pure import PureDP
from dither.errors import ParameterError, RelationMismatch
from dither.exact.balls import Ball, ball, bounds, float_up
from dither.exact.parameters import Number, positive, probability, sqrt_down, whole
from dither.mechanisms.codes import Grid
from dither.mechanisms.outcome import Outcome
from dither.mechanisms.probabilities import certified, nearest
from dither.mechanisms.quantiles.bands import Bands
from dither.mechanisms.quantiles.rank_choice import RankChoice, Target, near_runs
from dither.mechanisms.quantiles.rank_window import Ranked, ranked_column, ranked_counts
from dither.mechanisms.values import times_grid
from dither.neighbours import Relation

_MOST_LISTED = 100_000


@dataclass(frozen=True, init=False)
class Quantile:
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

    epsilon: Fraction
    q: Fraction
    grid: Grid
    relation: Relation
    rows_per_owner: int

    def __init__(
        self,
        *,
        q: Number,
        lower: Number,
        upper: Number,
        grid: Number = 1,
        epsilon: Number | None = None,
        rho: Number | None = None,
        relation: Relation | str | None = None,
        rows_per_owner: int = 1,
    ) -> None:
        object.__setattr__(self, "epsilon", read_epsilon(epsilon, rho))
        object.__setattr__(self, "q", probability(q, "q"))
        object.__setattr__(self, "grid", Grid.within(lower, upper, grid))
        held, rows = read_relation(relation, rows_per_owner)
        object.__setattr__(self, "relation", held)
        object.__setattr__(self, "rows_per_owner", rows)

    @property
    def sensitivity(self) -> Fraction:
        """How far the distance of an answer's ranks from q n can move between neighbours."""
        return rank_sensitivity(self.q, self.relation, self.rows_per_owner)

    @property
    def rate(self) -> Fraction:
        """By how much one rank farther away lowers the logarithm of the probability."""
        return self.epsilon / (2 * self.sensitivity)

    @property
    def bands(self) -> Bands:
        """The public weights of the answers: from q, the bounds and the grid."""
        return Bands.of(self.grid, self.q)

    @property
    def guarantee(self) -> PureDP:
        return PureDP(self.epsilon, self.relation, proven_rho=self.epsilon**2 / 8)

    def rank_error(self, confidence: Number, *, optimal: int = 1) -> float:
        """w, rounded up: with at least this probability the answer's ranks are within w of q n, whatever the data.

        `optimal` is a number of grid steps known to have ranks that contain q n: with more, the bound is sharper.
        """
        sure, best = probability(confidence, "confidence"), whole(optimal, "optimal", most=self.grid.size)
        others = max(Fraction(1), Fraction(self.bands.total - best, best))
        _, high = bounds(lambda: (ball(others / (1 - sure))).log() / ball(self.rate))
        return float_up(high)

    def release(self, values: Any) -> Outcome:
        """One answer about a NumPy array, a list, or an Arrow, pandas or polars column of numbers."""
        return self._release(self._ranked(values))

    def release_from_counts(self, codes: Any, counts: Any) -> Outcome:
        """One answer about whole codes (value / grid) with how often each occurs; sealed aggregates are opened here.

        The codes may come in any order and more than once; those outside the bounds are clamped.
        """
        return self._release(ranked_counts(codes, counts, self.grid))

    def probabilities(self, values: Any) -> list[float]:
        """The exact probability of every answer, in order, rounded to the nearest float. As private as the values."""
        return [float(p) for p, width in self._law(values, nearest) for _ in range(width)]

    def probability_bounds(self, values: Any) -> list[tuple[Fraction, Fraction]]:
        """Certified (lower, upper) bounds of the probabilities that agree to 64 bits."""
        return [p for p, width in self._law(values, certified) for _ in range(width)]

    def plot(self, values: Any | None = None, neighbour: Any | None = None) -> Any:
        """An altair chart: the exact laws on these records and on a neighbour's, and their ratio. Never for data."""
        from dither.mechanisms.pictures.ranks import plot_quantile

        return plot_quantile(self, values, neighbour)

    def _ranked(self, values: Any) -> Ranked:
        return ranked_column(values, self.grid, keep_missing=self.relation is Relation.REPLACE)

    def _release(self, ranked: Ranked) -> Outcome:
        code = RankChoice.of(ranked, self.grid, self.bands, self.q, self.rate).draw()
        return Outcome(times_grid(code, self.grid.step), self)

    def _law(self, values: Any, finish: Any) -> list[tuple[Any, int]]:
        """Probabilities with how many neighbouring answers have each."""
        if self.grid.size > _MOST_LISTED:
            raise ParameterError(f"probabilities are listed for at most {_MOST_LISTED} answers; got {self.grid.size}.")
        ranked = self._ranked(values)
        target = Target(self.q * ranked.size, self.rate)
        runs = near_runs(ranked, self.grid, self.bands, target.rank, ranked.size)
        widths = [int(width) for width in runs.widths]
        ranks = list(zip(runs.below.tolist(), runs.upto.tolist(), runs.doublings.tolist(), strict=True))

        def evaluate() -> list[Ball]:
            weights = [target.weight(below, upto) * (1 << doublings) for below, upto, doublings in ranks]
            total = sum((weight * width for weight, width in zip(weights, widths, strict=True)), ball(0))
            return [weight / total for weight in weights]

        return list(zip(finish(evaluate), widths, strict=True))


def rank_sensitivity(q: Fraction, relation: Relation, rows_per_owner: int) -> Fraction:
    """How far the distance of q n from the ranks of a fixed value can move between neighbours."""
    if relation is Relation.REPLACE:
        return Fraction(1)
    return rows_per_owner * max(q, 1 - q)


def epsilon_of_rho(rho: Number) -> Fraction:
    """The largest epsilon, rounded down, for which the exponential mechanism is rho-zCDP."""
    return sqrt_down(8 * positive(rho, "rho"))


def read_epsilon(epsilon: Number | None, rho: Number | None) -> Fraction:
    """What one choice costs: as stated, or the largest epsilon for which the exponential mechanism is rho-zCDP."""
    if epsilon is not None and rho is None:
        return positive(epsilon, "epsilon")
    if rho is not None and epsilon is None:
        return epsilon_of_rho(rho)
    raise ParameterError("give a quantile either epsilon= or rho=.")


def read_relation(relation: Relation | str | None, rows_per_owner: int) -> tuple[Relation, int]:
    """A relation about rows; only owners have several."""
    held = Relation.ADD_REMOVE if relation is None else Relation.read(relation)
    if held not in (Relation.ADD_REMOVE, Relation.REPLACE, Relation.OWNER):
        raise RelationMismatch(f"a quantile of rows is known for add_remove, replace and owner; got {held.value}.")
    rows = whole(rows_per_owner, "rows_per_owner", most=1 << 40)
    if rows > 1 and held is not Relation.OWNER:
        raise RelationMismatch('rows_per_owner= is about owners; state relation="owner".')
    return held, rows
