"""Functions of texts: LENGTH, POSITION, SUBSTRING, LEFT, RIGHT, SPLIT_PART, TRIM, CONCAT, ||, LOWER and UPPER.

Characters are Unicode code points. Labels are mapped in Python; free text by operators that all engines share.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from dither.sql.expressions import (
    LONGEST,
    Clamp,
    Constant,
    Ending,
    Joined,
    Length,
    Letters,
    Position,
    SplitPart,
    StoredText,
    Substring,
    TextCoalesce,
    TextConstant,
    Textual,
    Trim,
    lowered,
    uppered,
)
from dither.sql.scalars import label_maps
from dither.sql.scalars.scalar import Scalars, Value, article


def _mapped(
    scalars: Scalars, node: exp.Expr, name: str, label: Callable[[str], str], build: Callable[[Textual], Textual]
) -> Value:
    """A function of one text: done with labels and literals here, with free text by the engine."""
    value = scalars.value(node.this)
    if isinstance(value.node, TextConstant) and value.is_literal_text:
        return Value("literal", TextConstant(label(value.node.value)))
    if value.category is not None:
        return label_maps.relabelled(scalars, node, value, label)
    if value.kind != "text" or not isinstance(value.node, Textual):
        raise scalars.refusal(node, f"{name} takes text, not {article(value.kind)}.", "Use a Text or Category column.")
    return Value("text", build(value.node))


def _lower(scalars: Scalars, node: exp.Expr) -> Value:
    return _mapped(scalars, node, "LOWER", lowered, lambda text: Letters("lower", text))


def _upper(scalars: Scalars, node: exp.Expr) -> Value:
    return _mapped(scalars, node, "UPPER", uppered, lambda text: Letters("upper", text))


def _substring(scalars: Scalars, node: exp.Expr) -> Value:
    start = 1 if node.args.get("start") is None else scalars.constant(node.args["start"], least=-1000, most=LONGEST)
    end = start + 2 * LONGEST  # as far as any text goes, also from before its beginning
    if node.args.get("length") is not None:
        end = start + scalars.constant(node.args["length"], least=0, most=LONGEST)
    return _cut(scalars, node, "SUBSTRING", max(start, 1), max(end - max(start, 1), 0))


def _left(scalars: Scalars, node: exp.Expr) -> Value:
    return _cut(scalars, node, "LEFT", 1, scalars.constant(node.expression, least=0, most=LONGEST))


def _right(scalars: Scalars, node: exp.Expr) -> Value:
    length = scalars.constant(node.expression, least=0, most=LONGEST)
    return _mapped(
        scalars, node, "RIGHT", lambda text: text[-length:] if length else "", lambda text: Ending(text, length)
    )


def _split_part(scalars: Scalars, node: exp.Expr) -> Value:
    separator = _quoted(scalars, node.args.get("delimiter"), "SPLIT_PART", "a separator")
    place = scalars.constant(node.args.get("part_index"), least=1, most=LONGEST)

    def part(text: str) -> str:
        parts = text.split(separator)
        return parts[place - 1] if place <= len(parts) else ""

    return _mapped(scalars, node, "SPLIT_PART", part, lambda text: SplitPart(text, separator, place))


def _position(scalars: Scalars, node: exp.Expr) -> Value:
    sought = _quoted(scalars, node.args.get("substr"), "POSITION", "what is sought")
    value = scalars.value(node.this)
    if isinstance(value.node, TextConstant):
        return Value("number", Constant(value.node.value.find(sought) + 1))
    if value.category is not None:
        return Value("number", label_maps.measured(scalars, node, value, lambda label: label.find(sought) + 1))
    if value.kind != "text" or not isinstance(value.node, Textual):
        what = f"POSITION looks into text, not {article(value.kind)}."
        raise scalars.refusal(node, what, "Use a Text or Category column.")
    found = Position(value.node, sought)
    return Value("number", Clamp(found, 0, found.high) if isinstance(value.node, StoredText) else found)


def _quoted(scalars: Scalars, node: exp.Expr | None, name: str, what: str) -> str:
    """A text that is written in the query, not empty."""
    given = None if node is None else scalars.value(node).node
    if node is None or not isinstance(given, TextConstant) or not given.value:
        at = node if node is not None else exp.Null()
        raise scalars.refusal(at, f"{name} takes {what} in single quotes, of at least one character.", "Write 'a'.")
    return given.value


def _concat(scalars: Scalars, node: exp.Expr) -> Value:
    """CONCAT passes over NULL, where || is NULL."""
    joined: Value | None = None
    for item in node.expressions:
        value = scalars.value(item)
        if value.kind == "text" and isinstance(value.node, Textual) and value.node.nullable:
            value = Value("text", TextCoalesce((value.node, TextConstant(""))))
        elif value.kind == "category" and value.node.nullable:
            hint = "Write COALESCE(x, 'label'), with one of its labels, or x || y, which is NULL then."
            raise scalars.refusal(item, "CONCAT would write nothing for NULL, which is no label.", hint)
        joined = value if joined is None else _both(scalars, node, [joined, value])
    if joined is None:
        raise scalars.refusal(node, "CONCAT joins nothing.", "Name at least one text.")
    return joined


def _cut(scalars: Scalars, node: exp.Expr, name: str, start: int, length: int) -> Value:
    """`length` characters from the `start`-th on."""
    return _mapped(
        scalars,
        node,
        name,
        lambda text: text[start - 1 : start - 1 + length],
        lambda text: Substring(text, start, min(length, LONGEST)),
    )


def _trim(scalars: Scalars, node: exp.Expr) -> Value:
    removed, position = node.args.get("expression"), str(node.args.get("position") or "BOTH").upper()
    if removed is not None and not (isinstance(removed, exp.Literal) and str(removed.this) == " "):
        raise scalars.refusal(node, "TRIM removes spaces only.", "Write TRIM(x).")
    leading, trailing = position != "TRAILING", position != "LEADING"

    def stripped(text: str) -> str:
        text = text.lstrip(" ") if leading else text
        return text.rstrip(" ") if trailing else text

    return _mapped(scalars, node, "TRIM", stripped, lambda text: Trim(text, leading, trailing))


def _length(scalars: Scalars, node: exp.Expr) -> Value:
    value = scalars.value(node.this)
    if isinstance(value.node, TextConstant):
        return Value("number", Constant(len(value.node.value)))
    if value.category is not None:
        return Value("number", label_maps.measured(scalars, node, value, len))
    if value.kind != "text" or not isinstance(value.node, Textual):
        raise scalars.refusal(node, f"LENGTH takes text, not {article(value.kind)}.", "Use a Text or Category column.")
    length = Length(value.node)
    return Value("number", Clamp(length, 0, length.high) if isinstance(value.node, StoredText) else length)


def _joined(scalars: Scalars, node: exp.Expr) -> Value:
    return _both(scalars, node, [scalars.value(side) for side in (node.this, node.expression)])


def _both(scalars: Scalars, node: exp.Expr, values: list[Value]) -> Value:
    kinds = {value.kind for value in values}
    if kinds == {"literal"}:
        return Value("literal", TextConstant("".join(_constant(value) for value in values)))
    if kinds == {"category", "literal"}:
        before, after = ((_constant(value) if value.is_literal_text else None) for value in values)
        category = values[0] if after is not None else values[1]
        return label_maps.relabelled(scalars, node, category, lambda label: f"{before or ''}{label}{after or ''}")
    if not kinds <= {"text", "literal"}:
        said = " and ".join(article(value.kind) for value in values)
        raise scalars.refusal(node, f"{said} cannot be joined.", "Join texts, or a category and a quoted text.")
    return Value("text", Joined(tuple(part for value in values for part in _parts(value.node))))


def _parts(node: object) -> tuple[Textual, ...]:
    if isinstance(node, Joined):
        return node.values
    return (node,) if isinstance(node, Textual) else ()


def _constant(value: Value) -> str:
    return value.node.value if isinstance(value.node, TextConstant) else ""


RULES: dict[type[exp.Expr], Callable[[Scalars, exp.Expr], Value]] = {
    exp.Lower: _lower,
    exp.Upper: _upper,
    exp.Substring: _substring,
    exp.Left: _left,
    exp.Right: _right,
    exp.SplitPart: _split_part,
    exp.StrPosition: _position,
    exp.Concat: _concat,
    exp.Trim: _trim,
    exp.Length: _length,
    exp.DPipe: _joined,
}
