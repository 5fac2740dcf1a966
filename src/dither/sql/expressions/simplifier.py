"""Builders that give one form to what means the same, so that equal questions have equal plans.

Every rule holds in three-valued logic and for whole numbers of units: constants are folded, `>` is turned round,
`c < x` becomes `c + 1 <= x`, `=` and IN are one node, NOT is pushed inwards, AND and OR are flat, sorted, unrepeated.
"""

from __future__ import annotations

from collections.abc import Iterable

from dither.sql.expressions import (
    Absolute,
    Add,
    Among,
    And,
    Boolean,
    Case,
    Compare,
    Comparison,
    Constant,
    Divide,
    Expression,
    Indicator,
    Is,
    IsNull,
    Modulo,
    Multiply,
    Negate,
    Not,
    Null,
    Numeric,
    Or,
    Rescale,
    Run,
    Subtract,
    TextAmong,
    Truth,
    cut,
)

DIVISION_DECIMALS = 6


# Numbers


def rescaled(value: Numeric, decimals: int) -> Numeric:
    """The same number in units of 10**-decimals, which are as fine or finer."""
    if isinstance(value, Null) or value.scale == decimals:
        return value
    if isinstance(value, Constant):
        return Constant(value.value * 10 ** (decimals - value.scale), decimals)
    return Rescale(value, decimals)


def aligned(values: Iterable[Numeric]) -> tuple[Numeric, ...]:
    """The values in the finest units among them."""
    values = tuple(values)
    decimals = max(value.scale for value in values)
    return tuple(rescaled(value, decimals) for value in values)


def add(left: Numeric, right: Numeric) -> Numeric:
    left, right = aligned((left, right))
    if isinstance(left, Constant) and isinstance(right, Constant):
        return Constant(left.value + right.value, left.scale)
    return Add(*in_order(left, right))


def subtract(left: Numeric, right: Numeric) -> Numeric:
    left, right = aligned((left, right))
    if isinstance(left, Constant) and isinstance(right, Constant):
        return Constant(left.value - right.value, left.scale)
    return Subtract(left, right)


def multiply(left: Numeric, right: Numeric) -> Numeric:
    if isinstance(left, Constant) and isinstance(right, Constant):
        return Constant(left.value * right.value, left.scale + right.scale)
    return Multiply(*in_order(left, right))


def divide(left: Numeric, right: Numeric) -> Numeric:
    """Whole numbers give a whole number; otherwise six decimals, or as many as the operands have if that is more."""
    whole = left.scale == right.scale == 0
    decimals = 0 if whole else max(left.scale, right.scale, DIVISION_DECIMALS)
    # (l / 10**a) / (r / 10**b) = l * 10**(decimals + b - a) / r in units of 10**-decimals
    fine = rescaled(left, decimals + right.scale)
    if isinstance(fine, Constant) and isinstance(right, Constant) and right.value:
        return Constant(cut(fine.value, right.value), decimals)
    return Divide(fine, right, decimals)


def modulo(left: Numeric, right: Numeric) -> Numeric:
    left, right = aligned((left, right))
    if isinstance(left, Constant) and isinstance(right, Constant) and right.value:
        return Constant(left.value - right.value * cut(left.value, right.value), left.scale)
    return Modulo(left, right)


def negate(value: Numeric) -> Numeric:
    if isinstance(value, Constant):
        return Constant(-value.value, value.scale)
    return value.value if isinstance(value, Negate) else Negate(value)


def absolute(value: Numeric) -> Numeric:
    return Constant(abs(value.value), value.scale) if isinstance(value, Constant) else Absolute(value)


def indicator(truth: Boolean) -> Numeric:
    """1, 0 or NULL for true, false or NULL; a stored truth is its own."""
    if isinstance(truth, Truth):
        return Null() if truth.value is None else Constant(int(truth.value))
    if isinstance(truth, Among) and truth.value.bounds == (0, 1) and truth.runs == ((1, 1),):
        return truth.value
    return Indicator(truth)


def is_one(number: Numeric) -> Boolean:
    """The truth behind an indicator, or behind one of several."""
    if isinstance(number, Null):
        return Truth(None)
    return number.operand if isinstance(number, Indicator) else among(number, ((1, 1),))


def choose(conditions: tuple[Boolean, ...], values: Iterable[Numeric], otherwise: Numeric) -> Numeric:
    *values, otherwise = aligned((*values, otherwise))
    return Case(conditions, tuple(values), otherwise)


# Truths


def compare(operator: Comparison, left: Numeric, right: Numeric) -> Boolean:
    """The comparison of two numbers in whatever units."""
    if operator in (">", ">="):
        return compare("<" if operator == ">" else "<=", right, left)
    if isinstance(left, Constant) and isinstance(right, Constant):
        left, right = aligned((left, right))
        return Truth(_holds(operator, left.low, right.low))
    if isinstance(left, Constant) or isinstance(right, Constant):
        return _with_constant(operator, left, right)
    left, right = aligned((left, right))
    if operator in ("=", "<>"):
        same = Compare("=", *in_order(left, right))
        return same if operator == "=" else Not(same)
    return Compare(operator, left, right)


def _with_constant(operator: Comparison, left: Numeric, right: Numeric) -> Boolean:
    """A bound is rounded to the variable's own units, on the side that keeps the meaning."""
    on_left = isinstance(left, Constant)
    constant, value = (left, right) if on_left else (right, left)
    decimals = max(constant.scale, value.scale)
    bound, unit = rescaled(constant, decimals).low, 10 ** (decimals - value.scale)
    if operator in ("=", "<>"):
        same = among(value, ((bound // unit, bound // unit),) if bound % unit == 0 else ())
        return same if operator == "=" else negation(same)
    if on_left:  # c < x: x is at least the first whole number above c; c <= x: at least c rounded up
        least = bound // unit + 1 if operator == "<" else -(-bound // unit)
        return Compare("<=", Constant(least, value.scale), value)
    most = -(-bound // unit) - 1 if operator == "<" else bound // unit
    return Compare("<=", value, Constant(most, value.scale))


def among(value: Numeric, runs: Iterable[Run]) -> Boolean:
    """Whether the value lies in one of the runs, which may come in any order and overlap."""
    if isinstance(value, Constant):
        return Truth(any(first <= value.value <= last for first, last in runs))
    return Among(value, united(runs))


def united(runs: Iterable[Run]) -> tuple[Run, ...]:
    """The same numbers in as few runs as possible, ascending.

    >>> united([(7, 7), (1, 2), (3, 3), (2, 2)])
    ((1, 3), (7, 7))
    """
    found: list[Run] = []
    for first, last in sorted(runs):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(last, found[-1][1]))
        else:
            found.append((first, last))
    return tuple(found)


def is_null(value: Expression) -> Boolean:
    if not value.nullable:
        return Truth(False)
    return is_null(value.value) if isinstance(value, (Among, TextAmong)) else IsNull(value)


def is_truth(operand: Boolean, truth: bool) -> Boolean:
    if operand.nullable:
        return Is(operand, truth)
    return operand if truth else negation(operand)


def negation(operand: Boolean) -> Boolean:
    if isinstance(operand, Truth):
        return Truth(None if operand.value is None else not operand.value)
    if isinstance(operand, Not):
        return operand.operand
    if isinstance(operand, And):
        return disjunction(map(negation, operand.operands))
    if isinstance(operand, Or):
        return conjunction(map(negation, operand.operands))
    if isinstance(operand, Compare) and operand.operator in ("<", "<="):
        return compare("<=" if operand.operator == "<" else "<", operand.right, operand.left)
    return Not(operand)


def conjunction(operands: Iterable[Boolean]) -> Boolean:
    """AND; `x <> 1 AND x <> 2` is NOT IN (1, 2)."""
    flat = _flat(operands, And)
    if any(truth == Truth(False) for truth in flat):
        return Truth(False)
    merged = _merged([item.operand if isinstance(item, Not) else None for item in flat], flat, negated=True)
    kept = _sorted(item for item in merged if item != Truth(True))
    return And(kept) if len(kept) > 1 else kept[0] if kept else Truth(True)


def disjunction(operands: Iterable[Boolean]) -> Boolean:
    """OR; `x = 1 OR x = 2` is IN (1, 2)."""
    flat = _flat(operands, Or)
    if any(truth == Truth(True) for truth in flat):
        return Truth(True)
    kept = _sorted(item for item in _merged(flat, flat, negated=False) if item != Truth(False))
    return Or(kept) if len(kept) > 1 else kept[0] if kept else Truth(False)


def in_order(left: Numeric, right: Numeric) -> tuple[Numeric, Numeric]:
    """Operands of a symmetric operator in the one order that is kept."""
    return (left, right) if left.text <= right.text else (right, left)


def _flat(operands: Iterable[Boolean], kind: type[And] | type[Or]) -> list[Boolean]:
    return [inner for item in operands for inner in (item.operands if isinstance(item, kind) else (item,))]


def _sorted(items: Iterable[Boolean]) -> tuple[Boolean, ...]:
    by_text = {item.text: item for item in items}
    return tuple(by_text[text] for text in sorted(by_text))


def _merged(cores: list[Boolean] | list[Boolean | None], items: list[Boolean], *, negated: bool) -> list[Boolean]:
    """Runs of the same value united; `cores` are the items without the NOT that conjunctions have."""
    found: dict[str, tuple[Numeric, list[Run]]] = {}
    kept: list[Boolean] = []
    for core, item in zip(cores, items, strict=True):
        if isinstance(core, Among):
            found.setdefault(core.value.text, (core.value, []))[1].extend(core.runs)
        else:
            kept.append(item)
    merged = [among(value, runs) for value, runs in found.values()]
    return kept + ([Not(item) for item in merged] if negated else merged)


def _holds(operator: Comparison, left: int, right: int) -> bool:
    return {"=": left == right, "<>": left != right, "<": left < right}.get(operator, left <= right)
