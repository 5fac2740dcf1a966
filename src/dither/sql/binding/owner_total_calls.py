"""The aggregate calls of a derived table: what is computed for each owner."""

from __future__ import annotations

from sqlglot import exp


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
