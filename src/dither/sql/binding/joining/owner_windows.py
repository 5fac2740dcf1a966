"""Windows within one owner: ROW_NUMBER, RANK, DENSE_RANK, LAG and LEAD over the owner's own rows, in a derived table.

What such a column holds follows from the rows of one owner alone, as all else in a row does. A window over rows of
several people would compare them, and is refused.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from dither.policy.columns import Column, Int
from dither.sql.binding.binder import Binder, Rows
from dither.sql.binding.computed_columns import column_of, nullable
from dither.sql.bounding.owner_limits import most_rows
from dither.sql.expressions import Expression, Numeric
from dither.sql.plan.nodes import Filter
from dither.sql.plan.window_nodes import OwnerWindow, Window
from dither.sql.scalars.scalar import Scalars
from dither.sql.scalars.scope import Relation
from dither.sql.text.subtree import subtree

_RANKS = {exp.RowNumber: "row_number", exp.Rank: "rank", exp.DenseRank: "dense_rank"}
_ROWS = {exp.Lag: "lag", exp.Lead: "lead"}
_MOST_AWAY = 1_000  # rows that LAG and LEAD go


def windows_in(query: exp.Expr) -> list[exp.Window]:
    """The windows of a query's own items and QUALIFY."""
    items = [*query.expressions, *filter(None, [query.args.get("qualify")])]
    found = [node for item in items for node in subtree(item) if isinstance(node, exp.Window)]
    return [node for node in found if node.parent_select is query]


def with_windows(binder: Binder, query: exp.Expr, rows: Rows) -> Rows:
    """The rows with a column for each window, which then stands in its place."""
    building = _Building(binder, rows, binder.scalars(rows.scope))
    columns: dict[str, tuple[str, Column]] = {}
    windows: list[tuple[str, Window]] = []
    for node in windows_in(query):
        if query.args.get("group") or query.args.get("having"):
            hint = "Number the rows in one derived table, and group them in the query around it."
            raise binder.source.refusal(node, "a window beside GROUP BY is not supported here.", hint)
        window, column = building.window(node)
        name = binder.names.name("w")
        windows.append((name, window))
        columns[name] = name, column
        node.replace(exp.column(name, quoted=True))
    made = OwnerWindow(rows.node, tuple(windows))
    scope = replace(rows.scope, relations=(*rows.scope.relations, Relation("", made, columns)))
    return replace(rows, node=made, scope=scope)


def qualified(binder: Binder, query: exp.Expr, rows: Rows) -> Rows:
    """The rows that QUALIFY keeps: WHERE after the windows, which knows the names of the query's own items too."""
    clause = query.args.get("qualify")
    if clause is None:
        return rows
    items = {item.alias.lower(): item.this for item in query.expressions if isinstance(item, exp.Alias)}
    for name in [node for node in clause.find_all(exp.Column) if not node.table and node.name.lower() in items]:
        if rows.scope.declared_as(name.name) and items[name.name.lower()] != name:
            what = f"{name.name!r} is a column and the name of a select item."
            raise binder.source.refusal(name, what, "Give the item another alias.")
        name.replace(exp.Paren(this=items[name.name.lower()].copy()))
    return replace(rows, node=Filter(rows.node, binder.scalars(rows.scope).truth(clause.this)))


@dataclass(frozen=True)
class _Building:
    binder: Binder
    rows: Rows
    scalars: Scalars

    def window(self, node: exp.Window) -> tuple[Window, Column]:
        function = node.this
        kind = _RANKS.get(type(function)) or _ROWS.get(type(function))
        if kind is None:
            called = (self.binder.source.written(function) or function.key)[:40].upper()
            hint = "Windows within one owner are ROW_NUMBER, RANK, DENSE_RANK, LAG and LEAD; totals are GROUP BY's."
            raise self.scalars.refusal(node, f"{called} over rows of people is not supported.", hint)
        partition = self._partition(node)
        order = self._order(node)
        if type(function) in _RANKS:
            most = most_rows(self.rows.node)
            return Window(kind, None, 0, partition, order, most), Int(1, most, nullable=False, default=1)
        value, column = column_of(self.scalars, function.this)
        if not isinstance(value, Numeric):
            what = f"{kind.upper()} of a text is not supported."
            raise self.scalars.refusal(function, what, "Use it on numbers, days, moments and labels.")
        return Window(kind, value, self._away(function), partition, order, 0), nullable(column, True, None)

    def _partition(self, node: exp.Window) -> tuple[Expression, ...]:
        parts = [part.unnest() for part in node.args.get("partition_by") or ()]
        others = [part for part in parts if not self.scalars.scope.is_owner(part)]
        if not self.rows.people or len(others) == len(parts):
            hint = f"Keep it within one owner: OVER (PARTITION BY {self.scalars.scope.owner_name} ORDER BY ...)."
            raise self.scalars.refusal(node, "a window over rows of people would compare people.", hint)
        return tuple(column_of(self.scalars, part)[0] for part in others)

    def _order(self, node: exp.Window) -> tuple[tuple[Expression, bool, bool], ...]:
        clause = node.args.get("order")
        if clause is None:
            hint = "Say in which order: OVER (PARTITION BY owner ORDER BY day)."
            raise self.scalars.refusal(node, "this window has no ORDER BY.", hint)
        found = []
        for item in clause.expressions:
            value = self.scalars.value(item.this)
            if not isinstance(value.node, Numeric) or value.kind not in ("number", "date", "timestamp", "local"):
                hint = "Order by a number, a day or a moment."
                raise self.scalars.refusal(item, "rows of an owner are ordered by numbers and times.", hint)
            by, _ = column_of(self.scalars, item.this)
            found.append((by, bool(item.args.get("desc")), bool(item.args.get("nulls_first"))))
        return tuple(found)

    def _away(self, function: exp.Expr) -> int:
        given = function.args.get("offset")
        text = str(given.this) if isinstance(given, exp.Literal) and not given.args.get("is_string") else ""
        if given is None:
            return 1
        if not (text.isascii() and text.isdigit() and 0 < int(text[:9]) <= _MOST_AWAY):
            what = f"LAG and LEAD go 1 to {_MOST_AWAY:,} rows away."
            raise self.scalars.refusal(function, what, "Write a whole number: LAG(x, 2).")
        return int(text)
