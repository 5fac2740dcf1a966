"""The guard: what one owner can change, recomputed from the very plan that goes to the engine.

Nothing that made the plan is trusted. Rows of one owner: a scan has any number, a limit on ranks has its own, a filter
keeps it; nothing else is known. A value may be summed only if it is a stored column or its last operation is a clamp.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dither.columns import Coded
from dither.neighbours import Relation
from dither.sensitivity import Sensitivity
from dither.sql import expressions as e
from dither.sql.catalog import Table
from dither.sql.intervals import LARGEST, UnsafePlan, interval, verify
from dither.sql.plan import Aggregate, CountOwners, CountRows, Filter, Measure, Node, OwnerLimit, Scan, SumRows
from dither.sql.statement import MOST_GROUPS, MOST_ROWS

__all__ = ["UnsafePlan", "check"]


def check(aggregates: tuple[Aggregate, ...]) -> tuple[tuple[Sensitivity, ...], ...]:
    """The sensitivity of every measure when all rows of one owner come or go, or `UnsafePlan`.

    Each is for the whole vector of a measure over its groups: with K rows an owner, K rows may fall into one group.
    """
    if not aggregates:
        raise UnsafePlan("there is nothing to compute.")
    return tuple(_aggregate(aggregate) for aggregate in aggregates)


def _aggregate(aggregate: Aggregate) -> tuple[Sensitivity, ...]:
    if type(aggregate) is not Aggregate or not aggregate.measures:
        raise UnsafePlan(f"a plan ends in an aggregation with measures; got {type(aggregate).__name__}.")
    table, rows = _rows_per_owner(aggregate.child)
    groups = _groups(aggregate, table)
    owners_alone = aggregate.measures == (CountOwners(),) and not aggregate.keys
    if rows is None and not owners_alone:
        raise UnsafePlan("rows reach an aggregate without a limit per owner.")
    return tuple(_measure(measure, table, rows, groups) for measure in aggregate.measures)


def _rows_per_owner(node: Node) -> tuple[Table, int | None]:
    """The scanned table and how many rows of one owner can come out of a node; None if any number can."""
    rule = ROWS.get(type(node))
    if rule is None:
        raise UnsafePlan(f"the plan node {type(node).__name__} is not known to keep the limit per owner.")
    return rule(node)


def _limited(node: OwnerLimit) -> tuple[Table, int]:
    table, before = _rows_per_owner(node.child)
    if type(node.rows) is not int or not 1 <= node.rows <= table.max_rows_per_owner:
        raise UnsafePlan(f"the limit per owner must be between 1 and {table.max_rows_per_owner}; got {node.rows!r}.")
    return table, node.rows if before is None else min(before, node.rows)


def _filtered(node: Filter) -> tuple[Table, int | None]:
    table, rows = _rows_per_owner(node.child)
    if not isinstance(node.predicate, e.Boolean):
        raise UnsafePlan("a filter needs a condition.")
    verify(node.predicate, table)
    return table, rows


ROWS: dict[type[Node], Callable[[Any], tuple[Table, int | None]]] = {
    Scan: lambda node: (node.table, None),
    OwnerLimit: _limited,
    Filter: _filtered,
}


def _groups(aggregate: Aggregate, table: Table) -> int:
    """How many groups there are, all of them public."""
    count = 1
    for key in aggregate.keys:
        declared = table.columns.get(key.column)
        if not isinstance(declared, Coded) or declared.key_count is None:
            raise UnsafePlan(f"{key.column!r} has no public keys.")
        if (key.low, key.high, key.nullable) != (declared.low, declared.high, declared.nullable):
            raise UnsafePlan(f"the plan misstates the keys of {key.column!r}.")
        count *= declared.key_count
    if count > MOST_GROUPS:
        raise UnsafePlan(f"the keys make {count} groups; at most {MOST_GROUPS} are answered.")
    return count


def _measure(measure: Measure, table: Table, rows: int | None, groups: int) -> Sensitivity:
    rule = MEASURES.get(type(measure))
    if rule is None:
        raise UnsafePlan(f"the measure {type(measure).__name__} is not known.")
    return rule(measure, table, rows, groups)


def _count_rows(measure: CountRows, table: Table, rows: int, groups: int) -> Sensitivity:
    if measure.condition is not None:
        if not isinstance(measure.condition, e.Boolean):
            raise UnsafePlan("a count needs a condition.")
        verify(measure.condition, table)
    return _all_in_one_group(rows)


def _sum_rows(measure: SumRows, table: Table, rows: int, groups: int) -> Sensitivity:
    if type(measure.value) not in (e.Stored, e.Clamp):
        raise UnsafePlan(f"a sum of {type(measure.value).__name__}: the last operation before a sum must be a clamp.")
    low, high = interval(measure.value, table)
    size = max(1, -low, high)
    if not MOST_ROWS * size < LARGEST:
        raise UnsafePlan("a sum may exceed 126 bits.")
    return _all_in_one_group(rows * size)


def _count_owners(measure: CountOwners, table: Table, rows: int | None, groups: int) -> Sensitivity:
    """An owner adds one to each group they are in: as many as they have rows, or groups exist."""
    reached = groups if rows is None else min(rows, groups)
    return Sensitivity(l1=reached, l2_squared=reached, linf=1, relation=Relation.OWNER)


def _all_in_one_group(size: int) -> Sensitivity:
    return Sensitivity(l1=size, l2_squared=size**2, linf=size, relation=Relation.OWNER)


MEASURES: dict[type[Measure], Callable[[Any, Table, Any, int], Sensitivity]] = {
    CountRows: _count_rows,
    SumRows: _sum_rows,
    CountOwners: _count_owners,
}
