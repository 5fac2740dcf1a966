"""Several quantiles together: the middle one first, then those on either side of it among the records on that side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from dither.accounting.guarantees.conversion import rho_of_discrete_laplace
from dither.accounting.guarantees.pure import PureDP
from dither.errors import ParameterError
from dither.exact.balls import ball, bounds, float_up
from dither.exact.parameters import Number, positive, probability, sqrt_down
from dither.mechanisms.additive.laplace import Laplace
from dither.mechanisms.codes import Codes, Grid
from dither.mechanisms.outcome import Outcome
from dither.mechanisms.quantiles.bands import Bands
from dither.mechanisms.quantiles.halving import Rows, Wanted, sides
from dither.mechanisms.quantiles.quantile import Quantile, read_relation
from dither.mechanisms.quantiles.rank_choice import RankChoice
from dither.mechanisms.quantiles.rank_window import Ranked, ranked_counts, sorted_column
from dither.mechanisms.values import times_grid
from dither.neighbours import Relation

# Of each level's price, so many parts choose quantiles for each part that counts the records on either side.
_CHOOSING = 4


@dataclass(frozen=True, eq=False)
class _Part:
    """The records with codes first..last, and the quantiles to find among them: positions, and shares of its size."""

    whole: Ranked
    grid: Grid
    before: int
    size: int
    wanted: Wanted

    def window(self, start: int, stop: int) -> tuple[Codes, Codes]:
        return self.whole.window(start + self.before, stop + self.before)

    def beside(self, code: int) -> tuple[int, int]:
        below, upto = self.whole.beside(code)
        return min(max(below - self.before, 0), self.size), min(max(upto - self.before, 0), self.size)


@dataclass(frozen=True, init=False)
class Quantiles:
    """epsilon-DP: for each q a multiple of `grid` within [lower, upper] whose rank is near q n, in order.

    A quantile in the middle of the list is chosen as by `Quantile`, and the records below, at and above it are counted
    with noise; the others are then found among the records on their side, all of a level at the price of one because
    every record is on one side only. So m quantiles cost about log2(m + 1) prices instead of m, and values that many
    records share are found as such. docs/proofs/quantiles.md.

    >>> m = Quantiles(epsilon=1, q=["0.25", "0.5", "0.75"], lower=0, upper=100)
    >>> m.release([40] * 10000).value, m.levels, m.guarantee.epsilon
    ((40, 40, 40), 2, Fraction(1, 1))
    """

    epsilon: Fraction
    q: tuple[Fraction, ...]
    grid: Grid
    relation: Relation
    rows_per_owner: int

    def __init__(
        self,
        *,
        q: Sequence[Number],
        lower: Number,
        upper: Number,
        grid: Number = 1,
        epsilon: Number | None = None,
        rho: Number | None = None,
        relation: Relation | str | None = None,
        rows_per_owner: int = 1,
    ) -> None:
        if isinstance(q, (str, bytes)) or not isinstance(q, Sequence) or not q:
            raise ParameterError("q= is a list of at least one number strictly between 0 and 1, in order.")
        wanted = tuple(probability(one, "q") for one in q)
        if not all(one < two for one, two in pairwise(wanted)):
            raise ParameterError("the q of several quantiles must rise; sort them and name each once.")
        if (epsilon is None) == (rho is None):
            raise ParameterError("give quantiles either epsilon= or rho=.")
        object.__setattr__(self, "q", wanted)
        object.__setattr__(self, "grid", Grid.within(lower, upper, grid))
        held, rows = read_relation(relation, rows_per_owner)
        object.__setattr__(self, "relation", held)
        object.__setattr__(self, "rows_per_owner", rows)
        if epsilon is not None:
            stated = positive(epsilon, "epsilon")
        else:
            # rho of one level of choosing is at most e^2/8, of one level of counting at most e^2/2.
            levels, parts = self.levels, self._parts
            per_epsilon = Fraction(levels * _CHOOSING**2, 8 * parts**2) + Fraction(levels - 1, 2 * parts**2)
            stated = sqrt_down(positive(rho, "rho") / per_epsilon)  # type: ignore[arg-type]
        object.__setattr__(self, "epsilon", stated)
        if self.levels > 1:
            _ = self.counting  # refuses an epsilon that no noise can be drawn for

    @property
    def levels(self) -> int:
        """How many rounds of halving."""
        return len(self.q).bit_length()

    @property
    def _parts(self) -> int:
        return _CHOOSING * self.levels + self.levels - 1

    @property
    def choosing_epsilon(self) -> Fraction:
        """The price of one level's choices."""
        return self.epsilon * _CHOOSING / self._parts

    @property
    def counting(self) -> Laplace:
        """The noise of one level's counts: every record is in one cell of all of them together."""
        moved = {Relation.REPLACE: 2, Relation.OWNER: self.rows_per_owner}.get(self.relation, 1)
        # Beyond this the counts are exact for every purpose, and no noise could be drawn.
        paid = min(self.epsilon / self._parts, Fraction(500))
        return Laplace(epsilon=paid, sensitivity=moved, relation=self.relation)

    @property
    def _counting_rho(self) -> Fraction:
        """rho of the counts of all levels; the last has none."""
        if self.levels == 1:
            return Fraction(0)
        counting = self.counting
        return (self.levels - 1) * rho_of_discrete_laplace(counting.epsilon, counting.sensitivity_steps)

    @property
    def guarantee(self) -> PureDP:
        rho = self.levels * self.choosing_epsilon**2 / 8 + self._counting_rho
        return PureDP(self.epsilon, self.relation, proven_rho=rho)

    def rank_error(self, confidence: Number) -> float:
        """w, rounded up: with at least this probability all answers' ranks are within w of their q n."""
        missed = (1 - probability(confidence, "confidence")) / 2
        slowest = min(self._rate(Fraction(1), level) for level in range(self.levels))
        choices = len(self.q) * max(1, *(Bands.of(self.grid, q).total - 1 for q in self.q)) / missed
        _, chosen = bounds(lambda: ball(choices).log() / ball(slowest))
        counted = self.counting.error(1 - missed / (3 * len(self.q))) if self.levels > 1 else Fraction(0)
        return float_up(chosen + 4 * (self.levels - 1) * counted)

    def release(self, values: Any) -> Outcome:
        """The quantiles of a NumPy array, a list, or an Arrow, pandas or polars column, as a tuple in order."""
        return self._release(sorted_column(values, self.grid, keep_missing=self.relation is Relation.REPLACE))

    def plot(self, values: Any | None = None, neighbour: Any | None = None) -> Any:
        """An altair chart: the exact laws of the first choice on these records and on a neighbour's. Never for data."""
        from dither.mechanisms.pictures.ranks import plot_quantiles

        return plot_quantiles(self, values, neighbour)

    @property
    def first_choice(self) -> Quantile:
        """The mechanism that finds the middle one of the quantiles, before the others."""
        return Quantile(
            epsilon=self.choosing_epsilon,
            q=self.q[len(self.q) // 2],
            lower=self.grid.first * self.grid.step,
            upper=self.grid.last * self.grid.step,
            grid=self.grid.step,
            relation=self.relation,
            rows_per_owner=self.rows_per_owner,
        )

    def release_from_counts(self, codes: Any, counts: Any) -> Outcome:
        """The same for whole codes (value / grid) with how often each occurs; sealed aggregates are opened here."""
        return self._release(ranked_counts(codes, counts, self.grid))

    def _release(self, ranked: Ranked) -> Outcome:
        return Outcome(tuple(times_grid(int(code), self.grid.step) for code in self._draws(ranked, 1)[0]), self)

    def _draws(self, ranked: Ranked, size: int) -> Codes:
        """The codes published in `size` independent runs on the same records, a row for each."""
        found = np.zeros((size, len(self.q)), np.int64)
        parts = [(_Part(ranked, self.grid, 0, ranked.size, tuple(enumerate(self.q))), np.arange(size))]
        for level in range(self.levels):
            parts = [child for part, rows in parts for child in self._split(part, rows, level, found)]
        return found

    def _rate(self, q: Fraction, level: int) -> Fraction:
        """How fast probability falls with rank in one part.

        A record that comes or goes moves distances in its part by max(q, 1-q); a replaced one by 1 in one part, or as
        a record that goes from one part and comes to another: from the second level on both are paid for.
        """
        moved = max(q, 1 - q)
        if self.relation is Relation.REPLACE:
            return self.choosing_epsilon / (4 * moved if level else 2)
        return self.choosing_epsilon / (2 * moved * self.rows_per_owner)

    def _split(self, part: _Part, rows: Rows, level: int, found: Codes) -> list[tuple[_Part, Rows]]:
        """Chooses the middle quantile of a part, in each run anew; what is left to find on either side of it."""
        middle = len(part.wanted) // 2
        position, q = part.wanted[middle]
        choice = RankChoice.of(part, part.grid, Bands.of(self.grid, self.q[position]), q, self._rate(q, level))
        chosen = choice.draws(rows.size)
        # The others are answered by it too, unless they are found on one of its sides.
        for i, _ in part.wanted:
            found[rows, i] = chosen
        if len(part.wanted) == 1:
            return []
        codes, which = np.unique(chosen, return_inverse=True)
        beside = [part.beside(code) for code in codes.tolist()]
        exact = np.array([(below, upto - below, part.size - upto) for below, upto in beside], np.int64)
        noisy = np.asarray(self.counting.release(exact[which].reshape(-1)).steps).reshape(-1, 3)
        children: dict[Any, tuple[_Part, list[Rows]]] = {}
        # From here on only published numbers decide: which q are left to find, and at which share of which side.
        for above, wanted, runs in sides(part.wanted, which, noisy):
            at = int(which[runs[0]])
            code, (below, upto) = int(codes[at]), beside[at]
            first, last = (code + 1, part.grid.last) if above else (part.grid.first, code - 1)
            before, size = (part.before + upto, part.size - upto) if above else (part.before, below)
            grid = Grid(part.grid.step, first, last)
            if first <= last:
                child = _Part(part.whole, grid, before, size, wanted)
                children.setdefault((grid, wanted), (child, []))[1].append(rows[runs])
        return [(child, np.concatenate(its)) for child, its in children.values()]
