"""From a question to aggregations whose every measure one owner can move by a known amount only."""

from __future__ import annotations

from dither.parameters import whole
from dither.sql.plan import Aggregate, CountOwners, Filter, Key, Measure, Node, OwnerLimit, Scan
from dither.sql.question import Question


def plan(question: Question, *, rows_per_owner: int | None = None) -> tuple[Aggregate, ...]:
    """At most `rows_per_owner` rows of each owner (default: the table's maximum) reach any measure.

    One exception needs no limit: owners counted without groups, where each adds one at most. Standing beside other
    measures that count is an aggregation of its own, the last one.
    """
    most = question.table.max_rows_per_owner
    rows = most if rows_per_owner is None else whole(rows_per_owner, "rows_per_owner", most=most)
    measures = needed(question)
    keys = tuple(
        Key(key.column, key.declaration.low, key.declaration.high, key.declaration.nullable) for key in question.keys
    )
    if keys:
        return (Aggregate(_source(question, rows), keys, measures),)
    limited = tuple(measure for measure in measures if not isinstance(measure, CountOwners))
    aggregates = [Aggregate(_source(question, rows), (), limited)] if limited else []
    if len(limited) < len(measures):
        aggregates.append(Aggregate(_source(question, None), (), (CountOwners(),)))
    return tuple(aggregates)


def needed(question: Question) -> tuple[Measure, ...]:
    """Every measure that some output needs, once."""
    return tuple(dict.fromkeys(measure for output in question.outputs for measure in output.aggregate.measures()))


def _source(question: Question, rows: int | None) -> Node:
    source: Node = Scan(question.table)
    if rows is not None:
        source = OwnerLimit(source, rows)
    return source if question.predicate is None else Filter(source, question.predicate)
