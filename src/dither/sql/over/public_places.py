"""Public tables beside answers: what is computed from noisy rows may look things up in them, which is free as well."""

from __future__ import annotations

from sqlglot import exp

from dither.policy.catalog import Catalog, PublicTable
from dither.sql.over.known_queries import Known
from dither.sql.text.source import Source

MOST_ROWS = 100_000  # of a public table that is computed with


def reads_public(place: exp.Expr, catalog: Catalog, known: Known) -> bool:
    """Whether a place of FROM reads public tables alone."""
    tables = list(place.find_all(exp.Table))
    named = {*known.answers, *known.rows}
    return bool(tables) and all(_found(table, catalog) and table.name.lower() not in named for table in tables)


def public_tables(outer: exp.Query, answers: set[str], catalog: Catalog, source: Source) -> dict[str, PublicTable]:
    """The public tables that a query names beside these answers, each by its declared name; any other is refused."""
    found: dict[str, PublicTable] = {}
    named = {query.alias.lower() for query in outer.find_all(exp.CTE)}
    for node in list(outer.find_all(exp.Table)):
        if not node.db and (node.name in answers or node.name.lower() in named):
            continue
        table = _found(node, catalog)
        if table is None or table.name.lower() in named:  # nothing else may ever be in reach
            raise source.refusal(node, f"there is no answer {node.name[:40]!r} here.", "Name a query of WITH.")
        if not 0 < table.shape.rows <= MOST_ROWS:
            what = f"only public tables of {MOST_ROWS:,} rows at most are computed with."
            raise source.refusal(node, what, "Join it to the table of people instead.")
        found[table.name] = table
        own = exp.TableAlias(this=exp.to_identifier(node.alias or node.name, quoted=True))
        node.replace(exp.Table(this=exp.to_identifier(table.name, quoted=True), alias=own))
    return found


def finds_one(join: exp.Join, table: PublicTable) -> bool:
    """Whether a row finds one row of the table at most: by an equality with every column of its key."""
    condition, equal = join.args.get("on"), {name.name.lower() for name in join.args.get("using") or ()}
    parts = list(condition.flatten()) if isinstance(condition, exp.And) else [condition]
    for part in parts:
        if isinstance(part, exp.EQ) and isinstance(part.this, exp.Column) and isinstance(part.expression, exp.Column):
            sides = (part.this, part.expression)
            own = [side for side in sides if side.table.lower() == join.this.alias_or_name.lower()]
            equal |= {own[0].name.lower()} if len(own) == 1 and all(side.table for side in sides) else set()
    return join.side in ("", "LEFT") and equal >= {name.lower() for name in table.key}


def _found(node: exp.Table, catalog: Catalog) -> PublicTable | None:
    known = (one for name, one in catalog.public.items() if name.lower() == node.name.lower())
    return next(known, None) if node.db.lower() in ("", catalog.schema.lower()) else None
