"""From FROM to relations: tables, joins, derived tables, unions. Every private row stays tied to its owner."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from dither.columns import Column
from dither.sql.catalog import Catalog, PublicTable, Table
from dither.sql.computed import nullable
from dither.sql.expressions import Boolean, Expression, Truth
from dither.sql.facts.known import stored
from dither.sql.join_conditions import Part
from dither.sql.keys import carried
from dither.sql.labels import LabelReader
from dither.sql.plan import Filter, Node, Project, PublicScan, Scan
from dither.sql.rules import RULES
from dither.sql.scalar import Scalars
from dither.sql.scope import Identity, Relation, Scope
from dither.sql.source import Source

MOST_RELATIONS = 40  # that one query reads; a query named by WITH is read wherever it is used

_ROWS_ONLY = {
    "distinct": ("DISTINCT", "Group by the owner instead: SELECT owner, COUNT(*) AS n ... GROUP BY owner."),
    "order": ("ORDER BY", "Leave it out here, and order the answer."),
    "limit": ("LIMIT", "Leave it out here, and cut the answer."),
    "offset": ("OFFSET", "Leave it out here, and cut the answer."),
}


@dataclass
class FreshNames:
    """Names for the columns of a plan, each given once, in whatever case; and how many relations have them."""

    taken: set[str] = field(default_factory=set)
    relations: int = 0

    def name(self, wanted: str) -> str:
        name, number = wanted, 1
        while name.lower() in self.taken:
            number += 1
            name = f"{wanted}_{number}"
        self.taken.add(name.lower())
        return name


@dataclass(frozen=True)
class Binder:
    """Binds the relations of one text. Queries named by WITH are bound anew wherever they are used."""

    source: Source
    catalog: Catalog
    names: FreshNames = field(default_factory=FreshNames)
    queries: Mapping[str, tuple[exp.Expr, Binder]] = field(default_factory=dict)
    labels: LabelReader | None = None

    def within(self, select: exp.Expr) -> Binder:
        """The binder that also knows the queries which this one names by WITH."""
        clause = select.args.get("with_")
        inner = self
        for query in clause.expressions if clause is not None else ():
            name = str(query.alias)
            if name.lower() in inner.queries and inner.queries[name.lower()][1].queries is self.queries:
                raise self.source.refusal(query, f"two queries are called {name!r}.", "Give each its own name.")
            inner = replace(inner, queries={**inner.queries, name.lower(): (query.this, inner)})
        return inner

    def scalars(self, scope: Scope) -> Scalars:
        labels = self.labels if self.labels is not None else LabelReader(self.source)
        return Scalars(scope, labels, RULES)

    # Relations

    def rows(self, select: exp.Expr, around: Scope | None = None) -> Rows:
        """What FROM and WHERE of a query make, its columns in a scope."""
        from dither.sql.joining import Joining
        from dither.sql.subqueries import semi_joins

        clause = select.args.get("from_")
        if clause is None:
            raise self.source.refusal(select, "the query names no table.", "Write FROM and a registered table.")
        parts = [Part(self.relation(clause.this), clause.this)]
        parts += [self._joined(join) for join in select.args.get("joins") or ()]
        self._called_apart(parts)
        where = select.args.get("where")
        joining = Joining(self, parts, around)
        rows = joining.join(() if where is None else _conjuncts(where.this))
        return semi_joins(self, rows)

    def _joined(self, join: exp.Expr) -> Part:
        kind, side = str(join.args.get("kind") or "").upper(), str(join.args.get("side") or "").upper()
        if side not in ("", "LEFT") or kind not in ("", "INNER", "CROSS", "OUTER") or join.args.get("method"):
            word = " ".join(filter(None, (str(join.args.get("method") or "").upper(), side, kind)))
            hint = "Write JOIN ... ON, or LEFT JOIN with the table of people on the left."
            raise self.source.refusal(join, f"{word} JOIN is not supported.", hint)
        on = join.args.get("on")
        using = tuple(join.args.get("using") or ())
        conditions = () if on is None else tuple(_conjuncts(on))
        return Part(self.relation(join.this), join.this, side == "LEFT", conditions, using)

    def _called_apart(self, parts: list[Part]) -> None:
        seen: set[str] = set()
        for part in parts:
            if part.relation.called.lower() in seen:
                what = f"two tables are called {part.relation.called!r} here."
                raise self.source.refusal(part.at, what, "Give each an alias: FROM t AS a JOIN t AS b.")
            seen.add(part.relation.called.lower())

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
        named = self.queries.get(node.name.lower())
        if named is not None:
            query, binder = named
            return replace(binder.derived(query), called=called)
        table = self.catalog.find(node.name)
        own = called if node.args.get("alias") else table.name
        return self._table(table, own)

    def _table(self, table: Table | PublicTable, called: str) -> Relation:
        names = tuple((own, self.names.name(own)) for own in table.columns)
        columns = {own: (name, table.columns[own]) for own, name in names}
        if isinstance(table, PublicTable):
            return Relation(called, PublicScan(table, names), columns)
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
        from dither.sql.per_owner import per_owner, totals_of
        from dither.sql.unions import union

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
        if query.args.get("group") or query.args.get("having") or totals_of(query):
            return per_owner(inner, query, rows)
        return inner.selected(query, rows)

    def selected(self, query: exp.Expr, rows: Rows) -> Relation:
        """Rows with the columns that SELECT names."""
        scalars = self.scalars(rows.scope)
        columns: dict[str, tuple[str, Column]] = {}
        owners: set[str] = set()
        owner_places: list[int] = []
        kept: list[tuple[str, Expression]] = []
        computed = False
        for place, (item, alias) in enumerate(self.items(query, rows.scope)):
            if isinstance(item, exp.Column) and rows.scope.is_owner(item):
                owners.add(alias or item.name)
                if not rows.scope.declared_as(item.name):
                    owner_places.append(place)
                    continue
            name = alias or (item.name if isinstance(item, exp.Column) else None)
            name = f"?column?{len(columns)}" if name is None else name  # has no name to ask for it by
            if name.lower() in {known.lower() for known in columns}:
                raise self.source.refusal(item, f"two columns are called {name!r}.", "Give each its own alias.")
            if isinstance(item, exp.Column):
                own, column = rows.scope.find(item)
                kept.append((own, stored(own, column)))
                columns[name] = (own, column)
            else:
                value, column = carried(scalars, item)
                own, computed = self.names.name("c"), True
                kept.append((own, value))
                columns[name] = (own, column)
        node: Node = rows.node
        if computed:
            node = Project(node, tuple(dict(kept).items()))
        made = Relation("", node, columns, frozenset(owners), rows.people, rows.identities, tuple(owner_places))
        return self.called_apart(query, made)

    def called_apart(self, query: exp.Expr, relation: Relation) -> Relation:
        """The relation, if no column that is not the owner is called as the owner is."""
        for name in relation.columns:
            if relation.is_owner(name) and relation.owner_places:
                what = f"{name!r} is both the owner and another column."
                raise self.source.refusal(query, what, "Give each its own alias.")
        return relation

    def items(self, query: exp.Expr, scope: Scope) -> Iterable[tuple[exp.Expr, str | None]]:
        """The select items of a derived table and their aliases, `*` written out."""
        for item in query.expressions:
            node = item.unnest()
            if isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star)):
                wanted = node.table.lower() if isinstance(node, exp.Column) else None
                for relation in scope.relations:
                    if wanted in (None, relation.called.lower()):
                        for name in relation.columns:
                            yield exp.column(name, table=relation.called, quoted=True), None
                        for owner in sorted(owner for owner in relation.owners if not relation.named(owner)):
                            yield exp.column(owner, table=relation.called, quoted=True), None
            elif isinstance(node, exp.Alias):
                yield node.this.unnest(), self.alias(node)
            else:
                yield node, None

    def alias(self, node: exp.Expr) -> str:
        alias = str(node.alias)
        if not alias.strip():
            at = node.args.get("alias") or node
            at = at if isinstance(at, exp.Expr) else node
            raise self.source.refusal(at, "an alias has at least one letter.", "Name it, or leave AS out.")
        return alias


@dataclass(frozen=True)
class Rows:
    """A relation as FROM and WHERE leave it: its plan, and the scope that names its columns.

    `pending` are conditions that hold a query; `correlated` those that name columns of the query around, and
    `linked` whether one of them made the owners equal.
    """

    node: Node
    scope: Scope
    people: str
    identities: Mapping[str, Identity]
    pending: tuple[exp.Expr, ...] = ()
    correlated: tuple[exp.Expr, ...] = ()
    linked: bool = False

    def where(self, truth: Boolean) -> Rows:
        return self if truth == Truth(True) else replace(self, node=Filter(self.node, truth))


def _conjuncts(node: exp.Expr) -> list[exp.Expr]:
    """The conditions that AND joins, from left to right."""
    found: list[exp.Expr] = []
    left = [node]
    while left:
        inner = left.pop()
        plain = inner.unnest() if isinstance(inner, exp.Paren) else inner
        if isinstance(plain, exp.And):
            left += [plain.expression, plain.this]
        else:
            found.append(plain)
    return found


def nullable_columns(relation: Relation) -> Relation:
    """The relation as the right side of a LEFT JOIN leaves it: every column may be NULL."""
    columns = {called: (name, nullable(column, True, None)) for called, (name, column) in relation.columns.items()}
    return replace(relation, columns=columns, owners=frozenset())
