"""What declarations tell about a name in a query, whichever table it is of: its kind, decimals and labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sqlglot import exp

from dither.policy.catalog import Catalog
from dither.policy.columns import Category, Column, Fixed, Text
from dither.sql.text.collations import folded


def declared(catalog: Catalog, name: str) -> list[Column]:
    """Every declared column of that name."""
    return [
        column for columns in _columns(catalog) for known, column in columns.items() if known.lower() == name.lower()
    ]


def _columns(catalog: Catalog) -> list[Mapping[str, Column]]:
    private = [table.columns for table in catalog.tables.values()]
    return [*private, *(table.columns for table in catalog.public.values())]


def all_decimal(catalog: Catalog, aliases: frozenset[str], name: str) -> bool:
    found = declared(catalog, name)
    return bool(found) and name.lower() not in aliases and all(isinstance(column, Fixed) for column in found)


def labels(catalog: Catalog, aliases: frozenset[str], node: exp.Expr) -> list[str] | None:
    """The labels that a literal or a column of categories can have; None where that is not known."""
    if isinstance(node, exp.Literal) and node.is_string:
        return [str(node.this)]
    found = declared(catalog, node.name) if isinstance(node, exp.Column) else []
    if not found or node.name.lower() in aliases or not all(isinstance(column, Category) for column in found):
        return None
    return [label for column in found if isinstance(column, Category) for label in column.values]


def plain(label: str, *, ascii_only: bool) -> bool:
    """Whether each letter has one other case at most, in every dialect."""
    return label.isascii() or (
        not ascii_only
        and all(len(one.lower()) == len(one.upper()) == 1 and one in (one.lower(), one.upper()) for one in label)
    )


def compared_alike(catalog: Catalog, name: str) -> bool:
    """Whether columns of this name are compared the same whatever a collation says: no texts, no labels that meet."""
    every = [column for columns in _columns(catalog) for column in columns.values()]
    known = {label for column in every if isinstance(column, Category) for label in column.values}
    met = len({folded(label) for label in known}) < len(known)
    return not any(
        isinstance(column, Text) or (met and isinstance(column, Category)) for column in declared(catalog, name)
    )


def has_letters(text: str) -> bool:
    return any(one.isalpha() for one in text)


def aliases(trees: Iterable[exp.Expr]) -> frozenset[str]:
    """Every name that a query gives to a value."""
    return frozenset(node.alias.lower() for tree in trees for node in tree.find_all(exp.Alias))
