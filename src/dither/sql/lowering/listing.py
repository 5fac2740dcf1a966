"""Which groups public tables and conditions on them leave: what no row can be in is not listed.

The rows of people are left out of the question, and every condition that names them is taken to hold. What remains is a
statement over public tables alone, so its result is public too, and leaving groups out of a noisy answer by it is
post-processing. An engine runs it only if no table in it has owners.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from dither.sql import expressions as e
from dither.sql.expressions import simplifier
from dither.sql.guard.facts import facts, most_found
from dither.sql.lowering.block import Block
from dither.sql.lowering.blocks import Blocks
from dither.sql.lowering.dialect import Dialect
from dither.sql.lowering.owner_equalities import equalities
from dither.sql.lowering.statement import Statement
from dither.sql.plan.nodes import (
    Filter,
    JoinOwner,
    JoinPublic,
    Key,
    Node,
    OwnerAggregate,
    OwnerWindow,
    Project,
    PublicScan,
    SemiJoin,
)
from dither.sql.plan.question import Question

MOST_LISTED = 100_000  # combinations of values that are looked at

Columns = Mapping[str, e.Expression]
_COMPARISONS = (e.Compare, e.CompareText, e.Among, e.TextAmong, e.Like, e.ILike)


@dataclass(frozen=True)
class Listing:
    """A statement that counts rows of public tables in groups of those keys of a question that stand at `places`."""

    statement: Statement
    places: tuple[int, ...]


@dataclass(frozen=True)
class _Public:
    """The public part of a relation: its scans, its columns as expressions of theirs, conditions that every row meets,
    and `links`, by which a row of one scan finds one row of another by its whole key."""

    scans: tuple[PublicScan, ...] = ()
    columns: Columns = field(default_factory=dict)
    conditions: tuple[e.Boolean, ...] = ()
    links: tuple[e.Boolean, ...] = ()

    def beside(self, other: _Public) -> _Public:
        return _Public(
            self.scans + other.scans,
            {**self.columns, **other.columns},
            self.conditions + other.conditions,
            self.links + other.links,
        )


def listing(question: Question, dialect: Dialect) -> Listing | None:
    """What it takes to know which groups public tables leave; None if they say nothing about any of its keys."""
    if not question.public:
        return None
    public = _public(question.source)
    found = [(place, key, _rewritten(key.code, public.columns)) for place, key in enumerate(question.keys)]
    known = [(place, key, code) for place, key, code in found if isinstance(code, e.Numeric) and _names(code)]
    keys = tuple(Key(code, True, *key.public_range) for _, key, code in known)
    if not keys or math.prod(key.count for key in keys) > MOST_LISTED:
        return None
    sources = _Sources(public, Blocks(dialect, frozenset(n for scan in public.scans for _, n in scan.names), False))
    return Listing(sources.statement(keys), tuple(place for place, _, _ in known))


def _public(node: Node, present: frozenset[str] = frozenset()) -> _Public:
    """What is public about those rows of a relation that have no NULL in the columns that are `present`."""
    if isinstance(node, PublicScan):
        return _Public((node,), dict(facts(node).schema))
    if isinstance(node, Filter):
        return _where(_public(node.child, present | never_null(node.predicate)), node.predicate)
    if isinstance(node, SemiJoin):
        inner, other = _public(node.child, present), _public(node.other)
        if node.negated or facts(node.other).private or not other.scans:
            return inner
        both = _agreeing(inner.beside(other), tuple(equalities(node.condition)))
        return both if node.condition is None else _where(both, node.condition)
    if isinstance(node, (Project, OwnerAggregate)):
        given = node.columns if isinstance(node, Project) else node.keys
        bare = {value.name for name, value in given if name in present and isinstance(value, (e.Stored, e.StoredText))}
        inner = _public(node.child, frozenset(bare))
        columns = {name: _rewritten(value, inner.columns) for name, value in given}
        return replace(inner, columns={name: value for name, value in columns.items() if value is not None})
    if isinstance(node, OwnerWindow):
        return _public(node.child, present)
    if isinstance(node, (JoinPublic, JoinOwner)):
        return _joined(node, present)
    return _Public()


def never_null(condition: e.Boolean) -> frozenset[str]:
    """Columns that are not NULL where a condition is true: those that it compares, as they are, with anything."""
    if isinstance(condition, e.And):
        return frozenset().union(*map(never_null, condition.operands))
    if isinstance(condition, e.Or):
        first, *others = map(never_null, condition.operands)
        return first.intersection(*others)
    if isinstance(condition, e.Not):
        inner = condition.operand
        if isinstance(inner, e.IsNull):
            return frozenset({inner.value.name}) if isinstance(inner.value, (e.Stored, e.StoredText)) else frozenset()
        return never_null(inner) if isinstance(inner, _COMPARISONS) else frozenset()
    sides = condition.children() if isinstance(condition, _COMPARISONS) else ()
    return frozenset(side.name for side in sides if isinstance(side, (e.Stored, e.StoredText)))


def _joined(node: JoinPublic | JoinOwner, present: frozenset[str]) -> _Public:
    other = node.public if isinstance(node, JoinPublic) else node.other
    if node.outer and not present & facts(other).schema.keys():  # a row that finds none has NULL there
        return _public(node.child, present)
    agreed = {side.name for pair in node.equal for side in pair if isinstance(side, (e.Stored, e.StoredText))}
    present |= agreed | (frozenset() if node.condition is None else never_null(node.condition))
    left, right = _public(node.child, present), _public(other, present)
    both = left.beside(right)
    pairs = [tuple(_rewritten(side, both.columns) for side in pair) for pair in node.equal]
    equal = tuple(_same(*pair) for pair in pairs if None not in pair)
    found = _agreeing(both, node.equal)
    if isinstance(node, JoinPublic) and most_found(node) == 1 and len(equal) == len(pairs):
        found = replace(found, links=found.links + equal)
    else:
        found = replace(found, conditions=found.conditions + equal)
    return found if node.condition is None else _where(found, node.condition)


def _agreeing(public: _Public, pairs: Iterable[tuple[e.Expression, e.Expression]]) -> _Public:
    """With columns of people that agree with public ones known by those."""
    columns, inside = dict(public.columns), []
    for pair in pairs:
        for side, other in (pair, pair[::-1]):
            meant = _rewritten(other, public.columns)
            if isinstance(side, (e.Stored, e.StoredText)) and side.name not in columns and meant is not None:
                columns[side.name] = meant
                if isinstance(side, e.Stored):  # and so the public one has no value that it cannot have
                    inside.append(simplifier.among(meant, ((side.least, side.most),)))
    return replace(public, columns=columns, conditions=(*public.conditions, *inside))


def _where(public: _Public, condition: e.Boolean) -> _Public:
    return replace(public, conditions=(*public.conditions, *_relaxed(condition, public.columns)))


def _same(one: Any, other: Any) -> e.Boolean:
    return e.CompareText("=", one, other) if isinstance(one, e.Textual) else simplifier.compare("=", one, other)


def _relaxed(condition: e.Boolean, columns: Columns) -> list[e.Boolean]:
    """Conditions on public columns that hold wherever this one does."""
    if isinstance(condition, e.And):
        return [part for operand in condition.operands for part in _relaxed(operand, columns)]
    if isinstance(condition, e.Or):
        parts = [_relaxed(operand, columns) for operand in condition.operands]
        return [simplifier.disjunction(map(simplifier.conjunction, parts))] if all(parts) else []
    found = _rewritten(condition, columns)
    return [found] if isinstance(found, e.Boolean) else []


def _rewritten(node: Any, columns: Columns) -> Any:
    """The expression over public columns; None if it names any other."""
    if isinstance(node, (e.Stored, e.StoredText)):
        return columns.get(node.name)
    changed: dict[str, Any] = {}
    for part in fields(node):
        value = getattr(node, part.name)
        if isinstance(value, e.Expression):
            changed[part.name] = _rewritten(value, columns)
        elif isinstance(value, tuple) and any(isinstance(item, e.Expression) for item in value):
            items = tuple(_rewritten(item, columns) for item in value)
            changed[part.name] = None if None in items else items
    return None if None in changed.values() else replace(node, **changed)


def _names(*values: e.Expression) -> frozenset[str]:
    return frozenset(
        part.name for value in values for part in value.walk() if isinstance(part, (e.Stored, e.StoredText))
    )


def _inside(name: str, key: Key) -> str:
    """A public table may have values that no row of people can have."""
    within = f"{name} BETWEEN {key.low} AND {key.high}"
    return f"({name} IS NULL OR {within})" if key.nullable else f"({within})"


@dataclass
class _Sources:
    """Scans that links tie together are one source, read as its different values alone."""

    public: _Public
    blocks: Blocks

    def statement(self, keys: tuple[Key, ...]) -> Statement:
        tied = self._tied()
        within = {condition: self._over(condition, tied) for condition in (*self.public.links, *self.public.conditions)}
        needed = {part for key in keys for part in self._over(key.code, tied)}
        wanted: list[e.Expression] = [key.code for key in keys]
        across: list[e.Boolean] = []
        for condition, over in within.items():
            columns = _names(*wanted, condition)
            if len(over) > 1 and needed & set(over) and self._combinations(columns) <= MOST_LISTED:
                needed, wanted, across = needed | set(over), [*wanted, condition], [*across, condition]
        parts = [
            self._source(tied[place], [c for c, over in within.items() if over == (place,)], _names(*wanted))
            for place in sorted(needed)
        ]
        writer = self.blocks.writer(*parts)
        shown = [f"{writer.any(key.code)} AS k{place}" for place, key in enumerate(keys)]
        sql = f"SELECT {', '.join([*shown, 'COUNT(*) AS m0'])} FROM {', '.join(part.source for part in parts)}"
        if across:
            sql += f" WHERE {' AND '.join(writer.truth(condition) for condition in across)}"
        sql += f" GROUP BY {', '.join(str(place + 1) for place in range(len(keys)))}"
        inside = " AND ".join(_inside(f"k{place}", key) for place, key in enumerate(keys))
        sql = f"SELECT * FROM {self.blocks.dialect.subquery(sql)} WHERE {inside}"
        tables = {scan.table.name: scan.table for place in needed for scan in tied[place]}
        return Statement(tuple(tables[name] for name in sorted(tables)), sql, keys, 1)

    def _tied(self) -> list[list[PublicScan]]:
        found = [[scan] for scan in self.public.scans]
        for link in self.public.links:
            over = self._over(link, found)
            joined = [scan for place in over for scan in found[place]]
            found = [group for place, group in enumerate(found) if place not in over] + [joined]
        return found

    def _over(self, value: e.Expression, tied: list[list[PublicScan]]) -> tuple[int, ...]:
        """The places of the sources that an expression names."""
        names = _names(value)
        return tuple(p for p, scans in enumerate(tied) if any(n in names for scan in scans for _, n in scan.names))

    def _combinations(self, names: frozenset[str]) -> int:
        """How many rows of different values in these columns there can be, NULL among them."""
        count = 1
        for scan in self.public.scans:
            known = facts(scan).schema
            for own, name in scan.names:
                column, labels = known[name], scan.table.labels.get(own)
                if name in names and isinstance(column, e.Stored):
                    count *= column.most - column.least + 2
                elif name in names:
                    count *= MOST_LISTED + 1 if labels is None else len(labels) + 1
        return count

    def _source(self, scans: list[PublicScan], conditions: list[e.Boolean], wanted: frozenset[str]) -> Block:
        blocks = [self.blocks.of(scan) for scan in scans]
        writer = self.blocks.writer(*blocks)
        columns = {name: sql for block in blocks for name, sql in block.columns.items() if name in wanted}
        source = ", ".join(block.source for block in blocks)
        joined = Block(source, columns, conditions=tuple(writer.truth(condition) for condition in conditions))
        shown = ", ".join(f"{sql} AS {self.blocks.dialect.name(name)}" for name, sql in columns.items())
        sql = f"SELECT DISTINCT {shown or '1'} FROM {joined.body}"
        made = self.blocks.derived(f"p{next(self.blocks.numbers)}", sql, {}, columns, owned=False)
        schema = {name: column for block in blocks for name, column in block.schema.items() if name in wanted}
        return replace(made, schema=schema)
