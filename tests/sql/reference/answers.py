"""The reference's answer to a question: what every group holds before any noise."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from typing import Any

import sql_reference_functions  # noqa: F401 - its rules
import sqlglot
from sql_reference_relations import Reader, Relation
from sql_reference_scalars import Field
from sql_reference_terms import Row, read_day, read_instant

from dither.policy.columns import Bool, Category, Column, Date, Fixed, Int, Text, Timestamp

KINDS: dict[type[Column], str] = {
    Int: "number",
    Fixed: "number",
    Bool: "boolean",
    Date: "date",
    Timestamp: "timestamp",
    Category: "text",
    Text: "text",
}


@dataclass(frozen=True)
class Reference:
    """Keys in GROUP BY order, outputs, the exact values of every group that has rows, and those of an empty group."""

    keys: tuple[str, ...]
    outputs: tuple[str, ...]
    groups: Mapping[tuple[Any, ...], Mapping[str, Any]]
    empty: Mapping[str, Any]
    kept: Mapping[tuple[Any, ...], bool | None]  # by HAVING; NULL where the outcome would be made of noise
    empty_kept: bool | None
    order: tuple[str, bool] | None  # the output that ORDER BY names, and whether it is descending
    limit: int | None
    offset: int


def answer(text: str, tables: Mapping[str, Relation], dialect: str = "postgres") -> Reference:
    """What the text asks of the tables."""
    node = sqlglot.parse_one(text, dialect=dialect)
    found = Reader(tables).grouped(node)

    def values(rows: Sequence[Row]) -> dict[str, Any]:
        return {name: found.aggregates.value(inner, rows) for name, inner in found.outputs}

    def kept(rows: Sequence[Row]) -> bool | None:
        having = node.args.get("having")
        return True if having is None else found.aggregates.truth(having.this, rows)

    order, limit, offset = (node.args.get(name) for name in ("order", "limit", "offset"))
    ordered = order and order.expressions[0]
    return Reference(
        tuple(found.keys),
        tuple(name for name, _ in found.outputs),
        {key: values(rows) for key, rows in found.groups.items()},
        values([]),
        {key: kept(rows) for key, rows in found.groups.items()},
        kept([]),
        ordered and (ordered.this.name.lower(), bool(ordered.args.get("desc"))),
        limit and int((limit.args.get("expression") or limit.args["count"]).this),
        int(offset.expression.this) if offset else 0,
    )


def stored(columns: Mapping[str, Column], rows: Iterable[Mapping[str, Any]], owner: str | None = None) -> Relation:
    """A table as it is after loading: out of range is clamped, what does not fit is NULL or the declared default."""
    fields = [Field("", name.lower(), KINDS[type(column)], column.decimals) if isinstance(column, Fixed)
              else Field("", name.lower(), KINDS[type(column)]) for name, column in columns.items()]  # fmt: skip
    loaded: list[Row] = []
    known_as = None if owner is None else ("", owner.lower())
    for row in rows:
        if owner is not None and row[owner] is None:
            continue
        kept = {("", name.lower()): loaded_value(column, row[name]) for name, column in columns.items()}
        loaded.append(kept if known_as is None or known_as in kept else {**kept, known_as: Fraction(row[owner or ""])})
    if owner is not None and all(known.name != owner.lower() for known in fields):
        fields.append(Field("", owner.lower(), "number"))
    return Relation(tuple(fields), loaded, known_as)


def loaded_value(column: Column, value: Any) -> Any:
    """One value of a source as its column keeps it."""
    kept = _kept(column, value)
    if kept is None and not column.nullable:
        kept = _kept(column, column.default)
    return kept


def _kept(column: Column, value: Any) -> Any:
    if value is None:
        return None
    if isinstance(column, (Int, Fixed)):
        step = Decimal(1).scaleb(-column.decimals) if isinstance(column, Fixed) else Decimal(1)
        number = Fraction(Decimal(str(value)).quantize(step, ROUND_HALF_UP))
        return min(max(number, Fraction(column.lower)), Fraction(column.upper))
    if isinstance(column, Date):
        return min(max(value, read_day(str(column.lower))), read_day(str(column.upper)))
    if isinstance(column, Timestamp):
        moment = value.replace(tzinfo=datetime.UTC) if value.tzinfo is None else value.astimezone(datetime.UTC)
        return min(max(moment, read_instant(str(column.lower))), read_instant(str(column.upper)))
    if isinstance(column, Category):
        return value if value in column.values else None
    if isinstance(column, Text):
        return value if len(value) <= column.max_length else None
    return value
