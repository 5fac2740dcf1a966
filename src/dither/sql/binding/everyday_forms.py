"""Everyday forms that are other forms in short: each is written out on a copy of the syntax, and bound as those are.

Schemas before names, COUNT_IF, GROUP BY ALL, a list of percentiles.
"""

from __future__ import annotations

from sqlglot import exp

from dither.policy.catalog import Catalog
from dither.policy.names import quoted
from dither.sql.binding.aggregate_calls import is_aggregated
from dither.sql.text.source import Source
from dither.sql.text.subtree import subtree

MOST_PERCENTILES = 20  # of one list


def written_out(select: exp.Select, source: Source, catalog: Catalog) -> exp.Select:
    """A copy of the query without the forms that are short for others."""
    copied = select.copy()
    for node in subtree(copied):
        if isinstance(node, (exp.Table, exp.Column)) and node.args.get("db") is not None:
            _without_schema(node, source, catalog)
        elif isinstance(node, exp.CountIf):
            counted = exp.Count(this=exp.Star(), big_int=True)
            node.replace(exp.Filter(this=counted, expression=exp.Where(this=node.this)))
        elif isinstance(node, exp.Select):
            _percentiles(node, source)
            _all_groups(node)
    return copied


def _without_schema(node: exp.Expr, source: Source, catalog: Catalog) -> None:
    schema = node.args["db"]
    if schema.name.lower() != catalog.schema.lower():
        what = f"there is no schema {schema.name[:40]!r}; tables are in {catalog.schema!r}."
        raise source.refusal(schema, what, f"Write {quoted(catalog.schema)}.table, or the table's name alone.")
    node.set("db", None)
    node.meta["in_schema"] = True  # and so no query named by WITH


def _percentiles(select: exp.Select, source: Source) -> None:
    """PERCENTILE_CONT(ARRAY[p, q]) as one column for each, numbered."""
    items: list[exp.Expr] = []
    for item in select.expressions:
        call = item.unalias()
        within = call.this if isinstance(call, exp.Filter) else call
        ranks = within.this.this if isinstance(within, exp.WithinGroup) else None
        if not isinstance(ranks, exp.Array):
            items.append(item)
            continue
        if not 0 < len(ranks.expressions) <= MOST_PERCENTILES:
            what = f"a list of percentiles has 1 to {MOST_PERCENTILES} of them."
            raise source.refusal(item, what, "Write PERCENTILE_CONT(ARRAY[0.25, 0.5, 0.75]).")
        name = item.alias or "percentile"
        for place, rank in enumerate(ranks.expressions):
            one = call.copy()
            (one.this if isinstance(one, exp.Filter) else one).this.set("this", rank.copy())
            items.append(exp.alias_(one, f"{name}_{place + 1}", quoted=True))
    select.set("expressions", items)


def _all_groups(select: exp.Select) -> None:
    """GROUP BY ALL: every select item that aggregates nothing."""
    group = select.args.get("group")
    if group is None or not group.args.get("all"):
        return
    keys = [item.unalias() for item in select.expressions if not is_aggregated(item)]
    select.set("group", exp.Group(expressions=[key.copy() for key in keys]) if keys else None)
