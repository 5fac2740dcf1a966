"""Totals of each owner: one row of an owner for each combination of the keys; and those of public tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from dither.sql import expressions as e
from dither.sql.guard.facts.knowledge import Facts, Of, Stored, alike_in, computed, values_in, verify_condition
from dither.sql.guard.ranges import LARGEST, UnsafePlan, interval, verify
from dither.sql.plan.nodes import OwnerAggregate, PublicAggregate, Total

FUNCTIONS = ("count", "sum", "min", "max", "median", "distinct")


def per_owner(node: OwnerAggregate, facts: Of) -> Facts:
    known = facts(node.child)
    if not known.private:
        raise UnsafePlan("totals per owner need rows that have owners.")
    schema: dict[str, Stored] = {}
    for name, value in node.keys:
        schema[name] = computed(name, value, known.schema)
    for name, total in node.totals:
        schema[name] = _total(name, total, known)
    if len(schema) != len(node.keys) + len(node.totals):
        raise UnsafePlan("two columns have one name.")
    distinct = frozenset(name for name, _ in node.keys)
    alike, values = alike_in(node.keys, known), values_in(node.keys, known)
    made = _combinations({name: schema[name] for name in distinct}, values)
    bounds = [rows for rows in (known.rows, made) if rows is not None]
    together = {name: most for name, total in node.totals if (most := _together(total, known)) is not None}
    rows = min(bounds, default=None)
    return replace(known, schema=schema, rows=rows, distinct=distinct, together=together, alike=alike, values=values)


def of_public(node: PublicAggregate, facts: Of) -> Facts:
    known = facts(node.child)
    if known.private:
        raise UnsafePlan("rows of people are put together with those of others.")
    schema = {name: computed(name, value, known.schema) for name, value in node.keys}
    schema |= {name: _total(name, total, known) for name, total in node.totals}
    if len(schema) != len(node.keys) + len(node.totals):
        raise UnsafePlan("two columns have one name.")
    counted = ("count", "distinct")
    if not node.keys and any(total.function not in counted and not total.nullable for _, total in node.totals):
        raise UnsafePlan("a total of no rows is NULL.")
    distinct = frozenset(name for name, _ in node.keys)
    return Facts(schema, "", None, distinct, known.total if node.keys else 1)


def _together(total: Total, known: Facts) -> int | None:
    """What all totals of one owner come to at most in size: each row is in one of them, with its own value or as one.

    A clamp to a range with 0 in it brings no total farther from 0.
    """
    if known.rows is None or total.function not in ("count", "sum", "distinct") or not total.least <= 0 <= total.most:
        return None
    counted = total.value is None or total.function == "distinct"  # a row brings one value at most
    size = 1 if counted or total.value is None else max(1, *map(abs, interval(total.value, known.schema)))
    return known.rows * size


def _combinations(columns: Mapping[str, Stored], values: Mapping[str, int]) -> int | None:
    """How many combinations of values one owner can have in these columns; None if any number."""
    count = 1
    for name, column in columns.items():
        bounds = [values[name]] if name in values else []
        if isinstance(column, e.Stored):
            bounds.append(column.most - column.least + 1 + column.may_be_null)
        if not bounds:
            return None
        count *= min(bounds)
    return count


def _total(name: str, total: Total, known: Facts) -> Stored:
    schema = known.schema
    if total.function not in FUNCTIONS or not total.least <= total.most:
        raise UnsafePlan(f"the total {name!r} is not known.")
    size = 1
    if total.condition is not None:
        verify_condition(total.condition, schema)
    if (total.value is None) != (total.function == "count"):
        raise UnsafePlan(f"the total {name!r} needs a value, or none if it counts.")
    if total.function == "distinct" and total.value is not None:
        verify(total.value, schema)
    elif total.value is not None:
        size = max(1, *map(abs, interval(total.value, schema)))
    if not known.total * size < LARGEST:
        raise UnsafePlan("a total may exceed 126 bits.")
    counted = total.value is None or total.function == "distinct"
    scale = 0 if counted or not isinstance(total.value, e.Numeric) else total.value.scale
    return e.Stored(name, total.least, total.most, scale, total.nullable)
