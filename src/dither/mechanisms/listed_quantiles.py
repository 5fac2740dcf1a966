"""Several quantiles together, each chosen among answers that the caller lists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from dither.accounting.conversion import rho_of_discrete_laplace
from dither.accounting.pure import PureDP
from dither.mechanisms.candidates import Candidate, Standing, published, read_candidates, standing
from dither.mechanisms.exponential import Exponential
from dither.mechanisms.laplace import Laplace
from dither.mechanisms.listed_quantile import ListedQuantile, Rule
from dither.mechanisms.outcome import Outcome
from dither.mechanisms.permute_and_flip import PermuteAndFlip
from dither.mechanisms.quantiles import Quantiles
from dither.neighbours import Relation
from dither.parameters import Number


@dataclass(frozen=True, eq=False)
class _Part:
    """The candidates first..last-1, the records between the two beside them, and the quantiles to find there."""

    first: int
    last: int
    before: int
    size: int
    wanted: tuple[tuple[int, Fraction], ...]  # positions in the answer, and shares of the part's size


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
        if self.levels > 1:
            counting = self.counting
            rho += (self.levels - 1) * rho_of_discrete_laplace(counting.epsilon, counting.sensitivity_steps)
        return PureDP(self.epsilon, self.relation, proven_rho=rho)

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
        found: dict[int, int] = {}
        parts = [_Part(0, len(self.candidates), 0, stands.size, tuple(enumerate(self.q)))]
        for level in range(self.levels):
            parts = [child for part in parts for child in self._split(stands, part, level, found)]
        return Outcome(tuple(published(self.candidates[found[i]]) for i in range(len(self.q))), self)

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

    def _split(self, stands: Standing, part: _Part, level: int, found: dict[int, int]) -> list[_Part]:
        """Chooses the middle quantile of a part; what is left to find on either side of it."""
        middle = len(part.wanted) // 2
        q = part.wanted[middle][1]
        inside = stands.part(part.first, part.last, part.before, part.size)
        place = self._chooser(q, level)._draw(inside.scores(q))
        chosen = part.first + place
        # The others are answered by it too, unless they are found on one of its sides.
        found.update({i: chosen for i, _ in part.wanted})
        if len(part.wanted) == 1:
            return []
        below, upto = int(inside.below[place]), int(inside.upto[place])
        noisy = self.counting.release([below, upto - below, part.size - upto]).value
        less, equal, more = (int(count) for count in noisy)
        # From here on only published numbers decide: which q are left to find, and at which share of which side.
        left = [(i, q * (less + equal + more)) for i, q in part.wanted[:middle]]
        right = [(i, q * (less + equal + more) - less - equal) for i, q in part.wanted[middle + 1 :]]
        sides = [
            _Part(part.first, chosen, part.before, below, _inside(left, less)),
            _Part(chosen + 1, part.last, part.before + upto, part.size - upto, _inside(right, more)),
        ]
        return [side for side in sides if side.wanted and side.first < side.last]

    def _chooser(self, q: Fraction, level: int) -> PermuteAndFlip | Exponential:
        """At this level's price; the sensitivity is that of the part's distances, doubled where two parts may move."""
        moved = self.choosing_epsilon / (2 * self._price._rate(q, level))
        kind = PermuteAndFlip if self.rule == "flip" else Exponential
        return kind(epsilon=self.choosing_epsilon, sensitivity=moved, relation=self.relation)


def _inside(targets: list[tuple[int, Fraction]], count: int) -> tuple[tuple[int, Fraction], ...]:
    """The ranks that lie inside a side of so many records, as shares of it."""
    return tuple((i, rank / count) for i, rank in targets if 0 < rank < count)
