"""From a question to aggregations whose every measure one owner can move by a known amount only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from dither.sql.bounding.limit_order import limited_rows
from dither.sql.bounding.owner_limits import Limits
from dither.sql.expressions import Stored, StoredText
from dither.sql.guard.facts import facts
from dither.sql.memo import remembered
from dither.sql.plan.aggregates import bounded
from dither.sql.plan.nodes import (
    Aggregate,
    Choice,
    CountOwners,
    JoinFull,
    JoinOwner,
    Key,
    Measure,
    Node,
    OwnerAggregate,
    OwnerTotal,
    Retruncate,
    SemiJoin,
    SumRows,
    Total,
)
from dither.sql.plan.question import Question


def plan(
    question: Question,
    *,
    rows_per_owner: int | None = None,
    totals: Mapping[Measure, OwnerTotal] | None = None,
    every_row: bool = False,
    where_first: bool = False,
) -> tuple[Aggregate, ...]:
    """At most `rows_per_owner` rows of each owner (default: each table's maximum) are read from any table.

    Measures in `totals` are computed as the owners' totals that stand beside them, over all rows that count. With
    `every_row` no limit is set, so that rows beyond the maximum are read too: the guard allows that only where owners
    are made one row each. With `where_first` the limit is on the rows that conditions keep.

    Keys that come from the data are selected by the count of owners that the first aggregation has as its first
    measure. What needs no fewer rows than are declared, unless rows of one owner meet each other: owners counted
    without groups, where each adds one at most; and totals per owner, which are clamped.
    """
    return _plan(question, rows_per_owner, tuple((totals or {}).items()), every_row, where_first)


@remembered
def _plan(
    question: Question,
    rows_per_owner: int | None,
    totals: tuple[tuple[Measure, OwnerTotal], ...],
    every_row: bool,
    where_first: bool,
) -> tuple[Aggregate, ...]:
    keys = tuple(_key(question, position) for position in range(len(question.keys)))
    needed = list(measures(question))
    if not question.public and CountOwners() in needed:
        needed.remove(CountOwners())
    limited = question.source
    if not every_row:
        limited = limited_rows(question.source, rows_per_owner, where_first=where_first)
    aggregates: list[Aggregate] = []
    replaced = dict(totals)
    flat = [m for m in needed if not isinstance(m, (OwnerTotal, Choice)) and m not in replaced]
    if not keys and CountOwners() in flat:
        flat.remove(CountOwners())
    if not question.public:
        flat = [CountOwners(), *flat]
    if flat:
        aggregates.append(Aggregate(limited, keys, tuple(flat)))
    whole = Limits(None).limited(question.source) if _linear(question.source) and not every_row else limited
    if not keys and CountOwners() in needed:
        aggregates.append(Aggregate(whole, (), (CountOwners(),)))
    of_owners: dict[Measure, OwnerTotal] = {measure: measure for measure in needed if isinstance(measure, OwnerTotal)}
    if of_owners:
        aggregates.append(_totals(whole, keys, of_owners, facts(limited).rows or 1))
    if replaced:
        counted = Limits(None).limited(question.source)
        aggregates.append(_totals(counted, keys, replaced, facts(counted).rows or 1))
    for value in dict.fromkeys(measure.value for measure in needed if isinstance(measure, Choice)):
        chosen = [measure for measure in needed if isinstance(measure, Choice) and measure.value == value]
        aggregates.append(Aggregate(limited, keys, tuple(chosen)))
    return tuple(aggregates)


def _linear(node: Node) -> bool:
    """Whether rows of one owner never meet each other, so that any number of them is read quickly."""
    return not any(isinstance(inner, (JoinOwner, JoinFull, SemiJoin)) for inner in node.walk())


def measures(question: Question) -> tuple[Measure, ...]:
    """Every measure that some output needs, once."""
    return tuple(dict.fromkeys(measure for output in question.outputs for measure in output.aggregate.measures()))


def _key(question: Question, position: int) -> Key:
    key = question.keys[position]
    if not question.public:
        return Key(key.code, public=False)
    low, high, nullable = key.public_range
    return Key(key.code, public=True, low=low, high=high, nullable=nullable)


def _totals(source: Node, keys: tuple[Key, ...], totals: Mapping[Measure, OwnerTotal], most_groups: int) -> Aggregate:
    """Each owner's totals in each group, clamped, of all their rows; an owner is in `most_groups` groups at most."""
    named = tuple((f"_key{place}", bounded(key.code)) for place, key in enumerate(keys))
    computed = tuple((f"_total{place}", _total(total)) for place, total in enumerate(totals.values()))
    per_owner: Node = OwnerAggregate(source, named, computed)
    columns = facts(per_owner).schema
    if keys:
        groups = 1
        for key in keys:
            groups = groups * key.count if key.public else most_groups
        per_owner = Retruncate(per_owner, min(groups, most_groups))
    summed = tuple(SumRows(column) for name, _ in computed if isinstance(column := columns[name], Stored))
    regrouped = []
    for (name, _), key in zip(named, keys, strict=True):
        column = columns[name]
        if isinstance(column, (Stored, StoredText)):
            regrouped.append(replace(key, code=column))
    return Aggregate(per_owner, tuple(regrouped), summed, tuple(totals))


def _total(total: OwnerTotal) -> Total:
    function = "count" if total.value is None else "sum"
    nullable = total.value is not None
    return Total(function, total.value, total.condition, total.least, total.most, nullable)
