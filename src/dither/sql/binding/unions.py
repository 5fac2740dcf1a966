"""UNION ALL of private rows: one relation, in which an owner has the rows of all parts."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from dither.policy.columns import Category, Coded, Column, Text
from dither.sql.binding.binder import Binder
from dither.sql.binding.computed_columns import nullable, number
from dither.sql.binding.group_keys import plain_column
from dither.sql.expressions import Expression, Numeric
from dither.sql.expressions.simplifier import rescaled
from dither.sql.guard.facts import facts
from dither.sql.plan.aggregates import bounded
from dither.sql.plan.nodes import Project, UnionAll
from dither.sql.scalars.scope import Relation


def union(binder: Binder, query: exp.Expr) -> Relation:
    """The relation of a UNION ALL; columns are matched by their places and called as in the first part."""
    parts = []
    for select in _selects(binder, query):
        parts.append(binder.derived(select))
    if any(len(part.columns) != len(parts[0].columns) for part in parts):
        parts = [_without_owner(part) for part in parts]
    if any(facts(part.node).row_level for part in parts if part.people):
        hint = "Ask about each by itself."
        raise binder.source.refusal(query, "a row-level table shares no owners, so its rows cannot be united.", hint)
    for part in parts[1:]:
        if part.people != parts[0].people or not part.people:
            hint = "Unite tables of the same people; join a public table instead."
            raise binder.source.refusal(query, "UNION ALL unites rows of one people.", hint)
        if len(part.columns) != len(parts[0].columns) or part.owner_places != parts[0].owner_places:
            hint = "Select the same columns in every part, and the owner at the same place in all of them or in none."
            raise binder.source.refusal(query, "the parts of a UNION ALL have different columns.", hint)
    places = [list(part.columns.values()) for part in parts]
    columns: dict[str, tuple[str, Column]] = {}
    projected: list[list[tuple[str, Expression]]] = [[] for _ in parts]
    for place, called in enumerate(parts[0].columns):
        given = [plain_column(*part[place]) for part in places]
        column = _common(binder, query, called, [declared for _, declared in given])
        name = binder.names.name("c")
        columns[called] = (name, column)
        for values, (value, _) in zip(projected, given, strict=True):
            if isinstance(value, Numeric) and isinstance(column, Coded):
                value = bounded(rescaled(value, column.decimals))
            values.append((name, value))
    nodes = tuple(Project(part.node, tuple(values)) for part, values in zip(parts, projected, strict=True))
    return Relation("", UnionAll(nodes), columns, parts[0].owners, parts[0].people, {})


def _without_owner(part: Relation) -> Relation:
    """The part without the owner as a column: some tables declare it as one as well, others do not."""
    return replace(part, columns={name: column for name, column in part.columns.items() if not part.is_owner(name)})


def _selects(binder: Binder, query: exp.Expr) -> list[exp.Expr]:
    """The parts from left to right."""
    found: list[exp.Expr] = []
    left: list[exp.Expr] = [query]
    while left:
        node = left.pop()
        node = node.this if isinstance(node, (exp.Subquery, exp.Paren)) and not node.args.get("alias") else node
        if not isinstance(node, exp.Union):
            found.append(node)
            continue
        if node.args.get("distinct") is not False or any(node.args.get(name) for name in ("order", "limit", "offset")):
            raise binder.source.refusal(node, "UNION compares the rows of different people.", "Write UNION ALL.")
        left += [node.expression, node.this]
    return found


def _common(binder: Binder, query: exp.Expr, called: str, columns: list[Column]) -> Column:
    """The declaration that holds the values of all columns."""
    first = columns[0]
    may_be_null = any(column.nullable for column in columns)
    same = all(type(column) is type(first) for column in columns)
    if same and isinstance(first, Text):
        lengths = [column.max_length for column in columns if isinstance(column, Text)]
        return nullable(replace(first, max_length=max(lengths)), may_be_null, "")
    coded = [column for column in columns if isinstance(column, Coded)]
    if same and isinstance(first, Category) and all(c.values == first.values for c in coded if isinstance(c, Category)):
        return nullable(first, may_be_null, first.values[0])
    numbers = all(column.shown == "number" for column in columns)
    if numbers and len(coded) == len(columns):
        decimals = max(column.decimals for column in coded)
        ends = [end * 10 ** (decimals - c.decimals) for c in coded for end in (c.low, c.high)]
        return number(min(ends), max(ends), decimals, may_be_null)
    if same and first.shown == "boolean":
        return nullable(first, may_be_null, False)
    if same and first.shown in ("date", "timestamp"):
        lower = min((c for c in coded), key=lambda c: c.low)
        upper = max((c for c in coded), key=lambda c: c.high)
        wide = replace(first, lower=lower.decode(lower.low), upper=upper.decode(upper.high))  # type: ignore[call-arg]
        return nullable(wide, may_be_null, lower.decode(lower.low))
    hint = "Give both the same declaration, or leave the column out."
    raise binder.source.refusal(query, f"the parts of the UNION ALL have different kinds of {called!r}.", hint)
