"""Which rows of an owner count: the choice with the smallest error that the profile promises.

Fewer rows of each owner need less noise and leave more out. Both are estimated from declared metadata and the released
profile, and the sum of relative squared errors over all columns is made as small as it can be. The share of rows left
out is known from the profile too, up to an error of its own: counts and sums are scaled up by it, and what then counts
is that error.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from dither.exact.parameters import whole
from dither.sql.bounding.owner_limits import Limits
from dither.sql.guard.facts import facts
from dither.sql.plan.aggregates import Aggregator, Count, Sum
from dither.sql.plan.nodes import CountRows, Measure, OwnerAggregate, OwnerLimit, SumRows, UnionAll
from dither.sql.plan.question import Question
from dither.sql.planner import sentences
from dither.sql.planner.expected_errors import Expected
from dither.sql.planner.owner_clamps import Clamped, clamped_totals
from dither.sql.planner.profiles.profile import Profile
from dither.sql.planner.split import leaves
from dither.sql.planner.strategy import Strategy
from dither.sql.planner.value_bounds import tighter_bounds

_DIGITS = 10**6  # of a factor by which counts and sums are scaled up
_FEW = 0.5  # the share of rows below which it is looked at whether to limit them after WHERE
_HARDLY = 0.05  # of the noise: a smaller correction is not worth telling
_WORTH_IT = 0.9  # limiting rows after WHERE takes longer: its error must be at least so much smaller


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
        return Strategy(stated, why=sentences.as_stated(stated))
    if profile is None or profile.rows is None:
        return Strategy()
    limit = _only_limit(question)
    if limit is None or limit.child.table.name != profile.table:
        return Strategy()
    chooser = _Chooser(
        Expected.of(question, kind, float(cost), profile, limit.rows, adjust),
        [leaf for output in question.outputs for leaf in leaves(output.aggregate)],
    )
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
class _Chooser:
    expected: Expected
    parts: list[Aggregator]

    def strategy(self, *, several: bool) -> Strategy:
        """Rows limited as they are read, or those that conditions keep: that takes longer, so it must be worth it.

        Where `several` tables have many rows of an owner, those read stay as declared.
        """
        limited = Strategy() if several else self._limited()
        before = self.expected.error(self.parts, limited.rows or self.expected.most)
        if limited.promised is None:
            limited = replace(limited, promised=before)
        if not self.expected.kept < _FEW:
            return limited
        after = self.expected.after_conditions()
        cut, promised = after.best(self.parts)
        worth = promised < _WORTH_IT**2 * before and cut < self.expected.most
        return replace(_Chooser(after, self.parts)._cut(cut), promised=promised) if worth else limited

    def _cut(self, cut: int) -> Strategy:
        """At most `cut` rows of each owner after WHERE, unless totals are better."""
        totals = dict(clamped_totals(self.expected, self.parts, cut))
        left = self._without(totals)
        cut = self.expected.best_rows(left) if left else cut
        about = [sentences.about_cut(self.expected.kept, cut)] if left else []
        return Strategy(
            None,
            tuple((measure, clamped.total) for measure, clamped in totals.items()),
            why=" ".join([*about, *sentences.about_totals(totals)]),
            bias=(*self._lost(cut, left, Fraction(1)), *((measure, one.cut) for measure, one in totals.items())),
            cut=cut if left else None,
            factors=_factors(totals),
        )

    def _limited(self) -> Strategy:
        expected = self.expected
        rows = expected.best_rows(self.parts)
        totals = dict(clamped_totals(expected, self.parts, rows))
        left = self._without(totals)
        if totals:
            rows = expected.best_rows(left) if left else expected.most
        factor = self._factor(rows, left)
        tighter = list(tighter_bounds(expected, left, rows))
        lost = dict(self._lost(rows, left, factor))
        cut = {one.measure: lost[m] + one.cut * expected.owners.total for one in tighter for m in lost if one.sums(m)}
        about = [*sentences.about_rows(expected.owners, expected.most, rows, left, factor)]
        return Strategy(
            None if rows == expected.most else rows,
            tuple((measure, clamped.total) for measure, clamped in totals.items()),
            why=" ".join([*about, *sentences.about_totals(totals), *map(sentences.about_values, tighter)]),
            bias=(*lost.items(), *cut.items(), *((measure, one.cut) for measure, one in totals.items())),
            factor=factor,
            factors=_factors(totals),
            bounds=tuple(one.bounds for one in tighter),
            promised=expected.error(left, rows) + sum((one.error / expected.size(m)) ** 2 for m, one in totals.items()),
        )

    def _without(self, totals: dict[Measure, Clamped]) -> list[Aggregator]:
        return [leaf for leaf in self.parts if not set(leaf.measures()) <= set(totals)]

    def _lost(self, rows: int, parts: list[Aggregator], factor: Fraction) -> Iterator[tuple[Measure, float]]:
        """What counts and sums lose to rows that are left out, over all groups; scaled up, by how much that is off."""
        owners = self.expected.owners
        lost = float(owners.lost(rows) if factor == 1 else owners.lost_doubt(rows) * float(factor))
        for measure in dict.fromkeys(measure for leaf in parts for measure in leaf.measures()):
            if isinstance(measure, (CountRows, SumRows)):
                yield measure, lost * self.expected.each[measure]

    def _factor(self, rows: int, parts: list[Aggregator]) -> Fraction:
        """By what counts and sums are scaled up for the rows left out; 1 where that is hardly anything."""
        expected = self.expected
        scaled = [m for leaf in parts if isinstance(leaf, (Count, Sum)) for m in leaf.measures()]
        if not expected.adjust or not scaled:
            return Fraction(1)
        at = np.array([float(rows)])
        share = float(expected.scaling(at)[0]) - 1
        noise = min(float(expected.noise(m, at)[0]) / expected.each[m] for m in scaled)
        worth = share * expected.owners.total / expected.groups >= _HARDLY * noise
        return 1 + Fraction(round(share * _DIGITS), _DIGITS) if worth else Fraction(1)


def _factors(totals: dict[Measure, Clamped]) -> tuple[tuple[Measure, Fraction], ...]:
    return tuple((measure, clamped.factor) for measure, clamped in totals.items() if clamped.factor != 1)
