"""Which rows of an owner count: the choice with the smallest error that the profile promises.

Fewer rows of each owner need less noise and leave more out. Both are estimated from declared metadata and the released
profile, and the sum of relative squared errors over all columns is made as small as it can be. The share of rows left
out is known from the profile too, up to an error of its own: counts and sums are scaled up by it, and what then counts
is that error.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from dither.digits import counted, decimal
from dither.parameters import whole
from dither.sql.aggregates import Aggregator, Average, Count, Sum, Variance
from dither.sql.bound import plan
from dither.sql.check import check
from dither.sql.facts import facts
from dither.sql.limiting import Limits
from dither.sql.measures import shown
from dither.sql.plan import (
    Choice,
    CountOwners,
    CountRows,
    Measure,
    OwnerAggregate,
    OwnerLimit,
    OwnerTotal,
    SumRows,
    UnionAll,
)
from dither.sql.planner.profile import Profile
from dither.sql.planner.selectivity import groups_kept, kept, share
from dither.sql.planner.split import leaves
from dither.sql.planner.spread import Floats, Owners
from dither.sql.planner.strategy import Strategy, totalled
from dither.sql.planner.values import Values
from dither.sql.question import Question

_UNEVEN = 2.0  # how much more than an even share large groups lose, where the profile does not say
_UNLIKE = 0.25  # by how much, relative to it, the share that groups lose differs from group to group
_DIGITS = 10**6  # of a factor by which counts and sums are scaled up
_FEW = 0.5  # the share of rows below which it is looked at whether to limit them after WHERE
_HARDLY = 0.05  # of the noise: a smaller correction is not worth telling
_WORTH_IT = 0.9  # owners' totals take longer to compute: their error must be at least so much smaller
_RANKS = 3.0  # by how many times its own noise scale a chosen value's rank is off


def choose(
    question: Question,
    kind: str,
    cost: Fraction,
    profile: Profile | None,
    rows_per_owner: int | None = None,
    adjust: bool = True,
) -> Strategy:
    """The strategy for a question at this price; a stated limit is kept, and nothing is scaled up then."""
    if rows_per_owner is not None:
        stated = whole(rows_per_owner, "rows_per_owner")
        return Strategy(stated, why=f"At most {_rows(stated)} of each owner, as stated.")
    if profile is None or profile.rows is None:
        return Strategy()
    limit = _only_limit(question)
    if limit is None or limit.rows == 1 or limit.child.table.name != profile.table:
        return Strategy()
    chooser = _Chooser.of(question, kind, float(cost), profile, limit.rows, adjust)
    return chooser.strategy(several=len(_limits(question)) > 1)


def limited_table(question: Question) -> str | None:
    """The table whose rows are limited: of several that are joined, the one that the rows of an owner follow from."""
    limit = _only_limit(question)
    return None if limit is None else limit.child.table.name


def _only_limit(question: Question) -> OwnerLimit | None:
    """The limit on the table of people that has the most rows of an owner, if as many rows are aggregated."""
    limited = Limits(None).source(question.source)
    found = max(_limits(question), key=lambda node: node.rows, default=None)
    below = any(isinstance(node, (OwnerAggregate, UnionAll)) for node in limited.walk())
    return found if found is not None and not below and facts(limited).rows == found.rows else None


def _limits(question: Question) -> list[OwnerLimit]:
    """Those on tables with several rows of an owner, or else all."""
    limits = [node for node in Limits(None).source(question.source).walk() if isinstance(node, OwnerLimit)]
    return [node for node in limits if node.rows > 1] or limits


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
    adjust: bool
    kept: float  # the share of rows that conditions keep

    @classmethod
    def of(cls, question: Question, kind: str, cost: float, profile: Profile, most: int, adjust: bool) -> _Chooser:
        aggregates = plan(question)
        needed = [measure for aggregate in aggregates for measure in aggregate.answers]
        moved = [(float(one.l1), float(one.l2)) for part in check(aggregates) for one in part]
        each = {measure: _adds(measure, profile) for measure in needed}
        if profile.rows is None:
            raise TypeError("a profile without rows per owner chooses nothing")
        asked = kept(question.source, profile)
        owners = Owners.of(profile.rows, most).part(asked)
        groups = max(1.0, math.sqrt(owners.total))
        if question.public:
            asked_for = groups_kept(question.source, (key.code for key in question.keys), profile)
            groups = max(1.0, float(aggregates[0].group_count) * asked_for)
        known = dict(zip(needed, moved, strict=True))
        return cls(question, kind, cost / len(needed), profile, most, owners, groups, known, each, adjust, asked)

    def strategy(self, *, several: bool) -> Strategy:
        """Rows limited as they are read, or those that conditions keep: that takes longer, so it must be worth it.

        Where `several` tables have many rows of an owner, those read stay as declared.
        """
        parts = [leaf for output in self.question.outputs for leaf in leaves(output.aggregate)]
        limited = Strategy() if several else self._limited(parts)
        if not self.kept < _FEW:
            return limited
        thinned = self.owners.part(1 / self.kept).thinned(self.kept)
        after = replace(self, owners=thinned, adjust=False)
        cut = after._rows_for(parts)
        worth = after._error(parts, cut) < _WORTH_IT**2 * self._error(parts, limited.rows or self.most)
        return after._cut(parts, cut) if worth and cut < self.most else limited

    def _error(self, parts: list[Aggregator], rows: int) -> float:
        at = np.array([float(rows)])
        return float(sum(self._relative(leaf, at)[0] for leaf in parts))

    def _cut(self, parts: list[Aggregator], cut: int) -> Strategy:
        """At most `cut` rows of each owner after WHERE, unless totals are better."""
        totals = dict(self._totals(parts, cut))
        left = [leaf for leaf in parts if not set(leaf.measures()) <= set(totals)]
        cut = self._rows_for(left) if left else cut
        told = (
            f"By the profile and the declared columns about {self.kept:.2g} of all rows are asked about, so at most "
            f"{_rows(cut)} of each owner after WHERE {'counts' if cut == 1 else 'count'}; it is the slower plan."
        )
        return Strategy(
            None,
            tuple((measure, clamped.total) for measure, clamped in totals.items()),
            why=" ".join([*([told] if left else []), *self._about_totals(totals)]),
            bias=(
                *self._lost(cut, left, Fraction(1)),
                *((measure, clamped.cut) for measure, clamped in totals.items()),
            ),
            cut=cut if left else None,
        )

    def _limited(self, parts: list[Aggregator]) -> Strategy:
        rows = self._rows_for(parts)
        totals = dict(self._totals(parts, rows))
        left = [leaf for leaf in parts if not set(leaf.measures()) <= set(totals)]
        if totals:
            rows = self._rows_for(left) if left else self.most
        factor = self._factor(rows, left)
        return Strategy(
            None if rows == self.most else rows,
            tuple((measure, clamped.total) for measure, clamped in totals.items()),
            why=" ".join([*self._about_rows(rows, left, factor), *self._about_totals(totals)]),
            bias=(*self._lost(rows, left, factor), *((measure, clamped.cut) for measure, clamped in totals.items())),
            factor=factor,
        )

    def _lost(self, rows: int, parts: list[Aggregator], factor: Fraction) -> Iterator[tuple[Measure, float]]:
        """What counts and sums lose to rows that are left out, over all groups; scaled up, by how much that is off."""
        lost = float(self.owners.lost(rows) if factor == 1 else self.owners.lost_doubt(rows) * float(factor))
        for measure in dict.fromkeys(measure for leaf in parts for measure in leaf.measures()):
            if isinstance(measure, (CountRows, SumRows)):
                yield measure, lost * self.each[measure]

    def _factor(self, rows: int, parts: list[Aggregator]) -> Fraction:
        """By what counts and sums are scaled up for the rows left out; 1 where that is hardly anything."""
        scaled = [m for leaf in parts if isinstance(leaf, (Count, Sum)) for m in leaf.measures()]
        if not self.adjust or not scaled:
            return Fraction(1)
        at = np.array([float(rows)])
        share = float(self._scaling(at)[0]) - 1
        noise = min(float(self._noise(m, at)[0]) / self.each[m] for m in scaled)
        worth = share * self.owners.total / self.groups >= _HARDLY * noise
        return 1 + Fraction(round(share * _DIGITS), _DIGITS) if worth else Fraction(1)

    def _scaling(self, rows: Floats) -> Floats:
        """All rows over those that are not left out."""
        kept = np.maximum(self.owners.total - self.owners.lost(rows), 1e-6 * self.owners.total)
        return np.asarray(self.owners.total / kept)

    # -- rows left out by rank ------------------------------------------------------------------------------------

    def _rows_for(self, parts: list[Aggregator]) -> int:
        steps = {min(self.most, round(2 ** (step / 8))) for step in range(8 * self.most.bit_length() + 1)}
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
            if self.adjust and isinstance(measure, (CountRows, SumRows)):
                found += self._scaled_up(measure, rows) / size**2
            else:
                found += (self._bias(measure, rows) ** 2 + self._noise(measure, rows) ** 2) / size**2
        return found

    def _scaled_up(self, measure: Measure, rows: Floats) -> Floats:
        """The squared error of a count or sum that is scaled up for the rows left out.

        Noise is scaled up too. Off is what the profile does not know of their share, and that a few owners lose most;
        where there are groups or conditions, by how much shares differ between them, and that rows kept are a sample.
        """
        factor = self._scaling(rows)
        squares = (self._noise(measure, rows) * factor) ** 2
        off = self.owners.lost_doubt(rows) ** 2
        if self.groups > 1 or self.kept < 1:
            uneven = min(_UNEVEN, math.sqrt(self.groups)) / self.groups
            off = (off + (_UNLIKE * self.owners.lost(rows)) ** 2) * uneven**2
            off += (factor - 1) * self.owners.total / self.groups
        off += self.owners.lost_squares(rows) / self.groups
        return np.asarray(squares + self.each[measure] ** 2 * off)

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
        """The best clamp, with values of one owner that are a little alike."""
        low, high = measure.value.bounds
        largest = max(1, self.most * measure.value.reach)
        clamps = sorted({min(largest, round(2 ** (step / 8))) for step in range(8 * largest.bit_length() + 1)})
        values = Values.of(measure.value, self.profile)
        sizes = np.abs(values.totals(self.owners.rows))
        order = np.argsort(sizes, axis=None)
        totals, weights = sizes.ravel()[order], np.repeat(self.owners.weights / sizes.shape[1], sizes.shape[1])[order]
        # Of each clamp c, the sum of weight * (total - c) over the totals above it.
        above, many = np.cumsum((totals * weights)[::-1])[::-1], np.cumsum(weights[::-1])[::-1]
        place = np.searchsorted(totals, clamps, side="right")
        ends = np.array(clamps, dtype=np.float64)
        cuts = np.append(above, 0.0)[place] - ends * np.append(many, 0.0)[place]
        doubt = self.owners.lost_doubt(ends / values.mean_size) * values.mean_size
        errors = np.sqrt(cuts**2 + doubt**2 + self._deviation(ends, ends) ** 2)
        best = int(np.argmin(errors))
        clamp = clamps[best]
        total = totalled(measure, -clamp if low < 0 else 0, clamp if high > 0 else 0)
        return _Clamped(total, float(cuts[best]), float(errors[best]))

    # -- in words -------------------------------------------------------------------------------------------------

    def _about_rows(self, rows: int, parts: list[Aggregator], factor: Fraction) -> Iterator[str]:
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
        if factor != 1:
            doubt = float(self.owners.lost_doubt(rows)) / self.owners.total
            yield (
                f"Counts and sums are multiplied by {float(factor):.6g} for the rows left out; that share of rows is "
                f"known from the profile to about {doubt:.2g}."
            )

    def _about_totals(self, totals: dict[Measure, _Clamped]) -> Iterator[str]:
        for measure, clamped in totals.items():
            ends = " to ".join(decimal(shown(measure, end)) for end in (clamped.total.least, clamped.total.most))
            unit = float(shown(measure, 1))
            yield (
                f"A sum adds owners' totals, each clamped to {ends}: by the profile this errs by about "
                f"{clamped.error * unit:.3g} instead of {clamped.instead * unit:.3g}; it is the slower plan."
            )


def _adds(measure: Measure, profile: Profile) -> float:
    if isinstance(measure, SumRows):
        return Values.of(measure.value, profile).mean_size
    return (
        share(measure.condition, profile) if isinstance(measure, CountRows) and measure.condition is not None else 1.0
    )


def _rows(rows: int) -> str:
    return counted(rows, "row")
