"""Derived tables of totals: SELECT owner, SUM(x) AS total ... GROUP BY owner, one row for each owner (and key)."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from dither.errors import UnsupportedQuery
from dither.policy.columns import Coded, Column
from dither.sql.binding.binder import Binder, Rows
from dither.sql.binding.computed_columns import column_of, number
from dither.sql.binding.group_keys import carried
from dither.sql.bounding.owner_limits import most_in_all, most_rows
from dither.sql.expressions import Clamp, Expression, Null, Numeric, Stored, simplifier
from dither.sql.guard.facts.knowledge import stored
from dither.sql.plan.nodes import Filter, Node, OwnerAggregate, Project, Total
from dither.sql.scalars.scalar import Scalars
from dither.sql.scalars.scope import Relation, Scope

_KNOWN = (exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max)
_LARGEST = 2**62


def totals_of(query: exp.Expr) -> list[exp.Expr]:
    """The aggregates that the items and HAVING of a query name, each call once."""
    having = query.args.get("having")
    parts = [*query.expressions, *([having.this] if having is not None else [])]
    found: dict[str, exp.Expr] = {}
    for part in parts:
        for node in part.find_all(exp.AggFunc, exp.Filter):
            if node.find_ancestor(exp.AggFunc, exp.Filter, exp.Select) in (query, None) or _outermost(node, part):
                found.setdefault(node.sql(), node)
    return list(found.values())


def _outermost(node: exp.Expr, part: exp.Expr) -> bool:
    around = node.parent
    while around is not None and node is not part:
        if isinstance(around, (exp.AggFunc, exp.Filter, exp.Select)):
            return isinstance(around, exp.Select)
        if around is part:
            return True
        around = around.parent
    return True


def per_owner(binder: Binder, query: exp.Expr, rows: Rows) -> Relation:
    """The relation of an aggregated derived table, which must be grouped by the owner."""
    if not rows.people:
        raise binder.source.refusal(query, "a derived table of totals is about a table of people.", "Name one in FROM.")
    building = _Building(binder, query, rows)
    return building.relation()


@dataclass
class _Building:
    binder: Binder
    query: exp.Expr
    rows: Rows
    keys: list[tuple[str, Expression]] = field(default_factory=list)
    totals: list[tuple[str, Total]] = field(default_factory=list)
    computed: list[tuple[str, Expression]] = field(default_factory=list)
    columns: dict[str, tuple[str, Column]] = field(default_factory=dict)  # by the syntax that stands for them

    def relation(self) -> Relation:
        query, binder = self.query, self.binder
        self._group()
        for call in totals_of(query):
            self._total(call)
        node: Node = OwnerAggregate(self.rows.node, tuple(self.keys), tuple(self.totals))
        if self.computed:
            kept = [(name, stored(name, column)) for name, column in self.columns.values() if self._is_plain(name)]
            node = Project(node, (*dict(kept).items(), *self.computed))
        known = Relation("", node, self._named())
        scope = Scope((known,), binder.source)
        having = query.args.get("having")
        if having is not None:
            node = Filter(node, binder.scalars(scope).truth(self._replaced(having.this)))
        return self._selected(node, scope)

    def _is_plain(self, name: str) -> bool:
        return all(name != computed for computed, _ in self.computed)

    def _named(self) -> dict[str, tuple[str, Column]]:
        return {name: (name, column) for name, column in self.columns.values()}

    def _group(self) -> None:
        scope, clause = self.rows.scope, self.query.args.get("group")
        scalars = self.binder.scalars(scope)
        aliased = {str(item.alias).lower(): item.this for item in self.query.expressions if isinstance(item, exp.Alias)}
        owned = False
        for given in clause.expressions if clause is not None else ():
            node = given.unnest()
            if isinstance(node, exp.Column) and not node.table and not scope.declared_as(node.name):
                node = aliased.get(node.name.lower(), node).unnest()
            if isinstance(node, exp.Literal) and not node.args.get("is_string") and str(node.this).isdigit():
                place = int(node.this)
                if 0 < place <= len(self.query.expressions):
                    node = self.query.expressions[place - 1].unalias().unnest()
            if isinstance(node, exp.Column) and scope.is_owner(node):
                owned = True
                continue
            value, column = carried(scalars, node)
            name = self.binder.names.name("c")
            self.keys.append((name, value))
            self.columns[self._text(node)] = (name, column)
        if not owned:
            at = clause if clause is not None else self.query
            hint = f"Totals of one owner can be asked about again: add GROUP BY {scope.owner_name}."
            raise self.binder.source.refusal(at, "a derived table is not grouped by the owner.", hint)

    def _text(self, node: exp.Expr) -> str:
        """The same for the same syntax: names without regard to their case and table."""
        plain = node.copy()
        for column in [plain, *plain.find_all(exp.Column)]:
            if isinstance(column, exp.Column):
                relation, name = self.rows.scope.place(column)
                column.replace(exp.column(relation.columns[name][0], quoted=True)) if column is not plain else None
        if isinstance(plain, exp.Column):
            plain = exp.column(self.rows.scope.find(plain)[0], quoted=True)
        return plain.sql()

    def _total(self, call: exp.Expr) -> None:
        scalars = self.binder.scalars(self.rows.scope)
        node, condition = call, None
        if isinstance(call, exp.Filter):
            node, condition = call.this, scalars.truth(call.expression.this)
        inner = node.this
        if not isinstance(node, _KNOWN) or isinstance(inner, exp.Distinct) or node.find(exp.Window):
            hint = "Inside a derived table use COUNT(*), COUNT(x), SUM(x), AVG(x), MIN(x) or MAX(x)."
            raise scalars.refusal(node, "this aggregate cannot be computed for each owner.", hint)
        rows = most_rows(self.rows.node)
        if isinstance(node, exp.Count):
            if not isinstance(inner, exp.Star):
                counted = scalars.value(inner).node
                present = simplifier.negation(simplifier.is_null(counted))
                condition = present if condition is None else simplifier.conjunction((present, condition))
            self._add(call, Total("count", None, condition, 0, rows, False), number(0, rows, 0, False))
            return
        value = scalars.number(inner)
        if condition is not None:
            value = simplifier.choose((condition,), (value,), Null())
        if isinstance(node, exp.Avg):
            self._average(call, value, rows)
        elif isinstance(node, exp.Sum):
            self._sum(scalars, call, value, rows)
        else:
            function = "min" if isinstance(node, exp.Min) else "max"
            low, high = value.bounds
            total = Total(function, value, None, low, high, value.nullable)
            self._add(call, total, number(low, high, value.scale, value.nullable))

    def _sum(self, scalars: Scalars, call: exp.Expr, value: Numeric, rows: int) -> tuple[str, Coded]:
        low, high = min(0, value.low) * rows, max(0, value.high) * rows
        if not (max(-low, high) <= _LARGEST and most_in_all(self.rows.node) * value.reach < 2**126):
            hint = "Its declared bounds allow more than 62 bits for one owner; use smaller factors or narrower columns."
            raise scalars.refusal(call, "this total can grow too large.", hint)
        column = number(low, high, value.scale, value.nullable)
        return self._add(call, Total("sum", value, None, low, high, value.nullable), column), column

    def _average(self, call: exp.Expr, value: Numeric, rows: int) -> None:
        """Sum over count, to six decimals more than the value has, within the value's own bounds."""
        scalars = self.binder.scalars(self.rows.scope)
        total, column = self._sum(scalars, exp.Sum(this=call.copy()), value, rows)
        present = simplifier.negation(simplifier.is_null(value)) if value.nullable else None
        counting = Total("count", None, present, 0, rows, False)
        count = self._add(exp.Count(this=call.copy()), counting, number(0, rows, 0, False))
        dividend, divisor = stored(total, column), stored(count, number(0, rows, 0, False))
        if not isinstance(dividend, Stored) or not isinstance(divisor, Stored):
            raise TypeError("totals are numbers")
        decimals = min(18, value.scale + simplifier.DIVISION_DECIMALS)
        quotient = simplifier.divide(simplifier.rescaled(dividend, decimals), divisor)
        unit = 10 ** (decimals - value.scale)
        clamped = Clamp(quotient, value.low * unit, value.high * unit)
        name = self.binder.names.name("c")
        self.computed.append((name, clamped))
        self.columns[call.sql()] = (name, number(value.low * unit, value.high * unit, decimals, True))

    def _add(self, call: exp.Expr, total: Total, column: Column) -> str:
        name = self.binder.names.name("c")
        self.totals.append((name, total))
        self.columns[call.sql()] = (name, column)
        return name

    def _replaced(self, node: exp.Expr) -> exp.Expr:
        """The syntax with keys and aggregates in the places of what stands for them."""
        copied = node.copy()
        holder = exp.Paren(this=copied)
        for inner in list(holder.walk()):
            if inner is holder or inner.root() is not holder:
                continue
            known = self.columns.get(inner.sql()) if isinstance(inner, (exp.AggFunc, exp.Filter)) else self._key(inner)
            if known is not None:
                inner.replace(exp.column(known[0], quoted=True))
        replaced: exp.Expr = holder.this
        return replaced

    def _key(self, node: exp.Expr) -> tuple[str, Column] | None:
        if isinstance(node, (exp.Literal, exp.Identifier)) or not self.keys:
            return None
        try:
            return self.columns.get(self._text(node))
        except UnsupportedQuery:  # a name that is no column here is refused when it is bound
            return None

    def _selected(self, node: Node, scope: Scope) -> Relation:
        scalars = self.binder.scalars(scope)
        columns: dict[str, tuple[str, Column]] = {}
        owners: set[str] = set()
        computed: list[tuple[str, Expression]] = []
        owner_places: list[int] = []
        for place, (item, alias) in enumerate(self.binder.items(self.query, self.rows.scope)):
            if isinstance(item, exp.Column) and self.rows.scope.is_owner(item):
                owners.add(alias or item.name)
                owner_places.append(place)
                continue
            name = alias or (item.name if isinstance(item, exp.Column) else _plain_name(item))
            if name.lower() in {known.lower() for known in columns}:
                raise self.binder.source.refusal(item, f"two columns are called {name!r}.", "Give each its own alias.")
            self._refuse_rows(item)
            stands_for = self._replaced(item)
            if isinstance(stands_for, exp.Column):
                columns[name] = scope.find(stands_for)
                continue
            value, column = column_of(scalars, stands_for)
            own = self.binder.names.name("c")
            computed.append((own, value))
            columns[name] = (own, column)
        if computed:
            kept = {name: stored(name, column) for name, column in self._named().values()}
            node = Project(node, (*kept.items(), *computed))
        made = Relation("", node, columns, frozenset(owners), self.rows.people, {}, tuple(owner_places))
        return self.binder.called_apart(self.query, made)

    def _refuse_rows(self, item: exp.Expr) -> None:
        """A column that is neither grouped by nor aggregated has many values for one owner."""
        replaced = self._replaced(item)
        for column in replaced.find_all(exp.Column):
            if column.name not in self._named():
                hint = "Add it to GROUP BY, or aggregate it with SUM, COUNT, AVG, MIN or MAX."
                raise self.binder.source.refusal(item, f"{column.name!r} is neither grouped by nor aggregated.", hint)


def _plain_name(item: exp.Expr) -> str:
    return item.key if isinstance(item, exp.AggFunc) else "value"
