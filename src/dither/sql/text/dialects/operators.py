"""Operators, casts, parts of dates, patterns and clauses: what a dialect means by them, in PostgreSQL's words."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from sqlglot import exp

from dither.sql.text.dialects import names
from dither.sql.text.dialects.call import inside
from dither.sql.text.dialects.time_rules import cast, listed

if TYPE_CHECKING:
    from dither.sql.text.dialects.translation import Translation

_DATE = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d{1,6})?)?)?")
_ZONED = re.compile(r"\d{4}-\d\d-\d\d[ T][\d:.]+ *([+-]\d.*|[A-Za-z].*)")
_DIGITS = re.compile(r"[0-9]{1,9}")
_ORDER = (exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between)
_COUNTED = ("COUNT", "COUNT_BIG", "CHAR_LENGTH", "CHARACTER_LENGTH")
_IN_POSTGRESQL = "Write it in PostgreSQL's dialect."


def check(translation: Translation, node: exp.Expr) -> None:
    """Refuse syntax that has the same words as PostgreSQL's but another meaning in this dialect."""
    facts = translation.vocabulary
    if isinstance(node, exp.Select):
        _check_select(translation, node)
    elif isinstance(node, exp.Join):
        if node.side and not facts.nulls_after_outer_joins:
            what = f"{node.side} JOIN, which finds zeros and empty texts instead of NULL there, is not translated"
            raise translation.refusal(node, what, _IN_POSTGRESQL)
    elif isinstance(node, exp.Column) and facts.collated:
        _check_collation(translation, node)
    elif isinstance(node, _ORDER) and facts.collated:
        _check_order(translation, node)
    elif isinstance(node, exp.Literal) and node.is_string and _ZONED.fullmatch(str(node.this)):
        raise translation.refusal(node, "a time with a zone is not translated", "Write it in UTC, without a zone.")
    elif isinstance(node, exp.Literal) and facts.empty_is_null and node.is_string and not str(node.this):
        raise translation.refusal(node, "'', which is NULL there, is not translated", "Write IS NULL.")


def _check_select(translation: Translation, node: exp.Select) -> None:
    clauses = [node.args[name] for name in ("where", "group", "having", "order") if node.args.get(name)]
    used = {one.name.lower() for clause in clauses for one in clause.find_all(exp.Column) if not one.table}
    for item in node.expressions:
        if isinstance(item, exp.EQ) and translation.vocabulary.equals_is_alias:
            raise translation.refusal(item, "= in a select item, which names a column there, is not translated")
        own = isinstance(item, exp.Alias) and isinstance(item.this, exp.Column) and item.this.name.lower()
        alias = item.alias.lower() if isinstance(item, exp.Alias) else ""
        if alias in used and alias != own and names.declared(translation.catalog, alias):
            what = f"the alias {item.alias[:40]!r}, which is also a column's name and used again, is not translated"
            raise translation.refusal(item.args["alias"], what, "Choose another alias.")
    order = node.args.get("order")
    for ordered in order.expressions if order else ():
        labels = translation.labels(_item(node, ordered.this)) or []
        if translation.vocabulary.collated and sorted(labels) != sorted(labels, key=names.folded):
            what = "an order by these labels, which depends on a collation there, is not translated"
            raise translation.refusal(ordered, what, _IN_POSTGRESQL)
        if not ordered.meta.get("nulls_written"):
            down = bool(ordered.args.get("desc"))
            first = {"large": down, "small": not down, "last": False}[translation.vocabulary.nulls]
            ordered.set("nulls_first", first)


def _item(select: exp.Select, node: exp.Expr) -> exp.Expr:
    """The select item that ORDER BY means by a number or an alias; else what it says."""
    if isinstance(node, exp.Literal) and str(node.this).isdigit() and 0 < int(node.this) <= len(select.expressions):
        return select.expressions[int(node.this) - 1].unalias()
    return next((one.this for one in select.expressions if isinstance(one, exp.Alias) and one.alias == node.name), node)


def _check_collation(translation: Translation, node: exp.Column) -> None:
    """Texts that a collation may compare in any case stand only where they are not compared."""
    if names.compared_alike(translation.catalog, node.name):
        return
    around = node.parent
    counted = isinstance(around, exp.Anonymous) and str(around.this).upper() in _COUNTED
    if not counted and not isinstance(around, exp.Is):
        what = f"a use of the text {node.name[:40]!r}, which a collation compares there, is not translated"
        hint = "Write it in PostgreSQL's dialect, where = minds the case of letters and ILIKE does not."
        raise translation.refusal(node, what, hint)


def _check_order(translation: Translation, node: exp.Expr) -> None:
    for one in node.walk(prune=lambda inner: isinstance(inner, (exp.Interval, exp.Anonymous))):
        text = isinstance(one, exp.Literal) and one.is_string and not isinstance(one.parent, exp.Interval)
        if (text and not _DATE.fullmatch(str(one.this))) or (isinstance(one, exp.Column) and translation.labels(one)):
            what = "the order of texts, which depends on a collation there, is not translated"
            raise translation.refusal(one, what, _IN_POSTGRESQL)


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
    translated = translation.with_translated(node)
    if translation.vocabulary.division == "exact" and not translated.this.find(exp.AggFunc, exp.Filter):
        decimal = exp.Mul(this=exp.Literal.number("1.0"), expression=inside(translated.this))
        translated.set("this", exp.Paren(this=decimal))
    return translated


def _whole_quotient(translation: Translation, node: exp.Expr) -> exp.Expr:
    left, right = (inside(translation.value(side)) for side in (node.this, node.expression))
    return exp.Trunc(this=exp.Div(this=left, expression=right, typed=True))


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
    literal = isinstance(inner, exp.Literal) and inner.is_string
    if kind in (exp.DType.DATE, exp.DType.TIMESTAMP, exp.DType.DATETIME) and not to.expressions:
        if literal and not _DATE.fullmatch(str(inner.this)):
            raise translation.refusal(
                inner, "this form of a date or time is not translated", "Write '2024-12-31 23:59:59'."
            )
        if literal or facts.to_date:
            return cast(translation.value(inner), "DATE" if kind == exp.DType.DATE else "TIMESTAMP")
    value = None if literal else translation.value(inner)
    if value is not None and kind in (exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT) and facts.to_whole:
        if facts.to_whole == "cut" and not value.find(exp.AggFunc, exp.Filter):
            value = exp.Trunc(this=cast(value, "DECIMAL"))
        return exp.Cast(this=value, to=to)
    if value is not None and kind == exp.DType.DECIMAL and to.expressions and facts.to_decimal:
        return exp.Cast(this=value, to=to)
    if kind in (exp.DType.TEXT, exp.DType.VARCHAR) and not to.expressions and not facts.collated:
        return exp.Cast(this=inner if value is None else value, to=to)
    if value is not None and kind in (exp.DType.BOOLEAN, exp.DType.DOUBLE, exp.DType.FLOAT) and not to.expressions:
        return exp.Cast(this=value, to=to)
    raise translation.refusal(node, "this cast is not translated", _IN_POSTGRESQL)


def _extracted(translation: Translation, node: exp.Expr) -> exp.Expr:
    parts = translation.vocabulary.parts
    name = str(node.this.this).lower() if isinstance(node.this, (exp.Var, exp.Literal)) else node.this.sql().lower()
    if name not in parts:
        raise translation.refusal(node, f"EXTRACT of the part {name[:40]!r} is not translated", listed(parts))
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
    node = translation.with_translated(node)
    found = exp.ILike(**node.args) if any_case and not isinstance(node, exp.ILike) else node
    if not escaped and facts.like_escape is None and "\\" in pattern:
        return exp.Escape(this=found, expression=exp.Literal.string(""))
    return found


def _escaped(translation: Translation, node: exp.Expr) -> exp.Expr:
    if not isinstance(node.this, (exp.Like, exp.ILike)):
        raise translation.refusal(node, "ESCAPE is not translated here")
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
