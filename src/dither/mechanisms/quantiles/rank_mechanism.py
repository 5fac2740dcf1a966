"""What quantiles over a grid and over candidates share: choices by rank, several of them by halving.

The middle quantile is chosen first, and the records below, at and above it are counted with noise; the others are then
found among the answers and the records on their side, level by level. All choices of a level cost the price of one,
because every record is on one side only.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from dither.accounting.guarantees.conversion import rho_of_discrete_laplace
from dither.accounting.guarantees.pure import PureDP
from dither.errors import ParameterError, RelationMismatch
from dither.exact.frozen import Frozen
from dither.exact.parameters import Number, positive, probability, sqrt_down, whole
from dither.mechanisms.additive.laplace import Laplace
from dither.mechanisms.codes import Codes
from dither.mechanisms.outcome import Outcome
from dither.mechanisms.quantiles.halving import Rows, Wanted, sides
from dither.mechanisms.sensitivity_bounds import read_relation
from dither.neighbours import Relation

# Of each level's price, so many parts choose quantiles for each part that counts the records on either side.
_CHOOSING = 4


@dataclass(frozen=True, eq=False)
class Part:
    """The answers with codes first..last, the records among them, and the quantiles to find there."""

    first: int
    last: int
    before: int  # how many records come before these
    size: int
    wanted: Wanted  # positions, and shares of the size


@dataclass(frozen=True, init=False, repr=False)
class RankMechanism(Frozen, ABC):
    """For each q an answer whose rank is near q n. Answers are known by whole numbers in order, their codes."""

    epsilon: Fraction
    q: Any  # one number, or several in order
    relation: Relation
    rows_per_owner: int

    _several: ClassVar[bool] = False

    def _read_price(
        self,
        q: Any,
        epsilon: Number | None,
        rho: Number | None,
        relation: Relation | str | None,
        rows_per_owner: int,
    ) -> None:
        """Check and keep what all quantiles are given; epsilon as stated, or the largest one that rho pays for."""
        held = read_relation(relation)
        if held not in (Relation.ADD_REMOVE, Relation.REPLACE, Relation.OWNER):
            raise RelationMismatch(f"a quantile of rows is known for add_remove, replace and owner; got {held.value}.")
        rows = whole(rows_per_owner, "rows_per_owner", most=1 << 40)
        if rows > 1 and held is not Relation.OWNER:
            raise RelationMismatch('rows_per_owner= is about owners; state relation="owner".')
        self._keep(q=_rising(q) if self._several else probability(q, "q"), relation=held, rows_per_owner=rows)
        if rho is None and epsilon is not None:
            self._keep(epsilon=positive(epsilon, "epsilon"))
        elif rho is not None and epsilon is None:
            # rho of one level of choosing is at most e^2/8, of one level of counting at most e^2/2.
            levels, parts = self.levels, self._parts
            per_epsilon = Fraction(levels * _CHOOSING**2, 8 * parts**2) + Fraction(levels - 1, 2 * parts**2)
            self._keep(epsilon=sqrt_down(positive(rho, "rho") / per_epsilon))
        else:
            raise ParameterError("give quantiles either epsilon= or rho=.")
        if self.levels > 1:
            _ = self.counting  # refuses an epsilon that no noise can be drawn for

    @property
    def _shares(self) -> tuple[Fraction, ...]:
        return self.q if self._several else (self.q,)

    @property
    def levels(self) -> int:
        """How many rounds of halving."""
        return len(self._shares).bit_length()

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

    @property
    def first_choice(self) -> Any:
        """The mechanism that finds the middle one of the quantiles, before the others."""
        return self

    @property
    def sensitivity(self) -> Fraction:
        """How far the distance of an answer's ranks from q n can move between neighbours, in the first choice."""
        return self._moved(self._shares[len(self._shares) // 2], 0)

    @property
    def rate(self) -> Fraction:
        """By how much one rank farther away lowers the logarithm of an answer's chance, in the first choice."""
        return self.choosing_epsilon / (2 * self.sensitivity)

    def _moved(self, q: Fraction, level: int) -> Fraction:
        """How far the distance of q n from the ranks of a fixed answer can move between neighbours, in one part.

        A record that comes or goes moves distances in its part by max(q, 1-q); a replaced one by 1 in one part, or as
        a record that goes from one part and comes to another: from the second level on both are paid for.
        """
        if self.relation is Relation.REPLACE:
            return 2 * max(q, 1 - q) if level else Fraction(1)
        return self.rows_per_owner * max(q, 1 - q)

    def _rate(self, q: Fraction, level: int) -> Fraction:
        """How fast probability falls with rank in one part."""
        return self.choosing_epsilon / (2 * self._moved(q, level))

    def release(self, values: Any) -> Outcome:
        """The answer about a NumPy array, a list, or an Arrow, pandas or polars column; a tuple if q has several."""
        return self._release(self._read(values))

    def draws(self, values: Any, size: int) -> Codes:
        """The codes of the answers in `size` independent releases; if there are several q, a row for each release."""
        return self._draws(self._read(values), size)

    def plot(self, values: Any | None = None, neighbour: Any | None = None) -> Any:
        """An altair chart: how likely each answer is on these records and on a neighbour's, and the ratio.

        If there are several q, of the first choice. For explaining, never for data.
        """
        from dither.mechanisms.pictures.ranks import plot_ranks

        return plot_ranks(self, values, neighbour)

    @property
    @abstractmethod
    def _ends(self) -> tuple[int, int]:
        """The first and the last code."""

    @abstractmethod
    def _value(self, code: int) -> int | Fraction:
        """The answer that has a code."""

    @abstractmethod
    def _read(self, values: Any) -> Any:
        """The records in order, with their `size`."""

    @abstractmethod
    def _choose(self, records: Any, part: Part, level: int, count: int) -> Codes:
        """Codes of a part, chosen independently for its middle quantile."""

    @abstractmethod
    def _beside(self, records: Any, part: Part, codes: Codes) -> tuple[Codes, Codes]:
        """How many records of a part are below each code, and how many are not above it."""

    def _release(self, records: Any) -> Outcome:
        found = self._draws(records, 1)[0]
        value = tuple(map(self._value, found.tolist())) if self._several else self._value(int(found))
        return Outcome(value, self)

    def _draws(self, records: Any, size: int) -> Codes:
        found = np.zeros((size, len(self._shares)), np.int64)
        parts = [(Part(*self._ends, 0, records.size, tuple(enumerate(self._shares))), np.arange(size))]
        for level in range(self.levels):
            parts = [child for part, rows in parts for child in self._split(records, part, rows, level, found)]
        return found if self._several else found[:, 0]

    def _split(self, records: Any, part: Part, rows: Rows, level: int, found: Codes) -> list[tuple[Part, Rows]]:
        """Chooses the middle quantile of a part, in each run anew; what is left to find on either side of it."""
        chosen = self._choose(records, part, level, rows.size)
        # The others are answered by it too, unless they are found on one of its sides.
        for i, _ in part.wanted:
            found[rows, i] = chosen
        if len(part.wanted) == 1:
            return []
        codes, which = np.unique(chosen, return_inverse=True)
        below, upto = self._beside(records, part, codes)
        exact = np.column_stack([below, upto - below, part.size - upto])[which]
        noisy = np.asarray(self.counting.release(exact.reshape(-1)).steps).reshape(-1, 3)
        children: dict[Any, tuple[Part, list[Rows]]] = {}
        # From here on only published numbers decide: which q are left to find, and at which share of which side.
        for above, wanted, runs in sides(part.wanted, which, noisy):
            code, less, more = (int(column[which[runs[0]]]) for column in (codes, below, upto))
            if above:
                child = Part(code + 1, part.last, part.before + more, part.size - more, wanted)
            else:
                child = Part(part.first, code - 1, part.before, less, wanted)
            if child.first <= child.last:
                children.setdefault((child.first, child.last, wanted), (child, []))[1].append(rows[runs])
        return [(child, np.concatenate(its)) for child, its in children.values()]


def _rising(q: Any) -> tuple[Fraction, ...]:
    q = q.tolist() if hasattr(q, "tolist") else q  # an array, or a column of a table
    if isinstance(q, (str, bytes)) or not isinstance(q, Sequence) or not q:
        raise ParameterError("q= is a list or an array of at least one number strictly between 0 and 1, in order.")
    wanted = tuple(probability(one, "q") for one in q)
    if not all(one < two for one, two in pairwise(wanted)):
        raise ParameterError("the q of several quantiles must rise; sort them and name each once.")
    return wanted
