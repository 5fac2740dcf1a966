"""Several quantiles together, each chosen among answers that the caller lists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from dither.accounting.guarantees.pure import PureDP
from dither.exact.parameters import Number
from dither.mechanisms.additive.laplace import Laplace
from dither.mechanisms.codes import Codes
from dither.mechanisms.outcome import Outcome
from dither.mechanisms.quantiles.candidates import Candidate, Standing, published, read_candidates, standing
from dither.mechanisms.quantiles.halving import Rows, Wanted, sides
from dither.mechanisms.quantiles.listed_quantile import ListedQuantile, Rule
from dither.mechanisms.quantiles.quantiles import Quantiles
from dither.mechanisms.selection.exponential import Exponential
from dither.mechanisms.selection.permute_and_flip import PermuteAndFlip
from dither.neighbours import Relation


@dataclass(frozen=True, eq=False)
class _Part:
    """The candidates first..last-1, the records between the two beside them, and the quantiles to find there."""

    first: int
    last: int
    before: int
    size: int
    wanted: Wanted


@dataclass(frozen=True, init=False)
class ListedQuantiles:
    """epsilon-DP: for each q one of the `candidates`, whose rank is near q n, in order.

    The middle quantile is chosen as by `ListedQuantile`, and the records below, at and above it are counted with noise;
    the others are then found among the candidates and the records on their side, level by level, as by `Quantiles`. A
    side without candidates is answered by the one beside it. docs/proofs/listedquantiles.md.

    >>> m = ListedQuantiles(epsilon=1, q=["0.25", "0.5", "0.75"], candidates=[20, 30, 40, 50])
    >>> m.release([40] * 10000).value, m.levels, m.guarantee.epsilon
    ((40, 40, 40), 2, Fraction(1, 1))
    """

    epsilon: Fraction
    q: tuple[Fraction, ...]
    candidates: tuple[Candidate, ...] = field(repr=False)
    relation: Relation
    rows_per_owner: int
    rule: Rule

    def __init__(
        self,
        *,
        q: Sequence[Number],
        candidates: Sequence[Number],
        epsilon: Number | None = None,
        rho: Number | None = None,
        relation: Relation | str | None = None,
        rows_per_owner: int = 1,
    ) -> None:
        listed = read_candidates(candidates)
        price = Quantiles(
            q=q,
            lower=0,
            upper=2 * len(listed),
            epsilon=epsilon,
            rho=rho,
            relation=relation,
            rows_per_owner=rows_per_owner,
        )
        for name in ("epsilon", "q", "relation", "rows_per_owner"):
            object.__setattr__(self, name, getattr(price, name))
        object.__setattr__(self, "candidates", listed)
        object.__setattr__(self, "rule", "flip" if rho is None else "exponential")

    @property
    def levels(self) -> int:
        """How many rounds of halving."""
        return self._price.levels

    @property
    def choosing_epsilon(self) -> Fraction:
        """The price of one level's choices."""
        return self._price.choosing_epsilon

    @property
    def counting(self) -> Laplace:
        """The noise of one level's counts."""
        return self._price.counting

    @property
    def guarantee(self) -> PureDP:
        # A level's choices are e-DP, so e^2/2-zCDP; by the exponential mechanism e^2/8-zCDP.
        rho = self.levels * self.choosing_epsilon**2 / (2 if self.rule == "flip" else 8)
        return PureDP(self.epsilon, self.relation, proven_rho=rho + self._price._counting_rho)

    @property
    def _price(self) -> Quantiles:
        """Levels, prices and rates are those of `Quantiles` on the places of the list: candidates and gaps in turn."""
        return Quantiles(
            q=self.q,
            lower=0,
            upper=2 * len(self.candidates),
            epsilon=self.epsilon,
            relation=self.relation,
            rows_per_owner=self.rows_per_owner,
        )

    def release(self, values: Any) -> Outcome:
        """The quantiles of a NumPy array, a list, or an Arrow, pandas or polars column, as a tuple in order."""
        stands = standing(values, self.candidates, keep_missing=self.relation is Relation.REPLACE)
        return Outcome(tuple(published(self.candidates[place]) for place in self._draws(stands, 1)[0].tolist()), self)

    def plot(self, values: Any | None = None, neighbour: Any | None = None) -> Any:
        """An altair chart: the exact laws of the first choice on these records and on a neighbour's. Never for data."""
        from dither.mechanisms.pictures.ranks import plot_listed_several

        return plot_listed_several(self, values, neighbour)

    @property
    def first_choice(self) -> ListedQuantile:
        """The mechanism that finds the middle one of the quantiles, before the others."""
        price = {"epsilon": self.choosing_epsilon} if self.rule == "flip" else {"rho": self.choosing_epsilon**2 / 8}
        return ListedQuantile(
            q=self.q[len(self.q) // 2],
            candidates=self.candidates,
            relation=self.relation,
            rows_per_owner=self.rows_per_owner,
            **price,
        )

    def _draws(self, stands: Standing, size: int) -> Codes:
        """The places of the candidates published in `size` independent runs on the same records, a row for each run."""
        found = np.empty((size, len(self.q)), np.int64)
        parts = [(_Part(0, len(self.candidates), 0, stands.size, tuple(enumerate(self.q))), np.arange(size))]
        for level in range(self.levels):
            parts = [child for part, rows in parts for child in self._split(stands, part, rows, level, found)]
        return found

    def _split(self, stands: Standing, part: _Part, rows: Rows, level: int, found: Codes) -> list[tuple[_Part, Rows]]:
        """Chooses the middle quantile of a part, in each run anew; what is left to find on either side of it."""
        q = part.wanted[len(part.wanted) // 2][1]
        around = stands.part(part.first, part.last, part.before, part.size)
        places = self._chooser(q, level)._draws(around.scores(q), rows.size)
        # The others are answered by it too, unless they are found on one of its sides.
        for i, _ in part.wanted:
            found[rows, i] = part.first + places
        if len(part.wanted) == 1:
            return []
        below, upto = around.below[places], around.upto[places]
        exact = np.column_stack([below, upto - below, part.size - upto])
        noisy = np.asarray(self.counting.release(exact.reshape(-1)).steps).reshape(-1, 3)
        children: dict[Any, tuple[_Part, list[Rows]]] = {}
        # From here on only published numbers decide: which q are left to find, and at which share of which side.
        for above, wanted, runs in sides(part.wanted, places, noisy):
            place, less, upto_here = (int(column[runs[0]]) for column in (places, below, upto))
            chosen = part.first + place
            if above:
                child = _Part(chosen + 1, part.last, part.before + upto_here, part.size - upto_here, wanted)
            else:
                child = _Part(part.first, chosen, part.before, less, wanted)
            if child.first < child.last:
                children.setdefault((child.first, child.last, child.wanted), (child, []))[1].append(rows[runs])
        return [(child, np.concatenate(its)) for child, its in children.values()]

    def _chooser(self, q: Fraction, level: int) -> PermuteAndFlip | Exponential:
        """At this level's price; the sensitivity is that of the part's distances, doubled where two parts may move."""
        price = self._price
        moved = price.choosing_epsilon / (2 * price._rate(q, level))
        kind = PermuteAndFlip if self.rule == "flip" else Exponential
        return kind(epsilon=price.choosing_epsilon, sensitivity=moved, relation=self.relation)
