"""Functions of texts: LENGTH, SUBSTRING, LEFT, TRIM, ||, and LOWER and UPPER of labels.

Characters are Unicode code points. Labels are mapped in Python; free text by operators that all engines share, so
letters of free text have no LOWER and UPPER: engines and locales differ about them.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from dither.sql.expressions import (
    LONGEST,
    Clamp,
    Constant,
    Joined,
    Length,
    StoredText,
    Substring,
    TextConstant,
    Textual,
    Trim,
)
from dither.sql.scalars import label_maps
from dither.sql.scalars.scalar import Scalars, Value, article


def _mapped(
    scalars: Scalars, node: exp.Expr, name: str, label: Callable[[str], str], build: Callable[[Textual], Textual] | None
) -> Value:
    """A function of one text: done with labels and literals here, with free text by the engine."""
    value = scalars.value(node.this)
    if isinstance(value.node, TextConstant) and value.is_literal_text:
        return Value("literal", TextConstant(label(value.node.value)))
    if value.category is not None:
        return label_maps.relabelled(scalars, node, value, label)
    if value.kind != "text" or not isinstance(value.node, Textual):
        raise scalars.refusal(node, f"{name} takes text, not {article(value.kind)}.", "Use a Text or Category column.")
    if build is None:
        what = f"{name} of free text is not supported: engines differ about the letters of some languages."
        raise scalars.refusal(node, what, "Write x ILIKE 'text' to compare in any case, or declare a Category.")
    return Value("text", build(value.node))


def _letters(name: str, label: Callable[[str], str]) -> Callable[[Scalars, exp.Expr], Value]:
    return lambda scalars, node: _mapped(scalars, node, name, label, None)


def _substring(scalars: Scalars, node: exp.Expr) -> Value:
    start = 1 if node.args.get("start") is None else scalars.constant(node.args["start"], least=-1000, most=LONGEST)
    end = start + 2 * LONGEST  # as far as any text goes, also from before its beginning
    if node.args.get("length") is not None:
        end = start + scalars.constant(node.args["length"], least=0, most=LONGEST)
    return _cut(scalars, node, "SUBSTRING", max(start, 1), max(end - max(start, 1), 0))


def _left(scalars: Scalars, node: exp.Expr) -> Value:
    return _cut(scalars, node, "LEFT", 1, scalars.constant(node.expression, least=0, most=LONGEST))


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
    values = [scalars.value(side) for side in (node.this, node.expression)]
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
    exp.Lower: _letters("LOWER", str.lower),
    exp.Upper: _letters("UPPER", str.upper),
    exp.Substring: _substring,
    exp.Left: _left,
    exp.Trim: _trim,
    exp.Length: _length,
    exp.DPipe: _joined,
}
