"""The query over noisy rows as DuckDB reads it: what is undefined there is NULL, as in formulas of aggregates."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB

_WHOLE = {exp.DType.INT, exp.DType.BIGINT, exp.DType.SMALLINT}


def engine_text(tree: exp.Query) -> str:
    """The tree in DuckDB's words."""
    made = tree.copy()
    for node in reversed(list(made.walk())):  # what stands inside comes first
        total = _total(node)
        if total is not node:
            node.replace(total)
    return str(made.sql(dialect=DuckDB, comments=False))


def _total(node: exp.Expr) -> exp.Expr:
    """A partial function made total; divisions are not cut to whole numbers."""
    if isinstance(node, exp.Div):
        return exp.Div(this=_float(node.this), expression=_not_zero(node.expression), typed=False, safe=False)
    if isinstance(node, exp.Mod):
        return exp.Mod(this=node.this, expression=_not_zero(node.expression))
    if isinstance(node, exp.Sqrt):
        return _where(exp.GTE, node.this, node)
    if isinstance(node, exp.Ln):
        return _where(exp.GT, node.this, node)
    if isinstance(node, exp.Log):
        return _where(exp.GT, node.expression or node.this, node)
    if isinstance(node, exp.Cast) and node.to.this in _WHOLE:
        exact = exp.Cast(this=node.this, to=exp.DataType.build("DECIMAL(38, 9)"))  # of texts and truths as well
        return exp.Cast(this=exp.Round(this=exact), to=exp.DataType.build("BIGINT"))
    return node


def _float(node: exp.Expr) -> exp.Expr:
    return exp.Cast(this=node.copy(), to=exp.DataType.build("DOUBLE"))


def _not_zero(node: exp.Expr) -> exp.Expr:
    return exp.Nullif(this=node.copy(), expression=exp.Literal.number(0))


def _where(rule: type[exp.Binary], value: exp.Expr, node: exp.Expr) -> exp.Expr:
    condition = rule(this=value.copy(), expression=exp.Literal.number(0))
    return exp.Case(ifs=[exp.If(this=condition, true=node.copy())])
