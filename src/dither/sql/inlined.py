"""How large expressions become with derived columns written out in place of their names.

An engine's optimiser does that to bring conditions near the tables, and copies a column each time it is used: sizes
multiply with every derived table. A plan of a few lines could keep it busy for hours, whatever the data. Columns made
by arithmetic are left where they are, since to an engine it may fail.
"""

from __future__ import annotations

from collections.abc import Mapping

from dither.sql import expressions as e
from dither.sql.lower import expressions_of
from dither.sql.plan import Aggregate, OwnerAggregate, Project

_ARITHMETIC = (e.Add, e.Subtract, e.Multiply, e.Negate, e.Absolute, e.Rescale)


def inlined(aggregate: Aggregate) -> int:
    """The words of the largest expression of a plan."""
    known: dict[str, int] = {}
    for node in reversed(tuple(aggregate.walk())):  # what a relation is made of comes before it
        columns = node.columns if isinstance(node, Project) else node.keys if isinstance(node, OwnerAggregate) else ()
        for name, value in columns:
            words = 1 if any(isinstance(part, _ARITHMETIC) for part in value.walk()) else _words(value, known)
            known[name] = max(known.get(name, 1), words)  # parts of a union share their names
    return max((_words(value, known) for value in expressions_of(aggregate)), default=1)


def _words(value: e.Expression, known: Mapping[str, int]) -> int:
    if isinstance(value, (e.Stored, e.StoredText)):
        return known.get(value.name, 1)
    return 1 + _copies(value) * sum(_words(child, known) for child in value.children())


def _copies(value: e.Expression) -> int:
    """How often an operand is written."""
    if isinstance(value, e.Steps):
        return len(value.starts) + 1
    if isinstance(value, e.Among):
        return len(value.runs) + 1
    return 2 if isinstance(value, e.Clamp) and value.nullable else 1
