"""Which type PostgreSQL has a number in: only integers divide without decimals, and floats round a half to even.

Rounding functions and EXTRACT give decimal or floating numbers there, though whole ones: FLOOR(7.5) / 2 is 3.5.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

_ROUNDED = (exp.Floor, exp.Ceil, exp.Round, exp.Trunc, exp.Sign, exp.Extract)
_DECIMAL = (*_ROUNDED, exp.Sqrt, exp.Ln, exp.Log, exp.Exp, exp.Pow)
_FLOATS = (exp.DType.FLOAT, exp.DType.DOUBLE)
_OF_ONE = (exp.Paren, exp.Neg, exp.Abs, exp.Cast)
_OF_TWO = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Nullif)
_OF_SEVERAL = (exp.Coalesce, exp.Least, exp.Greatest)
_WITH_DECIMALS = (exp.DType.DECIMAL, *_FLOATS)


def is_integer(node: exp.Expr, seen: frozenset[str] = frozenset()) -> bool:
    """By syntax alone; what is left to the declarations of columns, such as their decimals, counts as an integer."""
    if isinstance(node, _DECIMAL) or node.meta.get("exact"):  # so marked are quotients of other dialects
        return False
    if isinstance(node, exp.Cast) and "instead" not in node.meta:  # such a cast refuses dates, and changes no number
        return node.args["to"].this not in _WITH_DECIMALS
    if isinstance(node, exp.Literal):
        return node.is_string or str(node.this).isdigit()
    return all(is_integer(part, seen | {node.name.lower()}) for part in _parts(node, seen))


def _parts(node: exp.Expr, seen: frozenset[str]) -> list[exp.Expr]:
    """The values that a value is an integer with."""
    if isinstance(node, _OF_ONE):
        return [node.this]
    if isinstance(node, _OF_TWO):
        return [node.this, node.expression]
    if isinstance(node, _OF_SEVERAL):
        return [node.this, *node.expressions]
    if isinstance(node, exp.Case):
        default = node.args.get("default")
        return [case.args["true"] for case in node.args["ifs"]] + ([] if default is None else [default])
    if isinstance(node, exp.Column) and node.name.lower() not in seen:
        return [one.this for one in node.root().find_all(exp.Alias) if one.alias.lower() == node.name.lower()]
    return []


def is_float(node: exp.Expr, scale: Callable[[exp.Expr], int], seen: frozenset[str] = frozenset()) -> bool:
    """Whether PostgreSQL has a number as a float, of which it rounds a half to even: FLOOR(x) of an integer, DATE_PART.

    `scale` tells how many decimals a piece of syntax has.
    """
    if isinstance(node, exp.Extract):
        return bool(node.meta.get("float"))
    if isinstance(node, exp.Pow):  # a root or logarithm is no half, unless of a decimal number, and then it is one
        return not any(scale(part) for part in (node.this, node.expression)) or any(
            is_float(part, scale, seen) for part in (node.this, node.expression)
        )
    if isinstance(node, _ROUNDED):
        whole = is_integer(node.this) and scale(node.this) == 0
        return node.args.get("decimals") is None and (whole or is_float(node.this, scale, seen))
    if isinstance(node, exp.Cast):
        return node.args["to"].this in _FLOATS
    return any(is_float(part, scale, seen | {node.name.lower()}) for part in _parts(node, seen))
