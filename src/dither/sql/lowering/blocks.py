"""Relations of a plan as blocks: the parts of a SELECT, merged as far as SQL allows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from dither.errors import PolicyError
from dither.policy.columns import Column, Text
from dither.sql import expressions as e
from dither.sql.guard.facts import facts, most_found
from dither.sql.lowering.block import Block, Rank, named
from dither.sql.lowering.dialect import WORD, Dialect
from dither.sql.lowering.owner_equalities import equalities, parent_side
from dither.sql.lowering.statement import OWNER, PLACE, RANK
from dither.sql.lowering.writer import Writer
from dither.sql.plan.nodes import (
    Filter,
    JoinFull,
    JoinOwner,
    JoinPublic,
    Node,
    OwnerAggregate,
    OwnerLimit,
    OwnerWindow,
    Project,
    PublicAggregate,
    PublicScan,
    Retruncate,
    Scan,
    SemiJoin,
    Total,
    UnionAll,
)
from dither.sql.plan.window_nodes import Window


@dataclass(frozen=True)
class Blocks:
    """Writes relations with the columns in `used`, each under a name of its own."""

    dialect: Dialect
    used: frozenset[str]
    ranked: bool  # whether rows are truncated or numbered by rank somewhere above their scans
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
        source = f"{self.dialect.rows(node.table)} AS {called}"
        columns = {name: self.column(called, own) for own, name in node.names if name in self.used}
        if isinstance(node, PublicScan):
            ranks = (self._ranked(self.column(called, own), node.table.columns[own]) for own in node.table.key)
            return Block(source, columns, ranks=tuple(ranks))
        origins = {name: (node.table, own) for own, name in node.names}
        return Block(source, columns, self.column(called, OWNER), (Rank(self.column(called, RANK)),), origins=origins)

    def _ranked(self, sql: str, column: Column) -> Rank:
        return Rank(self.dialect.ordered(sql), text=True) if isinstance(column, Text) else Rank(sql)

    def column(self, relation: str, name: str) -> str:
        return f"{relation}.{self.dialect.name(name)}"

    def select(self, block: Block, ranks: Mapping[str, Rank], columns: Mapping[str, str]) -> str:
        """A query for the owner of each row, its ranks, and the columns, under their names."""
        owner = [(OWNER, block.owner)] if block.owner else []
        shown = [*owner, *((name, rank.sql) for name, rank in ranks.items()), *columns.items()]
        named = [f"{sql} AS {self.dialect.name(name)}" for name, sql in shown]
        return f"SELECT {', '.join(named) or '1'} FROM {block.body}"

    def derived(
        self, called: str, sql: str, ranks: Mapping[str, Rank], columns: Iterable[str], *, owned: bool = True
    ) -> Block:
        """A query as a relation with ranks and columns of these names."""
        return Block(
            f"({sql}) AS {called}",
            {name: self.column(called, name) for name in columns},
            self.column(called, OWNER) if owned else "",
            tuple(Rank(self.column(called, name), rank.text) for name, rank in ranks.items()),
        )

    def limited(self, node: OwnerLimit) -> Block:
        block = self.of(node.child)
        return self.where(block, f"{block.ranks[0].sql} <= {node.rows}")

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
            return self.dialect.cast(writer.clamped(value), writer.type(value))
        return writer.wide(value, writer.type(value)) if isinstance(value, e.Numeric) else writer.any(value)

    def nested(self, block: Block, columns: dict[str, str], grouped: str = "") -> Block:
        """The block as a subquery with these columns, beside the owner and the ranks."""
        called = f"q{next(self.numbers)}"
        ranks = named(block.ranks if self.ranked else ())
        sql = self.select(block, ranks, columns) + grouped
        return self.derived(called, sql, ranks, columns, owned=bool(block.owner))

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
        source += " AND ".join([*on, *right.conditions]) or "(1 = 1)"
        # Ranks may be texts, and NULL where LEFT JOIN found nothing: one row of the left then, so still no two alike.
        # Those of public rows are their key, and tell nothing apart where a row finds one at most.
        several = isinstance(node, JoinOwner) or most_found(node) > 1
        ranks, columns = (*left.ranks, *(right.ranks if several else ())), {**left.columns, **right.columns}
        origins = {**left.origins, **right.origins}
        # Either owner will do. The parent has fewer rows, and is where a plain query would go on from.
        owner = right.owner if parent == "right" and not node.outer else left.owner
        return replace(left, source=source, columns=columns, owner=owner, ranks=ranks, plain=False, origins=origins)

    def joined_fully(self, node: JoinFull) -> Block:
        """Each side a query of its own, so that its conditions choose rows before those without a partner are kept."""
        blocks = [self.of(node.child), self.of(node.other)]
        left, right = (replace(self.nested(block, block.columns), origins=block.origins) for block in blocks)
        on = [f"{left.owner} = {right.owner}"]
        ours, theirs = self.writer(blocks[0], left), self.writer(blocks[1], right)
        on += [f"({ours.any(mine)} = {theirs.any(other)})" for mine, other in node.equal]
        if node.condition is not None:
            on.append(self.writer(*blocks, left, right).truth(node.condition))
        source = f"{left.source} FULL JOIN {right.source} ON {' AND '.join(on)}"
        # A row has one owner, whichever side it comes from. Its ranks are NULL on the side that has none of it.
        owner = f"COALESCE({left.owner}, {right.owner})"
        columns, ranks = {**left.columns, **right.columns}, (*left.ranks, *right.ranks)
        return Block(source, columns, owner, ranks, plain=False, origins={**left.origins, **right.origins})

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
        """The ranks of all parts are as many and of the same types, behind the place of the part."""
        blocks = [self.of(part) for part in node.parts]
        widest = max(len(block.ranks) for block in blocks)
        texts = {place for block in blocks for place, rank in enumerate(block.ranks) if rank.text}
        names = [name for name in blocks[0].columns if name in self.used]
        called = f"u{next(self.numbers)}"
        parts = []
        for part, block in enumerate(blocks):
            own = enumerate([*block.ranks, *[Rank("0")] * (widest - len(block.ranks))])
            alike = [self.as_text(rank) if place in texts else rank for place, rank in own]
            ranks = named([Rank(str(part)), *alike] if self.ranked else [])
            parts.append(self.select(block, ranks, {name: block.columns[name] for name in names}))
        return self.derived(called, " UNION ALL ".join(parts), ranks, names)

    def as_text(self, rank: Rank) -> Rank:
        if rank.text:
            return rank
        return Rank(self.dialect.ordered(self.dialect.cast(rank.sql, self.dialect.text_type)), text=True)

    def per_owner(self, node: OwnerAggregate) -> Block:
        """Ranks of a group: the least of its rows', then the keys, so that no two groups of an owner are level."""
        block = self.of(node.child)
        least = [Rank(f"MIN({rank.sql})", rank.text) for rank in block.ranks]
        return self.grouped(node, block, [block.owner], least)

    def of_public(self, node: PublicAggregate) -> Block:
        return self.grouped(node, self.of(node.child), [], [])

    def grouped(
        self, node: OwnerAggregate | PublicAggregate, block: Block, by: Sequence[str], ranks: Sequence[Rank]
    ) -> Block:
        """Keys and totals of each group by these and the keys; without any there is one, also of no rows."""
        writer = self.writer(block)
        keys = {name: self.typed(writer, value, code=True) for name, value in node.keys}
        totals = {name: self.total(writer, total) for name, total in node.totals if name in self.used}
        ranks = (*ranks, *(self.ranking(keys[name], value) for name, value in node.keys))
        groups = [*by, *keys.values()]
        made = {**keys, **totals} if groups or totals else {"n": "COUNT(*)"}
        return self.nested(replace(block, ranks=ranks), made, f" GROUP BY {', '.join(groups)}" if groups else "")

    def ranking(self, sql: str, value: e.Expression) -> Rank:
        return Rank(sql) if isinstance(value, e.Numeric) else Rank(self.dialect.ordered(sql), text=True)

    def total(self, writer: Writer, total: Total) -> str:
        largest = writer.rows
        if total.value is None:
            computed = writer.count(total.condition)
        elif total.function == "distinct" or not isinstance(total.value, e.Numeric):
            computed = f"COUNT(DISTINCT {writer.any(total.value)})"
        else:
            computed = writer.total(total.function, total.value)
            largest *= max(1, *map(abs, total.value.bounds))
        type_ = writer.word_for(total.least, total.most)
        inside = type_ if largest <= WORD else self.dialect.double_word
        low, high = (writer.constant(end, inside) for end in (total.least, total.most))
        clamped = self.dialect.greatest(low, self.dialect.least(self.dialect.cast(computed, inside), high))
        if total.nullable:
            clamped = f"CASE WHEN {computed} IS NULL THEN NULL ELSE {clamped} END"
        return self.dialect.cast(clamped, type_)

    def windowed(self, node: OwnerWindow) -> Block:
        block = self.of(node.child)
        writer = self.writer(block)
        made = {name: self._window(writer, block, window) for name, window in node.windows if name in self.used}
        return replace(self.nested(block, {**block.columns, **made}), origins=block.origins)

    def _window(self, writer: Writer, block: Block, window: Window) -> str:
        """Rows that are level in the order are told apart by their ranks, but where they have one rank together."""
        order = [
            f"{self.ranking(writer.any(by), by).sql} {'DESC' if down else 'ASC'} NULLS {'FIRST' if first else 'LAST'}"
            for by, down, first in window.order
        ]
        if window.function not in ("rank", "dense_rank"):
            order += [rank.sql for rank in block.ranks]
        by = ", ".join([block.owner, *map(writer.any, window.partition)])
        over = f"OVER (PARTITION BY {by} ORDER BY {', '.join(order)})"
        if window.value is not None:
            return f"{window.function.upper()}({self.typed(writer, window.value)}, {window.away}) {over}"
        clamped = self.dialect.least(f"{window.function.upper()}() {over}", str(window.most))
        return self.dialect.cast(clamped, writer.word_for(1, window.most))

    def truncated(self, node: Retruncate) -> Block:
        block = self.of(node.child)
        called = f"w{next(self.numbers)}"
        place = f"ROW_NUMBER() OVER (PARTITION BY {block.owner} ORDER BY {', '.join(rank.sql for rank in block.ranks)})"
        ranks = {PLACE: Rank(place)}
        made = self.derived(called, self.select(block, ranks, block.columns), ranks, block.columns)
        return self.where(made, f"{made.ranks[0].sql} <= {node.rows}")


NODES: dict[type[Node], Callable[[Blocks, Any], Block]] = {
    Scan: Blocks.scan,
    PublicScan: Blocks.scan,
    OwnerLimit: Blocks.limited,
    Filter: Blocks.filtered,
    Project: Blocks.projected,
    JoinPublic: Blocks.joined,
    JoinOwner: Blocks.joined,
    JoinFull: Blocks.joined_fully,
    SemiJoin: Blocks.semi_joined,
    UnionAll: Blocks.united,
    OwnerAggregate: Blocks.per_owner,
    PublicAggregate: Blocks.of_public,
    Retruncate: Blocks.truncated,
    OwnerWindow: Blocks.windowed,
}
