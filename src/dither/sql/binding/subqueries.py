"""EXISTS and IN with a query: rows are kept by what other rows of the same owner, or of a public table, are like."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from dither.policy.names import quoted
from dither.sql.binding.binder import Binder, Rows
from dither.sql.expressions import Boolean, Stored, StoredText, simplifier
from dither.sql.plan.nodes import Node, SemiJoin
from dither.sql.scalars.conditions import compare_values
from dither.sql.scalars.scope import Relation, Scope


def semi_joins(binder: Binder, rows: Rows) -> Rows:
    """The rows that meet all conditions which hold a query."""
    for condition in rows.pending:
        negated = False
        node = condition
        while isinstance(node, (exp.Not, exp.Paren)):
            negated ^= isinstance(node, exp.Not)
            node = node.this
        if isinstance(node, exp.Exists):
            found = _exists(binder, rows, node, negated)
        elif isinstance(node, exp.In) and node.args.get("query"):
            found = _among(binder, rows, node, negated)
        else:
            raise _refused(binder, condition)
        rows = replace(rows, node=found)
    return replace(rows, pending=())


def _refused(binder: Binder, condition: exp.Expr) -> Exception:
    select = condition.find(exp.Select) or condition
    if condition.find(exp.Exists, exp.In) and not isinstance(select.parent, exp.Subquery):
        hint = "Join it to the other conditions with AND."
        return binder.source.refusal(select, "EXISTS and IN with a query stand by themselves in WHERE.", hint)
    hint = "Ask for that value first, and write the number into this query."
    return binder.source.refusal(select, "a query as a value is not supported.", hint)


def _exists(binder: Binder, rows: Rows, node: exp.Expr, negated: bool) -> Node:
    query = node.this.unnest() if isinstance(node.this, (exp.Subquery, exp.Paren)) else node.this
    inner = _inner(binder, rows, query)
    return _joined(binder, rows, inner, node, negated, None)


def _inner(binder: Binder, rows: Rows, query: exp.Expr) -> Rows:
    plain = isinstance(query, exp.Select) and not any(
        query.args.get(name) for name in ("group", "having", "order", "limit", "offset")
    )
    if plain and not _aggregated(query):
        return binder.within(query).rows(query, around=rows.scope)
    relation = replace(binder.derived(query), called="")
    return Rows(relation.node, Scope((relation,), binder.source), relation.people, {})


def _aggregated(query: exp.Expr) -> bool:
    return any(item.find(exp.AggFunc) is not None for item in query.expressions)


def _among(binder: Binder, rows: Rows, node: exp.Expr, negated: bool) -> Node:
    query = node.args["query"].unnest() if isinstance(node.args["query"], exp.Subquery) else node.args["query"]
    query = query.this if isinstance(query, exp.Subquery) else query
    inner = _inner(binder, rows, query)
    column = _only_item(binder, query)
    mine = node.this.unnest()
    if isinstance(mine, exp.Column) and rows.scope.is_owner(mine) and _is_owner(inner, column):
        return _joined(binder, rows, replace(inner, linked=True), node, negated, None)
    value = binder.scalars(rows.scope).value(mine)
    other = binder.scalars(replace(inner.scope, around=None)).value(_as_named(inner, column))
    if negated and (value.node.nullable or other.node.nullable):
        hint = "Write NOT EXISTS (SELECT 1 FROM ... WHERE ... = ...), which says what NULL means."
        raise binder.source.refusal(node, "NOT IN with values that may be NULL is not supported.", hint)
    names = [side.node.name for side in (value, other) if isinstance(side.node, (Stored, StoredText))]
    inner = replace(inner, linked=inner.linked or _implies_owner(rows, inner, names))
    both = binder.scalars(Scope((*inner.scope.relations, *rows.scope.relations), binder.source))
    return _joined(binder, rows, inner, node, negated, compare_values(both, node, "=", value, other))


def _only_item(binder: Binder, query: exp.Expr) -> exp.Expr:
    while isinstance(query, exp.Union):  # named as in its first part
        query = query.this
    selects: list[exp.Expr] = query.expressions
    if len(selects) != 1 or isinstance(selects[0].unnest(), exp.Star):
        raise binder.source.refusal(query, "the query of IN selects one column.", "Select the column to compare with.")
    return selects[0]


def _as_named(inner: Rows, item: exp.Expr) -> exp.Expr:
    """The item as the inner relation names it: a derived table knows it by its alias."""
    derived = len(inner.scope.relations) == 1 and not inner.scope.relations[0].called
    if derived:
        return exp.column(item.alias_or_name, quoted=True)
    return item.this.unnest() if isinstance(item, exp.Alias) else item.unnest()


def _is_owner(inner: Rows, item: exp.Expr) -> bool:
    named = _as_named(inner, item)
    return isinstance(named, exp.Column) and replace(inner.scope, around=None).is_owner(named)


def _joined(
    binder: Binder, rows: Rows, inner: Rows, at: exp.Expr, negated: bool, condition: Boolean | None
) -> SemiJoin:
    if inner.people and not inner.linked and not any(_by_foreign_key(rows, inner, node) for node in inner.correlated):
        word = "EXISTS" if isinstance(at, exp.Exists) else "IN"
        hint = f"Tie both to one person: ... WHERE inner.{_owner(inner)} = outer.{_owner(rows)}."
        raise binder.source.refusal(at, f"{word} with a query needs an equality of owners.", hint)
    if inner.people and inner.people != rows.people:
        hint = "Only tables of the same people can be compared; they share one budget."
        raise binder.source.refusal(at, f"the inner query is about other people, {inner.people!r}.", hint)
    scalars = binder.scalars(inner.scope)
    conditions = [scalars.truth(node) for node in inner.correlated]
    if condition is not None:
        conditions.append(condition)
    return SemiJoin(rows.node, inner.node, simplifier.conjunction(conditions) if conditions else None, negated)


def _by_foreign_key(rows: Rows, inner: Rows, condition: exp.Expr) -> bool:
    """Whether a condition holds a foreign key equal to the key that it refers to: then the owners are equal too."""
    sides = [side.unnest() for side in (condition.this, condition.expression)] if isinstance(condition, exp.EQ) else []
    names = [inner.scope.find(side)[0] for side in sides if isinstance(side, exp.Column)]
    return _implies_owner(rows, inner, names)


def _implies_owner(rows: Rows, inner: Rows, names: list[str]) -> bool:
    known = {**rows.identities, **inner.identities}
    found = [known[name] for name in names if name in known]
    return len(found) == 2 and found[0].implies_owner(found[1])


def _owner(rows: Rows) -> str:
    private: list[Relation] = [relation for relation in rows.scope.relations if relation.owners]
    return quoted(min(private[0].owners)) if private else "owner"
