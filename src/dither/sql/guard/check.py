"""The guard: what one owner can change, recomputed from the very plan that goes to the engine.

Nothing that made the plan is trusted. `facts` says how many rows of one owner reach an aggregation; a value may be
summed only if it is a stored column or its last operation is a clamp.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from dither.neighbours import Relation
from dither.policy.catalog import MOST_CODE, MOST_GROUPS
from dither.sensitivity import Sensitivity
from dither.sql import expressions as e
from dither.sql.guard.facts import Facts, facts
from dither.sql.guard.facts.knowledge import values_of
from dither.sql.guard.key_columns import told_apart
from dither.sql.guard.ranges import LARGEST, UnsafePlan, interval, verify
from dither.sql.plan.nodes import (
    Aggregate,
    Choice,
    CountDistinct,
    CountOwners,
    CountRows,
    Measure,
    ModeRows,
    Node,
    OwnerLimit,
    QuantileRows,
    Scan,
    SumRows,
)

__all__ = ["UnsafePlan", "check"]


def check(aggregates: tuple[Aggregate, ...], *, every_row: bool = False) -> tuple[tuple[Sensitivity, ...], ...]:
    """The sensitivity of every measure when all rows of one owner come or go, or `UnsafePlan`.

    Each is for the whole vector of a measure over its groups: with K rows an owner, K rows may fall into one group.
    That of a choice is how many rows of the values that it is made from one owner can have. Every table is read under a
    limit on rows, so that all numbers are about the declared ones; a profile alone counts `every_row`.
    """
    if not aggregates:
        raise UnsafePlan("there is nothing to compute.")
    if len({facts(aggregate.child).people for aggregate in aggregates}) != 1:
        raise UnsafePlan("one question is about one people.")
    if not every_row and any(map(_reads_undeclared_rows, aggregates)):
        raise UnsafePlan("rows beyond those that are declared are read.")
    return tuple(_aggregate(aggregate) for aggregate in aggregates)


def _reads_undeclared_rows(node: Node) -> bool:
    """Whether a table of people is read without a limit on the rows of each owner; `facts` checks what limits say."""
    return not isinstance(node, OwnerLimit) and any(
        isinstance(child, Scan) or _reads_undeclared_rows(child) for child in node.children()
    )


@dataclass(frozen=True)
class _Reach:
    """How far one owner reaches: rows at most, in how many groups, and how many of them at most in one group."""

    known: Facts
    rows: int | None
    groups: int | None  # None: as many as the data have
    alike: int | None  # None: all of them may be

    def of(self, size: int, together: int | None = None) -> Sensitivity:
        """Of a vector to which each row adds at most `size`, in its own group, and all rows `together` if that is less.

        With at most k rows in a group, no coordinate moves by more than s = k `size`: sizes of at most s that add up to
        at most t have squares that add up to at most s t.
        """
        if self.rows is None:
            raise UnsafePlan("rows reach an aggregate without a limit per owner.")
        most = self.rows * size if together is None else min(self.rows * size, max(1, together))
        largest = most if self.alike is None else min(self.alike * size, most)
        return _sensitivity(most, most * largest, largest)


def _aggregate(aggregate: Aggregate) -> tuple[Sensitivity, ...]:
    if type(aggregate) is not Aggregate or not aggregate.measures:
        raise UnsafePlan(f"a plan ends in an aggregation with measures; got {type(aggregate).__name__}.")
    if len(aggregate.answers) != len(aggregate.measures):
        raise UnsafePlan("an aggregation names more or fewer measures than it has.")
    known = facts(aggregate.child)
    if not known.private:
        raise UnsafePlan("an aggregation reads rows that belong to nobody.")
    choices = {isinstance(measure, Choice) and measure.value for measure in aggregate.measures}
    if len(choices) != 1:
        raise UnsafePlan("choices from one value stand alone in an aggregation.")
    _check_groups(aggregate, known)
    reach = _Reach(known, known.rows, _groups_met(aggregate, known), _alike(aggregate, known))
    return tuple(_measure(measure, reach) for measure in aggregate.measures)


def _alike(aggregate: Aggregate, known: Facts) -> int | None:
    """How many rows of one owner can fall into one group; None if all of them.

    Rows of one group agree in the columns that its keys tell apart, and need not in one from which a key is computed:
    a month has many days.
    """
    apart = told_apart(aggregate)
    if known.distinct is not None and known.distinct <= apart:
        return 1
    return min((known.alike[name] for name in apart if name in known.alike), default=None)


def _groups_met(aggregate: Aggregate, known: Facts) -> int | None:
    """How many groups one owner's rows can be in, if each key tells: by its public list, or by the owner's values."""
    count = 1
    for key in aggregate.keys:
        bounds = [key.count] if key.public else []
        own = values_of(key.code, known)
        if own is not None:
            bounds.append(own)
        if not bounds:
            return None
        count *= min(bounds)
    return count


def _check_groups(aggregate: Aggregate, known: Facts) -> None:
    """Where keys have public lists of values, each row must fall into one of their groups."""
    for key in aggregate.keys:
        verify(key.code, known.schema)
        if key.public and not isinstance(key.code, e.Numeric):
            raise UnsafePlan("a text has no public list of keys.")
        if key.public and isinstance(key.code, e.Numeric):
            low, high = interval(key.code, known.schema)
            inside = -MOST_CODE <= key.low <= low and high <= key.high <= MOST_CODE
            if not inside or (key.code.nullable and not key.nullable):
                raise UnsafePlan("the plan misstates the values of a key.")
    if aggregate.public and aggregate.group_count > MOST_GROUPS:
        raise UnsafePlan(f"the keys make {aggregate.group_count} groups; at most {MOST_GROUPS} are answered.")


def _measure(measure: Measure, reach: _Reach) -> Sensitivity:
    rule = MEASURES.get(type(measure))
    if rule is None:
        raise UnsafePlan(f"the measure {type(measure).__name__} is not known.")
    return rule(measure, reach)


def _count_rows(measure: CountRows, reach: _Reach) -> Sensitivity:
    if measure.condition is not None:
        if not isinstance(measure.condition, e.Boolean):
            raise UnsafePlan("a count needs a condition.")
        verify(measure.condition, reach.known.schema)
    return reach.of(1)


def _sum_rows(measure: SumRows, reach: _Reach) -> Sensitivity:
    if type(measure.value) not in (e.Stored, e.Clamp):
        raise UnsafePlan(f"a sum of {type(measure.value).__name__}: the last operation before a sum must be a clamp.")
    low, high = interval(measure.value, reach.known.schema)
    size = max(1, -low, high)
    if not reach.known.total * size < LARGEST:
        raise UnsafePlan("a sum may exceed 126 bits.")
    together = reach.known.together.get(measure.value.name) if isinstance(measure.value, e.Stored) else None
    return reach.of(size, together)


def _count_owners(measure: CountOwners, reach: _Reach) -> Sensitivity:
    """An owner adds one to each group they are in: as many as they have rows, or can be in."""
    bounds = [bound for bound in (reach.rows, reach.groups) if bound is not None]
    if not bounds:
        raise UnsafePlan("rows reach a count of owners by key without a limit per owner.")
    if reach.rows is None and reach.groups != 1:
        raise UnsafePlan("rows reach a count of owners by group without a limit per owner.")
    return _sensitivity(min(bounds), min(bounds), 1)


def _count_distinct(measure: CountDistinct, reach: _Reach) -> Sensitivity:
    """Each row brings one value at most, and a group has no more values than there are."""
    verify(measure.value, reach.known.schema)
    each = reach.of(1)
    if not isinstance(measure.value, e.Numeric):
        return each
    low, high = interval(measure.value, reach.known.schema)
    most = min(int(each.linf), high - low + 1)
    return _sensitivity(int(each.l1), int(each.l1) * most, most)


def _choice(measure: Choice, reach: _Reach) -> Sensitivity:
    if type(measure.value) not in (e.Stored, e.Clamp):
        raise UnsafePlan(f"a choice from {type(measure.value).__name__}: its last operation must be a clamp.")
    low, high = interval(measure.value, reach.known.schema)
    if not -MOST_CODE <= low <= high <= MOST_CODE:
        raise UnsafePlan("a choice is among numbers of 62 bits.")
    if isinstance(measure, QuantileRows) and not 0 <= measure.numerator <= measure.denominator:
        raise UnsafePlan("a quantile lies between 0 and 1.")
    return reach.of(1)


@lru_cache(maxsize=1024)  # shared by all who ask: three numbers, checked again in microseconds
def _sensitivity(l1: int, l2_squared: int, linf: int) -> Sensitivity:
    return Sensitivity(l1=l1, l2_squared=l2_squared, linf=linf, relation=Relation.OWNER)


MEASURES: dict[type[Measure], Callable[[Any, _Reach], Sensitivity]] = {
    CountRows: _count_rows,
    SumRows: _sum_rows,
    CountOwners: _count_owners,
    CountDistinct: _count_distinct,
    QuantileRows: _choice,
    ModeRows: _choice,
}
