"""What columns over answers are called."""

from __future__ import annotations

from sqlglot import exp


def called(node: exp.Expr, name: str) -> exp.Expr:
    """The expression under a name, just as it is written."""
    return exp.alias_(node, exp.to_identifier(name, quoted=True))


def plain_name(node: exp.Expr) -> str:
    """What a select item without alias is called."""
    inner = node.this if isinstance(node, (exp.Window, exp.Filter, exp.WithinGroup)) else node
    inner = inner.this if isinstance(inner, (exp.Filter, exp.WithinGroup)) else inner
    if isinstance(inner, exp.Column):
        return inner.name
    return inner.sql_name().lower() if isinstance(inner, exp.Func) and not isinstance(inner, exp.Anonymous) else "value"


def fresh_name(name: str, taken: set[str]) -> str:
    """The name, with a number if it is taken."""
    found, number = name, 1
    while found.lower() in taken:
        number += 1
        found = f"{name}_{number}"
    taken.add(found.lower())
    return found
