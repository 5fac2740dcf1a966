"""Operators, casts, parts of dates and patterns: what a dialect means by them, in PostgreSQL's words."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING

from sqlglot import exp

from dither.policy.columns import Fixed
from dither.sql.text.dialects import names
from dither.sql.text.dialects.call import inside
from dither.sql.text.dialects.time_rules import cast, listed

if TYPE_CHECKING:
    from dither.sql.text.dialects.translation import Translation

_DATE = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d{1,6})?)?)?")
_DIGITS = re.compile(r"[0-9]{1,9}")
_WHOLE = (exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT)
_IN_POSTGRESQL = "Write it in PostgreSQL's dialect."
WRITTEN_DATES = "Write DATE '2024-12-31' or TIMESTAMP '2024-12-31 23:59:59'."


def _sum(translation: Translation, node: exp.Expr) -> exp.Expr:
    translated = translation.with_translated(node)
    sides = (translated.this, translated.expression)
    if not translation.vocabulary.moved_by_days and not any(isinstance(side.unnest(), exp.Interval) for side in sides):
        for name, side in zip(("this", "expression"), sides, strict=True):
            if not isinstance(side, exp.Literal) and not side.find(exp.AggFunc, exp.Filter):
                translated.set(name, _number(translation, side))
    return translated


def _number(translation: Translation, side: exp.Expr) -> exp.Expr:
    """The value, refused by the binder where it is a date."""
    guarded = cast(side, "DECIMAL")
    there = translation.vocabulary.name
    guarded.meta["instead"] = (
        f"a sum or difference with a date, which is a number in {there}, is not translated.",
        f"Write an interval, or a function of {there} for it." if translation.vocabulary.units else _IN_POSTGRESQL,
    )
    return guarded


def _quotient(translation: Translation, node: exp.Expr) -> exp.Expr:
    for side in (node.this, node.expression):
        at, there = translation.source.offset(side), f"is not translated from {translation.vocabulary.name}'s dialect."
        if translation.vocabulary.type_by_function and not _one_type(translation, side):
            what = f"a division with a value that may be whole or decimal there {there}"
            node.meta.setdefault("refused", (at, what, "Write CAST(x AS INTEGER) if it is whole."))
        elif not translation.vocabulary.decimal_division and (translation.decimal(side) or _fixed(translation, side)):
            what = f"a division of decimal numbers, which is rounded to their own decimals there, {there}"
            node.meta.setdefault("refused", (at, what, _IN_POSTGRESQL))
    translated = translation.with_translated(node)
    if translation.vocabulary.division == "exact" and not translated.this.find(exp.AggFunc, exp.Filter):
        translated.meta["exact"] = True  # also of integers
        if translation.vocabulary.quotients_are_floats and not _never_zero(translated.expression.unnest()):
            what = f"this divisor can be 0, where a quotient is infinite in {translation.vocabulary.name}."
            translated.meta["not_by_zero"] = what, "Write x / NULLIF(y, 0), which is NULL there."
    return translated


_FLOATS = ("SQRT", "EXP", "POWER", "POW", "LN", "LOG", "LOG10")


def _never_zero(node: exp.Expr) -> bool:
    """Whether this is NULLIF(x, 0)."""
    zero = node.expression if isinstance(node, exp.Nullif) else None
    return isinstance(zero, exp.Literal) and str(zero.this) == "0"


def _fixed(translation: Translation, node: exp.Expr) -> bool:
    """Whether a column in a value may have decimals."""
    called = {one.name for one in node.find_all(exp.Column)}
    return any(isinstance(column, Fixed) for name in called for column in names.declared(translation.catalog, name))


def _one_type(translation: Translation, node: exp.Expr) -> bool:
    """Whether all values are whole, or all decimal: columns, numbers, their sums and products, some functions."""
    node = node.unnest()
    if isinstance(node, exp.Column):
        kinds = {type(column) for column in names.declared(translation.catalog, node.name)}
        return len(kinds) == 1 and node.name.lower() not in translation.aliases
    if isinstance(node, (exp.Add, exp.Sub, exp.Mul, exp.Div)):
        return _one_type(translation, node.this) and _one_type(translation, node.expression)
    if isinstance(node, exp.Anonymous) and str(node.this).upper() in ("ABS", "NULLIF"):
        # NULLIF has the type of its first value there, and of both here
        alike = len({translation.decimal(one) for one in node.expressions}) == 1
        return alike and all(_one_type(translation, one) for one in node.expressions)
    called = isinstance(node, exp.Anonymous) and str(node.this).upper() in ("LENGTH", "COUNT", "SUM", "AVG", "TOTAL")
    return (
        called
        or isinstance(node, (exp.Literal, exp.Cast, exp.Filter))
        or (isinstance(node, exp.Neg) and _one_type(translation, node.this))
    )


def _is_float(translation: Translation, node: exp.Expr) -> bool:
    """Whether a value may be a float in a dialect whose quotients are; names of derived columns may stand for any."""
    return translation.vocabulary.quotients_are_floats and any(
        isinstance(one, exp.Div)
        or (isinstance(one, exp.Anonymous) and str(one.this).upper() in _FLOATS)
        or (isinstance(one, exp.Cast) and one.args["to"].this in (exp.DType.FLOAT, exp.DType.DOUBLE))
        or (isinstance(one, exp.Literal) and not one.is_string and "e" in str(one.this).lower())
        or (isinstance(one, exp.Column) and one.name.lower() in translation.aliases)
        for one in node.walk()
    )


def _whole_quotient(translation: Translation, node: exp.Expr) -> exp.Expr:
    left, right = (inside(translation.value(side)) for side in (node.this, node.expression))
    quotient = exp.Div(this=left, expression=right, typed=True)
    if translation.vocabulary.whole_division == "cut":
        return exp.Trunc(this=quotient)
    if _is_float(translation, node):
        raise translation.refusal(node, "a whole division of quotients is not translated", "Write FLOOR(x / y).")
    return exp.Paren(this=quotient)


def _remainder(translation: Translation, node: exp.Expr) -> exp.Expr:
    rule = translation.vocabulary.remainder
    if rule is None:
        hint = "Write MOD(x, y)." if "MOD" in translation.vocabulary.functions else _IN_POSTGRESQL
        raise translation.refusal(node, "% is not translated", hint)
    translated = translation.with_translated(node)
    if rule == "whole":
        for name, side in (("this", translated.this), ("expression", translated.expression)):
            if not isinstance(side, exp.Literal) or "." in str(side.this):
                translated.set(name, exp.Trunc(this=side))
    return translated


def _joined(translation: Translation, node: exp.Expr) -> exp.Expr:
    if not translation.vocabulary.concatenation:
        hint = "Write CONCAT(x, y)." if "CONCAT" in translation.vocabulary.functions else _IN_POSTGRESQL
        raise translation.refusal(node, "|| is not translated", hint)
    return translation.with_translated(node)


def _cast(translation: Translation, node: exp.Expr) -> exp.Expr:
    facts, to, inner = translation.vocabulary, node.args["to"], node.this
    if to.this == exp.DType.USERDEFINED:
        known = dict(facts.lexicon.types).get(str(to.args.get("kind") or "").upper())
        to = exp.DataType.build(known, dialect="postgres") if known else to
    kind = to.this
    if kind == exp.DType.DATETIME and "DATETIME" not in dict(facts.lexicon.types):
        hint = facts.instead.get("DATETIME", _IN_POSTGRESQL)
        raise translation.refusal(node, "a cast to DATETIME is not translated", hint)
    literal = isinstance(inner, exp.Literal) and inner.is_string
    if kind in (exp.DType.DATE, exp.DType.TIMESTAMP, exp.DType.DATETIME) and not to.expressions:
        if literal and not _DATE.fullmatch(str(inner.this)):
            raise translation.refusal(
                inner, "this form of a date or time is not translated", "Write '2024-12-31 23:59:59'."
            )
        typed = literal and _is_typed(translation, inner)
        if literal and facts.dates_by_setting and not typed:
            what = "a cast of a quoted date or time, which a setting reads there, is not translated"
            raise translation.refusal(inner, what, WRITTEN_DATES)
        meant = facts.to_moment or kind == exp.DType.DATE or to is not node.args["to"]
        read = facts.timestamps and (meant or (typed and "." not in str(inner.this)))
        if read if literal else meant and facts.to_date:
            return cast(translation.value(inner), "DATE" if kind == exp.DType.DATE else "TIMESTAMP")
    if _is_float(translation, inner) and kind in (*_WHOLE, exp.DType.DECIMAL):
        raise translation.refusal(
            node, "this cast of a quotient is not translated", "Write ROUND(x), FLOOR(x) or CEIL(x)."
        )
    value = None if literal else translation.value(inner)
    if value is not None and kind in _WHOLE and facts.to_whole:
        if facts.to_whole == "cut" and not value.find(exp.AggFunc, exp.Filter):
            value = exp.Trunc(this=cast(value, "DECIMAL"))
        return exp.Cast(this=value, to=to)
    if value is not None and kind == exp.DType.DECIMAL and to.expressions and facts.to_decimal:
        return exp.Cast(this=value, to=to)
    if kind in (exp.DType.TEXT, exp.DType.VARCHAR) and not to.expressions and not facts.collated:
        return exp.Cast(this=inner if value is None else value, to=to)
    plain = (exp.DType.DOUBLE, exp.DType.FLOAT, *((exp.DType.BOOLEAN,) if facts.to_truth else ()))
    if value is not None and kind in plain and not to.expressions:
        return exp.Cast(this=value, to=to)
    raise translation.refusal(node, "this cast is not translated", _IN_POSTGRESQL)


def _is_typed(translation: Translation, literal: exp.Expr) -> bool:
    """Whether a type stands before a quoted text: DATE '2024-12-31'."""
    tokens, at = translation.source.tokens, translation.source.offset(literal)
    before = next((one for one, after in pairwise(tokens) if after.start == at), None)
    return before is not None and before.text.upper() in ("DATE", "TIMESTAMP")


def _extracted(translation: Translation, node: exp.Expr) -> exp.Expr:
    parts = translation.vocabulary.parts
    name = str(node.this.this).lower() if isinstance(node.this, (exp.Var, exp.Literal)) else node.this.sql().lower()
    if name not in parts:
        hint = listed(parts) if parts else translation.vocabulary.instead.get("EXTRACT", _IN_POSTGRESQL)
        raise translation.refusal(node, f"EXTRACT of the part {name[:40]!r} is not translated", hint)
    return parts[name](translation.value(node.expression))


def _interval(translation: Translation, node: exp.Expr) -> exp.Expr:
    unit, count = node.args.get("unit"), node.this
    units = translation.vocabulary.units
    known = units.get(str(unit.this).lower()) if isinstance(unit, exp.Var) else None
    if known is None or not isinstance(count, exp.Literal) or not _DIGITS.fullmatch(str(count.this)):
        raise translation.refusal(
            node, "this interval is not translated", "Write a whole number and a unit, such as 7 days."
        )
    return exp.Interval(this=exp.Literal.string(str(count.this)), unit=exp.Var(this=known.upper()))


def _substring(translation: Translation, node: exp.Expr) -> exp.Expr:
    given = [node.args.get(name) for name in ("this", "start", "length")]
    arguments = [one for one in given if one is not None]
    if len(arguments) < 2 or given[1] is None:
        raise translation.refusal(node, "SUBSTRING without a start is not translated", "Write SUBSTRING(x, 1, 3).")
    return translation.call(node, "SUBSTR", arguments)


def _trimmed(translation: Translation, node: exp.Expr) -> exp.Expr:
    if node.args.get("expression") is not None or node.args.get("collation") is not None:
        raise translation.refusal(node, "TRIM of other characters than blanks is not translated", "Write TRIM(x).")
    position = str(node.args.get("position") or "BOTH").upper()
    name = {"LEADING": "LTRIM", "TRAILING": "RTRIM"}.get(position, "TRIM")
    return translation.call(node, name, [node.this])


def _is(translation: Translation, node: exp.Expr) -> exp.Expr:
    if not isinstance(node.expression, (exp.Null, exp.Boolean)):
        raise translation.refusal(node, "IS with anything but NULL, TRUE and FALSE is not translated", "Write =.")
    return translation.with_translated(node)


def _like(translation: Translation, node: exp.Expr, *, escaped: bool = False) -> exp.Expr:
    facts = translation.vocabulary
    pattern = str(node.expression.this) if isinstance(node.expression, exp.Literal) else None
    if pattern is None:
        raise translation.refusal(node, "a pattern that is no quoted text is not translated", "Write LIKE 'A%'.")
    if facts.collated and names.has_letters(pattern):
        hint = "Write it in PostgreSQL's dialect: LIKE minds the case of letters, ILIKE does not."
        raise translation.refusal(node, "LIKE, which follows a collation there, is not translated", hint)
    if facts.brackets_in_like and "[" in pattern:
        raise translation.refusal(node, "a pattern with [ is not translated", _IN_POSTGRESQL)
    any_case = isinstance(node, exp.ILike) or facts.like == "any ASCII case"
    if any_case and not pattern.isascii():
        raise translation.refusal(node, "a pattern in any case with these letters is not translated", _IN_POSTGRESQL)
    if isinstance(node, exp.ILike) and not facts.simple_letters and not translation.plain_letters(node.this):
        what = "ILIKE of other texts than categories with common letters is not translated"
        raise translation.refusal(node, what, _IN_POSTGRESQL)
    node = translation.with_translated(node)
    if any_case and facts.simple_letters:  # texts and pattern are put in lower case there
        small = exp.Literal.string(pattern.lower())
        found: exp.Expr = exp.Like(**node.args | {"this": exp.Lower(this=node.this), "expression": small})
    else:
        found = exp.ILike(**node.args) if any_case and not isinstance(node, exp.ILike) else node
    if not escaped and facts.like_escape is None and "\\" in pattern:
        return exp.Escape(this=found, expression=exp.Literal.string(""))
    return found


def _escaped(translation: Translation, node: exp.Expr) -> exp.Expr:
    if not isinstance(node.this, (exp.Like, exp.ILike)):
        raise translation.refusal(node, "ESCAPE is not translated here")
    if isinstance(node.this, exp.ILike) and names.has_letters(str(node.expression.this)):
        raise translation.refusal(node.expression, "an escape that is a letter, in any case, is not translated")
    node.set("this", _like(translation, node.this, escaped=True))
    return node


RULES: dict[type[exp.Expr], Callable[[Translation, exp.Expr], exp.Expr]] = {
    exp.Add: _sum,
    exp.Sub: _sum,
    exp.Div: _quotient,
    exp.IntDiv: _whole_quotient,
    exp.Mod: _remainder,
    exp.DPipe: _joined,
    exp.Cast: _cast,
    exp.Extract: _extracted,
    exp.Interval: _interval,
    exp.Substring: _substring,
    exp.Trim: _trimmed,
    exp.Is: _is,
    exp.Like: _like,
    exp.ILike: _like,
    exp.Escape: _escaped,
}
