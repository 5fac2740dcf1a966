"""A SELECT without FROM whose values are queries of one row each: `SELECT (SELECT COUNT(*) ...) - (SELECT ...)`."""

from __future__ import annotations

from sqlglot import exp

from dither.sql.over.column_names import called
from dither.sql.over.over_columns import aggregated
from dither.sql.text.source import Source

_MORE = ("group", "having", "qualify", "distinct", "limit", "offset", "order", "with_")


def with_values(select: exp.Select, prefix: str, source: Source) -> exp.Select:
    """The same with those queries in FROM, beside each other."""
    made = select.copy()
    queries = [query for item in made.expressions for query in item.find_all(exp.Subquery) if _one_value(query)]
    for number, query in enumerate(queries, 1):
        name = exp.to_identifier(f"{prefix} alone {number}", quoted=True)
        inner = query.this.copy()
        inner.set("expressions", [called(inner.expressions[0].unalias(), name.name)])
        query.replace(exp.column(name.copy(), table=name.copy()))
        table = exp.Subquery(this=inner, alias=exp.TableAlias(this=name.copy()))
        if number == 1:
            made.set("from_", exp.From(this=table))
        else:
            made.append("joins", exp.Join(this=table, kind="CROSS"))
    if not queries:
        inner = select.find(exp.Subquery)
        if inner is None:
            raise source.refusal(select, "the query names no table.", "Write FROM and a registered table.")
        what = "a query that stands for a value has one aggregate, without GROUP BY and LIMIT, where there is no FROM."
        raise source.refusal(inner, what, "Write FROM (SELECT ...) AS name.")
    return made


def _one_value(query: exp.Subquery) -> bool:
    """Whether it has one row of one value, whatever the data, and stands in no other such query."""
    inner = query.this
    plain = isinstance(inner, exp.Select) and not any(map(inner.args.get, _MORE)) and len(inner.expressions) == 1
    alone = not query.args.get("alias") and query.parent_select is not None and query.parent_select.parent is None
    return plain and alone and aggregated(inner.expressions[0])
