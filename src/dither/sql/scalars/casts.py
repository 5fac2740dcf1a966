"""Casts that are defined for every value: between numbers, conditions, days and moments. Texts are never read."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from dither.policy.columns import Shown
from dither.sql.expressions import Boolean, Constant, Numeric, TextConstant, simplifier
from dither.sql.scalars import calendar, literals, rounding
from dither.sql.scalars.scalar import Kind, Scalars, Value, article

_TYPE = exp.DataType.Type
_WHOLE = {_TYPE.SMALLINT: 15, _TYPE.INT: 31, _TYPE.BIGINT: 63}  # bits of size
_TEXTS = (_TYPE.TEXT, _TYPE.VARCHAR)
_MOMENTS: dict[object, Kind] = {_TYPE.DATE: "date", _TYPE.TIMESTAMP: "local", _TYPE.TIMESTAMPTZ: "timestamp"}
_INEXACT = (_TYPE.FLOAT, _TYPE.DOUBLE)


def as_moment(scalars: Scalars, node: exp.Expr, text: str, kind: Kind) -> Value:
    """A quoted date or time as a value of that kind."""
    try:
        return Value(kind, Constant(literals.day(text) if kind == "date" else literals.instant(text)))
    except ValueError as error:
        said = str(error) if "written" in str(error) else "there is no such day or time."
        raise scalars.refusal(node, f"{text[:40]!r} cannot be read: {said}") from None


def shown(kind: Kind) -> Shown:
    """The kind of a day or moment."""
    if kind not in ("date", "timestamp", "local"):
        raise TypeError(kind)
    return kind


def _cast(scalars: Scalars, node: exp.Expr) -> Value:
    to = node.args["to"]
    value = scalars.value(node.this)
    if isinstance(value.node, TextConstant) and value.is_literal_text and to.this in _MOMENTS:
        return as_moment(scalars, node.this, value.node.value, _MOMENTS[to.this])
    if to.expressions and to.this != _TYPE.DECIMAL:
        raise scalars.refusal(
            node, "this type takes no numbers in parentheses.", "Write NUMERIC(10, 2), INTEGER or DATE."
        )
    for types, rule in _RULES:
        if to.this in types:
            return rule(scalars, node, value)
    hint = "Casts to SMALLINT, INTEGER, BIGINT, NUMERIC, BOOLEAN, DATE, TIMESTAMP and TIMESTAMPTZ are."
    raise scalars.refusal(node, f"a cast to {_name(to)} is not supported.", hint)


def _name(to: exp.Expr) -> str:
    name = getattr(to.this, "value", to.this)
    return {"DECIMAL": "NUMERIC", "INT": "INTEGER", "DOUBLE": "DOUBLE PRECISION"}.get(str(name), str(name))[:40]


def _impossible(scalars: Scalars, node: exp.Expr, value: Value) -> Exception:
    to = _name(node.args["to"])
    if "instead" in node.meta:  # of another dialect, whose words had no cast in them
        return scalars.refusal(node, *node.meta["instead"])
    if value.kind in ("text", "literal", "category"):
        what = f"text cannot be cast to {to}: the cast would fail on some texts."
        return scalars.refusal(node, what, "Write literals without quotes, or declare the column with the type it has.")
    return scalars.refusal(node, f"{article(value.kind)} cannot be cast to {to}.", "Columns keep their declared types.")


def _whole(scalars: Scalars, node: exp.Expr, value: Value) -> Value:
    number = _number(scalars, node, value)
    if number.scale:
        scalars.no_float(node)
    number = rounding.rounded(number, 0)
    most = 2 ** _WHOLE[node.args["to"].this]
    return Value("number", _within(scalars, node, number, -most, most - 1))


def _decimal(scalars: Scalars, node: exp.Expr, value: Value) -> Value:
    number, given = _number(scalars, node, value), node.args["to"].expressions
    if not given:
        return Value("number", number)
    digits, *rest = (scalars.constant(parameter.this, least=0, most=38) for parameter in given)
    decimals = rest[0] if rest else 0
    if decimals > min(digits, literals.MOST_DECIMALS):
        what = f"NUMERIC takes at most {literals.MOST_DECIMALS} decimals, and no more than it has digits."
        raise scalars.refusal(node, what, "Write NUMERIC(10, 2).")
    number = rounding.rounded(number, decimals)
    number = simplifier.rescaled(number, decimals) if number.scale < decimals else number
    return Value("number", _within(scalars, node, number, -(10**digits) + 1, 10**digits - 1))


def _number(scalars: Scalars, node: exp.Expr, value: Value) -> Numeric:
    if value.kind == "boolean" and isinstance(value.node, Boolean):
        return simplifier.indicator(value.node)
    if value.kind == "number" and isinstance(value.node, Numeric):
        return value.node
    raise _impossible(scalars, node, value)


def _within(scalars: Scalars, node: exp.Expr, number: Numeric, least: int, most: int) -> Numeric:
    if not (least <= number.low and number.high <= most):
        hint = "Use BIGINT or a wider NUMERIC, or leave the cast out."
        raise scalars.refusal(node, f"declared bounds allow values that {_name(node.args['to'])} cannot hold.", hint)
    return number


def _boolean(scalars: Scalars, node: exp.Expr, value: Value) -> Value:
    if value.kind == "boolean":
        return value
    if value.kind == "number" and isinstance(value.node, Numeric) and value.node.scale == 0:
        return Value("boolean", simplifier.compare("<>", value.node, Constant(0)))
    raise _impossible(scalars, node, value)


def _moment(scalars: Scalars, node: exp.Expr, value: Value) -> Value:
    to = _MOMENTS[node.args["to"].this]
    if value.kind not in ("date", "timestamp", "local") or not isinstance(value.node, Numeric):
        raise _impossible(scalars, node, value)
    kind = shown(value.kind)
    return Value(to, calendar.day_of(value.node, kind) if to == "date" else calendar.moment(value.node, kind))


def _text(scalars: Scalars, node: exp.Expr, value: Value) -> Value:
    if value.kind in ("text", "literal", "category"):
        return value
    what = f"{article(value.kind)} cannot be cast to text."
    raise scalars.refusal(node, what, "Keep it as it is: it can be compared, grouped by and shown.")


def _inexact(scalars: Scalars, node: exp.Expr, value: Value) -> Value:
    """Numbers stay exact; only what is divided by them, or they by it, has decimals."""
    return Value("number", _number(scalars, node, value))


_RULES: tuple[tuple[tuple[object, ...], Callable[[Scalars, exp.Expr, Value], Value]], ...] = (
    (tuple(_WHOLE), _whole),
    ((_TYPE.DECIMAL,), _decimal),
    ((_TYPE.BOOLEAN,), _boolean),
    (tuple(_MOMENTS), _moment),
    (_TEXTS, _text),
    (_INEXACT, _inexact),
)

RULES: dict[type[exp.Expr], Callable[[Scalars, exp.Expr], Value]] = {exp.Cast: _cast}
