"""What can be known about a relation, and about the columns that its expressions read and make."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from math import prod

from dither.policy.columns import Coded, Column, Text
from dither.sql import expressions as e
from dither.sql.guard.ranges import Schema, UnsafePlan, interval, longest, verify
from dither.sql.plan.nodes import Node

Stored = e.Stored | e.StoredText


@dataclass(frozen=True)
class Facts:
    """`rows`: how many one owner can have, None if any number. `distinct`: columns in which no two rows of one owner
    (in a public relation: no two rows) agree; None if no such columns are known. `people`: empty if public.
    `total`: how many rows there can be of all owners. `together`: for some columns, what their sizes add up to at most
    over all rows of one owner. `alike`: for some columns, how many rows of one owner have the same value at most.
    `values`: for some columns, how many different values one owner's rows have at most; NULL is one. Of a public
    relation `alike` counts all rows, and `around` those that lie around one point, as `Shape` says."""

    schema: Schema
    people: str
    rows: int | None
    distinct: frozenset[str] | None
    total: int
    row_level: bool = False
    owner_type: str = ""
    together: Mapping[str, int] = field(default_factory=dict)
    alike: Mapping[str, int] = field(default_factory=dict)
    values: Mapping[str, int] = field(default_factory=dict)
    around: Mapping[tuple[str, str], tuple[int, int]] = field(default_factory=dict)

    @property
    def private(self) -> bool:
        return bool(self.people)


Of = Callable[[Node], Facts]  # what is known about a node that another one is made of


def alike_in(columns: Iterable[tuple[str, e.Expression]], known: Facts) -> dict[str, int]:
    """How many rows of one owner agree in columns made of others: known of those that are a column as it is."""
    bare = {name: value.name for name, value in columns if isinstance(value, (e.Stored, e.StoredText))}
    return {name: known.alike[own] for name, own in bare.items() if own in known.alike}


def values_of(value: e.Expression, known: Facts) -> int | None:
    """How many different values an expression has at most on the rows of one owner; None if any number.

    It is computed from columns alone, so it has no more than there are combinations of theirs.
    """
    names = {part.name for part in value.walk() if isinstance(part, (e.Stored, e.StoredText))}
    return prod(known.values[name] for name in names) if names <= known.values.keys() else None


def values_in(columns: Iterable[tuple[str, e.Expression]], known: Facts) -> dict[str, int]:
    """How many different values one owner has in columns made of others, where that is known."""
    return {name: count for name, value in columns if (count := values_of(value, known)) is not None}


def renamed(
    around: Mapping[tuple[str, str], tuple[int, int]], called: Mapping[str, str]
) -> dict[tuple[str, str], tuple[int, int]]:
    """What is known of pairs of columns, by their new names, where both still have one."""
    kept = ((pair, most) for pair, most in around.items() if pair[0] in called and pair[1] in called)
    return {(called[first], called[second]): most for (first, second), most in kept}


def stored(name: str, column: Column) -> Stored:
    """A column as expressions name it."""
    if isinstance(column, Text):
        return e.StoredText(name, column.nullable, column.max_length)
    if isinstance(column, Coded):
        return e.Stored(name, column.low, column.high, column.decimals, column.nullable)
    raise UnsafePlan(f"a column of kind {type(column).__name__} cannot be asked about.")


def verify_condition(condition: e.Boolean | None, schema: Schema) -> None:
    if not isinstance(condition, e.Boolean):
        raise UnsafePlan("a condition is needed.")
    verify(condition, schema)


def computed(name: str, value: e.Expression, schema: Schema) -> Stored:
    """A computed column: a number must have been clamped last, so that its bounds are sure."""
    if isinstance(value, e.Numeric):
        if type(value) not in (e.Stored, e.Clamp, e.Constant, e.Null):
            raise UnsafePlan(f"the column {name!r} is {type(value).__name__}: its last operation must be a clamp.")
        low, high = interval(value, schema)
        return e.Stored(name, low, high, value.scale, value.nullable)
    if not isinstance(value, e.Textual):
        raise UnsafePlan(f"the column {name!r} is neither a number nor a text.")
    verify(value, schema)
    return e.StoredText(name, value.nullable, max(1, longest(value, schema)))  # as short as a declaration can say
