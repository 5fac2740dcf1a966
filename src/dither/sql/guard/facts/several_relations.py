"""Rows of several relations put together: always of the same people, and of one owner.

A join to a public row found by its key keeps the number of rows, and one to several multiplies by how many of them the
snapshot has at most for one row; a join on owners multiplies, unless each row finds one
at most; FULL JOIN keeps those that find none as well; a union adds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import product

from dither.policy.catalog import MOST_ROWS
from dither.sql import expressions as e
from dither.sql.guard.facts.knowledge import Facts, Of, Stored, verify_condition
from dither.sql.guard.ranges import UnsafePlan, verify
from dither.sql.plan.nodes import JoinFull, JoinOwner, JoinPublic, SemiJoin, UnionAll


def joined_public(node: JoinPublic, facts: Of) -> Facts:
    left, right = facts(node.child), facts(node.public)
    if right.private:
        raise UnsafePlan("rows of people stand on the public side of a join.")
    if node.condition is not None:
        verify_condition(node.condition, {**left.schema, **right.schema})
    most = most_found(node, facts)
    made = replace(left, schema=_beside(left, right, node.outer), together={})
    if most == 1:
        return made
    rows = None if left.rows is None else left.rows * most
    # A row is known by the rows that it was made of; one that finds none is there once, with NULL.
    distinct = None if left.distinct is None or right.distinct is None else left.distinct | right.distinct
    return replace(made, rows=rows, distinct=distinct, total=left.total * most, alike={}, around={})


def most_found(node: JoinPublic, facts: Of) -> int:
    """How many public rows one row finds at most; at least one, since LEFT JOIN keeps it."""
    left, right = facts(node.child), facts(node.public)
    _, agreed = _agreeing(node.equal, left, right)
    if right.distinct is not None and right.distinct <= agreed:
        return 1
    bounds = [right.total, *(right.alike[name] for name in agreed if name in right.alike)]
    bounds += _around_a_value(node.condition, left, right)
    if min(bounds) >= MOST_ROWS:
        raise UnsafePlan("a public table of unknown size is joined on other columns than its key.")
    return max(1, min(bounds))


def _around_a_value(condition: e.Boolean | None, left: Facts, right: Facts) -> Iterable[int]:
    """Where a value of the left lies between two public columns: how many public rows have it between theirs."""
    parts = condition.operands if isinstance(condition, e.And) else (condition,)
    ends: dict[e.Expression, tuple[list[tuple[str, bool]], list[tuple[str, bool]]]] = {}
    for part in parts:
        if type(part) is not e.Compare or part.operator not in ("<", "<="):
            continue
        for column, value, side in ((part.left, part.right, 0), (part.right, part.left, 1)):
            names = {inner.name for inner in value.walk() if isinstance(inner, (e.Stored, e.StoredText))}
            if type(column) is e.Stored and column.name in right.schema and names <= left.schema.keys():
                ends.setdefault(value, ([], []))[side].append((column.name, part.operator == "<"))
    for firsts, lasts in ends.values():
        for (first, after), (last, before) in product(firsts, lasts):
            if (first, last) in right.around:
                yield right.around[first, last][after or before]


def joined_owner(node: JoinOwner, facts: Of) -> Facts:
    left, right = facts(node.child), facts(node.other)
    _same_people((left, right))
    ours, theirs = _agreeing(node.equal, left, right)
    if node.condition is not None:
        verify_condition(node.condition, {**left.schema, **right.schema})
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
    alike: Mapping[str, int] = {}  # a row that is found by several, or finds several, is there more than once
    if finds_one or right.rows == 1:
        distinct, alike = left.distinct, left.alike
    elif left.rows == 1:
        distinct, alike = right.distinct, right.alike
    else:  # a row is known by the rows that it was made of
        distinct = None if left.distinct is None or right.distinct is None else left.distinct | right.distinct
    rows = min(known, default=None)
    schema = _beside(left, right, node.outer)
    # Each row of one side finds as many of the other as its owner has there; LEFT JOIN keeps those that find none.
    totals = [left.total * (1 if finds_one else max(1, _least(right.rows, right.total)))]
    totals.append(right.total * (1 if found_by_one else _least(left.rows, left.total)) + node.outer * left.total)
    made = replace(left, schema=schema, rows=rows, distinct=distinct, total=min(totals), together={})
    # A join makes no new values, but for the NULLs beside rows that find none.
    values = {**left.values, **{name: most + node.outer for name, most in right.values.items()}}
    return replace(made, alike=alike, values=values)


def joined_fully(node: JoinFull, facts: Of) -> Facts:
    """With l and r rows of an owner, of which u and v find none: (l - u)(r - v) pairs at most, and u + v rows beside.

    That is largest where all find each other or none does. Where each row finds one at most, every pair takes a row of
    either side, and there are no more than l + r.
    """
    inner = joined_owner(JoinOwner(node.child, node.other, node.equal, node.condition), facts)
    left, right = facts(node.child), facts(node.other)
    alone = _plus(left.rows, right.rows)
    rows = None if alone is None or inner.rows is None else max(inner.rows, alone)
    schema = {name: replace(column, may_be_null=True) for name, column in inner.schema.items()}
    # Rows of either side may have NULL in their keys, and so look like those of the other that found none.
    values = {name: most + 1 for name, most in (*left.values.items(), *right.values.items())}
    total = inner.total + left.total + right.total
    return replace(inner, schema=schema, rows=rows, distinct=None, total=total, alike={}, values=values)


def semi_joined(node: SemiJoin, facts: Of) -> Facts:
    left, right = facts(node.child), facts(node.other)
    if right.private:
        _same_people((left, right))
    if node.condition is not None:
        verify_condition(node.condition, _beside(left, right, False))
    return left


def united(node: UnionAll, facts: Of) -> Facts:
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
    total = sum(part.total for part in parts)
    return replace(parts[0], schema=schema, rows=rows, distinct=None, total=total, together={}, alike={}, values={})


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


def _same_people(parts: Iterable[Facts]) -> None:
    parts = tuple(parts)
    if not all(part.private for part in parts) or len({part.people for part in parts}) != 1:
        raise UnsafePlan("rows of different people, or of nobody, are put together.")
    if len({part.owner_type for part in parts}) != 1:
        raise UnsafePlan("owners that are stored in different ways are compared.")
    if len(parts) > 1 and any(part.row_level for part in parts):
        raise UnsafePlan("rows that are their own owners share no owner with other tables.")


def _hull(columns: list[Stored | None]) -> Stored:
    nullable = any(column is None or column.may_be_null for column in columns)
    texts = [column for column in columns if isinstance(column, e.StoredText)]
    numbers = [column for column in columns if isinstance(column, e.Stored)]
    if len(texts) == len(columns):
        return replace(texts[0], may_be_null=nullable, max_length=max(text.max_length for text in texts))
    if len(numbers) != len(columns) or len({column.decimals for column in numbers}) != 1:
        raise UnsafePlan("the parts of a union have columns of different kinds.")
    least, most = min(column.least for column in numbers), max(column.most for column in numbers)
    return replace(numbers[0], least=least, most=most, may_be_null=nullable)


def _least(rows: int | None, total: int) -> int:
    return total if rows is None else min(rows, total)


def _plus(first: int | None, second: int | None) -> int | None:
    return None if first is None or second is None else first + second
