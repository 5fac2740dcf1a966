"""Writes expressions as SQL. Every operator is total: no row of any snapshot can make it raise.

Arithmetic is done in a type that the declared bounds prove wide enough; divisors go through NULLIF. A clamp is written
unless the guard has proven, from the columns of the relation at hand, that it does nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dither.errors import PolicyError
from dither.policy.catalog import MOST_ROWS
from dither.sql import expressions as e
from dither.sql.guard.ranges import Schema, no_op
from dither.sql.lowering import time_and_text_writer
from dither.sql.lowering.dialect import DOUBLE_WORD, WORD, Dialect

TURNED: dict[e.Comparison, e.Comparison] = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


_COMPARING = (e.Compare, e.Among, e.IsNull, e.Not, e.And, e.Or, e.Stored, e.Constant)


def compares(condition: e.Boolean) -> bool:
    """Whether a condition does no more than compare numbers that are stored, which is as quick for all rows as for
    some: of And, whatever takes longer had better be computed for the rows alone that the rest has left."""
    return all(isinstance(node, _COMPARING) for node in condition.walk())


class Writer:
    """Writes expressions in a dialect; `columns` says how the columns that they may name are written.

    `schema` is what the guard knows about these columns, and `rows` how many there can be of them; without a schema no
    clamp is left out.
    """

    def __init__(
        self, dialect: Dialect, columns: Mapping[str, str], schema: Schema | None = None, rows: int = MOST_ROWS
    ) -> None:
        self.dialect, self.columns, self.schema, self.rows = dialect, columns, schema or {}, rows

    def count(self, condition: e.Boolean | None) -> str:
        if condition is None:
            return "COUNT(*)"
        if isinstance(condition, e.Not) and isinstance(condition.operand, e.IsNull):
            return f"COUNT({self.any(condition.operand.value)})"
        truth = self.truth(condition)
        return self.dialect.count_if(truth) if compares(condition) else f"COUNT(*) FILTER (WHERE {truth})"

    def sum(self, value: e.Numeric) -> str:
        """Exact; 64 bits wide if the largest relation cannot exceed them, otherwise 128."""
        largest = self.rows * max(map(abs, value.bounds))
        if not largest < DOUBLE_WORD:
            raise PolicyError("the sum could exceed 126 bits.")
        type_ = self.dialect.word if largest < 2**63 else self.dialect.double_word
        return self.dialect.cast(f"COALESCE({self._total(value)}, 0)", type_)

    def _total(self, value: e.Numeric) -> str:
        """What a clamp without effect holds is summed as it is, and a constant that moves it is taken off the sum."""
        while isinstance(value, e.Clamp) and no_op(value, self.schema):
            value = value.value
        moved = value.left if isinstance(value, e.Subtract) and isinstance(value.right, e.Constant) else value
        shift = value.right.value if isinstance(value, e.Subtract) and isinstance(value.right, e.Constant) else 0
        if not self.rows * (moved.reach + abs(shift)) < DOUBLE_WORD:
            moved, shift = value, 0
        total = self.total("SUM", moved)
        if not shift:
            return total
        counted = f"COUNT({self.number(moved)})" if moved.nullable else "COUNT(*)"
        return f"{total} - {self.constant(shift, self.dialect.double_word)} * {counted}"

    def total(self, function: str, value: e.Numeric) -> str:
        """SUM, MIN, MAX or the lower median of a value over the rows of a group.

        A sum that 64 bits may not hold is one of double words: an engine that adds up words in words, where it takes
        the sum to be small by the number of rows that it expects, is wrong if it expects too few.
        """
        if function == "median":
            return self.dialect.lower_median(self.number(value))
        if function.upper() != "SUM":
            return f"{function.upper()}({self.number(value)})"
        if self.rows * value.reach < 2**63:
            return self.dialect.summed(self.number(value), wide=self.type(value) == self.dialect.double_word)
        return self.dialect.summed(self.wide(value, self.dialect.double_word), wide=True)

    def any(self, node: e.Expression) -> str:
        if isinstance(node, e.Numeric):
            return self.number(node)
        return self.truth(node) if isinstance(node, e.Boolean) else self.texts(node)

    # Numbers. A node is written in the word or double word that holds its bounds and its operands'.

    def number(self, node: e.Numeric) -> str:
        return NUMBERS[type(node)](self, node)

    def wide(self, node: e.Numeric, type_: str) -> str:
        if isinstance(node, e.Constant):
            return self.constant(node.value, type_)
        return self.number(node) if self.type(node) == type_ else self.dialect.cast(self.number(node), type_)

    def type(self, node: e.Numeric) -> str:
        """The type a node is written in; a stored column has its own, narrower one."""
        if isinstance(node, e.Stored):
            return "stored"
        if not node.reach < DOUBLE_WORD:
            raise PolicyError("a value could exceed 126 bits.")
        return self.dialect.word if node.reach <= WORD else self.dialect.double_word

    def is_wide(self, node: e.Numeric) -> bool:
        """Whether a node is written in double words."""
        return self.type(node) == self.dialect.double_word

    def word_for(self, low: int, high: int) -> str:
        """The type that holds the numbers low..high."""
        return self.dialect.word if max(-low, high) <= WORD else self.dialect.double_word

    def constant(self, value: int, type_: str) -> str:
        return self.dialect.cast(str(value), type_)

    def operands(self, node: e.Numeric) -> list[str]:
        type_ = self.type(node)
        return [self.wide(child, type_) for child in node.children() if isinstance(child, e.Numeric)]

    def clamped(self, node: e.Clamp) -> str:
        """A clamp as it is, whether or not it does anything."""
        (value,) = self.operands(node)
        low, high = (self.constant(end, self.type(node)) for end in node.bounds)
        clamped = self.dialect.greatest(low, self.dialect.least(value, high))
        # LEAST and GREATEST pass over NULL, and the sum must not see a bound in its place.
        return f"CASE WHEN {value} IS NULL THEN NULL ELSE {clamped} END" if node.value.nullable else clamped

    def code(self, node: e.Expression) -> str:
        """A group key of rows: one that is computed is always clamped, one that is stored lies where it was loaded."""
        return self.clamped(node) if isinstance(node, e.Clamp) else self.any(node)

    # Texts and truths.

    def texts(self, node: e.Expression) -> str:
        return TEXTS[type(node)](self, node)

    def truth(self, node: e.Boolean) -> str:
        return TRUTHS[type(node)](self, node)

    def compared(self, node: e.Compare) -> str:
        """A bare literal takes the other side's type or a wider one, and lets an engine skip blocks of rows."""
        left, right, operator = node.left, node.right, node.operator
        if isinstance(left, e.Constant):
            left, right, operator = right, left, TURNED[operator]
        bound = f"({right.value})" if isinstance(right, e.Constant) else self.number(right)
        return f"({self.number(left)} {operator} {bound})"

    def among(self, node: e.Among) -> str:
        """Runs as ranges, single numbers as a list; no run at all is false, or NULL where the value is."""
        value = self.number(node.value)
        parts, singles = [], []
        for first, last in node.runs:
            if last - first > 1:
                parts.append(f"({value} BETWEEN ({first}) AND ({last}))")
            else:
                singles += [first] if first == last else [first, last]
        if len(singles) == 1:
            parts.append(f"({value} = ({singles[0]}))")
        elif singles:
            parts.append(f"({value} IN ({', '.join(f'({option})' for option in singles)}))")
        if not parts:
            return f"({value} <> {value})"
        return parts[0] if len(parts) == 1 else f"({' OR '.join(parts)})"


def _infix(sign: str) -> Callable[[Writer, Any], str]:
    return lambda writer, node: f"({f' {sign} '.join(writer.operands(node))})"


def _call(function: str) -> Callable[[Writer, Any], str]:
    return lambda writer, node: f"{function}({', '.join(writer.operands(node))})"


def _divide(writer: Writer, node: e.Divide) -> str:
    divisor = node.right.value if isinstance(node.right, e.Constant) else 0
    wide = writer.is_wide(node)
    if wide and divisor > 1 and not divisor & (divisor - 1) and node.left.low >= 0:
        return writer.dialect.halved(writer.operands(node)[0], divisor.bit_length() - 1)
    return writer.dialect.divided(*writer.operands(node), wide=wide)


def _case(writer: Writer, node: e.Case) -> str:
    type_ = writer.type(node)
    branches = " ".join(
        f"WHEN {writer.truth(condition)} THEN {writer.wide(value, type_)}"
        for condition, value in zip(node.conditions, node.values, strict=True)
    )
    return writer.dialect.cast(f"CASE {branches} ELSE {writer.wide(node.otherwise, type_)} END", type_)


def _clamp(writer: Writer, node: e.Clamp) -> str:
    return writer.operands(node)[0] if no_op(node, writer.schema) else writer.clamped(node)


def _let(writer: Writer, node: e.Let) -> str:
    local, dialect = node.local, writer.dialect
    columns = {**writer.columns, local.column.name: dialect.local(local.name)}
    inner = Writer(dialect, columns, {**writer.schema, local.column.name: local.column}, writer.rows)
    return dialect.let(local.name, writer.wide(node.value, inner.type(local)), inner.wide(node.body, inner.type(node)))


def _compared_texts(writer: Writer, node: e.CompareText) -> str:
    left, right = (writer.dialect.ordered(writer.texts(side)) for side in (node.left, node.right))
    return f"({left} {node.operator} {right})"


def _not(writer: Writer, node: e.Not) -> str:
    """NOT LIKE is a comparison of its own: optimisers know it, and give up at the negation of another."""
    if isinstance(node.operand, e.Like):
        return writer.dialect.like(writer.texts(node.operand.value), node.operand.pattern, negated=True)
    return f"(NOT {writer.truth(node.operand)})"


def _chain(word: str) -> Callable[[Writer, Any], str]:
    return lambda writer, node: f"({f' {word} '.join(writer.truth(operand) for operand in node.operands)})"


def _text_among(writer: Writer, node: e.TextAmong) -> str:
    options = ", ".join(writer.dialect.text(option) for option in node.options)
    return f"({writer.texts(node.value)} IN ({options}))"


NUMBERS: dict[type[e.Numeric], Callable[[Writer, Any], str]] = {
    e.Stored: lambda writer, node: writer.columns[node.name],
    e.Constant: lambda writer, node: writer.constant(node.value, writer.type(node)),
    e.Null: lambda writer, node: writer.dialect.null(writer.dialect.word),
    e.Add: _infix("+"),
    e.Subtract: _infix("-"),
    e.Multiply: _infix("*"),
    e.Divide: _divide,
    e.Modulo: lambda writer, node: writer.dialect.modulo(*writer.operands(node)),
    e.Negate: lambda writer, node: writer.dialect.negated(*writer.operands(node), wide=writer.is_wide(node)),
    e.Absolute: lambda writer, node: writer.dialect.absolute(*writer.operands(node), wide=writer.is_wide(node)),
    e.Rescale: lambda writer, node: f"({writer.operands(node)[0]} * {writer.constant(node.factor, writer.type(node))})",
    e.Case: _case,
    e.Coalesce: _call("COALESCE"),
    e.Least: lambda writer, node: writer.dialect.least(*writer.operands(node)),
    e.Greatest: lambda writer, node: writer.dialect.greatest(*writer.operands(node)),
    e.Clamp: _clamp,
    e.Let: _let,
    e.Local: lambda writer, node: writer.columns[node.column.name],
    **time_and_text_writer.NUMBERS,
}
TEXTS: dict[type[e.Expression], Callable[[Writer, Any], str]] = {
    e.StoredText: lambda writer, node: writer.columns[node.name],
    e.TextConstant: lambda writer, node: writer.dialect.text(node.value),
    **time_and_text_writer.TEXTS,
}
TRUTHS: dict[type[e.Boolean], Callable[[Writer, Any], str]] = {
    e.Truth: lambda writer, node: {True: "TRUE", False: "FALSE", None: writer.dialect.null("BOOLEAN")}[node.value],
    e.Compare: Writer.compared,
    e.CompareText: _compared_texts,
    e.Among: Writer.among,
    e.TextAmong: _text_among,
    e.Like: lambda writer, node: writer.dialect.like(writer.texts(node.value), node.pattern),
    e.IsNull: lambda writer, node: f"({writer.any(node.value)} IS NULL)",
    e.Is: lambda writer, node: f"({writer.truth(node.operand)} IS {'TRUE' if node.truth else 'FALSE'})",
    e.Not: _not,
    e.And: _chain("AND"),
    e.Or: _chain("OR"),
    **time_and_text_writer.TRUTHS,
}
