"""What binding relations takes, whatever they are made of: fresh names, queries named by WITH, select items."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from dither.policy.catalog import Catalog
from dither.policy.columns import Column
from dither.sql.binding.computed_columns import nullable
from dither.sql.binding.group_keys import carried
from dither.sql.binding.public_values import public_code
from dither.sql.expressions import Boolean, Constant, Expression, Stored, Truth
from dither.sql.guard.facts import facts
from dither.sql.guard.facts.knowledge import stored
from dither.sql.plan.nodes import Filter, Node, Project
from dither.sql.scalars.labels import LabelReader
from dither.sql.scalars.narrowing import kept as kept_runs
from dither.sql.scalars.rules import RULES
from dither.sql.scalars.scalar import Scalars
from dither.sql.scalars.scope import Identity, Relation, Scope
from dither.sql.text.source import Source


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
class Binder(ABC):
    """What binding the relations of one text takes. Queries named by WITH are bound anew wherever they are used.

    Joins, unions, subqueries and totals are bound by files of their own, which bind what stands inside them by the
    abstract methods: `relations` has them.
    """

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

    @abstractmethod
    def rows(self, select: exp.Expr, around: Scope | None = None) -> Rows:
        """What FROM and WHERE of a query make, its columns in a scope."""

    @abstractmethod
    def relation(self, node: exp.Expr) -> Relation:
        """A table by name, or a query in parentheses."""

    @abstractmethod
    def derived(self, query: exp.Expr) -> Relation:
        """A derived table: rows of others, or totals for each owner."""

    def selected(self, query: exp.Expr, rows: Rows) -> Relation:
        """Rows with the columns that SELECT names."""
        scalars = replace(self.scalars(rows.scope), kept=kept_runs(rows.node))
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
                public = public_code(rows.node, own, column)
                kept += [] if public is None else [(public[0].name, public[0])]
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
                    if relation.called and wanted in (None, relation.called.lower()):
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


def nullable_columns(relation: Relation) -> Relation:
    """The relation as the right side of a LEFT JOIN leaves it: every column may be NULL."""
    columns = {called: (name, nullable(column, True, None)) for called, (name, column) in relation.columns.items()}
    found = relation.found and (relation.found[0], replace(relation.found[1], may_be_null=True))
    missing = relation.owners | relation.missing
    return replace(relation, columns=columns, owners=frozenset(), found=found, missing=missing)


def with_presence(relation: Relation, name: str) -> Relation:
    """The relation with one more column, 1 on every row: NULL beside rows for which an outer join finds none."""
    kept = tuple((own, stored(own, column)) for own, column in relation.columns.values())
    codes = [(own, column) for own, column in facts(relation.node).schema.items() if own not in dict(kept)]
    node = Project(relation.node, (*dict(kept).items(), *codes, (name, Constant(1))))
    return replace(relation, node=node, found=(relation.owners, Stored(name, 1, 1, 0, False)))
