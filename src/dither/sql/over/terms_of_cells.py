"""Of which noisy cells a computed number is a sum, and times which factors: lists that DuckDB computes beside it.

A list holds a cell's number and its factor for every term. Only what is linear in noisy cells has one; what depends on
public keys alone has an empty one. A quotient of two such sums has both lists in one, the cells of the denominator with
numbers below zero, and one term more that holds the denominator itself.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from dither.sql.over.outer_grammar import MOVED

Terms = exp.Expr | None  # the expression of the list; None where there is none


MOST_COLUMNS = 4096  # a cell's number is that of its row times this, and its place in the row: a text has fewer words


DENOMINATOR = 2**62  # below zero, the number of the term that holds the denominator of a quotient


def of_cell(row: str, place: int) -> exp.Expr:
    """The cell at a place of a row of noisy numbers."""
    number = exp.Add(this=exp.Mul(this=column(row), expression=_number(MOST_COLUMNS)), expression=_number(place))
    return exp.Array(expressions=[_struct(number, exp.Cast(this=_number(1), to=exp.DataType.build("DOUBLE")))])


def nothing() -> exp.Expr:
    """The list of what has no noise."""
    kind = exp.DataType.build("STRUCT(cell BIGINT, factor DOUBLE)[]", dialect="duckdb")
    return exp.Cast(this=exp.Array(expressions=[]), to=kind)


def terms(node: exp.Expr, of: Callable[[exp.Column], Terms], noisy: Callable[[exp.Expr], bool], name: str) -> Terms:
    """The list of an expression; `of` has those of columns, and `name` is one that no column has."""

    def inside(inner: exp.Expr) -> Terms:
        return terms(inner, of, noisy, name)

    if not noisy(node):
        return nothing()
    if isinstance(node, exp.Column):
        return of(node)
    if isinstance(node, exp.Paren):
        return inside(node.this)
    if isinstance(node, exp.Cast):
        return inside(node.this) if node.to.this in (exp.DType.DOUBLE, exp.DType.FLOAT) else None
    if isinstance(node, exp.Neg):
        return _scaled(inside(node.this), _number(-1), name)
    if isinstance(node, (exp.Add, exp.Sub)):
        left, right = inside(node.this), inside(node.expression)
        right = _scaled(right, _number(-1), name) if isinstance(node, exp.Sub) else right
        return None if left is None or right is None else exp.ArrayConcat(this=left, expressions=[right])
    if isinstance(node, exp.Mul):
        for one, factor in ((node.this, node.expression), (node.expression, node.this)):
            if not noisy(factor):
                return _scaled(inside(one), factor.copy(), name)
    if isinstance(node, exp.Div) and not noisy(node.expression):
        return _scaled(
            inside(node.this), exp.Div(this=_number(1), expression=exp.Paren(this=node.expression.copy())), name
        )
    if isinstance(node, (exp.Window, exp.Filter, exp.Sum, exp.Avg)):
        return _added(node, inside, noisy, name)
    return None


def quotient_terms(
    node: exp.Expr, of: Callable[[exp.Column], Terms], noisy: Callable[[exp.Expr], bool], name: str
) -> Terms:
    """The list of a quotient by a noisy number, perhaps times what has no noise; None if it is none of two sums."""
    factor: exp.Expr = _number(1)
    while not (isinstance(node, exp.Div) and noisy(node.expression)):
        if isinstance(node, exp.Mul) and noisy(node.this) != noisy(node.expression):
            node, beside = (node.this, node.expression) if noisy(node.this) else (node.expression, node.this)
            factor = exp.Mul(this=factor, expression=exp.Paren(this=beside.copy()))
        elif isinstance(node, exp.Div):
            factor = exp.Div(this=factor, expression=exp.Paren(this=node.expression.copy()))
            node = node.this
        elif isinstance(node, exp.Paren):
            node = node.this
        else:
            return None
    by = node.expression.unnest()
    # Where the noisy denominator is 0, its interval holds 0, and the quotient has none: nothing is chosen by that.
    by = by.this.unnest() if isinstance(by, exp.Nullif) and by.expression == _number(0) else by
    above, below = terms(node.this, of, noisy, name), terms(by, of, noisy, name)
    if above is None or below is None:
        return None
    term = exp.to_identifier(name, quoted=True)
    cell, own = (exp.Dot(this=term.copy(), expression=exp.to_identifier(part)) for part in ("cell", "factor"))
    struct = _struct(exp.Sub(this=exp.Neg(this=cell), expression=_number(1)), own)
    marked = exp.Transform(this=below, expression=exp.Lambda(this=struct, expressions=[term]))
    value = exp.Cast(this=by.copy(), to=exp.DataType.build("DOUBLE"))
    itself = exp.Array(expressions=[_struct(exp.Neg(this=_number(DENOMINATOR)), value)])
    scaled = _scaled(above, factor, name)
    return None if scaled is None else exp.ArrayConcat(this=scaled, expressions=[marked, itself])


def _added(node: exp.Expr, inside: Callable[[exp.Expr], Terms], noisy: Callable[[exp.Expr], bool], name: str) -> Terms:
    """The lists of all rows that are added up, one after the other; of a moved row, its own."""
    window = node if isinstance(node, exp.Window) else None
    call = node if window is None else node.this
    around = [] if window is None else [part for part in window.iter_expressions() if part is not window.this]
    condition = call.expression.this if isinstance(call, exp.Filter) else None
    function = call.this if isinstance(call, exp.Filter) else call
    beside = [*around, *([] if condition is None else [condition])]
    if any(map(noisy, beside)) or not isinstance(function, (exp.Sum, exp.Avg, *MOVED)):
        return None
    found = None if isinstance(function.this, exp.Distinct) else inside(function.this)
    if found is None:
        return None
    if isinstance(function, MOVED):
        if function.args.get("default") is not None or condition is not None:
            return None
        moved = function.copy()
        moved.set("this", found)
        return _over(moved, window)
    known: exp.Expr = exp.Not(this=exp.Is(this=found.copy(), expression=exp.Null()))
    known = known if condition is None else exp.And(this=exp.Paren(this=condition.copy()), expression=known)
    listed = exp.Filter(this=exp.ArrayAgg(this=found), expression=exp.Where(this=known))
    added: exp.Expr = exp.Flatten(this=_over(listed, window))
    if isinstance(function, exp.Avg):
        count: exp.Expr = exp.Count(this=function.this.copy(), big_int=True)
        if condition is not None:
            count = exp.Filter(this=count, expression=exp.Where(this=condition.copy()))
        part = exp.Div(this=_number(1), expression=exp.Paren(this=_over(count, window)))
        return _scaled(added, part, name)
    return added


def _over(function: exp.Expr, window: exp.Window | None) -> exp.Expr:
    if window is None:
        return function
    made = window.copy()
    made.set("this", function)
    return made


def _scaled(found: Terms, factor: exp.Expr, name: str) -> Terms:
    if found is None:
        return None
    term = exp.to_identifier(name, quoted=True)
    cell, own = (exp.Dot(this=term.copy(), expression=exp.to_identifier(part)) for part in ("cell", "factor"))
    product = exp.Mul(this=own, expression=exp.Paren(this=factor))
    return exp.Transform(this=found, expression=exp.Lambda(this=_struct(cell, product), expressions=[term]))


def _struct(cell: exp.Expr, factor: exp.Expr) -> exp.Expr:
    parts = {"cell": cell, "factor": factor}
    return exp.Struct(
        expressions=[exp.PropertyEQ(this=exp.to_identifier(name), expression=value) for name, value in parts.items()]
    )


def column(name: str, table: str = "") -> exp.Column:
    """A column by its name, and by that of its table if there is one."""
    return exp.column(
        exp.to_identifier(name, quoted=True), table=exp.to_identifier(table, quoted=True) if table else None
    )


def _number(number: int) -> exp.Expr:
    return exp.Literal.number(number)
