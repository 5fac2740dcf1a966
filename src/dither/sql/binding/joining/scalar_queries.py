"""Queries that stand for a value: each is written out as a join with a derived table of totals, and bound as those are.

Totals of public tables are one row; tied to the query around by equalities they are one row for each value. Totals of
the owner's own rows are one row for each owner. So a value is a column of at most one row that is found beside each
row, NULL (or 0 for COUNT) where there is none. Nothing here has to be trusted: derived tables and joins say what they
may hold.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from sqlglot import exp

from dither.sql.binding.binder import Binder, FreshNames
from dither.sql.binding.joining.from_clauses import called_in
from dither.sql.binding.joining.join_conditions import conjuncts
from dither.sql.binding.owner_total_calls import totals_of
from dither.sql.text.subtree import subtree

_PLAIN = ("group", "having", "order", "limit", "offset", "distinct", "with_")


def write_out(binder: Binder, select: exp.Expr) -> None:
    """Give the query a join for each query that stands for a value in its conditions, items and keys."""
    writing = _Writing(binder, select)
    parts = [select.args.get("where"), select.args.get("group"), *select.expressions]
    for node in [node for part in parts if part is not None for node in subtree(part)]:
        if not isinstance(node, exp.Subquery):
            continue
        listed = isinstance(node.parent, exp.In) and node.arg_key == "query"
        if node.parent_select is select and not listed and isinstance(node.this, exp.Query):
            node.replace(writing.value(node))


@dataclass
class _Writing:
    binder: Binder
    select: exp.Expr
    known: dict[str, exp.Expr] = field(default_factory=dict)

    def value(self, node: exp.Subquery) -> exp.Expr:
        """What stands in the place of a query: the same for the same one."""
        text = node.sql()
        if text not in self.known:
            self.known[text] = self._joined(node, f"subquery_{len(self.known) + 1}")
        return self.known[text].copy()

    def _joined(self, node: exp.Subquery, called: str) -> exp.Expr:
        query, item = self._totals(node)
        ties, rest = self._ties(query)
        calls = totals_of(query)
        made = exp.Select()
        for name in ("from_", "joins"):
            made.set(name, query.args.get(name))
        if rest:
            made.set("where", exp.Where(this=exp.and_(*rest)))
        keys = [inner for inner, _ in ties]
        self._check_owner(node, made, keys)
        items = [*((key, f"k{place}") for place, key in enumerate(keys))]
        items += [(call, _column(place)) for place, call in enumerate(calls)]
        made.set("expressions", [exp.alias_(value.copy(), name, quoted=True) for value, name in items])
        if keys:
            made.set("group", exp.Group(expressions=[key.copy() for key in keys]))
        on = [exp.EQ(this=_named(called, f"k{place}"), expression=outer) for place, (_, outer) in enumerate(ties)]
        alias = exp.TableAlias(this=exp.to_identifier(called, quoted=True))
        join = exp.Join(this=exp.Subquery(this=made, alias=alias))
        join.set("side" if on else "kind", "LEFT" if on else "CROSS")
        if on:
            join.set("on", exp.and_(*on))
        self.select.append("joins", join)
        return exp.Paren(this=_replaced(item, calls, called, missing=bool(on)))

    def _totals(self, node: exp.Subquery) -> tuple[exp.Select, exp.Expr]:
        query = node.this.copy()
        source = self.binder.source
        if not isinstance(query, exp.Select) or any(query.args.get(name) for name in _PLAIN):
            hint = "Write (SELECT MAX(x) FROM ... WHERE ...), without GROUP BY, ORDER BY and LIMIT."
            raise source.refusal(node, "a query as a value is one SELECT of aggregates.", hint)
        if len(query.expressions) != 1 or not totals_of(query):
            hint = "Aggregate it: (SELECT MAX(x) FROM ... WHERE ...)."
            raise source.refusal(node, "a query as a value is one aggregate, so that it has one row.", hint)
        return query, query.expressions[0].unalias()

    def _ties(self, query: exp.Select) -> tuple[list[tuple[exp.Expr, exp.Expr]], list[exp.Expr]]:
        """Equalities with columns of the query around, its own side first, and the conditions without such columns."""
        own, around = called_in(query), called_in(self.select)
        ties: list[tuple[exp.Expr, exp.Expr]] = []
        rest: list[exp.Expr] = []
        where = query.args.get("where")
        for condition in conjuncts(where.this) if where is not None else ():
            if not _outside(condition, own, around):
                rest.append(condition.copy())
                continue
            sides = [condition.this, condition.expression] if isinstance(condition, exp.EQ) else []
            outer = [bool(sides) and _outside(side, own, around) for side in sides]
            if sorted(outer) != [False, True] or any(
                c.table.lower() in own for c in _columns(sides[outer.index(True)])
            ):
                hint = "Write inner = outer; for a range, join the table itself: JOIN ... ON x BETWEEN a AND b."
                what = "a query as a value is tied to the one around it by equalities."
                raise self.binder.source.refusal(condition, what, hint)
            place = outer.index(False)
            ties.append((sides[place].unnest().copy(), sides[1 - place].copy()))
        return ties, rest

    def _check_owner(self, node: exp.Subquery, made: exp.Select, keys: list[exp.Expr]) -> None:
        """Totals of people are those of one owner."""
        scratch = replace(self.binder, names=FreshNames())
        alone = made.copy()
        alone.set("expressions", [exp.Literal.number(1)])
        rows = scratch.rows(alone)
        if not rows.people or any(rows.scope.is_owner(key) for key in keys):
            return
        what = "a query as a value about all people would decide over rows." if not keys else "this compares people."
        hint = f"Tie it to one person: ... WHERE inner.{rows.scope.owner_name} = outer.{rows.scope.owner_name}. Or ask"
        raise self.binder.source.refusal(node, what, f"{hint} for that value first, and write the number.")


def _replaced(item: exp.Expr, calls: list[exp.Expr], called: str, *, missing: bool) -> exp.Expr:
    """The value with a column of the derived table for each aggregate; COUNT is 0 where there is no row."""
    holder = exp.Paren(this=item.copy())
    texts = [call.sql() for call in calls]
    for inner in list(holder.walk()):
        if isinstance(inner, (exp.AggFunc, exp.Filter)) and inner.root() is holder and inner.sql() in texts:
            column: exp.Expr = _named(called, _column(texts.index(inner.sql())))
            counted = inner.this if isinstance(inner, exp.Filter) else inner
            if missing and isinstance(counted, exp.Count):
                column = exp.Coalesce(this=column, expressions=[exp.Literal.number(0)])
            inner.replace(column)
    value: exp.Expr = holder.this
    return value


def _column(place: int) -> str:
    return f"subquery_{place + 1}" if place else "subquery"


def _named(table: str, column: str) -> exp.Column:
    return exp.column(column, table=table, quoted=True)


def _columns(node: exp.Expr) -> list[exp.Column]:
    return list(node.find_all(exp.Column))


def _outside(node: exp.Expr, own: set[str], around: set[str]) -> bool:
    """Whether a column of the query around is named, by its table."""
    return any(column.table.lower() in around - own for column in _columns(node) if column.table)
