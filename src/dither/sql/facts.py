"""What is known about a relation, derived from its plan and the declarations alone: the guard's own reasoning.

Rows of one owner: a scan has any number; a limit on ranks or a truncation has its own; filters, projections, semi-joins
and joins to a public row found by its key keep the number; a join on owners multiplies, unless each row finds one at
most; a union adds. Anything else is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from dither.columns import Coded, Column, Text
from dither.sql import expressions as e
from dither.sql.intervals import LARGEST, Schema, UnsafePlan, interval, verify
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
from dither.sql.remembered import remembered
from dither.sql.statement import MOST_ROWS

Stored = e.Stored | e.StoredText


@dataclass(frozen=True)
class Facts:
    """`rows`: how many one owner can have, None if any number. `distinct`: columns in which no two rows of one owner
    (in a public relation: no two rows) agree; None if no such columns are known. `people`: empty if public."""

    schema: Schema
    people: str
    rows: int | None
    distinct: frozenset[str] | None
    row_level: bool = False
    owner_type: str = ""

    @property
    def private(self) -> bool:
        return bool(self.people)


@remembered(1024)
def facts(node: Node) -> Facts:
    """What is known about the rows that come out of a node, or `UnsafePlan`."""
    rule = RULES.get(type(node))
    if rule is None:
        raise UnsafePlan(f"the plan node {type(node).__name__} is not known to keep the limit per owner.")
    return rule(node)


def stored(name: str, column: Column) -> Stored:
    """A column as expressions name it."""
    if isinstance(column, Text):
        return e.StoredText(name, column.nullable)
    if isinstance(column, Coded):
        return e.Stored(name, column.low, column.high, column.decimals, column.nullable)
    raise UnsafePlan(f"a column of kind {type(column).__name__} cannot be asked about.")


def _columns(names: Iterable[tuple[str, str]], declared: Mapping[str, Column]) -> dict[str, Stored]:
    found: dict[str, Stored] = {}
    for own, name in names:
        if own not in declared or name in found:
            raise UnsafePlan(f"{own!r} is not a declared column, or two are called {name!r}.")
        found[name] = stored(name, declared[own])
    return found


def _key(key: tuple[str, ...], names: Iterable[tuple[str, str]]) -> frozenset[str] | None:
    called = dict(names)
    return frozenset(called[own] for own in key) if key and all(own in called for own in key) else None


def _scan(node: Scan) -> Facts:
    table = node.table
    if not table.people or table.max_rows_per_owner < 1:
        raise UnsafePlan(f"table {table.name!r} has no people.")
    distinct = _key(table.key, node.names)
    schema = _columns(node.names, table.columns)
    return Facts(schema, table.people, None, distinct, table.row_level, table.owner_type)


def _public_scan(node: PublicScan) -> Facts:
    return Facts(_columns(node.names, node.table.columns), "", None, _key(node.table.key, node.names))


def _limited(node: OwnerLimit) -> Facts:
    if type(node.child) is not Scan:
        raise UnsafePlan("ranks belong to the rows of a scan.")
    known, most = facts(node.child), node.child.table.max_rows_per_owner
    if type(node.rows) is not int or not 1 <= node.rows <= most:
        raise UnsafePlan(f"the limit per owner must be between 1 and {most}; got {node.rows!r}.")
    return replace(known, rows=node.rows)


def _truncated(node: Retruncate) -> Facts:
    known = facts(node.child)
    if not known.private or type(node.rows) is not int or node.rows < 1:
        raise UnsafePlan(f"a truncation keeps at least one row of an owner; got {node.rows!r}.")
    return replace(known, rows=node.rows if known.rows is None else min(known.rows, node.rows))


def _filtered(node: Filter) -> Facts:
    known = facts(node.child)
    _condition(node.predicate, known.schema)
    return known


def _condition(condition: e.Boolean | None, schema: Schema) -> None:
    if not isinstance(condition, e.Boolean):
        raise UnsafePlan("a condition is needed.")
    verify(condition, schema)


def _projected(node: Project) -> Facts:
    known = facts(node.child)
    schema: dict[str, Stored] = {}
    renamed: dict[str, str] = {}
    for name, value in node.columns:
        if name in schema:
            raise UnsafePlan(f"two columns are called {name!r}.")
        schema[name] = _computed(name, value, known.schema)
        if isinstance(value, (e.Stored, e.StoredText)):
            renamed.setdefault(value.name, name)
    kept = known.distinct is not None and all(name in renamed for name in known.distinct)
    distinct = frozenset(renamed[name] for name in known.distinct) if kept and known.distinct is not None else None
    return replace(known, schema=schema, distinct=distinct)


def _computed(name: str, value: e.Expression, schema: Schema) -> Stored:
    """A computed column: a number must have been clamped last, so that its bounds are sure."""
    if isinstance(value, e.Numeric):
        if type(value) not in (e.Stored, e.Clamp, e.Constant, e.Null):
            raise UnsafePlan(f"the column {name!r} is {type(value).__name__}: its last operation must be a clamp.")
        low, high = interval(value, schema)
        return e.Stored(name, low, high, value.scale, value.nullable)
    if not isinstance(value, e.Textual):
        raise UnsafePlan(f"the column {name!r} is neither a number nor a text.")
    verify(value, schema)
    return e.StoredText(name, value.nullable)


def _beside(left: Facts, right: Facts, outer: bool) -> dict[str, Stored]:
    both = set(left.schema) & set(right.schema)
    if both:
        raise UnsafePlan(f"{min(both)!r} is on both sides of a join.")
    found = {name: replace(column, may_be_null=True) if outer else column for name, column in right.schema.items()}
    return {**left.schema, **found}


def _agreeing(equal: Iterable[tuple[e.Expression, e.Expression]], left: Facts, right: Facts) -> tuple[set[str], ...]:
    """The columns on each side that a join holds equal to something on the other, all of it verified."""
    bare: tuple[set[str], set[str]] = (set(), set())
    for pair in equal:
        for known, value, names in zip((left, right), pair, bare, strict=True):
            verify(value, known.schema)
            if isinstance(value, (e.Stored, e.StoredText)):
                names.add(value.name)
        if len({_units(value) for value in pair}) != 1:
            raise UnsafePlan("a join compares values of different kinds.")
    return bare


def _units(value: e.Expression) -> int | None:
    """The decimals of a number; None for a text."""
    if isinstance(value, e.Numeric):
        return value.scale
    if isinstance(value, e.Textual):
        return None
    raise UnsafePlan("a join compares numbers or texts.")


def _joined_public(node: JoinPublic) -> Facts:
    left, right = facts(node.child), facts(node.public)
    if right.private:
        raise UnsafePlan("rows of people stand on the public side of a join.")
    _, agreed = _agreeing(node.equal, left, right)
    if right.distinct is None or not right.distinct <= agreed:
        raise UnsafePlan("a public table is joined on other columns than its key.")
    if node.condition is not None:
        _condition(node.condition, {**left.schema, **right.schema})
    return replace(left, schema=_beside(left, right, node.outer))


def _joined_owner(node: JoinOwner) -> Facts:
    left, right = facts(node.child), facts(node.other)
    _same_people((left, right))
    ours, theirs = _agreeing(node.equal, left, right)
    if node.condition is not None:
        _condition(node.condition, {**left.schema, **right.schema})
    finds_one = right.distinct is not None and right.distinct <= theirs
    found_by_one = left.distinct is not None and left.distinct <= ours
    bounds = []
    if finds_one or right.rows == 1:
        bounds.append(left.rows)
    if found_by_one:
        bounds.append(_plus(left.rows, right.rows) if node.outer else right.rows)
    if left.rows is not None and right.rows is not None:
        bounds.append(left.rows * right.rows)
    known = [rows for rows in bounds if rows is not None]
    if finds_one or right.rows == 1:
        distinct = left.distinct
    elif left.rows == 1:
        distinct = right.distinct
    else:  # a row is known by the rows that it was made of
        distinct = None if left.distinct is None or right.distinct is None else left.distinct | right.distinct
    rows = min(known, default=None)
    return replace(left, schema=_beside(left, right, node.outer), rows=rows, distinct=distinct)


def _plus(first: int | None, second: int | None) -> int | None:
    return None if first is None or second is None else first + second


def _same_people(parts: Iterable[Facts]) -> None:
    parts = tuple(parts)
    if not all(part.private for part in parts) or len({part.people for part in parts}) != 1:
        raise UnsafePlan("rows of different people, or of nobody, are put together.")
    if len({part.owner_type for part in parts}) != 1:
        raise UnsafePlan("owners that are stored in different ways are compared.")
    if len(parts) > 1 and any(part.row_level for part in parts):
        raise UnsafePlan("rows that are their own owners share no owner with other tables.")


def _semi_joined(node: SemiJoin) -> Facts:
    left, right = facts(node.child), facts(node.other)
    if right.private:
        _same_people((left, right))
    if node.condition is not None:
        _condition(node.condition, _beside(left, right, False))
    return left


def _united(node: UnionAll) -> Facts:
    parts = [facts(part) for part in node.parts]
    if len(parts) < 2:
        raise UnsafePlan("a union has at least two parts.")
    _same_people(parts)
    first = parts[0].schema
    schema: dict[str, Stored] = {}
    for name in first:
        schema[name] = _hull([part.schema.get(name) for part in parts])
    if any(set(part.schema) != set(first) for part in parts):
        raise UnsafePlan("the parts of a union have different columns.")
    rows: int | None = 0
    for part in parts:
        rows = _plus(rows, part.rows)
    return replace(parts[0], schema=schema, rows=rows, distinct=None)


def _hull(columns: list[Stored | None]) -> Stored:
    nullable = any(column is None or column.may_be_null for column in columns)
    texts = [column for column in columns if isinstance(column, e.StoredText)]
    numbers = [column for column in columns if isinstance(column, e.Stored)]
    if len(texts) == len(columns):
        return replace(texts[0], may_be_null=nullable)
    if len(numbers) != len(columns) or len({column.decimals for column in numbers}) != 1:
        raise UnsafePlan("the parts of a union have columns of different kinds.")
    least, most = min(column.least for column in numbers), max(column.most for column in numbers)
    return replace(numbers[0], least=least, most=most, may_be_null=nullable)


def _per_owner(node: OwnerAggregate) -> Facts:
    known = facts(node.child)
    if not known.private:
        raise UnsafePlan("totals per owner need rows that have owners.")
    schema: dict[str, Stored] = {}
    for name, value in node.keys:
        schema[name] = _computed(name, value, known.schema)
    for name, total in node.totals:
        schema[name] = _total(name, total, known.schema)
    if len(schema) != len(node.keys) + len(node.totals):
        raise UnsafePlan("two columns have one name.")
    distinct = frozenset(name for name, _ in node.keys)
    bounds = [rows for rows in (known.rows, _combinations(schema[name] for name in distinct)) if rows is not None]
    return replace(known, schema=schema, rows=min(bounds, default=None), distinct=distinct)


def _combinations(columns: Iterable[Stored]) -> int | None:
    """How many combinations of values these columns can have; None if any number."""
    count = 1
    for column in columns:
        if not isinstance(column, e.Stored):
            return None
        count *= column.most - column.least + 1 + column.may_be_null
    return count


def _total(name: str, total: Total, schema: Schema) -> Stored:
    if total.function not in ("count", "sum", "min", "max") or not total.least <= total.most:
        raise UnsafePlan(f"the total {name!r} is not known.")
    size = 1
    if total.condition is not None:
        _condition(total.condition, schema)
    if (total.value is None) != (total.function == "count"):
        raise UnsafePlan(f"the total {name!r} needs a value, or none if it counts.")
    if total.value is not None:
        size = max(1, *map(abs, interval(total.value, schema)))
    if not MOST_ROWS * size < LARGEST:
        raise UnsafePlan("a total may exceed 126 bits.")
    scale = 0 if total.value is None else total.value.scale
    return e.Stored(name, total.least, total.most, scale, total.nullable)


RULES: dict[type[Node], Callable[[Any], Facts]] = {
    Scan: _scan,
    PublicScan: _public_scan,
    OwnerLimit: _limited,
    Filter: _filtered,
    Project: _projected,
    JoinPublic: _joined_public,
    JoinOwner: _joined_owner,
    SemiJoin: _semi_joined,
    UnionAll: _united,
    OwnerAggregate: _per_owner,
    Retruncate: _truncated,
}
