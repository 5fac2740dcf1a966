"""Relations of a plan as blocks: the parts of a SELECT, merged as far as SQL allows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from dither.errors import PolicyError
from dither.sql import expressions as e
from dither.sql.catalog import MOST_ROWS
from dither.sql.dialect import DuckDB
from dither.sql.facts import facts
from dither.sql.implied import Origins, equalities, parent_side
from dither.sql.intervals import Schema
from dither.sql.plan import (
    Filter,
    JoinOwner,
    JoinPublic,
    Node,
    OwnerAggregate,
    OwnerLimit,
    Project,
    PublicScan,
    Retruncate,
    Scan,
    SemiJoin,
    Total,
    UnionAll,
)
from dither.sql.statement import schema_name
from dither.sql.writer import WORD, Writer

OWNER, RANK = '"_owner"', '"_rank"'


@dataclass(frozen=True)
class Block:
    """A relation as the parts of a SELECT: how its columns, owner and ranks are written, FROM what, WHERE what.

    A `plain` one can stand on the right of a join as it is, its conditions among those of the join. `origins` are the
    tables' own columns among its columns. `schema` and `total` are what the guard has proven about the relation.
    """

    source: str
    columns: dict[str, str]
    owner: str = ""
    ranks: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    plain: bool = True
    origins: Origins = field(default_factory=dict)
    schema: Schema = field(default_factory=dict)
    total: int = MOST_ROWS

    @property
    def body(self) -> str:
        return self.source + (f" WHERE {' AND '.join(self.conditions)}" if self.conditions else "")


@dataclass(frozen=True)
class Blocks:
    """Writes relations with the columns in `used`, each under a name of its own."""

    dialect: DuckDB
    used: frozenset[str]
    ranked: bool  # whether rows are truncated by rank somewhere above their scans
    numbers: count[int] = field(default_factory=lambda: count(1))

    def of(self, node: Node) -> Block:
        rule = NODES.get(type(node))
        if rule is None:
            raise PolicyError(f"a plan node {type(node).__name__} cannot be written as SQL.")
        known = facts(node)
        return replace(rule(self, node), schema=known.schema, total=known.total)

    def writer(self, *blocks: Block) -> Writer:
        columns = {name: sql for block in blocks for name, sql in block.columns.items()}
        schema = {name: column for block in blocks for name, column in block.schema.items()}
        return Writer(self.dialect, columns, schema, max(block.total for block in blocks))

    def scan(self, node: Scan | PublicScan) -> Block:
        called = f"s{next(self.numbers)}"
        source = f'{self.dialect.name(schema_name(node.table))}."rows" AS {called}'
        columns = {name: f"{called}.{self.dialect.name(own)}" for own, name in node.names if name in self.used}
        if isinstance(node, PublicScan):
            return Block(source, columns)
        origins = {name: (node.table, own) for own, name in node.names}
        return Block(source, columns, f"{called}.{OWNER}", (f"{called}.{RANK}",), origins=origins)

    def limited(self, node: OwnerLimit) -> Block:
        block = self.of(node.child)
        return self.where(block, f"{block.ranks[0]} <= {node.rows}")

    def filtered(self, node: Filter) -> Block:
        block = self.of(node.child)
        return self.where(block, self.writer(block).truth(node.predicate))

    def where(self, block: Block, *conditions: str) -> Block:
        return replace(block, conditions=(*block.conditions, *conditions))

    def projected(self, node: Project) -> Block:
        block = self.of(node.child)
        writer = self.writer(block)
        wanted = [(name, value) for name, value in node.columns if name in self.used]
        kept = {name: value.name for name, value in wanted if isinstance(value, (e.Stored, e.StoredText))}
        origins = {name: block.origins[own] for name, own in kept.items() if own in block.origins}
        if len(kept) == len(wanted):
            return replace(block, columns={name: writer.any(value) for name, value in wanted}, origins=origins)
        nested = self.nested(block, {name: self.typed(writer, value) for name, value in wanted})
        return replace(nested, origins=origins)

    def typed(self, writer: Writer, value: e.Expression, *, code: bool = False) -> str:
        """A value as a column of its own: numbers in the word that holds them."""
        if isinstance(value, e.Clamp) and code:
            return f"CAST({writer.clamped(value)} AS {writer.type(value)})"
        return writer.wide(value, writer.type(value)) if isinstance(value, e.Numeric) else writer.any(value)

    def nested(self, block: Block, columns: dict[str, str], grouped: str = "") -> Block:
        """The block as a subquery with these columns, beside the owner and the ranks."""
        called = f"q{next(self.numbers)}"
        ranks = [f'{rank} AS "_r{i}"' for i, rank in enumerate(block.ranks if self.ranked else ())]
        owner = [f"{block.owner} AS {OWNER}"] if block.owner else []
        shown = [*owner, *ranks, *(f"{sql} AS {self.dialect.name(name)}" for name, sql in columns.items())]
        return Block(
            f"(SELECT {', '.join(shown)} FROM {block.body}{grouped}) AS {called}",
            {name: f"{called}.{self.dialect.name(name)}" for name in columns},
            f"{called}.{OWNER}" if block.owner else "",
            tuple(f'{called}."_r{i}"' for i in range(len(ranks))),
        )

    def joined(self, node: JoinPublic | JoinOwner) -> Block:
        left = self.of(node.child)
        right = self.of(node.public if isinstance(node, JoinPublic) else node.other)
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

    def semi_joined(self, node: SemiJoin) -> Block:
        block, other = self.of(node.child), self.of(node.other)
        conditions = list(other.conditions)
        if other.owner and parent_side(equalities(node.condition), block.origins, other.origins) is None:
            conditions.append(f"{other.owner} = {block.owner}")
        if node.condition is not None:
            conditions.append(self.writer(block, other).truth(node.condition))
        found = f"EXISTS (SELECT 1 FROM {replace(other, conditions=tuple(conditions)).body})"
        return replace(self.where(block, f"(NOT {found})" if node.negated else found), plain=False)

    def united(self, node: UnionAll) -> Block:
        blocks = [self.of(part) for part in node.parts]
        widest = max(len(block.ranks) for block in blocks)
        names = [name for name in blocks[0].columns if name in self.used]
        called = f"u{next(self.numbers)}"
        parts = []
        for place, block in enumerate(blocks):
            ranks = [str(place), *block.ranks, *["0"] * (widest - len(block.ranks))] if self.ranked else []
            shown = [f"{block.owner} AS {OWNER}", *(f'{rank} AS "_r{i}"' for i, rank in enumerate(ranks))]
            shown += [f"{block.columns[name]} AS {self.dialect.name(name)}" for name in names]
            parts.append(f"SELECT {', '.join(shown)} FROM {block.body}")
        return Block(
            f"({' UNION ALL '.join(parts)}) AS {called}",
            {name: f"{called}.{self.dialect.name(name)}" for name in names},
            f"{called}.{OWNER}",
            tuple(f'{called}."_r{i}"' for i in range(widest + 1 if self.ranked else 0)),
        )

    def per_owner(self, node: OwnerAggregate) -> Block:
        """Ranks of a group: the least of its rows', then the keys, so that no two groups of an owner are level."""
        block = self.of(node.child)
        writer = self.writer(block)
        keys = {name: self.typed(writer, value, code=True) for name, value in node.keys}
        totals = {name: self.total(writer, total) for name, total in node.totals if name in self.used}
        ranks = (*(f"MIN({rank})" for rank in block.ranks), *keys.values())
        grouped = f" GROUP BY {', '.join([block.owner, *keys.values()])}"
        return self.nested(replace(block, ranks=ranks), {**keys, **totals}, grouped)

    def total(self, writer: Writer, total: Total) -> str:
        largest = writer.rows
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

    def truncated(self, node: Retruncate) -> Block:
        block = self.of(node.child)
        called = f"w{next(self.numbers)}"
        place = f"ROW_NUMBER() OVER (PARTITION BY {block.owner} ORDER BY {', '.join(block.ranks)})"
        shown = [f"{block.owner} AS {OWNER}", f'{place} AS "_place"']
        shown += [f"{sql} AS {self.dialect.name(name)}" for name, sql in block.columns.items()]
        return Block(
            f"(SELECT {', '.join(shown)} FROM {block.body}) AS {called}",
            {name: f"{called}.{self.dialect.name(name)}" for name in block.columns},
            f"{called}.{OWNER}",
            (f'{called}."_place"',),
            (f'{called}."_place" <= {node.rows}',),
        )


NODES: dict[type[Node], Callable[[Blocks, Any], Block]] = {
    Scan: Blocks.scan,
    PublicScan: Blocks.scan,
    OwnerLimit: Blocks.limited,
    Filter: Blocks.filtered,
    Project: Blocks.projected,
    JoinPublic: Blocks.joined,
    JoinOwner: Blocks.joined,
    SemiJoin: Blocks.semi_joined,
    UnionAll: Blocks.united,
    OwnerAggregate: Blocks.per_owner,
    Retruncate: Blocks.truncated,
}
