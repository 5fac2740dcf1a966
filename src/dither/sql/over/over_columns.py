"""The columns and relations of a query over answers, and which names stand for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from dither.sql.over.over_question import Part


@dataclass(frozen=True)
class OverColumn:
    """A column over answers; `listed` says whether a list of terms stands beside it."""

    name: str
    noisy: bool
    listed: bool = False


@dataclass(frozen=True)
class Rows:
    """The columns of a relation over answers; `chosen`: noise decided which rows it has. `of` is the part whose rows
    they are, one by one, where that is so."""

    columns: tuple[OverColumn, ...]
    chosen: bool = False
    of: Part | None = None


@dataclass(frozen=True)
class Scope:
    """The relations of one FROM, by what they are called."""

    relations: Sequence[tuple[str, Rows]]
    aliases: dict[str, bool] = field(default_factory=dict)  # of select items, and whether noise is in them

    def find(self, node: exp.Column) -> tuple[str, OverColumn] | None:
        for name, rows in self.relations:
            if node.table and node.table.lower() != name.lower():
                continue
            for one in rows.columns:
                if one.name.lower() == node.name.lower():
                    return name, one
        return None


def nested(tree: exp.Expr) -> list[exp.Expr]:
    """The queries inside the expressions of a SELECT, not those of FROM."""
    found: list[exp.Expr] = []
    left = [part for name, part in tree.args.items() if name not in ("from_", "joins", "with_")]
    while left:
        part = left.pop()
        if isinstance(part, list):
            left += part
        elif isinstance(part, exp.Query):
            found.append(part)
        elif isinstance(part, exp.Expr):
            left += list(part.iter_expressions())
    return found


def compares(tree: exp.Expr) -> bool:
    """Whether rows may be chosen by more than their own numbers and their place: by what the others are."""
    if tree.find(exp.Where, exp.Having, exp.Qualify, exp.Limit, exp.Offset) is None:
        return False
    return tree.find(exp.Window) is not None or any(map(nested, tree.find_all(exp.Select)))


def over_rows(node: exp.Expr) -> bool:
    """Whether it looks at more rows than its own."""
    return node.find(exp.AggFunc, exp.Window) is not None


def aggregated(node: exp.Expr) -> bool:
    """Whether an aggregate outside windows stands in a select item."""
    for found in node.find_all(exp.AggFunc):
        around: Any = found.parent
        if not isinstance(around, exp.Window) and not (
            isinstance(around, exp.Filter) and isinstance(around.parent, exp.Window)
        ):
            return True
    return False
