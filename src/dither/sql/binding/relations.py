"""From FROM to relations: tables, joins, derived tables, unions. Every private row stays tied to its owner."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from dither.policy.catalog import PublicTable, Table, code_of
from dither.sql.binding.binder import Binder, Rows
from dither.sql.binding.joining.from_clauses import parts_of
from dither.sql.binding.joining.join_conditions import Part, conjuncts
from dither.sql.binding.joining.joins import Joining
from dither.sql.binding.joining.owner_windows import qualified, windows_in, with_windows
from dither.sql.binding.joining.scalar_queries import write_out
from dither.sql.binding.owner_aggregates import per_owner
from dither.sql.binding.owner_total_calls import totals_of
from dither.sql.binding.subqueries import semi_joins
from dither.sql.binding.unions import union
from dither.sql.plan.nodes import PublicScan, Scan
from dither.sql.scalars.scope import Identity, Relation, Scope

MOST_RELATIONS = 40  # that one query reads; a query named by WITH is read wherever it is used

_ROWS_ONLY = {
    "distinct": ("DISTINCT", "Group by the owner instead: SELECT owner, COUNT(*) AS n ... GROUP BY owner."),
    "order": ("ORDER BY", "Leave it out here, and order the answer."),
    "limit": ("LIMIT", "Leave it out here, and cut the answer."),
    "offset": ("OFFSET", "Leave it out here, and cut the answer."),
}


@dataclass(frozen=True)
class Relations(Binder):
    """Binds tables by name and queries in parentheses, and what a FROM joins of them."""

    def rows(self, select: exp.Expr, around: Scope | None = None) -> Rows:
        """What FROM and WHERE of a query make, its columns in a scope."""
        clause = select.args.get("from_")
        if clause is None:
            raise self.source.refusal(select, "the query names no table.", "Write FROM and a registered table.")
        write_out(self, select)
        parts = parts_of(self, select)
        self._called_apart(parts)
        where = select.args.get("where")
        joining = Joining(self, parts, around)
        rows = joining.join(() if where is None else conjuncts(where.this))
        return semi_joins(self, rows)

    def _called_apart(self, parts: list[Part]) -> None:
        seen: set[str] = set()
        for at, relation in ((part.at, one) for part in parts for one in part.relations if one.called):
            if relation.called.lower() in seen:
                what = f"two tables are called {relation.called!r} here."
                raise self.source.refusal(at, what, "Give each an alias: FROM t AS a JOIN t AS b.")
            seen.add(relation.called.lower())

    def relation(self, node: exp.Expr) -> Relation:
        """A table by name, or a query in parentheses."""
        self.names.relations += 1
        if self.names.relations > MOST_RELATIONS:
            what = f"the query reads more than {MOST_RELATIONS} tables, a query named by WITH at every use."
            raise self.source.refusal(node, what, "Join fewer tables, or ask several questions.")
        if isinstance(node, exp.Subquery):
            called = self.alias(node) if node.args.get("alias") else self.names.name("derived")
            return replace(self.derived(node.this), called=called)
        if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
            raise self.source.refusal(node, "only tables and queries stand in FROM.", "Name a registered table.")
        called = self.alias(node) if node.args.get("alias") else node.name
        named = None if "in_schema" in node.meta else self.queries.get(node.name.lower())
        if named is not None:
            query, binder = named
            return replace(binder.derived(query.copy()), called=called)  # windows are written out where they stand
        table = self.catalog.find(node.name)
        own = called if node.args.get("alias") else table.name
        return self._table(table, own)

    def _table(self, table: Table | PublicTable, called: str) -> Relation:
        names = tuple((own, self.names.name(own)) for own in table.columns)
        columns = {own: (name, table.columns[own]) for own, name in names}
        if isinstance(table, PublicTable):
            codes = tuple((code_of(own), code_of(name)) for own, name in names if own in table.labels)
            return Relation(called, PublicScan(table, names + codes), columns)
        identities: dict[str, Identity] = {}
        by_own = {own.lower(): name for own, name in names}
        if table.via is not None and table.via.column.lower() in by_own:
            to = Identity(table.via.table.lower(), table.via.key.lower(), foreign=True)
            identities[by_own[table.via.column.lower()]] = to
        if len(table.key) == 1 and table.key[0].lower() in by_own:
            own_key = Identity(table.name.lower(), table.key[0].lower(), foreign=False)
            identities.setdefault(by_own[table.key[0].lower()], own_key)
        owners = frozenset({table.owner} if table.owner else ())
        return Relation(called, Scan(table, names), columns, owners, table.people, identities)

    def derived(self, query: exp.Expr) -> Relation:
        """A derived table: rows of others, or totals for each owner."""
        query = query.unnest() if isinstance(query, (exp.Paren, exp.Subquery)) else query
        if isinstance(query, exp.Union):
            return union(self, query)
        if not isinstance(query, exp.Select):
            raise self.source.refusal(query, "a derived table is a SELECT.", "Write (SELECT ... FROM ...) AS name.")
        for name, (words, hint) in _ROWS_ONLY.items():
            if query.args.get(name):
                raise self.source.refusal(query, f"{words} in a derived table is not supported.", hint)
        inner = self.within(query)
        rows = inner.rows(query)
        if windows_in(query):
            rows = qualified(inner, query, with_windows(inner, query, rows))
        elif query.args.get("qualify"):
            raise self.source.refusal(query.args["qualify"], "QUALIFY needs a window.", "Write WHERE.")
        if query.args.get("group") or query.args.get("having") or totals_of(query):
            return per_owner(inner, query, rows)
        return inner.selected(query, rows)
