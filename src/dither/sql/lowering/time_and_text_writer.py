"""How days, steps and texts are written; `writer` holds the rest and asks for these by kind of expression."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dither.sql import expressions as e

if TYPE_CHECKING:
    from dither.sql.lowering.writer import Writer


def _indicator(writer: Writer, node: e.Indicator) -> str:
    return writer.dialect.indicator(writer.truth(node.operand), writer.type(node))


def _steps(writer: Writer, node: e.Steps) -> str:
    """A tree of comparisons; NULL where the value is."""
    value, type_ = writer.number(node.value), writer.type(node)

    def tree(first: int, last: int) -> str:
        if first == last:
            return writer.constant(node.results[first], type_)
        middle = (first + last + 1) // 2
        start = f"({node.starts[middle - 1]})"
        return f"CASE WHEN {value} < {start} THEN {tree(first, middle - 1)} ELSE {tree(middle, last)} END"

    found = tree(0, len(node.results) - 1)
    return f"CASE WHEN {value} IS NULL THEN NULL ELSE {found} END" if node.value.nullable else found


def _shifted(writer: Writer, node: e.Shifted) -> str:
    return f"({writer.wide(node.value, writer.type(node))} + {_steps(writer, node)})"


def _day(writer: Writer, node: e.DatePart | e.FirstDay | e.AddMonths) -> str:
    return writer.dialect.day(writer.number(node.value))


def _date_part(writer: Writer, node: e.DatePart) -> str:
    return writer.dialect.cast(writer.dialect.date_part(node.part, _day(writer, node)), writer.type(node))


def _first_day(writer: Writer, node: e.FirstDay) -> str:
    return writer.dialect.cast(writer.dialect.first_day(node.period, _day(writer, node)), writer.type(node))


def _add_months(writer: Writer, node: e.AddMonths) -> str:
    return writer.dialect.cast(writer.dialect.add_months(_day(writer, node), node.months), writer.type(node))


def _month_start(writer: Writer, node: e.MonthStart) -> str:
    return writer.dialect.cast(writer.dialect.month_start(writer.number(node.value)), writer.type(node))


def _text_null(writer: Writer, node: e.TextNull) -> str:
    return writer.dialect.null(writer.dialect.text_type)


def _text_case(writer: Writer, node: e.TextCase) -> str:
    branches = " ".join(
        f"WHEN {writer.truth(condition)} THEN {writer.texts(value)}"
        for condition, value in zip(node.conditions, node.values, strict=True)
    )
    return f"CASE {branches} ELSE {writer.texts(node.otherwise)} END"


def _length(writer: Writer, node: e.Length) -> str:
    return writer.dialect.cast(writer.dialect.length(writer.texts(node.value)), writer.type(node))


def _substring(writer: Writer, node: e.Substring) -> str:
    return writer.dialect.substring(writer.texts(node.value), node.start, node.length)


def _position(writer: Writer, node: e.Position) -> str:
    found = writer.dialect.position(writer.texts(node.value), writer.dialect.text(node.sought))
    return writer.dialect.cast(found, writer.type(node))


def _split_part(writer: Writer, node: e.SplitPart) -> str:
    return writer.dialect.split_part(writer.texts(node.value), writer.dialect.text(node.separator), node.place)


def _ending(writer: Writer, node: e.Ending) -> str:
    return writer.dialect.ending(writer.texts(node.value), node.length)


def _trim(writer: Writer, node: e.Trim) -> str:
    return writer.dialect.trim(writer.texts(node.value), node.leading, node.trailing)


def _letters(writer: Writer, node: e.Letters) -> str:
    return writer.dialect.letters(writer.texts(node.value), node.case)


def _ilike(writer: Writer, node: e.ILike) -> str:
    return writer.dialect.ilike(writer.texts(node.value), node.pattern)


def _texts(writer: Writer, nodes: tuple[e.Textual, ...]) -> list[str]:
    return [writer.texts(node) for node in nodes]


NUMBERS: dict[type[e.Numeric], Callable[[Writer, Any], str]] = {
    e.Indicator: _indicator,
    e.Steps: _steps,
    e.Shifted: _shifted,
    e.DatePart: _date_part,
    e.FirstDay: _first_day,
    e.AddMonths: _add_months,
    e.MonthStart: _month_start,
    e.Length: _length,
    e.Position: _position,
}
TEXTS: dict[type[e.Expression], Callable[[Writer, Any], str]] = {
    e.TextNull: _text_null,
    e.TextCase: _text_case,
    e.TextCoalesce: lambda writer, node: f"COALESCE({', '.join(_texts(writer, node.values))})",
    e.Joined: lambda writer, node: f"({' || '.join(_texts(writer, node.values))})",
    e.Substring: _substring,
    e.Ending: _ending,
    e.SplitPart: _split_part,
    e.Trim: _trim,
    e.Letters: _letters,
}
TRUTHS: dict[type[e.Boolean], Callable[[Writer, Any], str]] = {
    e.ILike: _ilike,
}
