"""What a plan leaves out of each of its measures, read off the very plan that is run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dither.sql.bounding.owner_limits import agreeing, finds_one, most_rows
from dither.sql.expressions import Clamp, Numeric, Stored
from dither.sql.guard.facts import facts, most_found
from dither.sql.plan.nodes import (
    Aggregate,
    CountOwners,
    Filter,
    JoinFull,
    JoinOwner,
    JoinPublic,
    Measure,
    Node,
    OwnerAggregate,
    OwnerLimit,
    OwnerTotal,
    OwnerWindow,
    Project,
    Retruncate,
    SemiJoin,
    SumRows,
)
from dither.sql.postprocess.histograms import Certified
from dither.sql.postprocess.left_out import NOTHING, ROWS, LeftOut, Side

ValueBounds = tuple[str, int, int]  # the text of a value, and what the planner clamps it to
Sides = tuple[Side, Side]

_UNKNOWN = Side(unknown=True)


def left_out(
    aggregates: Iterable[Aggregate],
    bounds: Iterable[ValueBounds] = (),
    profiled: str = "",
    known: Mapping[str, Certified] | None = None,
) -> LeftOut:
    """For each measure that loses something: by how much at most, as the histograms of a profiled table certify."""
    certified, chosen = known or {}, frozenset(bounds)
    found: dict[str, Sides] = {}
    for aggregate in aggregates:
        losses = _Losses(aggregate, chosen, profiled, certified)
        for answer, measure in zip(aggregate.answers, aggregate.measures, strict=True):
            sides = losses.of(answer, measure)
            if sides != (NOTHING, NOTHING):
                found[answer.text] = sides
    used = {name for sides in found.values() for side in sides for name in side.used}
    return LeftOut(found, {name: certified[name] for name in sorted(used)})


def certifiable(node: Node) -> OwnerLimit | None:
    """The limit of a relation each of whose rows is made of one row of that limit's table, which makes no other.

    Then what is left out of the relation is no more than what is left out of the table, in any selection of its rows.
    """
    if isinstance(node, OwnerLimit):
        return node
    if isinstance(node, Retruncate):  # of rows that are chosen, no more are left out than there would be of all
        limit = certifiable(node.child)
        return None if limit is None else OwnerLimit(limit.child, min(limit.rows, node.rows))
    if isinstance(node, JoinPublic) and most_found(node) > 1:
        return None
    if isinstance(node, (Filter, Project, JoinPublic)):
        return certifiable(node.child)
    if isinstance(node, SemiJoin):
        return None if _lowered(node.other) else certifiable(node.child)
    if isinstance(node, JoinOwner):
        if not _lowered(node.other) and finds_one(node.other, agreeing(node, 1)):
            return certifiable(node.child)
        if not node.outer and not _lowered(node.child) and finds_one(node.child, agreeing(node, 0)):
            return certifiable(node.other)
    return None


def _lowered(node: Node) -> list[Node]:
    """The limits that keep fewer rows of an owner than its table declares, or than conditions leave."""
    return [inner for inner in node.walk() if _is_lowered(inner)]


def _is_lowered(node: Node) -> bool:
    if isinstance(node, OwnerLimit):
        return node.rows < node.child.table.max_rows_per_owner
    return isinstance(node, Retruncate) and not isinstance(node.child, OwnerAggregate)


def _only_fewer(node: Node) -> bool:
    """Whether lowered limits only take rows away: what is left is a part of what there would be without them."""
    if not _lowered(node):
        return True
    if isinstance(node, (OwnerAggregate, OwnerWindow, JoinFull)):  # a row that no longer finds one is another row
        return False
    if (isinstance(node, SemiJoin) and node.negated) or (isinstance(node, JoinOwner) and node.outer):
        return not _lowered(node.other) and _only_fewer(node.child)
    return all(map(_only_fewer, node.children()))


@dataclass(frozen=True)
class _Losses:
    aggregate: Aggregate
    bounds: frozenset[ValueBounds]
    profiled: str
    known: Mapping[str, Certified]

    def of(self, answer: Measure, measure: Measure) -> Sides:
        if isinstance(answer, OwnerTotal):  # asked for as such: to clamp is what it means, and all rows count
            return _unknown(answer.least, answer.most) if self._groups_dropped() else (NOTHING, NOTHING)
        if answer != measure:
            return self._totals(answer)
        low, high = measure.value.bounds if isinstance(measure, SumRows) else (0, 1)
        child, limit = self.aggregate.child, certifiable(self.aggregate.child)
        rows, most = 1, 1
        if limit is not None:
            rows, most = limit.rows, limit.child.table.max_rows_per_owner
        if _lowered(child) and not _only_fewer(child):
            return _UNKNOWN, _UNKNOWN
        if _lowered(child) and not (limit is not None and self._profiles(limit) and ROWS in self.known):
            return _unknown(low, high)
        clamp = self._clamp(measure)
        if clamp is not None:
            return self._clamped(clamp, limit, low, high)
        owners = isinstance(measure, CountOwners)
        if rows == most:
            return NOTHING, NOTHING
        below, above = (Side(rows, most, max(0, each), owners=owners) for each in (-low, high))
        return (below if low < 0 else NOTHING), (above if high > 0 else NOTHING)

    def _profiles(self, limit: OwnerLimit) -> bool:
        return limit.child.table.name == self.profiled

    def _groups_dropped(self) -> bool:
        """Whether an owner's totals are kept for fewer groups than the owner can be in."""
        for node in self.aggregate.walk():
            if isinstance(node, Retruncate):
                inner = facts(node.child).rows
                declared = most_rows(node.child.child) if isinstance(node.child, OwnerAggregate) else node.rows
                if node.rows < min(declared, declared if inner is None else inner):
                    return True
        return bool(_lowered(self.aggregate.child))

    def _clamp(self, measure: Measure) -> Clamp | None:
        """Where the planner clamps the values that are added."""
        inside = measure.value.walk() if isinstance(measure, SumRows) else ()
        clamps = (node for node in inside if isinstance(node, Clamp))
        return next((one for one in clamps if (one.value.text, one.least, one.most) in self.bounds), None)

    def _clamped(self, clamp: Clamp, limit: OwnerLimit | None, low: int, high: int) -> Sides:
        """A row adds from `low` to `high` after the clamp; before it, as much more as the clamp cuts off."""
        if limit is None or not self._profiles(limit):
            return _UNKNOWN, _UNKNOWN
        column, (least, most) = self._column(limit, clamp.value), clamp.value.bounds
        ends = (("smallest", -low, clamp.least - least, -clamp.least), ("largest", high, most - clamp.most, clamp.most))
        found = []
        for kind, kept, cut, at in ends:
            name = f"{kind} {column}" if cut else ""
            if name and name not in self.known:
                found.append(_UNKNOWN)
                continue
            side = Side(
                limit.rows, limit.child.table.max_rows_per_owner, max(0, kept + cut), max(0, kept), name, clamp=at
            )
            found.append(side if side.used else NOTHING)
        return found[0], found[1]

    def _totals(self, answer: Measure) -> Sides:
        """A sum by owners' totals of all rows that count, each clamped."""
        (node,) = [inner for inner in self.aggregate.walk() if isinstance(inner, OwnerAggregate)][:1]
        total, limit = node.totals[self.aggregate.answers.index(answer)][1], certifiable(node.child)
        if limit is None or not self._profiles(limit) or _lowered(node) or not isinstance(answer, SumRows):
            return _UNKNOWN, _UNKNOWN
        column, (low, high) = self._column(limit, answer.value), answer.value.bounds
        found = []
        for kind, each, at in (("losses", -low, -total.least), ("gains", high, total.most)):
            name = f"{kind} {column}"
            nothing = each <= 0 or at >= each * limit.rows
            found.append(NOTHING if nothing else Side(totals=name, clamp=at) if name in self.known else _UNKNOWN)
        return found[0], found[1]

    def _column(self, limit: OwnerLimit, value: Numeric) -> str:
        """What the table calls a column; nothing for what is computed."""
        own = {name: own for own, name in limit.child.names}
        return own.get(value.name, "") if isinstance(value, Stored) else ""


def _unknown(low: int, high: int) -> Sides:
    """Nothing is known of how much is left out; but what adds nothing below zero, or above it, lacks nothing there."""
    return (_UNKNOWN if low < 0 else NOTHING), (_UNKNOWN if high > 0 else NOTHING)
