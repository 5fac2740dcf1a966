"""Comparisons of what syntax stands for: of one kind, or of a kind that a literal beside it can be read as."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from dither.sql.binding.formula_kinds import Bound, Kind
from dither.sql.postprocess.formulas import terms
from dither.sql.postprocess.formulas.terms import Condition
from dither.sql.scalars import literals
from dither.sql.text.collations import check_apart
from dither.sql.text.source import Source

COMPARISONS: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
_TURNED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def compare(source: Source, node: exp.Expr, operator: str, left: Bound, right: Bound) -> Condition:
    """What is true where the operator holds; sides that cannot be compared are refused."""
    if left.kind == "text" and left.key is None and right.kind != "text":
        return compare(source, node, _TURNED[operator], right, left)
    if left.kind == "text" and right.kind == "text":
        return _compare_text(source, node, operator, left, right)
    if right.literal is not None:
        right = read_text(source, node, right.literal, left.kind)
    if {left.kind, right.kind} == {"date", "timestamp"}:
        left, right = (_instants(side) if side.kind == "date" else side for side in (left, right))
    if left.kind == right.kind and left.term is not None and right.term is not None:
        return terms.Compare(operator, left.term, right.term)
    what = f"a {left.kind} cannot be compared with a {right.kind}."
    raise source.refusal(node, what, "Compare numbers with numbers, and keys with literals of their kind.")


def _compare_text(source: Source, node: exp.Expr, operator: str, left: Bound, right: Bound) -> Condition:
    if left.key is not None and right.literal is not None:
        check_apart(source, node, (*left.labels, right.literal))
        return terms.CompareText(operator, left.key, right.literal)
    if right.key is not None and left.literal is not None:
        check_apart(source, node, (*right.labels, left.literal))
        return terms.CompareText(_TURNED[operator], right.key, left.literal)
    raise source.refusal(node, "text is compared as a grouped column with a literal.", "Write region = 'north'.")


def read_text(source: Source, node: exp.Expr, text: str, kind: Kind) -> Bound:
    """Quoted text beside a date or timestamp is read as one."""
    readers: dict[Kind, Callable[[str], int]] = {"date": literals.day, "timestamp": literals.instant}
    if kind not in readers:
        raise source.refusal(node, f"a {kind} cannot be compared with text.", "Write numbers without quotes.")
    try:
        return Bound(kind, terms.Number(readers[kind](text)))
    except ValueError as error:
        raise source.refusal(node, str(error)) from None


def _instants(day: Bound) -> Bound:
    if day.term is None:
        return day
    return Bound("timestamp", terms.Apply("multiply", (day.term, terms.Number(literals.DAY))))
