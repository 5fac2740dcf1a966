"""Derived tables of totals: SELECT owner, SUM(x) AS total ... GROUP BY owner, one row for each owner (and key)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from sqlglot import exp

from dither.errors import UnsupportedQuery
from dither.policy.columns import Coded, Column, Int
from dither.sql.binding.binder import Binder, Rows
from dither.sql.binding.computed_columns import column_of, declared, number
from dither.sql.binding.group_keys import carried
from dither.sql.binding.owner_total_calls import totals_of
from dither.sql.bounding.owner_limits import most_in_all, most_rows
from dither.sql.expressions import Boolean, Clamp, Constant, Expression, Null, Numeric, Stored, Textual, simplifier
from dither.sql.guard.facts.knowledge import stored
from dither.sql.plan.nodes import Filter, Node, OwnerAggregate, Project, PublicAggregate, Total
from dither.sql.scalars import narrowing
from dither.sql.scalars.scalar import Scalars, Value
from dither.sql.scalars.scope import Relation, Scope

_KNOWN = (exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max, exp.Median, exp.LogicalOr, exp.LogicalAnd)
_LARGEST = 2**62


def per_owner(binder: Binder, query: exp.Expr, rows: Rows) -> Relation:
    """The relation of an aggregated derived table, which must be grouped by the owner if it is about people."""
    return _Building(binder, query, rows).relation()


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
        made = OwnerAggregate if self.rows.people else PublicAggregate
        node: Node = made(self.rows.node, tuple(self.keys), tuple(self.totals))
        if self.computed:
            kept = [(name, stored(name, column)) for name, column in self.columns.values() if self._is_plain(name)]
            node = Project(node, (*dict(kept).items(), *self.computed))
        known = Relation("", node, self._named())
        scope = Scope((known,), binder.source)
        having = query.args.get("having")
        if having is not None:
            node = Filter(node, binder.scalars(scope).truth(self._replaced(having.this)))
        return self._selected(node, scope)

    def _scalars(self) -> Scalars:
        """Of the rows below, as their conditions have left them."""
        return replace(self.binder.scalars(self.rows.scope), kept=narrowing.kept(self.rows.node))

    def _may_be_null(self, value: Numeric) -> bool:
        """Whether a total is NULL somewhere: that of no values, and without groups also that of no rows."""
        return value.nullable or not (self.rows.people or self.keys)

    def _is_plain(self, name: str) -> bool:
        return all(name != computed for computed, _ in self.computed)

    def _named(self) -> dict[str, tuple[str, Column]]:
        return {name: (name, column) for name, column in self.columns.values()}

    def _group(self) -> None:
        scope, clause = self.rows.scope, self.query.args.get("group")
        scalars = self._scalars()
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
        if not owned and self.rows.people:
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
        scalars = self._scalars()
        node, condition = call, None
        if isinstance(call, exp.Filter):
            node, condition = call.this, scalars.truth(call.expression.this)
        inner = node.this
        different = isinstance(node, exp.Count) and isinstance(inner, exp.Distinct) and len(inner.expressions) == 1
        if not isinstance(node, _KNOWN) or (isinstance(inner, exp.Distinct) and not different) or node.find(exp.Window):
            hint = (
                "Inside a derived table use COUNT(*), COUNT(x), COUNT(DISTINCT x), SUM(x), AVG(x), MIN(x), MAX(x), "
                "MEDIAN(x), BOOL_OR(c) or BOOL_AND(c)."
            )
            raise scalars.refusal(node, "this aggregate cannot be computed for each owner.", hint)
        rows = most_rows(self.rows.node) if self.rows.people else most_in_all(self.rows.node)
        if different:
            self._different(call, scalars, inner.expressions[0].unnest(), condition, rows)
            return
        if isinstance(node, exp.Count):
            if not isinstance(inner, exp.Star):
                found = scalars.scope.found(inner)
                counted = scalars.value(inner).node if found is None else found
                present = simplifier.negation(simplifier.is_null(counted))
                condition = present if condition is None else simplifier.conjunction((present, condition))
            self._add(call, Total("count", None, condition, 0, rows, False), number(0, rows, 0, False))
            return
        if isinstance(node, (exp.Min, exp.Max, exp.LogicalOr, exp.LogicalAnd)):
            self._extreme(call, node, scalars, condition)
            return
        value = _where(scalars.number(inner), condition)
        if isinstance(node, exp.Avg):
            self._average(call, value, rows)
        elif isinstance(node, exp.Median):
            self._median(call, scalars, value)
        else:
            self._sum(call, value, rows)

    def _different(
        self, call: exp.Expr, scalars: Scalars, node: exp.Expr, condition: Boolean | None, rows: int
    ) -> None:
        value, _ = column_of(scalars, node)
        if condition is not None and not isinstance(value, Numeric):
            raise scalars.refusal(node, "FILTER cannot leave out texts here.", "Write the condition into WHERE.")
        if not isinstance(value, (Numeric, Textual)):
            raise scalars.refusal(node, "a column or a value computed from columns is needed here.", "Name a column.")
        counted = _where(value, condition) if isinstance(value, Numeric) else value
        self._add(call, Total("distinct", counted, None, 0, rows, False), number(0, rows, 0, False))

    def _extreme(self, call: exp.Expr, node: exp.Expr, scalars: Scalars, condition: Boolean | None) -> None:
        """The least or greatest number, day or moment; BOOL_OR is the greatest of truths, BOOL_AND the least."""
        truths = isinstance(node, (exp.LogicalOr, exp.LogicalAnd))
        given = Value("boolean", simplifier.indicator(scalars.truth(node.this))) if truths else scalars.value(node.this)
        if not truths and given.kind not in ("number", "date", "timestamp", "local"):
            scalars.as_number(node.this, given)
        if not isinstance(given.node, Numeric):
            raise TypeError(given.kind)
        value = _where(given.node, condition)
        function = "max" if isinstance(node, (exp.Max, exp.LogicalOr)) else "min"
        low, high = value.bounds
        self._check_size(call, low, high)
        null = self._may_be_null(value)
        name = self._add(call, Total(function, value, None, low, high, null), Int(0, 0))
        made = Stored(name, low, high, value.scale, null)
        self.columns[call.sql()] = (name, declared(Value(given.kind, made))[1])

    def _median(self, call: exp.Expr, scalars: Scalars, value: Numeric) -> None:
        """Half the sum of the lower and the upper median, which is the lower one of the numbers turned round."""
        (low, high), null = value.bounds, self._may_be_null(value)
        self._check_size(call, 10 * low, 10 * high)
        ends = []
        for turned, least, most in ((value, low, high), (simplifier.negate(value), -high, -low)):
            column = number(least, most, value.scale, null)
            total = Total("median", turned, None, least, most, null)
            ends.append(Stored(self._add(exp.Median(this=call.copy()), total, column), least, most, value.scale, null))
        doubled = simplifier.subtract(ends[0], ends[1])
        half = Clamp(simplifier.multiply(doubled, Constant(5, 1)), 10 * low, 10 * high)
        name = self.binder.names.name("c")
        self.computed.append((name, half))
        self.columns[call.sql()] = (name, number(10 * low, 10 * high, value.scale + 1, null))

    def _check_size(self, call: exp.Expr, low: int, high: int, *, fits: bool = True) -> None:
        if not fits or max(-low, high) > _LARGEST:
            hint = "Its declared bounds allow more than 62 bits for one owner; use smaller factors or narrower columns."
            raise self.binder.source.refusal(call, "this total can grow too large.", hint)

    def _sum(self, call: exp.Expr, value: Numeric, rows: int) -> tuple[str, Coded]:
        low, high = min(0, value.low) * rows, max(0, value.high) * rows
        self._check_size(call, low, high, fits=most_in_all(self.rows.node) * value.reach < 2**126)
        null = self._may_be_null(value)
        column = number(low, high, value.scale, null)
        return self._add(call, Total("sum", value, None, low, high, null), column), column

    def _average(self, call: exp.Expr, value: Numeric, rows: int) -> None:
        """Sum over count, to six decimals more than the value has, within the value's own bounds."""
        decimals = min(18, value.scale + simplifier.DIVISION_DECIMALS)
        unit = 10 ** (decimals - value.scale)
        self._check_size(call, value.low * unit, value.high * unit)
        total, column = self._sum(exp.Sum(this=call.copy()), value, rows)
        present = simplifier.negation(simplifier.is_null(value)) if value.nullable else None
        counting = Total("count", None, present, 0, rows, False)
        count = self._add(exp.Count(this=call.copy()), counting, number(0, rows, 0, False))
        dividend, divisor = stored(total, column), stored(count, number(0, rows, 0, False))
        if not isinstance(dividend, Stored) or not isinstance(divisor, Stored):
            raise TypeError("totals are numbers")
        quotient = simplifier.divide(simplifier.rescaled(dividend, decimals), divisor)
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


def _where(value: Numeric, condition: Boolean | None) -> Numeric:
    """The value, NULL where FILTER leaves it out."""
    return value if condition is None else simplifier.choose((condition,), (value,), Null())


def _plain_name(item: exp.Expr) -> str:
    return item.key if isinstance(item, exp.AggFunc) else "value"
