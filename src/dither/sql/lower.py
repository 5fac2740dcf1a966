"""From a checked plan to SQL for an engine: relations become blocks, which are merged as far as SQL allows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from dither.errors import PolicyError
from dither.sql import expressions as e
from dither.sql.catalog import PublicTable, Table
from dither.sql.dialect import DUCKDB, DuckDB
from dither.sql.implied import Origins, equalities, parent_side
from dither.sql.plan import (
    Aggregate,
    CountDistinct,
    CountOwners,
    CountRows,
    Filter,
    JoinOwner,
    JoinPublic,
    Measure,
    Node,
    OwnerAggregate,
    OwnerLimit,
    Project,
    PublicScan,
    Retruncate,
    Scan,
    SemiJoin,
    SumRows,
    Total,
    UnionAll,
)
from dither.sql.remembered import remembered
from dither.sql.statement import CANDIDATES, MOST_ROWS, Statement, TwoSteps, schema_name
from dither.sql.writer import WORD, Writer

OWNER, RANK = '"_owner"', '"_rank"'


@remembered(128)
def lower(aggregate: Aggregate, dialect: DuckDB = DUCKDB) -> Statement:
    """The statement that computes the measures of each group."""
    ranked = any(isinstance(node, Retruncate) for node in aggregate.walk())
    lowering = _Lowering(dialect, _used(aggregate), ranked)
    block = lowering.block(aggregate.child)
    writer = lowering.writer(block)
    keys = [writer.any(key.code) for key in aggregate.keys]
    chosen = aggregate.chosen_from
    if chosen is not None:
        value = writer.wide(chosen, writer.type(chosen)) if not isinstance(chosen, e.Stored) else writer.number(chosen)
        measures, values = ["COUNT(*)"], [value]
        if chosen.nullable:
            block = replace(block, conditions=(*block.conditions, f"({value} IS NOT NULL)"))
    else:
        measures, values = [_measure(measure, writer, block) for measure in aggregate.measures], []
        if aggregate.measures == (CountOwners(),) and not keys and type(aggregate.child) is Scan:
            # Every owner has exactly one row of rank 1.
            measures, block = ["COUNT(*)"], replace(block, conditions=(f"{block.ranks[0]} = 1",))
    shown = [f"{key} AS k{i}" for i, key in enumerate(keys)]
    shown += [f"{value} AS v" for value in values]
    grouped = len(shown)
    shown += [f"{sql} AS m{i}" for i, sql in enumerate(measures)]
    sql = f"SELECT {', '.join(shown)} FROM {block.body}"
    if grouped:
        sql += f" GROUP BY {', '.join(str(place + 1) for place in range(grouped))}"
    steps = _two_steps(aggregate, block, keys, measures)
    return Statement(_tables(aggregate), sql, aggregate.keys, len(measures), chosen is not None, steps)


def _two_steps(aggregate: Aggregate, block: _Block, keys: list[str], measures: list[str]) -> TwoSteps | None:
    """Counting different owners of every key takes long, counting rows does not, and no key has more owners than rows.

    Not where finding the rows is what takes long, since that would be done twice.
    """
    simple = all(isinstance(node, (Scan, OwnerLimit, Filter, Project)) for node in aggregate.child.walk())
    if aggregate.public or not simple or aggregate.measures[0] != CountOwners():
        return None
    places = ", ".join(str(place + 1) for place in range(len(keys)))
    shown = ", ".join(f"{key} AS k{i}" for i, key in enumerate(keys))
    agree = " AND ".join(f'({key}) IS NOT DISTINCT FROM {CANDIDATES}."k{i}"' for i, key in enumerate(keys))
    narrowed = replace(block, source=f"{block.source} JOIN {CANDIDATES} ON {agree}")
    found = ", ".join([f'{CANDIDATES}."_place" AS k0', *(f"{sql} AS m{i}" for i, sql in enumerate(measures))])
    return TwoSteps(
        bounds=f"SELECT {shown}, COUNT(*) AS m0 FROM {block.body} GROUP BY {places}",
        measures=f"SELECT {found} FROM {narrowed.body} GROUP BY 1",
    )


def _used(aggregate: Aggregate) -> frozenset[str]:
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


@dataclass(frozen=True)
class _Block:
    """A relation as the parts of a SELECT: how its columns, owner and ranks are written, FROM what, WHERE what.

    A `plain` one can stand on the right of a join as it is, its conditions among those of the join. `origins` are the
    tables' own columns among its columns.
    """

    source: str
    columns: dict[str, str]
    owner: str = ""
    ranks: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    plain: bool = True
    origins: Origins = field(default_factory=dict)

    @property
    def body(self) -> str:
        return self.source + (f" WHERE {' AND '.join(self.conditions)}" if self.conditions else "")


@dataclass(frozen=True)
class _Lowering:
    dialect: DuckDB
    used: frozenset[str]
    ranked: bool  # whether rows are truncated by rank somewhere above their scans
    numbers: count[int] = field(default_factory=lambda: count(1))

    def block(self, node: Node) -> _Block:
        rule = NODES.get(type(node))
        if rule is None:
            raise PolicyError(f"a plan node {type(node).__name__} cannot be written as SQL.")
        return rule(self, node)

    def writer(self, *blocks: _Block) -> Writer:
        return Writer(self.dialect, {name: sql for block in blocks for name, sql in block.columns.items()})

    def scan(self, node: Scan | PublicScan) -> _Block:
        called = f"s{next(self.numbers)}"
        source = f'{self.dialect.name(schema_name(node.table))}."rows" AS {called}'
        columns = {name: f"{called}.{self.dialect.name(own)}" for own, name in node.names if name in self.used}
        if isinstance(node, PublicScan):
            return _Block(source, columns)
        origins = {name: (node.table, own) for own, name in node.names}
        return _Block(source, columns, f"{called}.{OWNER}", (f"{called}.{RANK}",), origins=origins)

    def limited(self, node: OwnerLimit) -> _Block:
        block = self.block(node.child)
        return self.where(block, f"{block.ranks[0]} <= {node.rows}")

    def filtered(self, node: Filter) -> _Block:
        block = self.block(node.child)
        return self.where(block, self.writer(block).truth(node.predicate))

    def where(self, block: _Block, *conditions: str) -> _Block:
        return replace(block, conditions=(*block.conditions, *conditions))

    def projected(self, node: Project) -> _Block:
        block = self.block(node.child)
        writer = self.writer(block)
        wanted = [(name, value) for name, value in node.columns if name in self.used]
        kept = {name: value.name for name, value in wanted if isinstance(value, (e.Stored, e.StoredText))}
        origins = {name: block.origins[own] for name, own in kept.items() if own in block.origins}
        if len(kept) == len(wanted):
            return replace(block, columns={name: writer.any(value) for name, value in wanted}, origins=origins)
        nested = self.nested(block, {name: self.typed(writer, value) for name, value in wanted})
        return replace(nested, origins=origins)

    def typed(self, writer: Writer, value: e.Expression) -> str:
        """A value as a column of its own: numbers in the word that holds them."""
        return writer.wide(value, writer.type(value)) if isinstance(value, e.Numeric) else writer.any(value)

    def nested(self, block: _Block, columns: dict[str, str], grouped: str = "") -> _Block:
        """The block as a subquery with these columns, beside the owner and the ranks."""
        called = f"q{next(self.numbers)}"
        ranks = [f'{rank} AS "_r{i}"' for i, rank in enumerate(block.ranks if self.ranked else ())]
        owner = [f"{block.owner} AS {OWNER}"] if block.owner else []
        shown = [*owner, *ranks, *(f"{sql} AS {self.dialect.name(name)}" for name, sql in columns.items())]
        return _Block(
            f"(SELECT {', '.join(shown)} FROM {block.body}{grouped}) AS {called}",
            {name: f"{called}.{self.dialect.name(name)}" for name in columns},
            f"{called}.{OWNER}" if block.owner else "",
            tuple(f'{called}."_r{i}"' for i in range(len(ranks))),
        )

    def joined(self, node: JoinPublic | JoinOwner) -> _Block:
        left = self.block(node.child)
        right = self.block(node.public if isinstance(node, JoinPublic) else node.other)
        if not right.plain:
            right = replace(self.nested(right, right.columns), origins=right.origins)
        parent = parent_side(node.equal, left.origins, right.origins) if isinstance(node, JoinOwner) else None
        on = [f"{left.owner} = {right.owner}"] if isinstance(node, JoinOwner) and parent is None else []
        ours, theirs = self.writer(left), self.writer(right)
        on += [f"({ours.any(mine)} = {theirs.any(other)})" for mine, other in node.equal]
        if node.condition is not None:
            on.append(self.writer(left, right).truth(node.condition))
        source = f"{left.source} {'LEFT JOIN' if node.outer else 'JOIN'} {right.source} ON "
        source += " AND ".join([*on, *right.conditions])
        # Ranks may be texts, and NULL where LEFT JOIN found nothing: one row of the left then, so still no two alike.
        ranks, columns = (*left.ranks, *right.ranks), {**left.columns, **right.columns}
        origins = {**left.origins, **right.origins}
        # Either owner will do. The parent has fewer rows, and is where a plain query would go on from.
        owner = right.owner if parent == "right" and not node.outer else left.owner
        return replace(left, source=source, columns=columns, owner=owner, ranks=ranks, plain=False, origins=origins)

    def semi_joined(self, node: SemiJoin) -> _Block:
        block, other = self.block(node.child), self.block(node.other)
        conditions = list(other.conditions)
        if other.owner and parent_side(equalities(node.condition), block.origins, other.origins) is None:
            conditions.append(f"{other.owner} = {block.owner}")
        if node.condition is not None:
            conditions.append(self.writer(block, other).truth(node.condition))
        found = f"EXISTS (SELECT 1 FROM {replace(other, conditions=tuple(conditions)).body})"
        return replace(self.where(block, f"(NOT {found})" if node.negated else found), plain=False)

    def united(self, node: UnionAll) -> _Block:
        blocks = [self.block(part) for part in node.parts]
        widest = max(len(block.ranks) for block in blocks)
        names = [name for name in blocks[0].columns if name in self.used]
        called = f"u{next(self.numbers)}"
        parts = []
        for place, block in enumerate(blocks):
            ranks = [str(place), *block.ranks, *["0"] * (widest - len(block.ranks))] if self.ranked else []
            shown = [f"{block.owner} AS {OWNER}", *(f'{rank} AS "_r{i}"' for i, rank in enumerate(ranks))]
            shown += [f"{block.columns[name]} AS {self.dialect.name(name)}" for name in names]
            parts.append(f"SELECT {', '.join(shown)} FROM {block.body}")
        return _Block(
            f"({' UNION ALL '.join(parts)}) AS {called}",
            {name: f"{called}.{self.dialect.name(name)}" for name in names},
            f"{called}.{OWNER}",
            tuple(f'{called}."_r{i}"' for i in range(widest + 1 if self.ranked else 0)),
        )

    def per_owner(self, node: OwnerAggregate) -> _Block:
        """Ranks of a group: the least of its rows', then the keys, so that no two groups of an owner are level."""
        block = self.block(node.child)
        writer = self.writer(block)
        keys = {name: self.typed(writer, value) for name, value in node.keys}
        totals = {name: self.total(writer, total) for name, total in node.totals if name in self.used}
        ranks = (*(f"MIN({rank})" for rank in block.ranks), *keys.values())
        grouped = f" GROUP BY {', '.join([block.owner, *keys.values()])}"
        return self.nested(replace(block, ranks=ranks), {**keys, **totals}, grouped)

    def total(self, writer: Writer, total: Total) -> str:
        largest = MOST_ROWS
        if total.value is None:
            computed = writer.count(total.condition)
        else:
            computed = f"{total.function.upper()}({writer.number(total.value)})"
            largest *= max(1, *map(abs, total.value.bounds))
        type_ = writer.word_for(total.least, total.most)
        inside = type_ if largest <= WORD else self.dialect.double_word
        low, high = (writer.constant(end, inside) for end in (total.least, total.most))
        wide = f"CAST({computed} AS {inside})"
        clamped = f"GREATEST({low}, LEAST({wide}, {high}))"
        if total.nullable:
            clamped = f"CASE WHEN {computed} IS NULL THEN NULL ELSE {clamped} END"
        return f"CAST({clamped} AS {type_})"

    def truncated(self, node: Retruncate) -> _Block:
        block = self.block(node.child)
        called = f"w{next(self.numbers)}"
        place = f"ROW_NUMBER() OVER (PARTITION BY {block.owner} ORDER BY {', '.join(block.ranks)})"
        shown = [f"{block.owner} AS {OWNER}", f'{place} AS "_place"']
        shown += [f"{sql} AS {self.dialect.name(name)}" for name, sql in block.columns.items()]
        return _Block(
            f"(SELECT {', '.join(shown)} FROM {block.body}) AS {called}",
            {name: f"{called}.{self.dialect.name(name)}" for name in block.columns},
            f"{called}.{OWNER}",
            (f'{called}."_place"',),
            (f'{called}."_place" <= {node.rows}',),
        )


def _measure(measure: Measure, writer: Writer, block: _Block) -> str:
    if isinstance(measure, CountOwners):
        return f"COUNT(DISTINCT {block.owner})"
    if isinstance(measure, CountRows):
        return writer.count(measure.condition)
    if isinstance(measure, CountDistinct):
        return f"COUNT(DISTINCT {writer.any(measure.value)})"
    if isinstance(measure, SumRows):
        return writer.sum(measure.value)
    raise PolicyError(f"a measure {type(measure).__name__} cannot be written as SQL.")


NODES: dict[type[Node], Callable[[_Lowering, Any], _Block]] = {
    Scan: _Lowering.scan,
    PublicScan: _Lowering.scan,
    OwnerLimit: _Lowering.limited,
    Filter: _Lowering.filtered,
    Project: _Lowering.projected,
    JoinPublic: _Lowering.joined,
    JoinOwner: _Lowering.joined,
    SemiJoin: _Lowering.semi_joined,
    UnionAll: _Lowering.united,
    OwnerAggregate: _Lowering.per_owner,
    Retruncate: _Lowering.truncated,
}
