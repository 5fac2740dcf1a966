"""Texts of a public table as group keys: its values are as public as a declared list, so all of them are groups.

That is so where nothing else of the same table is grouped by. With several of its columns, every combination would be a
group though the table has few of them; then keys are selected from the data, as for any other text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from sqlglot import exp

from dither.policy.catalog import code_of
from dither.policy.columns import Category, Column, Text
from dither.sql.expressions import Stored
from dither.sql.guard.facts import facts
from dither.sql.plan.nodes import Node, PublicScan
from dither.sql.scalars.scope import Scope


def public_texts(scope: Scope, keys: Iterable[exp.Expr]) -> frozenset[str]:
    """The columns, by their names in the plan, whose public values are the groups of these keys."""
    if not any(scan.table.labels for relation in scope.relations for scan in _scans(relation.node)):
        return frozenset()
    read = [(key, [_scan(scope, column) for column in key.find_all(exp.Column)]) for key in keys]
    uses = Counter(scan for _, scans in read for scan in set(scans))
    alone = [key for key, scans in read if isinstance(key, exp.Column) and all(uses[scan] == 1 for scan in scans)]
    found = [(scope.place(key)[0].node, *scope.find(key)) for key in alone]
    return frozenset(name for node, name, column in found if public_code(node, name, column) is not None)


def public_code(node: Node, name: str, column: Column) -> tuple[Stored, Category] | None:
    """A text's place among the values that its public table has, and these values; None if there are none to know."""
    code = code_of(name)
    if not isinstance(column, Text) or code not in facts(node).schema:
        return None
    for scan in _scans(node):
        own = {called: own for own, called in scan.names}.get(name)
        if own is not None:
            labels = scan.table.labels[own]
            values = Category(labels, nullable=column.nullable, default=None if column.nullable else labels[0])
            return Stored(code, values.low, values.high, 0, values.nullable), values
    return None


def _scan(scope: Scope, column: exp.Column) -> tuple[tuple[str, str], ...]:
    """The names of the public scan that a column comes from as it is; none if it is of people, or computed."""
    relation, called = scope.place(column)
    name = relation.columns[called][0]
    return next((scan.names for scan in _scans(relation.node) if name in dict(scan.names).values()), ((name, name),))


def _scans(node: Node) -> list[PublicScan]:
    return [scan for scan in node.walk() if isinstance(scan, PublicScan)]
