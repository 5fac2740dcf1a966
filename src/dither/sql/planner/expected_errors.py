"""What a question may be off by, for each number of rows that count of an owner: as declared metadata and the released
profile tell. Everything here is an estimate for choosing between plans: no guarantee rests on it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from dither.sql.bounding.aggregations import plan
from dither.sql.guard.check import check
from dither.sql.plan.aggregates import Aggregator, Average, Variance
from dither.sql.plan.nodes import Choice, CountOwners, CountRows, Measure, SumRows
from dither.sql.plan.question import Question
from dither.sql.planner.profiles.profile import Profile
from dither.sql.planner.profiles.row_spread import Floats, Owners
from dither.sql.planner.profiles.selectivity import groups_kept, kept, share
from dither.sql.planner.profiles.value_spread import Values

_UNEVEN = 2.0  # how much more than an even share large groups lose, where the profile does not say
_UNLIKE = 0.15  # by how much, relative to it, the share that groups lose differs from group to group
_APART = 0.02  # by how many deviations the values of owners with many rows may differ from those of others
_RANKS = 3.0  # by how many times its own noise scale a chosen value's rank is off


@dataclass(frozen=True)
class Expected:
    """Errors to expect of a question at its price.

    `share` is the part of the price for each measure; `moved` are L1 and L2 of each, by an owner of whom `most` rows
    count; `each` is about what one row adds to it; `kept` is the share of rows that conditions keep. With `adjust`,
    counts and sums are scaled up for rows left out.
    """

    question: Question
    kind: str
    share: float
    profile: Profile
    most: int
    owners: Owners
    groups: float
    moved: dict[Measure, tuple[float, float]]
    each: dict[Measure, float]
    adjust: bool
    kept: float

    @classmethod
    def of(cls, question: Question, kind: str, cost: float, profile: Profile, most: int, adjust: bool) -> Expected:
        """Of a question about a table of whose owners `most` rows count, at this price for all measures."""
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

    def after_conditions(self) -> Expected:
        """The same if rows are limited that conditions keep; nothing is scaled up then."""
        thinned = self.owners.part(1 / self.kept).thinned(self.kept)
        return replace(self, owners=thinned, adjust=False)

    def best_rows(self, parts: Iterable[Aggregator]) -> int:
        """The number of rows of each owner with the smallest error of all these aggregates."""
        return self.best(parts)[0]

    def best(self, parts: Iterable[Aggregator]) -> tuple[int, float]:
        """The same, and that error."""
        steps = {min(self.most, round(2 ** (step / 8))) for step in range(8 * self.most.bit_length() + 1)}
        candidates = np.array(sorted(steps, reverse=True), dtype=np.float64)
        error = np.zeros(len(candidates))
        for leaf in parts:
            error += self._relative(leaf, candidates)
        place = int(np.argmin(error))
        return int(candidates[place]), float(error[place])

    def error(self, parts: Iterable[Aggregator], rows: int) -> float:
        """The sum of squared errors, each relative to what is measured."""
        at = np.array([float(rows)])
        return float(sum(self._relative(leaf, at)[0] for leaf in parts))

    def of_measure(self, measure: Measure, rows: int) -> float:
        """The error of one measure if so many rows of each owner count and nothing is scaled up."""
        at = np.array([float(rows)])
        return math.hypot(float(self._bias(measure, at)[0]), float(self.noise(measure, at)[0]))

    def scaling(self, rows: Floats) -> Floats:
        """All rows over those that are not left out."""
        kept = np.maximum(self.owners.total - self.owners.lost(rows), 1e-6 * self.owners.total)
        return np.asarray(self.owners.total / kept)

    def noise(self, measure: Measure, rows: Floats) -> Floats:
        """The standard deviation of the noise if so many rows of each owner count."""
        (l1, l2), part = self.moved[measure], rows / self.most
        if isinstance(measure, CountOwners):
            groups = np.minimum(rows, self.groups) if self.groups > 1 else np.ones(len(rows))
            return self.deviation(groups, np.sqrt(groups))
        if l2 < 0.999 * l1:
            return self.deviation(l1 * part, l2 * np.sqrt(part))
        return self.deviation(l1 * part, l2 * part)

    def deviation(self, l1: Floats, l2: Floats) -> Floats:
        """Of the noise on what one owner moves by so much."""
        return l2 / math.sqrt(2 * self.share) if self.kind == "zcdp" else math.sqrt(2) * l1 / self.share

    def _relative(self, leaf: Aggregator, rows: Floats) -> Floats:
        """The squared error to expect, relative to what is measured, for each number of rows."""
        if isinstance(leaf, (Average, Variance)) or any(isinstance(m, Choice) for m in leaf.measures()):
            return self._of_average(leaf, rows)
        found = np.zeros(len(rows))
        for measure in leaf.measures():
            size = self.size(measure)
            if self.adjust and isinstance(measure, (CountRows, SumRows)):
                found += self._scaled_up(measure, rows) / size**2
            else:
                found += (self._bias(measure, rows) ** 2 + self.noise(measure, rows) ** 2) / size**2
        return found

    def size(self, measure: Measure) -> float:
        """About what a measure comes to in one group."""
        return max(1.0, self.owners.total * self.each[measure] / self.groups)

    def _scaled_up(self, measure: Measure, rows: Floats) -> Floats:
        """The squared error of a count or sum that is scaled up for the rows left out.

        Noise is scaled up too. Off is what the profile does not know of their share, and that a few owners lose most;
        where there are groups or conditions, by how much shares differ between them, and that rows kept are a sample.
        """
        factor = self.scaling(rows)
        squares = (self.noise(measure, rows) * factor) ** 2
        off = self.owners.lost_doubt(rows) ** 2
        if self.groups > 1 or self.kept < 1:
            uneven = min(_UNEVEN, math.sqrt(self.groups)) / self.groups
            off = (off + (_UNLIKE * self.owners.lost(rows)) ** 2) * uneven**2
            off += (factor - 1) * self.owners.total / self.groups
        off += self.owners.lost_squares(rows) / self.groups  # rows that an owner loses may all be in one group
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
                noise += (self.noise(measure, rows) / kept / self.each[measure]) ** 2
        apart = _APART * self.owners.lost(rows) / self.owners.total
        return np.asarray(self.groups * self.owners.shift(rows) ** 2 + apart**2 + noise)

    def _bias(self, measure: Measure, rows: Floats) -> Floats:
        if isinstance(measure, CountOwners):
            reached = replace(self.owners, rows=np.minimum(self.owners.rows, self.groups))
            lost = reached.lost(rows) if self.groups > 1 else np.zeros(len(rows))
        else:
            lost = self.owners.lost(rows) * self.each[measure]
        return lost * min(_UNEVEN, math.sqrt(self.groups)) / self.groups


def _adds(measure: Measure, profile: Profile) -> float:
    if isinstance(measure, SumRows):
        return Values.of(measure.value, profile).mean_size
    return (
        share(measure.condition, profile) if isinstance(measure, CountRows) and measure.condition is not None else 1.0
    )
