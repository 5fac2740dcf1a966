"""The names that PostgreSQL gives to columns which have none of their own."""

from __future__ import annotations

from sqlglot import exp


def name_columns(tree: exp.Expression) -> None:
    """A column that has no name gets the one that PostgreSQL would give it, before anything is put in its place."""
    select = tree
    while not isinstance(select, exp.Select):
        select = select.this
    for column in list(select.expressions):
        if isinstance(column, (exp.Alias, exp.Column, exp.Star)):
            continue
        column.replace(exp.alias_(column.copy(), _name_of(column), quoted=True))


def _name_of(column: exp.Expression) -> str:
    inner = column
    while isinstance(inner, (exp.Paren, exp.Cast)):
        inner = inner.this
    if isinstance(inner, exp.Dot):
        inner = inner.expression
    names = {exp.CurrentUser: "current_user", exp.SessionUser: "session_user", exp.CurrentVersion: "version",
             exp.CurrentDatabase: "current_database", exp.CurrentSchema: "current_schema", exp.Case: "case",
             exp.CurrentSchemas: "current_schemas"}  # fmt: skip
    if isinstance(inner, exp.Anonymous):
        return str(inner.this).lower()
    if isinstance(inner, exp.Subquery) and isinstance(inner.this, exp.Select):
        return inner.this.expressions[0].alias_or_name or "?column?"
    if isinstance(inner, exp.Func):
        return names.get(type(inner), inner.sql_name().lower())
    if isinstance(inner, (exp.Column, exp.Identifier)):
        return inner.name
    return "?column?"
