"""Categories made of categories: labels mapped in Python, codes mapped in the engine. Engines never see a label."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from sqlglot import exp

from dither.policy.columns import Category
from dither.sql.expressions import Constant, Numeric, Steps, simplifier
from dither.sql.scalars.scalar import Scalars, Value

MOST_STEPS = 1_000  # places where the new codes of neighbouring old codes may part


def category_of(labels: Iterable[str]) -> Category:
    """A public list of labels."""
    return Category(tuple(labels))


def recoded(scalars: Scalars, at: exp.Expr, code: Numeric, new: Sequence[int]) -> Numeric:
    """The code whose value i became new[i]."""
    if isinstance(code, Constant):
        return Constant(new[code.value])
    moved = new[0]
    if all(one == place + moved for place, one in enumerate(new)):
        return simplifier.add(code, Constant(moved)) if moved else code
    return stepped(scalars, at, code, new)


def stepped(scalars: Scalars, at: exp.Expr, code: Numeric, results: Sequence[int]) -> Numeric:
    """results[i] where the code is i."""
    starts = [place for place in range(1, len(results)) if results[place] != results[place - 1]]
    if len(starts) > MOST_STEPS:
        what = f"the labels here change their order or length at {len(starts)} places; at most {MOST_STEPS} may be."
        raise scalars.refusal(at, what, "Declare fewer labels, or the column as Text.")
    if not starts and not code.nullable:
        return Constant(results[0])
    return Steps(code, tuple(starts), tuple(results[place] for place in (0, *starts)))


def relabelled(scalars: Scalars, at: exp.Expr, value: Value, function: Callable[[str], str]) -> Value:
    """The category with every label mapped; equal labels become one."""
    if value.category is None or not isinstance(value.node, Numeric):
        raise TypeError(value.kind)
    scalars.labels.take(at, value.category)
    labels: dict[str, int] = {}
    codes = [labels.setdefault(function(label), len(labels)) for label in value.category.values]
    return Value("category", recoded(scalars, at, value.node, codes), category_of(labels))


def measured(scalars: Scalars, at: exp.Expr, value: Value, function: Callable[[str], int]) -> Numeric:
    """A whole number for each label."""
    if value.category is None or not isinstance(value.node, Numeric):
        raise TypeError(value.kind)
    scalars.labels.take(at, value.category)
    return stepped(scalars, at, value.node, [function(label) for label in value.category.values])
