"""Which rows of an owner count: the choice with the smallest error that the profile promises.

Fewer rows of each owner need less noise and leave more out. Both are estimated from declared metadata and the released
profile, and the sum of relative squared errors over all columns is made as small as it can be.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from dither.digits import counted, decimal
from dither.parameters import whole
from dither.sql.aggregates import Aggregator, Average, Sum, Variance
from dither.sql.bound import plan
from dither.sql.check import check
from dither.sql.facts import facts
from dither.sql.limiting import Limits
from dither.sql.measures import shown
from dither.sql.plan import Choice, CountOwners, CountRows, Measure, OwnerAggregate, OwnerLimit, OwnerTotal, SumRows
from dither.sql.planner.profile import Profile
from dither.sql.planner.split import leaves
from dither.sql.planner.spread import Floats, Owners, Values
from dither.sql.planner.strategy import Strategy, totalled
from dither.sql.question import Question

_UNEVEN = 2.0  # how much more than an even share large groups lose, where the profile does not say
_WORTH_IT = 0.9  # owners' totals take longer to compute: their error must be at least so much smaller
_RANKS = 3.0  # by how many times its own noise scale a chosen value's rank is off


def choose(
    question: Question, kind: str, cost: Fraction, profile: Profile | None, rows_per_owner: int | None = None
) -> Strategy:
    """The strategy for a question at this price; a stated limit is kept."""
    if rows_per_owner is not None:
        stated = whole(rows_per_owner, "rows_per_owner")
        return Strategy(stated, why=f"At most {_rows(stated)} of each owner, as stated.")
    if profile is None or profile.rows is None:
        return Strategy()
    limit = _only_limit(question)
    if limit is None or limit.rows == 1 or limit.child.table.name != profile.table:
        return Strategy()
    return _Chooser.of(question, kind, float(cost), profile, limit.rows).strategy()


def _only_limit(question: Question) -> OwnerLimit | None:
    """The limit on the one table of people that is read, if the rows that are aggregated are as many as it says."""
    limited = Limits(None).source(question.source)
    found = [node for node in limited.walk() if isinstance(node, OwnerLimit)]
    below = any(isinstance(node, OwnerAggregate) for node in limited.walk())
    return found[0] if len(found) == 1 and not below and facts(limited).rows == found[0].rows else None


@dataclass(frozen=True)
class _Clamped:
    """Owners' totals in place of a sum: what the clamp cuts off, the error so, and that by leaving rows out."""

    total: OwnerTotal
    cut: float
    error: float
    instead: float = 0.0


@dataclass(frozen=True)
class _Chooser:
    question: Question
    kind: str
    share: float  # of the price, for each measure
    profile: Profile
    most: int
    owners: Owners
    groups: float
    moved: dict[Measure, tuple[float, float]]  # L1 and L2, by an owner of whom `most` rows count
    each: dict[Measure, float]  # about what one row adds

    @classmethod
    def of(cls, question: Question, kind: str, cost: float, profile: Profile, most: int) -> _Chooser:
        aggregates = plan(question)
        needed = [measure for aggregate in aggregates for measure in aggregate.answers]
        moved = [(float(one.l1), float(one.l2)) for part in check(aggregates) for one in part]
        each = {m: Values.of(m.value, profile).mean_size if isinstance(m, SumRows) else 1.0 for m in needed}
        if profile.rows is None:
            raise TypeError("a profile without rows per owner chooses nothing")
        owners = Owners.of(profile.rows, most)
        groups = float(aggregates[0].group_count) if question.public else max(1.0, math.sqrt(owners.total))
        known = dict(zip(needed, moved, strict=True))
        return cls(question, kind, cost / len(needed), profile, most, owners, groups, known, each)

    def strategy(self) -> Strategy:
        parts = [leaf for output in self.question.outputs for leaf in leaves(output.aggregate)]
        rows = self._rows_for(parts)
        totals = dict(self._totals(parts, rows))
        left = [leaf for leaf in parts if not set(leaf.measures()) <= set(totals)]
        if totals:
            rows = self._rows_for(left) if left else self.most
        return Strategy(
            None if rows == self.most else rows,
            tuple((measure, clamped.total) for measure, clamped in totals.items()),
            why=" ".join([*self._about_rows(rows, left), *self._about_totals(totals)]),
            bias=(*self._lost(rows, left), *((measure, clamped.cut) for measure, clamped in totals.items())),
        )

    def _lost(self, rows: int, parts: list[Aggregator]) -> Iterator[tuple[Measure, float]]:
        """What counts and sums lose to rows that are left out, over all groups."""
        for measure in dict.fromkeys(measure for leaf in parts for measure in leaf.measures()):
            if isinstance(measure, (CountRows, SumRows)):
                yield measure, float(self.owners.lost(rows)) * self.each[measure]

    # -- rows left out by rank ------------------------------------------------------------------------------------

    def _rows_for(self, parts: list[Aggregator]) -> int:
        steps = {min(self.most, round(2 ** (step / 4))) for step in range(4 * self.most.bit_length() + 1)}
        candidates = np.array(sorted(steps, reverse=True), dtype=np.float64)
        error = np.zeros(len(candidates))
        for leaf in parts:
            error += self._relative(leaf, candidates)
        return int(candidates[int(np.argmin(error))])

    def _relative(self, leaf: Aggregator, rows: Floats) -> Floats:
        """The squared error to expect, relative to what is measured, for each number of rows."""
        if isinstance(leaf, (Average, Variance)) or any(isinstance(m, Choice) for m in leaf.measures()):
            return self._of_average(leaf, rows)
        found = np.zeros(len(rows))
        for measure in leaf.measures():
            size = max(1.0, self.owners.total * self.each[measure] / self.groups)
            found += (self._bias(measure, rows) ** 2 + self._noise(measure, rows) ** 2) / size**2
        return found

    def _of_average(self, leaf: Aggregator, rows: Floats) -> Floats:
        """Of what does not grow with the number of rows: rows are a sample, and noise is divided by how many."""
        kept = np.maximum(1.0, (self.owners.total - self.owners.lost(rows)) / self.groups)
        noise = np.zeros(len(rows))
        for measure in leaf.measures():
            if isinstance(measure, Choice):
                epsilon = math.sqrt(8 * self.share) if self.kind == "zcdp" else self.share
                noise += (2 * _RANKS * rows / epsilon / kept) ** 2
            else:
                noise += (self._noise(measure, rows) / kept / self.each[measure]) ** 2
        return np.asarray(self.groups * self.owners.shift(rows) ** 2 + noise)

    def _bias(self, measure: Measure, rows: Floats) -> Floats:
        if isinstance(measure, CountOwners):
            reached = replace(self.owners, rows=np.minimum(self.owners.rows, self.groups))
            lost = reached.lost(rows) if self.groups > 1 else np.zeros(len(rows))
        else:
            lost = self.owners.lost(rows) * self.each[measure]
        return lost * min(_UNEVEN, math.sqrt(self.groups)) / self.groups

    def _noise(self, measure: Measure, rows: Floats) -> Floats:
        """The standard deviation of the noise if so many rows of each owner count."""
        (l1, l2), part = self.moved[measure], rows / self.most
        if isinstance(measure, CountOwners):
            groups = np.minimum(rows, self.groups) if self.groups > 1 else np.ones(len(rows))
            return self._deviation(groups, np.sqrt(groups))
        return self._deviation(l1 * part, l2 * (np.sqrt(part) if l2 < 0.999 * l1 else part))

    def _deviation(self, l1: Floats, l2: Floats) -> Floats:
        return l2 / math.sqrt(2 * self.share) if self.kind == "zcdp" else math.sqrt(2) * l1 / self.share

    # -- owners' totals clamped -----------------------------------------------------------------------------------

    def _totals(self, parts: list[Aggregator], rows: int) -> Iterator[tuple[Measure, _Clamped]]:
        """Sums that come out better from owners' clamped totals, with the error so and by rows left out."""
        if self.question.keys:
            return  # how an owner's rows are spread over groups is not known
        shared = {measure for leaf in parts if type(leaf) is not Sum for measure in leaf.measures()}
        for leaf in dict.fromkeys(leaf for leaf in parts if type(leaf) is Sum):
            (measure,) = leaf.measures()
            if measure in shared or not isinstance(measure, SumRows):
                continue
            at = np.array([float(rows)])
            by_rows = math.hypot(float(self._bias(measure, at)[0]), float(self._noise(measure, at)[0]))
            best = self._clamped(measure)
            if best.error < _WORTH_IT * by_rows:
                yield measure, replace(best, instead=by_rows)

    def _clamped(self, measure: SumRows) -> _Clamped:
        """The best clamp, with values that are the same in all rows of an owner: totals are then spread the widest."""
        low, high = measure.value.bounds
        largest = max(1, self.most * measure.value.reach)
        clamps = sorted({min(largest, round(2 ** (step / 4))) for step in range(4 * largest.bit_length() + 1)})
        sizes = np.abs(np.outer(self.owners.rows, Values.of(measure.value, self.profile).points))
        order = np.argsort(sizes, axis=None)
        totals, weights = sizes.ravel()[order], np.repeat(self.owners.weights / sizes.shape[1], sizes.shape[1])[order]
        # Of each clamp c, the sum of weight * (total - c) over the totals above it.
        above, many = np.cumsum((totals * weights)[::-1])[::-1], np.cumsum(weights[::-1])[::-1]
        place = np.searchsorted(totals, clamps, side="right")
        ends = np.array(clamps, dtype=np.float64)
        cuts = np.append(above, 0.0)[place] - ends * np.append(many, 0.0)[place]
        errors = np.hypot(cuts, self._deviation(ends, ends))
        best = int(np.argmin(errors))
        clamp = clamps[best]
        total = totalled(measure, -clamp if low < 0 else 0, clamp if high > 0 else 0)
        return _Clamped(total, float(cuts[best]), float(errors[best]))

    # -- in words -------------------------------------------------------------------------------------------------

    def _about_rows(self, rows: int, parts: list[Aggregator]) -> Iterator[str]:
        if not parts or all(measure == CountOwners() for leaf in parts for measure in leaf.measures()):
            return
        lost = float(self.owners.lost(rows)) / self.owners.total
        if rows == self.most:
            yield f"All {_rows(rows)} that count of each owner are read: by the profile, fewer would lose more."
        else:
            yield (
                f"At most {_rows(rows)} of each owner {'is' if rows == 1 else 'are'} read, of {self.most:,} that "
                f"count: by the profile this leaves out about {lost:.2g} of all rows and makes the noise "
                f"{self.most / rows:.3g} times smaller."
            )

    def _about_totals(self, totals: dict[Measure, _Clamped]) -> Iterator[str]:
        for measure, clamped in totals.items():
            ends = " to ".join(decimal(shown(measure, end)) for end in (clamped.total.least, clamped.total.most))
            unit = float(shown(measure, 1))
            yield (
                f"A sum adds owners' totals, each clamped to {ends}: by the profile this errs by about "
                f"{clamped.error * unit:.3g} instead of {clamped.instead * unit:.3g}; it is the slower plan."
            )


def _rows(rows: int) -> str:
    return counted(rows, "row")
