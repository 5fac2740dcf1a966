"""From a checked plan to SQL for an engine: the measures of each group, over the blocks of its relations."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from dither.errors import PolicyError
from dither.policy.catalog import PublicTable, Table
from dither.sql import expressions as e
from dither.sql.lowering.block import Block
from dither.sql.lowering.blocks import Blocks
from dither.sql.lowering.dialect import Dialect
from dither.sql.lowering.duckdb_dialect import DUCKDB
from dither.sql.lowering.statement import CANDIDATES, PLACE, Statement, TwoSteps
from dither.sql.lowering.writer import Writer, compares
from dither.sql.memo import remembered
from dither.sql.plan.nodes import (
    Aggregate,
    CountDistinct,
    CountOwners,
    CountRows,
    Filter,
    Measure,
    OwnerLimit,
    OwnerWindow,
    Project,
    PublicScan,
    Retruncate,
    Scan,
    SumRows,
)


@remembered
def lower(aggregate: Aggregate, dialect: Dialect = DUCKDB) -> Statement:
    """The statement that computes the measures of each group."""
    aggregate = _counting(aggregate, dialect)
    ranked = any(isinstance(node, (Retruncate, OwnerWindow)) for node in aggregate.walk())
    blocks = Blocks(dialect, used(aggregate), ranked)
    block = blocks.of(aggregate.child)
    writer = blocks.writer(block)
    keys = [writer.any(key.code) if key.public else writer.code(key.code) for key in aggregate.keys]
    chosen = aggregate.chosen_from
    if chosen is not None:
        value = writer.wide(chosen, writer.type(chosen)) if not isinstance(chosen, e.Stored) else writer.number(chosen)
        measures, values = ["COUNT(*)"], [value]
        if chosen.nullable:
            block = replace(block, conditions=(*block.conditions, f"({value} IS NOT NULL)"))
    else:
        measures, values = [_measure(measure, writer, block) for measure in aggregate.measures], []
        if aggregate.measures == (CountOwners(),) and not keys and type(aggregate.child) in (Scan, OwnerLimit):
            # Every owner has exactly one row of rank 1.
            measures, block = ["COUNT(*)"], replace(block, conditions=(f"{block.ranks[0].sql} = 1",))
    shown = [f"{key} AS k{i}" for i, key in enumerate(keys)]
    shown += [f"{value} AS v" for value in values]
    grouped = len(shown)
    shown += [f"{sql} AS m{i}" for i, sql in enumerate(measures)]
    sql = f"SELECT {', '.join(shown)} FROM {block.body}"
    if grouped:
        sql += f" GROUP BY {', '.join(str(place + 1) for place in range(grouped))}"
        if aggregate.public or chosen is not None:
            sql = f"SELECT {', '.join(_held(aggregate, len(measures), dialect))} FROM {dialect.subquery(sql)}"
    steps = _two_steps(aggregate, block, keys, measures, dialect)
    return Statement(_tables(aggregate), sql, aggregate.keys, len(measures), chosen is not None, steps)


def _counting(aggregate: Aggregate, dialect: Dialect) -> Aggregate:
    """A count of all rows that fit a comparison, as one of how many of the rows below do: the same number."""
    chosen = aggregate.child
    if not dialect.columnar or aggregate.keys or aggregate.measures != (CountRows(),):
        return aggregate
    if not isinstance(chosen, Filter) or type(chosen.child) not in (Scan, OwnerLimit) or not compares(chosen.predicate):
        return aggregate
    return replace(aggregate, child=chosen.child, measures=(CountRows(chosen.predicate),))


def _held(aggregate: Aggregate, measures: int, dialect: Dialect) -> Iterable[str]:
    """The columns of a result with all public codes moved into their ranges, whatever the rows held.

    Codes are proven to lie there, so nothing moves; and there are far fewer groups than rows, so it takes no time. If a
    proof were wrong, groups would flow together where otherwise a result outside its range would show by a failure.
    """
    for place, key in enumerate(aggregate.keys):
        name = f"k{place}"
        yield _inside(name, key.low, key.high, key.nullable, dialect) if key.public else name
    if aggregate.chosen_from is not None:
        yield _inside("v", *aggregate.chosen_from.bounds, False, dialect)
    yield from (f"m{place}" for place in range(measures))


def _inside(name: str, low: int, high: int, nullable: bool, dialect: Dialect) -> str:
    present = name if nullable else f"COALESCE({name}, {low})"
    held = f"CASE WHEN {name} < {low} THEN {low} WHEN {name} > {high} THEN {high} ELSE {present} END"
    return f"{dialect.cast(held, dialect.word)} AS {name}"


def _two_steps(
    aggregate: Aggregate, block: Block, keys: list[str], measures: list[str], dialect: Dialect
) -> TwoSteps | None:
    """Counting different owners of every key takes long, counting rows does not, and no key has more owners than rows.

    Not where finding the rows is what takes long, since that would be done twice.
    """
    simple = all(isinstance(node, (Scan, OwnerLimit, Filter, Project)) for node in aggregate.child.walk())
    if aggregate.public or not simple or aggregate.measures[0] != CountOwners():
        return None
    places = ", ".join(str(place + 1) for place in range(len(keys)))
    shown = ", ".join(f"{key} AS k{i}" for i, key in enumerate(keys))
    agree = " AND ".join(dialect.same(key, f"{CANDIDATES}.{dialect.name(f'k{i}')}") for i, key in enumerate(keys))
    narrowed = replace(block, source=f"{block.source} JOIN {CANDIDATES} ON {agree}")
    place = f"{CANDIDATES}.{dialect.name(PLACE)} AS k0"
    found = ", ".join([place, *(f"{sql} AS m{i}" for i, sql in enumerate(measures))])
    return TwoSteps(
        bounds=f"SELECT {shown}, COUNT(*) AS m0 FROM {block.body} GROUP BY {places}",
        measures=f"SELECT {found} FROM {narrowed.body} GROUP BY 1",
    )


def used(aggregate: Aggregate) -> frozenset[str]:
    """The names of all columns that any expression of the plan reads: no other column need be carried along."""
    return frozenset(
        inner.name
        for expression in _expressions(aggregate)
        for inner in expression.walk()
        if isinstance(inner, (e.Stored, e.StoredText))
    )


def _expressions(value: object) -> Iterable[e.Expression]:
    if isinstance(value, e.Expression):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _expressions(item)
    elif hasattr(value, "__dataclass_fields__") and not isinstance(value, (Table, PublicTable)):
        for name in value.__dataclass_fields__:
            yield from _expressions(getattr(value, name))


def _tables(aggregate: Aggregate) -> tuple[Table | PublicTable, ...]:
    found = {node.table.name: node.table for node in aggregate.walk() if isinstance(node, (Scan, PublicScan))}
    return tuple(found[name] for name in sorted(found))


def _measure(measure: Measure, writer: Writer, block: Block) -> str:
    if isinstance(measure, CountOwners):
        return f"COUNT(DISTINCT {block.owner})"
    if isinstance(measure, CountRows):
        return writer.count(measure.condition)
    if isinstance(measure, CountDistinct):
        return f"COUNT(DISTINCT {writer.any(measure.value)})"
    if isinstance(measure, SumRows):
        return writer.sum(measure.value)
    raise PolicyError(f"a measure {type(measure).__name__} cannot be written as SQL.")
