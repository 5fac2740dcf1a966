"""From syntax to core expressions: names become stored columns, types are matched, sizes are proven to fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Literal, Protocol

from sqlglot import exp

from dither.errors import UnsupportedQuery
from dither.policy.catalog import MOST_ROWS
from dither.policy.columns import Category, Coded, Text
from dither.policy.columns.key_domains import Computed, Listed, Periods
from dither.sql.expressions import (
    LONGEST,
    Boolean,
    Comparison,
    Constant,
    Expression,
    Null,
    Numeric,
    Steps,
    Stored,
    StoredText,
    TextConstant,
    Textual,
    Truth,
    simplifier,
)
from dither.sql.scalars import calendar, literals, rounding
from dither.sql.scalars.labels import LabelReader
from dither.sql.scalars.narrowing import Kept, narrowed
from dither.sql.scalars.number_types import is_float, is_integer
from dither.sql.scalars.scope import Scope
from dither.sql.text import collations, grammar

_COUNTED = (exp.Count, exp.Length, exp.Is)  # where no text is compared with another
MOST_WORDS = 10_000  # of a question when written out

Kind = Literal["number", "boolean", "date", "timestamp", "local", "category", "text", "literal", "null"]


class Sized(Protocol):
    """What knows how long it is when written out."""

    @property
    def size(self) -> int: ...


@dataclass(frozen=True)
class Value:
    """A bound piece of syntax: what kind of value it is, and the node that computes it."""

    kind: Kind
    node: Expression
    category: Category | None = None

    @property
    def is_literal_text(self) -> bool:
        return self.kind == "literal"


@dataclass(frozen=True)
class Scalars:
    """Binds expressions over one row; `kept` is what WHERE has left of columns, `rows` how many there can be.

    `public_texts` are columns that are grouped by the values that their public tables have.
    """

    scope: Scope
    labels: LabelReader = field(repr=False, compare=False)
    rules: dict[type[exp.Expr], Callable[[Scalars, exp.Expr], Value]] = field(repr=False, compare=False)
    kept: Kept = field(default_factory=dict)
    rows: int = MOST_ROWS
    public_texts: frozenset[str] = frozenset()

    def value(self, node: exp.Expr) -> Value:
        """The value that any piece of scalar syntax stands for."""
        rule = self.rules.get(type(node))
        if rule is None:
            if isinstance(node, exp.AggFunc):
                raise self.refusal(
                    node, "an aggregate cannot stand here.", "Aggregates stand in SELECT; conditions on them in HAVING."
                )
            raise self._unknown(node)
        bound = rule(self, node)
        self.small(node, [bound.node])
        if bound.category is not None or (bound.kind == "text" and not isinstance(node.parent, _COUNTED)):
            listed = None if bound.category is None else bound.category.values
            collations.check_apart(self.scope.source, node, listed)
        if isinstance(bound.node, Numeric):
            self._fits(node, bound.node)
        elif isinstance(bound.node, Textual) and bound.node.longest > LONGEST:
            what = f"this text can have {bound.node.longest} characters; at most {LONGEST} are computed."
            raise self.refusal(node, what, "Join fewer texts, or parts of them: LEFT(x, 100).")
        return bound

    def _unknown(self, node: exp.Expr) -> UnsupportedQuery:
        """What to say about syntax that may stand elsewhere, such as functions of finished answers."""
        if not isinstance(node, exp.Func):
            return self.refusal(node, "this cannot stand here.", "Use columns, literals and operators.")
        name = (self.scope.source.written(node) or node.sql_name())[:40].upper()
        what, hint = grammar.FUNCTIONS.get(name, (f"the function {name} cannot stand here.", grammar.OTHERWISE))
        return self.refusal(node, what.replace("{name}", name), hint)

    def compare(self, at: exp.Expr, operator: Comparison, left: Numeric, right: Numeric) -> Boolean:
        """The comparison of two numbers; brought to equal units they must still fit."""
        for side in simplifier.aligned((left, right)):
            self._fits(at, side)
        return simplifier.compare(operator, left, right)

    def number(self, node: exp.Expr) -> Numeric:
        return self.as_number(node, self.value(node))

    def as_number(self, node: exp.Expr, value: Value) -> Numeric:
        """The number that a value is, if it is one."""
        if value.kind == "number" and isinstance(value.node, Numeric):
            return value.node
        hints = {
            "boolean": "Write CAST(condition AS INTEGER), which is 1 or 0.",
            "literal": "Write numbers without quotes.",
            "null": "Use COALESCE or IS NULL.",
        }
        raise self.refusal(
            node,
            f"a number is needed here, not {article(value.kind)}.",
            hints.get(value.kind, "Use an Int or Fixed column."),
        )

    def no_float(self, node: exp.Expr) -> None:
        """Refuse to round what PostgreSQL has as a float with decimals: it rounds a half to even there."""
        inner = node.this
        if not self.scope.source.dialect and self._scale(inner) and is_float(inner, self._scale):
            what = "PostgreSQL has this number as a float, and rounds a half to even."
            raise self.refusal(node, what, "Cast what is rounded first: FLOOR(CAST(x AS NUMERIC)) for FLOOR(x).")

    def _scale(self, node: exp.Expr) -> int:
        try:
            return self.number(node).scale
        except UnsupportedQuery:  # of another query, whose columns are not known here
            return 0

    def truth(self, node: exp.Expr) -> Boolean:
        value = self.value(node)
        if isinstance(value.node, Boolean):
            return value.node
        if value.kind == "null":
            return Truth(None)
        raise self.refusal(
            node,
            f"a condition is needed here, not {article(value.kind)}.",
            "Compare it: x > 0, x = 'a', x IS NULL.",
        )

    def constant(self, node: exp.Expr | None, *, least: int, most: int) -> int:
        """A whole number written in the query."""
        if node is None:
            raise TypeError("there is nothing to read")
        value = self.value(node).node
        if isinstance(value, Constant) and value.scale == 0 and least <= value.value <= most:
            return value.value
        raise self.refusal(node, f"a whole number from {least} to {most} is needed here.", "Write the number itself.")

    def refusal(self, node: exp.Expr, what: str, hint: str = "") -> UnsupportedQuery:
        return self.scope.source.refusal(node, what, hint)

    def small(self, node: exp.Expr, parts: Iterable[Sized]) -> None:
        """Refuse what would be too long when written out: some syntax uses an operand twice, so it may double."""
        size = sum(part.size for part in parts)
        if size > MOST_WORDS:
            what = f"written out, this has about {size} words; at most {MOST_WORDS} are run."
            raise self.refusal(node, what, "Nest fewer NULLIF, CASE and BETWEEN, or ask several questions.")

    def _fits(self, node: exp.Expr, value: Numeric) -> None:
        if value.scale > literals.MOST_DECIMALS:
            hint = "Divide or multiply fewer decimal values."
            raise self.refusal(
                node, f"this value has {value.scale} decimals; at most {literals.MOST_DECIMALS} are kept.", hint
            )
        if not value.reach < literals.LARGEST:
            hint = "Its declared bounds allow more than 126 bits; use smaller factors or narrower columns."
            raise self.refusal(node, "this value can grow too large.", hint)


def article(kind: str) -> str:
    """A kind as it is called in a sentence."""
    return {"literal": "text", "null": "NULL", "text": "text", "local": "a timestamp"}.get(kind, f"a {kind}")


# One rule a kind of syntax


def _column(scalars: Scalars, node: exp.Expr) -> Value:
    name, column = scalars.scope.find(node)  # type: ignore[arg-type]
    if isinstance(column, Text):
        return Value("text", StoredText(name, column.nullable, column.max_length))
    if not isinstance(column, Coded):
        raise scalars.refusal(node, f"the column {name!r} cannot be used in queries.")
    if isinstance(column, Computed):
        return decoded(name, column)
    stored = Stored(name, column.low, column.high, column.decimals, column.nullable)
    if isinstance(column, Category):
        return Value("category", stored, column)
    if column.shown == "boolean":
        return Value("boolean", simplifier.among(stored, ((1, 1),)))
    return Value(column.shown, narrowed(stored, scalars.kept[name]) if name in scalars.kept else stored)


def decoded(name: str, column: Computed) -> Value:
    """The value that a column of codes, made by a derived table, stands for."""
    code = Stored(name, column.low, column.high, 0, column.nullable)
    number: Numeric = code
    if isinstance(column, Periods):
        number = calendar.start_of(column.unit, code, column.shown)
    elif isinstance(column, Listed) and isinstance(column.values, range):
        number = simplifier.add(simplifier.multiply(code, Constant(column.values.step)), Constant(column.values.start))
    elif isinstance(column, Listed):
        number = Steps(code, tuple(range(1, len(column.values))), tuple(column.values))
    return Value(column.shown, rounding.units(number, column.shown_decimals))


def _literal(scalars: Scalars, node: exp.Expr) -> Value:
    if node.args.get("is_string"):
        return Value("literal", TextConstant(str(node.this)))
    try:
        return Value("number", literals.number(str(node.this)))
    except (ValueError, ArithmeticError) as error:
        hint = f"Write at most {literals.MOST_DECIMALS} decimals and less than 2^126."
        raise scalars.refusal(node, f"the number cannot be used: {_said(error)}", hint) from None


def _said(error: Exception) -> str:
    return str(error) if isinstance(error, ValueError) else "it is not a decimal number."


def _binary(build: Callable[[Numeric, Numeric], Numeric]) -> Callable[[Scalars, exp.Expr], Value]:
    def rule(scalars: Scalars, node: exp.Expr) -> Value:
        return Value("number", build(scalars.number(node.this), scalars.number(node.expression)))

    return rule


def _quotient(scalars: Scalars, node: exp.Expr) -> Value:
    value, divisor = scalars.number(node.this), scalars.number(node.expression)
    if "not_by_zero" in node.meta and divisor.low <= 0 <= divisor.high:  # of a dialect where that is infinite
        raise scalars.refusal(node.expression, *node.meta["not_by_zero"])
    if value.scale == divisor.scale == 0 and not is_integer(node):
        value = simplifier.multiply(value, Constant(10, 1))
    return Value("number", simplifier.divide(value, divisor))


def _unary(build: Callable[[Numeric], Numeric]) -> Callable[[Scalars, exp.Expr], Value]:
    return lambda scalars, node: Value("number", build(scalars.number(node.this)))


RULES: dict[type[exp.Expr], Callable[[Scalars, exp.Expr], Value]] = {
    exp.Paren: lambda scalars, node: scalars.value(node.this),
    exp.Column: _column,
    exp.Literal: _literal,
    exp.Boolean: lambda scalars, node: Value("boolean", Truth(bool(node.this))),
    exp.Null: lambda scalars, node: Value("null", Null()),
    exp.Neg: _unary(simplifier.negate),
    exp.Abs: _unary(simplifier.absolute),
    exp.Mul: _binary(simplifier.multiply),
    exp.Div: _quotient,
    exp.Mod: _binary(simplifier.modulo),
}
