"""FROM, JOIN, WITH, subqueries, UNION ALL and GROUP BY by nested loops over lists."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sql_reference_aggregates import AVERAGE_DECIMALS, Aggregates
from sql_reference_scalars import Field, Scalars, Scope
from sql_reference_terms import Row, Term, Unknown
from sqlglot import exp


@dataclass(frozen=True)
class Relation:
    """Columns and rows; `owner` is the column that says whose a row is, if there is one."""

    fields: tuple[Field, ...]
    rows: list[Row]
    owner: tuple[str, str] | None = None

    def called(self, alias: str) -> Relation:
        """The same as a table of that name in FROM."""
        fields = tuple(replace(known, alias=alias) for known in self.fields)
        rows = [{(alias, name): value for (_, name), value in row.items()} for row in self.rows]
        return Relation(fields, rows, self.owner and (alias, self.owner[1]))


Tables = Mapping[str, Relation]
OWNER = ("", " owner")  # where the rows of a nested SELECT say whose they are; no query can name it


@dataclass(frozen=True)
class Grouped:
    """A SELECT over groups: what its keys are called in GROUP BY order, its aggregates, and the rows of each group."""

    keys: list[str]
    outputs: list[tuple[str, exp.Expr]]
    groups: dict[tuple[Any, ...], list[Row]]
    aggregates: Aggregates


@dataclass(frozen=True)
class Reader:
    """Evaluates SELECTs. `tables` holds what FROM may name, WITH included."""

    tables: Tables
    outside: Scope | None = None
    outer_row: Row = field(default_factory=dict)

    def query(self, node: exp.Expr) -> Relation:
        """The rows of a SELECT or of a UNION ALL of them."""
        if isinstance(node, exp.Subquery):
            return self.query(node.this)
        reader = self._with(node)
        if isinstance(node, exp.Union):
            if node.args.get("distinct") is not False:
                raise Unknown("UNION without ALL")
            left, right = reader.query(node.this), reader.query(node.expression)
            names = [known.name for known in left.fields]
            again = [
                {("", name): row[known.place] for name, known in zip(names, right.fields, strict=True)}
                | _owned(row, right.owner)
                for row in right.rows
            ]
            return Relation(left.fields, [*left.rows, *again], left.owner)
        if not isinstance(node, exp.Select):
            raise Unknown(type(node).__name__)
        return reader._grouped_rows(node) if is_aggregated(node) else reader._plain_rows(node)

    def grouped(self, node: exp.Expr, *, inside: bool = False) -> Grouped:
        """The groups of a SELECT; one that another SELECT reads is `inside`."""
        reader = self._with(node)
        relation = reader.source(node)
        scalars = reader._scalars(relation)
        kept = scalars.is_true(_this(node.args.get("where")))
        rows = [row for row in relation.rows if kept({**reader.outer_row, **row})]
        expressions = group_expressions(node, relation)
        terms = [scalars.term(expression) for expression in expressions]
        groups: dict[tuple[Any, ...], list[Row]] = {} if expressions else {(): []}
        for row in rows:
            groups.setdefault(tuple(term.of(row) for term in terms), []).append(row)
        items = [
            (item.alias_or_name.lower(), item.this if isinstance(item, exp.Alias) else item)
            for item in node.expressions
        ]
        keys = [next((name for name, inner in items if same(inner, key)), "") for key in expressions]
        outputs = [(name, inner.unnest()) for name, inner in items if not any(same(inner, key) for key in expressions)]
        owner = relation.owner
        aggregates = Aggregates(scalars, lambda row: None if owner is None else row[owner], inside)
        return Grouped(keys, outputs, groups, aggregates)

    def source(self, node: exp.Expr) -> Relation:
        """FROM with all its joins, before WHERE."""
        relation = self._item(node.args["from_"].this)
        for join in node.args.get("joins") or ():
            relation = self._join(relation, join)
        return relation

    def _with(self, node: exp.Expr) -> Reader:
        clause = node.args.get("with_")
        reader = self
        for named in clause.expressions if clause is not None else ():
            reader = replace(reader, tables={**reader.tables, named.alias.lower(): reader.query(named.this)})
        return reader

    def _item(self, node: exp.Expr) -> Relation:
        if isinstance(node, exp.Subquery):
            return self.query(node.this).called(node.alias.lower())
        if not isinstance(node, exp.Table) or node.name.lower() not in self.tables:
            raise Unknown(f"FROM {node.sql()}")
        return self.tables[node.name.lower()].called((node.alias or node.name).lower())

    def _join(self, left: Relation, join: exp.Join) -> Relation:
        if join.side not in ("", "LEFT"):
            raise Unknown(f"{join.side} JOIN")
        right = self._item(join.this)
        shared = {name.name.lower() for name in join.args.get("using") or ()}
        pairs = [(_visible(left.fields, name).place, _visible(right.fields, name).place) for name in shared]
        hidden = tuple(replace(known, hidden=known.name in shared) for known in right.fields)
        both = Relation(left.fields + hidden, [], left.owner or right.owner)
        on = self._scalars(both).is_true(join.args.get("on"))
        rows: list[Row] = []
        for one in left.rows:
            candidates: list[Row] = [{**one, **other} for other in right.rows]
            found = [
                row
                for row in candidates
                if all(row[a] is not None and row[a] == row[b] for a, b in pairs) and on({**self.outer_row, **row})
            ]
            if not found and join.side == "LEFT":
                found = [{**one, **dict.fromkeys(known.place for known in right.fields)}]
            rows += found
        return replace(both, rows=rows)

    def _scalars(self, relation: Relation) -> Scalars:
        return Scalars(Scope(relation.fields, self.outside, self._nested))

    def _nested(self, query: exp.Expr, scope: Scope, row: Row) -> list[list[Any]]:
        inner = replace(self, outside=scope, outer_row={**self.outer_row, **row})
        found = inner.query(query)
        return [[row[known.place] for known in found.fields] for row in found.rows]

    def _plain_rows(self, node: exp.Select) -> Relation:
        relation = self.source(node)
        scalars = self._scalars(relation)
        kept = scalars.is_true(_this(node.args.get("where")))
        items = list(_starred(node.expressions, relation))
        terms = [(name, scalars.term(inner)) for name, inner in items]
        fields = tuple(Field("", name, *_kind(term)) for name, term in terms)
        rows: list[Row] = []
        for row in relation.rows:
            seen = {**self.outer_row, **row}
            if kept(seen):
                rows.append({("", name): term.of(seen) for name, term in terms} | _owned(row, relation.owner))
        return Relation(fields, rows, relation.owner and OWNER)

    def _grouped_rows(self, node: exp.Select) -> Relation:
        """One row a group: aggregates and keys stand in the places of what names them, then items are scalars."""
        found = self.grouped(node, inside=True)
        relation = self.source(node)
        keys = group_expressions(node, relation)
        having = _this(node.args.get("having"))
        items = [
            (item.alias_or_name.lower(), item.this if isinstance(item, exp.Alias) else item)
            for item in node.expressions
        ]
        calls = _calls([*(inner for _, inner in items), *([having] if having is not None else [])])
        scalars = found.aggregates.scalars
        made = [Field("", f"key{i}", *_kind(scalars.term(key))) for i, key in enumerate(keys)]
        made += [Field("", f"call{i}", *item_kind(scalars, call)) for i, call in enumerate(calls)]
        stand_ins = list(zip([*keys, *calls], made, strict=True))
        after = Scalars(Scope(tuple(made)))
        terms = [(name, after.term(_replaced(inner, stand_ins))) for name, inner in items]
        kept = after.is_true(None if having is None else _replaced(having, stand_ins))
        rows: list[Row] = []
        for key, members in found.groups.items():
            values = [*key, *(found.aggregates.value(call, members) for call in calls)]
            row = {known.place: value for known, value in zip(made, values, strict=True)}
            if kept(row):
                made_row = {("", name): term.of(row) for name, term in terms}
                rows.append(made_row | (_owned(members[0], relation.owner) if members else {}))
        fields = tuple(Field("", name, *_kind(term)) for name, term in terms)
        return Relation(fields, rows, relation.owner and OWNER)


def is_aggregated(node: exp.Select) -> bool:
    inner = [part for item in node.expressions for part in item.find_all(exp.AggFunc)]
    return node.args.get("group") is not None or bool(inner)


def group_expressions(node: exp.Expr, relation: Relation) -> list[exp.Expr]:
    """What GROUP BY means: expressions, positions of items, or their aliases where no column has that name."""
    clause = node.args.get("group")
    items = [item.this if isinstance(item, exp.Alias) else item for item in node.expressions]
    aliased = {item.alias.lower(): item.this for item in node.expressions if isinstance(item, exp.Alias)}
    columns = {known.name for known in relation.fields}
    found = []
    for expression in clause.expressions if clause is not None else ():
        inner = expression.unnest()
        if isinstance(inner, exp.Literal) and not inner.is_string:
            inner = items[int(str(inner.this)) - 1]
        elif isinstance(inner, exp.Column) and not inner.table and inner.name.lower() not in columns:
            inner = aliased.get(inner.name.lower(), inner)
        if not any(same(inner, known) for known in found):
            found.append(inner.unnest())
    return found


def same(one: exp.Expr, other: exp.Expr) -> bool:
    def text(node: exp.Expr) -> str:
        plain = node.unnest().copy()
        return plain.sql(dialect="postgres").lower() if not isinstance(plain, exp.Column) else plain.name.lower()

    if isinstance(one.unnest(), exp.Column) and isinstance(other.unnest(), exp.Column):
        a, b = one.unnest(), other.unnest()
        if a.table and b.table and a.table.lower() != b.table.lower():
            return False
    return text(one) == text(other)


def item_kind(scalars: Scalars, node: exp.Expr) -> tuple[str, int]:
    """The kind and decimals of an item of an aggregated SELECT that another SELECT reads."""
    if isinstance(node, exp.Filter):
        return item_kind(scalars, node.this)
    if isinstance(node, exp.Count):
        return "number", 0
    if isinstance(node, (exp.Sum, exp.Min, exp.Max, exp.Avg)):
        term = scalars.term(node.this)
        return term.kind, term.decimals + (AVERAGE_DECIMALS if isinstance(node, exp.Avg) else 0)
    term = scalars.term(node)
    return term.kind, term.decimals


def _calls(nodes: list[exp.Expr]) -> list[exp.Expr]:
    """The outermost aggregates that the nodes name, each once."""
    found: list[exp.Expr] = []
    for node in nodes:
        for inner in node.find_all(exp.AggFunc, exp.Filter):
            inside = inner is not node and inner.find_ancestor(exp.AggFunc, exp.Filter)
            if not inside and not any(same(inner, known) for known in found):
                found.append(inner)
    return found


def _replaced(node: exp.Expr, stand_ins: list[tuple[exp.Expr, Field]]) -> exp.Expr:
    def replace_one(inner: exp.Expr) -> exp.Expr:
        for known, made in stand_ins:
            if isinstance(inner, type(known)) and same(inner, known):
                return exp.column(made.name)
        return inner

    return node.unnest().copy().transform(replace_one)


def _kind(term: Term) -> tuple[str, int]:
    return ("text" if term.kind == "literal" else term.kind), term.decimals


def _starred(items: list[exp.Expr], relation: Relation) -> list[tuple[str, exp.Expr]]:
    found: list[tuple[str, exp.Expr]] = []
    for item in items:
        if isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star)):
            wanted = "" if isinstance(item, exp.Star) else item.table.lower()
            found += [
                (known.name, exp.column(known.name, known.alias))
                for known in relation.fields
                if not wanted or known.alias == wanted
            ]
        else:
            found.append((item.alias_or_name.lower(), item.this if isinstance(item, exp.Alias) else item))
    return found


def _owned(row: Row, owner: tuple[str, str] | None) -> Row:
    """Whose a row is goes with it, whether or not it is selected."""
    return {} if owner is None else {OWNER: row[owner]}


def _visible(fields: tuple[Field, ...], name: str) -> Field:
    return next(known for known in fields if known.name == name and not known.hidden)


def _this(node: exp.Expr | None) -> exp.Expr | None:
    return None if node is None else node.this
