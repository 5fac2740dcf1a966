"""Rows of one relation: a scan has any number of an owner's, a limit or a truncation its own; others keep it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from dither.policy.catalog import MOST_ROWS, most_rows
from dither.policy.columns import Column
from dither.sql import expressions as e
from dither.sql.guard.facts.knowledge import (
    Facts,
    Of,
    Stored,
    alike_in,
    computed,
    renamed,
    stored,
    values_in,
    verify_condition,
)
from dither.sql.guard.ranges import UnsafePlan
from dither.sql.plan.nodes import Filter, OwnerLimit, Project, PublicScan, Retruncate, Scan


def scan(node: Scan, facts: Of) -> Facts:
    table = node.table
    if not table.people or table.max_rows_per_owner < 1:
        raise UnsafePlan(f"table {table.name!r} has no people.")
    distinct = _key(table.key, node.names)
    schema = _columns(node.names, table.columns)
    alike, values = (_named(of, node.names) for of in (table.structure.rows_in, table.structure.values))
    kinds = (table.row_level, table.owner_type)
    return Facts(schema, table.people, None, distinct, MOST_ROWS, *kinds, alike=alike, values=values)


def public_scan(node: PublicScan, facts: Of) -> Facts:
    table, called = node.table, dict(node.names)
    total = table.shape.rows or most_rows(table)
    known = Facts(_columns(node.names, table.stored), "", None, _key(table.key, node.names), total)
    return replace(known, alike=_named(table.shape.alike, node.names), around=renamed(table.shape.around, called))


def limited(node: OwnerLimit, facts: Of) -> Facts:
    if type(node.child) is not Scan:
        raise UnsafePlan("ranks belong to the rows of a scan.")
    known, most = facts(node.child), node.child.table.max_rows_per_owner
    if type(node.rows) is not int or not 1 <= node.rows <= most:
        raise UnsafePlan(f"the limit per owner must be between 1 and {most}; got {node.rows!r}.")
    return replace(known, rows=node.rows)


def truncated(node: Retruncate, facts: Of) -> Facts:
    known = facts(node.child)
    if not known.private or type(node.rows) is not int or node.rows < 1:
        raise UnsafePlan(f"a truncation keeps at least one row of an owner; got {node.rows!r}.")
    return replace(known, rows=node.rows if known.rows is None else min(known.rows, node.rows))


def filtered(node: Filter, facts: Of) -> Facts:
    known = facts(node.child)
    verify_condition(node.predicate, known.schema)
    return known


def projected(node: Project, facts: Of) -> Facts:
    known = facts(node.child)
    schema: dict[str, Stored] = {}
    called: dict[str, str] = {}
    for name, value in node.columns:
        if name in schema:
            raise UnsafePlan(f"two columns are called {name!r}.")
        schema[name] = computed(name, value, known.schema)
        if isinstance(value, (e.Stored, e.StoredText)):
            called.setdefault(value.name, name)
    kept = known.distinct is not None and all(name in called for name in known.distinct)
    distinct = frozenset(called[name] for name in known.distinct) if kept and known.distinct is not None else None
    alike, values = alike_in(node.columns, known), values_in(node.columns, known)
    around = renamed(known.around, called)
    return replace(known, schema=schema, distinct=distinct, together={}, alike=alike, values=values, around=around)


def _columns(names: Iterable[tuple[str, str]], declared: Mapping[str, Column]) -> dict[str, Stored]:
    found: dict[str, Stored] = {}
    for own, name in names:
        if own not in declared or name in found:
            raise UnsafePlan(f"{own!r} is not a declared column, or two are called {name!r}.")
        found[name] = stored(name, declared[own])
    return found


def _named(declared: Mapping[str, int], names: Iterable[tuple[str, str]]) -> dict[str, int]:
    return {name: declared[own] for own, name in names if own in declared}


def _key(key: tuple[str, ...], names: Iterable[tuple[str, str]]) -> frozenset[str] | None:
    called = dict(names)
    return frozenset(called[own] for own in key) if key and all(own in called for own in key) else None
