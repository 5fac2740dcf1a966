"""Equalities of owners that need not be asked, because a foreign key was followed when the rows were loaded.

A row got its owner from the one row of the parent table that has its key, and both were verified in the snapshots. So
rows of exactly those two snapshots in which the foreign key agrees have one owner, and `a.owner = b.owner` beside it
changes nothing but the time: engines are much faster at joins on one column. After a refresh of the parent the
snapshots are not those any more, and the owners are compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from dither.policy.catalog import ForeignKey, Table
from dither.sql import expressions as e

Origin = tuple[Table, str]  # the table, and what it calls the column
Origins = Mapping[str, Origin]  # by the names of columns in the query, as far as they are stored ones


def found_in(child: Origin, parent: Origin) -> bool:
    """Whether the child's rows found their owners by this very column, in this very snapshot of the parent."""
    (table, column), (above, key) = child, parent
    led = table.via == ForeignKey(column, above.name, key) and table.people == above.people
    return led and table.parent_snapshot == above.snapshot > 0


def origin(value: e.Expression, origins: Origins) -> Origin | None:
    """The stored column that a value is, if it is nothing else."""
    return origins.get(value.name) if isinstance(value, (e.Stored, e.StoredText)) else None


def equalities(condition: e.Boolean | None) -> Iterator[tuple[e.Expression, e.Expression]]:
    """Pairs that agree wherever the condition is true."""
    if isinstance(condition, e.And):
        for operand in condition.operands:
            yield from equalities(operand)
    elif isinstance(condition, (e.Compare, e.CompareText)) and condition.operator == "=":
        yield condition.left, condition.right


def parent_side(
    pairs: Iterable[tuple[e.Expression, e.Expression]], left: Origins, right: Origins
) -> Literal["left", "right"] | None:
    """The side whose rows gave those of the other their owners, if rows that agree in all pairs have one owner so."""
    for pair in pairs:
        for one, other in (pair, pair[::-1]):
            mine, theirs = origin(one, left), origin(other, right)
            if mine is not None and theirs is not None:
                if found_in(theirs, mine):
                    return "left"
                if found_in(mine, theirs):
                    return "right"
    return None
