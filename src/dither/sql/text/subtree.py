"""A piece of syntax with all that is in it, as a list: what the parser's own walk yields, in a third of its time."""

from __future__ import annotations

from sqlglot import exp


def subtree(node: exp.Expr) -> list[exp.Expr]:
    """The node and all below it, level by level, in the order of the text."""
    found = [node]
    for one in found:  # which grows meanwhile
        for value in one.args.values():
            if isinstance(value, exp.Expr):
                found.append(value)
            elif isinstance(value, list):
                found += [part for part in value if isinstance(part, exp.Expr)]
    return found
