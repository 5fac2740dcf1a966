"""From syntax to core expressions: names become stored columns, types are matched, sizes are proven to fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, Protocol

from sqlglot import exp

from dither.columns import Bool, Category, Coded, Column, Date, Text, Timestamp
from dither.errors import UnsupportedQuery
from dither.sql import literals, normal
from dither.sql.catalog import Table
from dither.sql.expressions import (
    Boolean,
    Case,
    Coalesce,
    Comparison,
    Constant,
    Expression,
    Greatest,
    Least,
    Null,
    Numeric,
    Stored,
    StoredText,
    TextConstant,
    Truth,
)
from dither.sql.labels import LabelReader
from dither.sql.names import listed, meant, quoted
from dither.sql.source import Source

MOST_WORDS = 10_000  # of a question when written out

Kind = Literal["number", "boolean", "date", "timestamp", "category", "text", "literal", "null"]


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
class Scope:
    """The table whose columns can be named, and what it is called in this query."""

    table: Table
    called: str
    source: Source

    def find(self, node: exp.Column) -> tuple[str, Column]:
        """The declared column a name means, without regard to case."""
        self.check_qualifier(node)
        wanted = node.name
        declared = self.table.columns
        names = [wanted] if wanted in declared else self.declared_as(wanted)
        if len(names) == 1:
            return names[0], declared[names[0]]
        known = f"Declared are: {listed(declared)}."
        if len(names) > 1:
            raise self.source.refusal(node, f"{wanted!r} could be any of {', '.join(names)}.", "Write its exact case.")
        if self.is_owner(node):
            hint = f"Count owners with COUNT(DISTINCT {quoted(self.table.owner)}), or declare it as a column. {known}"
            raise self.source.refusal(node, f"{wanted!r} is the owner of a row, not a declared column.", hint)
        hint = " ".join(filter(None, (text_hint(node), meant(wanted, declared), known)))
        raise self.source.refusal(node, f"there is no column {wanted!r} in table {self.table.name!r}.", hint)

    def declared_as(self, name: str) -> list[str]:
        """The declared columns of this name in any case."""
        return self._by_lower_case.get(name.lower(), [])

    @cached_property
    def _by_lower_case(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for name in self.table.columns:
            found.setdefault(name.lower(), []).append(name)
        return found

    def is_owner(self, node: exp.Expr) -> bool:
        return isinstance(node, exp.Column) and node.name.lower() == self.table.owner.lower()

    def check_qualifier(self, node: exp.Column) -> None:
        if node.table and node.table.lower() != self.called.lower():
            raise self.source.refusal(
                node, f"{node.table!r} is not in FROM.", f"Write {quoted(self.called)}.{quoted(node.name)}."
            )


@dataclass(frozen=True)
class Scalars:
    """Binds expressions over one row."""

    scope: Scope
    labels: LabelReader = field(repr=False, compare=False)
    rules: dict[type[exp.Expr], Callable[[Scalars, exp.Expr], Value]] = field(repr=False, compare=False)

    def value(self, node: exp.Expr) -> Value:
        """The value that any piece of scalar syntax stands for."""
        rule = self.rules.get(type(node))
        if rule is None:
            if isinstance(node, exp.AggFunc):
                raise self.refusal(
                    node, "an aggregate cannot stand here.", "Aggregates are items of SELECT by themselves."
                )
            raise self.refusal(
                node, f"{type(node).__name__} cannot stand here.", "Use columns, literals and operators."
            )
        bound = rule(self, node)
        self.small(node, [bound.node])
        if isinstance(bound.node, Numeric):
            self._fits(node, bound.node)
        return bound

    def compare(self, at: exp.Expr, operator: Comparison, left: Numeric, right: Numeric) -> Boolean:
        """The comparison of two numbers; brought to equal units they must still fit."""
        for side in normal.aligned((left, right)):
            self._fits(at, side)
        return normal.compare(operator, left, right)

    def number(self, node: exp.Expr) -> Numeric:
        value = self.value(node)
        if value.kind == "number" and isinstance(value.node, Numeric):
            return value.node
        hints = {
            "boolean": "Write CASE WHEN condition THEN 1 ELSE 0 END.",
            "literal": "Write numbers without quotes.",
            "null": "Use COALESCE or IS NULL.",
        }
        raise self.refusal(
            node,
            f"a number is needed here, not {article(value.kind)}.",
            hints.get(value.kind, "Use an Int or Fixed column."),
        )

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

    def numbers_or_null(self, nodes: list[exp.Expr]) -> tuple[Numeric, ...]:
        return tuple(Null() if isinstance(node.unnest(), exp.Null) else self.number(node) for node in nodes)

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


def text_hint(node: exp.Column) -> str:
    """What to say where a name stands as a value and was perhaps meant as text; nothing elsewhere."""
    around, value = node.parent, node.name[:40].replace("'", "''")
    in_list = isinstance(around, exp.In) and around.this is not node
    beside = isinstance(around, (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Like))
    as_value = in_list or (beside and (node.this.args.get("quoted") or node.arg_key == "expression"))
    return f"Text goes in single quotes: '{value}'." if as_value else ""


def article(kind: str) -> str:
    """A kind as it is called in a sentence."""
    return {"literal": "text", "null": "NULL", "text": "text"}.get(kind, f"a {kind}")


# One rule a kind of syntax


def _column(scalars: Scalars, node: exp.Expr) -> Value:
    name, column = scalars.scope.find(node)  # type: ignore[arg-type]
    if isinstance(column, Text):
        return Value("text", StoredText(name, column.nullable))
    if not isinstance(column, Coded):
        raise scalars.refusal(node, f"the column {name!r} cannot be used in queries.")
    stored = Stored(name, column.low, column.high, column.decimals, column.nullable)
    if isinstance(column, Bool):
        return Value("boolean", normal.among(stored, ((1, 1),)))
    if isinstance(column, Category):
        return Value("category", stored, column)
    kinds: dict[type[Column], Kind] = {Date: "date", Timestamp: "timestamp"}
    return Value(kinds.get(type(column), "number"), stored)


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


def _cast(scalars: Scalars, node: exp.Expr) -> Value:
    inner, to = node.this.unnest(), node.args["to"].this
    kinds: dict[object, Kind] = {
        exp.DataType.Type.DATE: "date",
        exp.DataType.Type.TIMESTAMP: "timestamp",
        exp.DataType.Type.TIMESTAMPTZ: "timestamp",
    }
    if to not in kinds or not isinstance(inner, exp.Literal) or not inner.args.get("is_string"):
        raise scalars.refusal(
            node, "casts are not supported.", "Columns keep their declared types; write DATE '2024-12-31' for dates."
        )
    return as_date(scalars, inner, str(inner.this), kinds[to])


def as_date(scalars: Scalars, node: exp.Expr, text: str, kind: Kind) -> Value:
    """A quoted date or time as a value of that kind."""
    try:
        return Value(kind, Constant(literals.day(text) if kind == "date" else literals.instant(text)))
    except ValueError as error:
        said = str(error) if "written" in str(error) else "there is no such day or time."
        raise scalars.refusal(node, f"{text[:40]!r} cannot be read: {said}") from None


def _binary(build: Callable[[Numeric, Numeric], Numeric]) -> Callable[[Scalars, exp.Expr], Value]:
    def rule(scalars: Scalars, node: exp.Expr) -> Value:
        return Value("number", build(scalars.number(node.this), scalars.number(node.expression)))

    return rule


def _unary(build: Callable[[Numeric], Numeric]) -> Callable[[Scalars, exp.Expr], Value]:
    return lambda scalars, node: Value("number", build(scalars.number(node.this)))


def _case(scalars: Scalars, node: exp.Expr) -> Value:
    from dither.sql.predicates import compare_values

    branches = node.args["ifs"]
    if node.this is None:
        conditions = tuple(scalars.truth(branch.this) for branch in branches)
    else:
        chosen = scalars.value(node.this)
        conditions = tuple(
            compare_values(scalars, node, "=", chosen, scalars.value(branch.this)) for branch in branches
        )
    default = node.args.get("default") or exp.Null()
    *values, otherwise = scalars.numbers_or_null([*(branch.args["true"] for branch in branches), default])
    return Value("number", normal.choose(conditions, values, otherwise))


def _nullif(scalars: Scalars, node: exp.Expr) -> Value:
    value, other = scalars.number(node.this), scalars.number(node.expression)
    return Value("number", Case((scalars.compare(node, "=", value, other),), (Null(),), value))


def _several(build: type[Coalesce] | type[Least] | type[Greatest]) -> Callable[[Scalars, exp.Expr], Value]:
    def rule(scalars: Scalars, node: exp.Expr) -> Value:
        given = scalars.numbers_or_null([node.this, *node.expressions])
        present = tuple(value for value in given if not isinstance(value, Null))
        if not present:
            raise scalars.refusal(node, "every argument here is NULL.", "Give a number.")
        return Value("number", build(normal.aligned(present)))

    return rule


RULES: dict[type[exp.Expr], Callable[[Scalars, exp.Expr], Value]] = {
    exp.Paren: lambda scalars, node: scalars.value(node.this),
    exp.Column: _column,
    exp.Literal: _literal,
    exp.Boolean: lambda scalars, node: Value("boolean", Truth(bool(node.this))),
    exp.Null: lambda scalars, node: Value("null", Null()),
    exp.Cast: _cast,
    exp.Neg: _unary(normal.negate),
    exp.Abs: _unary(normal.absolute),
    exp.Add: _binary(normal.add),
    exp.Sub: _binary(normal.subtract),
    exp.Mul: _binary(normal.multiply),
    exp.Div: _binary(normal.divide),
    exp.Mod: _binary(normal.modulo),
    exp.Case: _case,
    exp.Nullif: _nullif,
    exp.Coalesce: _several(Coalesce),
    exp.Least: _several(Least),
    exp.Greatest: _several(Greatest),
}
