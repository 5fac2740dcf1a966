"""From syntax to truths: comparisons, lists, ranges, patterns. Category labels are resolved over their public list."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable

from sqlglot import exp

from dither.errors import PolicyError
from dither.policy.columns import Category
from dither.sql.expressions import (
    Boolean,
    CompareText,
    Comparison,
    Constant,
    ILike,
    Like,
    Not,
    Numeric,
    Stored,
    TextAmong,
    TextConstant,
    Textual,
    Truth,
    simplifier,
)
from dither.sql.scalars import literals
from dither.sql.scalars.casts import as_moment
from dither.sql.scalars.scalar import Kind, Scalars, Value, article
from dither.sql.scalars.scope import text_hint
from dither.sql.text import patterns

_MOMENTS: frozenset[Kind] = frozenset({"date", "timestamp", "local"})
_TURNED: dict[Comparison, Comparison] = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def compared(scalars: Scalars, at: exp.Expr, operator: Comparison, left: exp.Expr, right: exp.Expr) -> Boolean:
    """The comparison of two pieces of syntax."""
    return compare_values(scalars, at, operator, scalars.value(left), scalars.value(right))


def compare_values(scalars: Scalars, at: exp.Expr, operator: Comparison, left: Value, right: Value) -> Boolean:
    """The comparison of two bound values, whose kinds must fit each other."""
    if "null" in (left.kind, right.kind):
        raise scalars.refusal(at, "a comparison with NULL is never true.", "Write IS NULL or IS NOT NULL.")
    if left.is_literal_text and not right.is_literal_text:
        return compare_values(scalars, at, _TURNED[operator], right, left)
    kinds = {left.kind, right.kind}
    if right.is_literal_text and left.kind in _MOMENTS and isinstance(right.node, TextConstant):
        return compare_values(scalars, at, operator, left, as_moment(scalars, at, right.node.value, left.kind))
    if kinds <= {"number"} or kinds <= _MOMENTS:
        return scalars.compare(at, operator, _instants(left, kinds), _instants(right, kinds))
    if left.category is not None and isinstance(left.node, Numeric) and isinstance(right.node, TextConstant):
        return _labels(scalars, at, left.node, left.category, operator, right.node.value)
    if operator in ("=", "<>") and scalars.labels.alike(at, left.category, right.category):
        return simplifier.compare(operator, _numeric(left), _numeric(right))
    if "text" in kinds and isinstance(left.node, Textual) and isinstance(right.node, Textual):
        return compare_text(operator, left.node, right.node)
    if kinds == {"boolean"} and isinstance(left.node, Boolean) and isinstance(right.node, Boolean):
        return _same_truth(operator, left.node, right.node)
    if kinds == {"literal"}:
        raise scalars.refusal(at, "a quoted text is compared with another here.", "Compare a column with it.")
    hint = "Quote text and dates, and do not quote numbers." if "literal" in kinds else "Compare values of one kind."
    raise scalars.refusal(at, f"{article(left.kind)} cannot be compared with {article(right.kind)} here.", hint)


def compare_text(operator: Comparison, left: Textual, right: Textual) -> Boolean:
    """Texts by code points; = and IN are one node, > is turned round."""
    if operator in (">", ">="):
        return compare_text("<" if operator == ">" else "<=", right, left)
    if operator in ("=", "<>"):
        if isinstance(left, TextConstant):
            left, right = right, left
        if isinstance(right, TextConstant):
            same: Boolean = TextAmong(left, (right.value,))
        else:
            same = CompareText("=", *((left, right) if left.text <= right.text else (right, left)))
        return same if operator == "=" else Not(same)
    return CompareText(operator, left, right)


def _numeric(value: Value) -> Numeric:
    if not isinstance(value.node, Numeric):
        raise TypeError(value.kind)
    return value.node


def _instants(value: Value, kinds: set[Kind]) -> Numeric:
    """A date beside a timestamp is its midnight."""
    node = _numeric(value)
    return simplifier.multiply(node, Constant(literals.DAY)) if value.kind == "date" and len(kinds) > 1 else node


def _same_truth(operator: Comparison, left: Boolean, right: Boolean) -> Boolean:
    """Two conditions; one that is compared with TRUE or FALSE is itself or its opposite."""
    if isinstance(left, Truth):
        left, right, operator = right, left, _TURNED[operator]
    if operator in ("=", "<>") and isinstance(right, Truth) and right.value is not None:
        return left if right.value == (operator == "=") else simplifier.negation(left)
    return simplifier.compare(operator, simplifier.indicator(left), simplifier.indicator(right))


def _labels(
    scalars: Scalars, at: exp.Expr, code: Numeric, category: Category, operator: Comparison, label: str
) -> Boolean:
    if operator in ("=", "<>"):
        name = repr(code.name) if isinstance(code, Stored) else "this expression"
        wanted = label_code(scalars, at, name, category, label)
        same = simplifier.among(code, ((wanted, wanted),))
        return same if operator == "=" else simplifier.negation(same)
    return simplifier.among(code, scalars.labels.ordered(at, category, operator, label))


def label_code(scalars: Scalars, at: exp.Expr, name: str, category: Category, label: str) -> int:
    """The code of a label. One that is not declared can match no row: likelier a typing error than a question."""
    try:
        return category.encode(label)
    except PolicyError:
        pass
    known = [value[:40] for value in category.values[:200]]
    near = difflib.get_close_matches(label[:40], known, n=1)
    listed = ", ".join(map(repr, known[:8])) + (", ..." if len(category.values) > 8 else "")
    hint = f"Did you mean {near[0]!r}?" if near else f"Declared are: {listed}."
    raise scalars.refusal(at, f"{label[:40]!r} is not a declared value of {name}.", hint)


# One rule a kind of syntax


def _compare(operator: Comparison) -> Callable[[Scalars, exp.Expr], Value]:
    return lambda scalars, node: Value("boolean", compared(scalars, node, operator, node.this, node.expression))


def _chain(build: Callable[[Iterable[Boolean]], Boolean]) -> Callable[[Scalars, exp.Expr], Value]:
    def rule(scalars: Scalars, node: exp.Expr) -> Value:
        operands = [scalars.truth(operand) for operand in _operands(node)]
        scalars.small(node, operands)
        return Value("boolean", build(operands))

    return rule


def _operands(node: exp.Expr) -> list[exp.Expr]:
    """A chain of one connective, left to right, without recursion: chains may be long."""
    waiting, found = [node], []
    while waiting:
        item = waiting.pop()
        if type(item) is type(node):
            waiting += [item.expression, item.this]
        else:
            found.append(item)
    return found


def _between(scalars: Scalars, node: exp.Expr) -> Value:
    value, low, high = (scalars.value(node.args[name]) for name in ("this", "low", "high"))
    ends = compare_values(scalars, node, ">=", value, low), compare_values(scalars, node, "<=", value, high)
    return Value("boolean", simplifier.conjunction(ends))


def _in(scalars: Scalars, node: exp.Expr) -> Value:
    value = scalars.value(node.this)
    constants = (exp.Literal, exp.Boolean, exp.Cast, exp.Neg, exp.Paren)
    for option in node.expressions:
        if isinstance(option.unnest(), exp.Null):
            raise scalars.refusal(
                node, "NULL in a list matches nothing, and NOT IN then matches no row.", "Use IS NULL."
            )
        if not isinstance(option, constants) or option.find(exp.Column):
            declared = isinstance(option, exp.Column) and scalars.scope.declared_as(option.name)
            said = text_hint(option) if isinstance(option, exp.Column) and not declared else ""
            hint = said or "Write x = y OR x = z to compare with columns."
            raise scalars.refusal(option, "an IN list holds literals.", hint)
    if not node.expressions:
        raise scalars.refusal(node, "the IN list is empty.", "Give at least one value.")
    options = [compare_values(scalars, option, "=", value, scalars.value(option)) for option in node.expressions]
    texts = [option for option in options if isinstance(option, TextAmong)]
    if len(texts) == len(options):
        united = TextAmong(texts[0].value, tuple(sorted({text for option in texts for text in option.options})))
        return Value("boolean", united)
    return Value("boolean", simplifier.disjunction(options))


def _is(scalars: Scalars, node: exp.Expr) -> Value:
    right = node.expression
    found = scalars.scope.found(node.this) if isinstance(right, exp.Null) else None
    if found is not None:
        truth = simplifier.is_null(found)
    elif isinstance(right, exp.Null):
        value = scalars.value(node.this)
        if value.kind in ("null", "literal"):
            raise scalars.refusal(node, "IS NULL needs a column or an expression.", "Write x IS NULL.")
        truth = simplifier.is_null(value.node)
    elif isinstance(right, exp.Boolean):
        truth = simplifier.is_truth(scalars.truth(node.this), bool(right.this))
    else:
        raise scalars.refusal(node, "IS takes NULL, TRUE or FALSE.", "Write x = y to compare.")
    return Value("boolean", simplifier.negation(truth) if node.args.get("negate") else truth)


def _distinct_from(distinct: bool) -> Callable[[Scalars, exp.Expr], Value]:
    """IS [NOT] DISTINCT FROM: a comparison in which NULL is a value like others; never NULL itself."""

    def rule(scalars: Scalars, node: exp.Expr) -> Value:
        left, right = scalars.value(node.this), scalars.value(node.expression)
        if "null" in (left.kind, right.kind):
            same = simplifier.is_null(left.node if right.kind == "null" else right.node)
        else:
            missing = simplifier.conjunction((simplifier.is_null(left.node), simplifier.is_null(right.node)))
            equal = simplifier.is_truth(compare_values(scalars, node, "=", left, right), True)
            same = simplifier.disjunction((equal, missing))
        return Value("boolean", simplifier.negation(same) if distinct else same)

    return rule


def _like(scalars: Scalars, node: exp.Expr, escape: str = patterns.ESCAPE) -> Value:
    pattern = node.expression.unnest()
    if not isinstance(pattern, exp.Literal) or not pattern.args.get("is_string"):
        raise scalars.refusal(node, "a LIKE pattern is text in single quotes.", "Write name LIKE 'A%'.")
    try:
        wanted = patterns.normal_pattern(str(pattern.this), escape)
    except patterns.BadPattern as error:
        raise scalars.refusal(pattern, str(error), "Write '\\\\' for a backslash, '\\%' for a per cent sign.") from None
    value, any_case = scalars.value(node.this), isinstance(node, exp.ILike)
    if value.category is not None and isinstance(value.node, Numeric):
        truth = simplifier.among(value.node, scalars.labels.like(node, value.category, wanted, any_case=any_case))
    elif value.kind == "text" and isinstance(value.node, Textual):
        truth = ILike(value.node, _one_case(wanted)) if any_case else Like(value.node, wanted)
    elif value.is_literal_text:
        what = "LIKE matches a column or what is computed of one, not a quoted text."
        raise scalars.refusal(node, what, "Write the column first: name LIKE 'A%'.")
    else:
        raise scalars.refusal(node, f"LIKE matches text, not {article(value.kind)}.", "Use = < > or BETWEEN.")
    return Value("boolean", simplifier.negation(truth) if node.args.get("negate") else truth)


def _one_case(pattern: str) -> str:
    """The same for patterns that differ in the case of letters only."""
    return "".join(patterns.cases(character)[0] for character in pattern)


def _escape(scalars: Scalars, node: exp.Expr) -> Value:
    if not isinstance(node.this, (exp.Like, exp.ILike)) or not isinstance(node.expression, exp.Literal):
        raise scalars.refusal(
            node, "ESCAPE belongs to a LIKE and is one quoted character.", "Write x LIKE '50!%' ESCAPE '!'."
        )
    return _like(scalars, node.this, str(node.expression.this))


RULES: dict[type[exp.Expr], Callable[[Scalars, exp.Expr], Value]] = {
    exp.EQ: _compare("="),
    exp.NEQ: _compare("<>"),
    exp.LT: _compare("<"),
    exp.LTE: _compare("<="),
    exp.GT: _compare(">"),
    exp.GTE: _compare(">="),
    exp.And: _chain(simplifier.conjunction),
    exp.Or: _chain(simplifier.disjunction),
    exp.Not: lambda scalars, node: Value("boolean", simplifier.negation(scalars.truth(node.this))),
    exp.Between: _between,
    exp.In: _in,
    exp.Is: _is,
    exp.NullSafeEQ: _distinct_from(False),
    exp.NullSafeNEQ: _distinct_from(True),
    exp.Like: _like,
    exp.ILike: _like,
    exp.Escape: _escape,
}
