"""CASE, COALESCE, NULLIF, GREATEST and LEAST: several values of one kind, of which one is taken.

Texts written in the query are a public list: a CASE of such labels is a category with those labels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from dither.policy.columns import Category
from dither.sql.expressions import (
    Boolean,
    Coalesce,
    Constant,
    Expression,
    Greatest,
    Least,
    Null,
    Numeric,
    TextCase,
    TextCoalesce,
    TextConstant,
    TextNull,
    Textual,
    Truth,
    simplifier,
)
from dither.sql.scalars import calendar
from dither.sql.scalars.casts import as_moment
from dither.sql.scalars.conditions import compare_values
from dither.sql.scalars.label_maps import category_of, recoded
from dither.sql.scalars.scalar import Kind, Scalars, Value, article

_MOMENTS = frozenset({"date", "timestamp", "local"})


@dataclass(frozen=True)
class Alike:
    """Values brought to one kind, NULL among them; `value` makes a node over them a value of that kind."""

    kind: Kind
    nodes: tuple[Expression, ...]
    category: Category | None = None

    @property
    def numbers(self) -> tuple[Numeric, ...]:
        return tuple(node for node in self.nodes if isinstance(node, Numeric))

    @property
    def texts(self) -> tuple[Textual, ...]:
        return tuple(node for node in self.nodes if isinstance(node, Textual))

    def value(self, node: Expression) -> Value:
        if self.kind == "boolean" and isinstance(node, Numeric):
            return Value("boolean", simplifier.is_one(node))
        return Value(self.kind, node, self.category)


def alike(scalars: Scalars, at: exp.Expr, nodes: list[exp.Expr]) -> Alike:
    """The values that several pieces of syntax stand for, in one kind."""
    values = [scalars.value(node) for node in nodes]
    kinds: set[Kind] = {value.kind for value in values} - {"null"}
    if not kinds:
        raise scalars.refusal(at, "every value here is NULL.", "Give a number, a text or a date.")
    if kinds & _MOMENTS and kinds <= _MOMENTS | {"literal"}:
        return _moments(scalars, at, values, kinds)
    if kinds == {"number"}:
        present = iter(simplifier.aligned(_number(value) for value in values if value.kind != "null"))
        return Alike("number", tuple(Null() if value.kind == "null" else next(present) for value in values))
    if kinds == {"boolean"}:
        truths = (Truth(None) if value.kind == "null" else value.node for value in values)
        return Alike("boolean", tuple(simplifier.indicator(truth) for truth in truths if isinstance(truth, Boolean)))
    if kinds <= {"category", "literal"}:
        return _labels(scalars, at, values)
    if kinds <= {"text", "literal"}:
        return Alike("text", tuple(TextNull() if value.kind == "null" else value.node for value in values))
    first, second = sorted(map(article, kinds))[:2]
    hint = "Give values of one kind: all numbers, all texts, all dates or all conditions."
    raise scalars.refusal(at, f"{first} and {second} cannot stand beside each other here.", hint)


def _number(value: Value) -> Numeric:
    if not isinstance(value.node, Numeric):
        raise TypeError(value.kind)
    return value.node


def _moments(scalars: Scalars, at: exp.Expr, values: list[Value], kinds: set[Kind]) -> Alike:
    """Days, unless there is a moment among them; a text is read as what stands beside it."""
    kind: Kind = "timestamp" if "timestamp" in kinds else "local" if "local" in kinds else "date"
    found: list[Numeric] = []
    for value in values:
        if isinstance(value.node, TextConstant):
            value = as_moment(scalars, at, value.node.value, kind)
        node = Null() if value.kind == "null" else _number(value)
        found.append(calendar.moment(node, "date") if value.kind == "date" and kind != "date" else node)
    return Alike(kind, tuple(found))


def _labels(scalars: Scalars, at: exp.Expr, values: list[Value]) -> Alike:
    """All labels in the order in which they appear, and codes that count in that order."""
    labels: dict[str, int] = {}
    for value in values:
        if value.category is not None:
            scalars.labels.take(at, value.category)
            labels |= {label: len(labels) + i for i, label in enumerate(_new(value.category, labels))}
        elif isinstance(value.node, TextConstant):
            labels.setdefault(value.node.value, len(labels))
    nodes: list[Numeric] = []
    for value in values:
        if value.category is not None:
            nodes.append(recoded(scalars, at, _number(value), [labels[label] for label in value.category.values]))
        else:
            nodes.append(Constant(labels[value.node.value]) if isinstance(value.node, TextConstant) else Null())
    return Alike("category", tuple(nodes), category_of(labels))


def _new(category: Category, labels: dict[str, int]) -> list[str]:
    return [label for label in category.values if label not in labels]


# One rule a kind of syntax


def _case(scalars: Scalars, node: exp.Expr) -> Value:
    branches = node.args["ifs"]
    if node.this is None:
        conditions = tuple(scalars.truth(branch.this) for branch in branches)
    else:
        chosen = scalars.value(node.this)
        conditions = tuple(
            compare_values(scalars, node, "=", chosen, scalars.value(branch.this)) for branch in branches
        )
    default = node.args.get("default") or exp.Null()
    results = alike(scalars, node, [*(branch.args["true"] for branch in branches), default])
    return _chosen(conditions, results)


def _chosen(conditions: tuple[Boolean, ...], results: Alike) -> Value:
    if results.kind == "text":
        *texts, other = results.texts
        return results.value(TextCase(conditions, tuple(texts), other))
    *numbers, otherwise = results.numbers
    return results.value(simplifier.choose(conditions, numbers, otherwise))


def _nullif(scalars: Scalars, node: exp.Expr) -> Value:
    value, other = scalars.value(node.this), scalars.value(node.expression)
    if value.kind in ("null", "literal"):
        raise scalars.refusal(node, f"NULLIF needs a column or an expression, not {article(value.kind)}.")
    same = compare_values(scalars, node, "=", value, other)
    if isinstance(value.node, Textual):
        return Value("text", TextCase((same,), (TextNull(),), value.node))
    number = simplifier.indicator(value.node) if isinstance(value.node, Boolean) else _number(value)
    return Alike(value.kind, (number,), value.category).value(simplifier.choose((same,), [Null()], number))


def _coalesce(scalars: Scalars, node: exp.Expr) -> Value:
    found = alike(scalars, node, [node.this, *node.expressions])
    if found.kind == "text":
        return found.value(TextCoalesce(tuple(text for text in found.texts if not isinstance(text, TextNull))))
    return found.value(Coalesce(_present(found)))


def _extreme(build: type[Least] | type[Greatest]) -> Callable[[Scalars, exp.Expr], Value]:
    def rule(scalars: Scalars, node: exp.Expr) -> Value:
        found = alike(scalars, node, [node.this, *node.expressions])
        if found.kind not in ("number", "boolean", *_MOMENTS):
            what = f"texts have no order that all engines share, so {build.__name__.upper()} takes none."
            raise scalars.refusal(node, what, "Use numbers or dates.")
        return found.value(build(_present(found)))

    return rule


def _present(found: Alike) -> tuple[Numeric, ...]:
    return tuple(number for number in found.numbers if not isinstance(number, Null))


RULES: dict[type[exp.Expr], Callable[[Scalars, exp.Expr], Value]] = {
    exp.Case: _case,
    exp.Nullif: _nullif,
    exp.Coalesce: _coalesce,
    exp.Least: _extreme(Least),
    exp.Greatest: _extreme(Greatest),
}
