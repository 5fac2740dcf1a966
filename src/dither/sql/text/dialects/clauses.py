"""Clauses and names that PostgreSQL writes the same, refused where they mean something else in a dialect."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sqlglot import exp

from dither.policy.columns import Timestamp
from dither.sql.text.dialects import names

if TYPE_CHECKING:
    from dither.sql.text.dialects.translation import Translation

_DATE = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d{1,6})?)?)?")
_ZONED = re.compile(r"\d{4}-\d\d-\d\d[ T][\d:.]+ *([+-]\d.*|[A-Za-z].*)")
_ORDER = (exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between)
# Words that are part of a clause in some dialect, so that no name is taken for them where AS is left out.
_NO_NAMES = frozenset({
    "FINAL", "SAMPLE", "PREWHERE", "NOLOCK", "MINUS", "XOR", "DIV", "MOD", "REGEXP", "RLIKE", "GLOB", "MATCH", "SEMI",
    "ANTI", "ASOF", "STRAIGHT_JOIN",
})  # fmt: skip
_COUNTED = ("COUNT", "COUNT_BIG", "CHAR_LENGTH", "CHARACTER_LENGTH")
_IN_POSTGRESQL = "Write it in PostgreSQL's dialect."


def check(translation: Translation, node: exp.Expr) -> None:
    """Refuse syntax that has the same words as PostgreSQL's but another meaning in this dialect."""
    facts = translation.vocabulary
    if isinstance(node, exp.Select):
        _check_select(translation, node)
    elif isinstance(node, (exp.Alias, exp.TableAlias)):
        given = node.args.get("alias") or node.args.get("this")
        if isinstance(given, exp.Identifier) and not given.quoted and given.name.upper() in _NO_NAMES:
            raise translation.refusal(
                given, f"{given.name.upper()} as a name is not translated", "Choose another name."
            )
    elif isinstance(node, exp.Join):
        if node.side and not facts.nulls_after_outer_joins:
            what = f"{node.side} JOIN, which finds zeros and empty texts instead of NULL there, is not translated"
            raise translation.refusal(node, what, _IN_POSTGRESQL)
    elif isinstance(node, exp.Column):
        _check_column(translation, node)
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
        item: exp.Expr = select.expressions[int(node.this) - 1]
        return item.unalias()
    return next((one.this for one in select.expressions if isinstance(one, exp.Alias) and one.alias == node.name), node)


def _check_column(translation: Translation, node: exp.Column) -> None:
    """Texts that a collation compares, and timestamps that are texts, stand only where that is the same."""
    facts, around = translation.vocabulary, node.parent
    if isinstance(around, exp.Is):
        return
    counted = isinstance(around, exp.Anonymous) and str(around.this).upper() in _COUNTED
    if facts.collated and not counted and not names.compared_alike(translation.catalog, node.name):
        what = f"a use of the text {node.name[:40]!r}, which a collation compares there, is not translated"
        hint = "Write it in PostgreSQL's dialect, where = minds the case of letters and ILIKE does not."
        raise translation.refusal(node, what, hint)
    moment = any(isinstance(column, Timestamp) for column in names.declared(translation.catalog, node.name))
    if moment and not facts.timestamps and not counted:
        what = f"a use of the timestamp {node.name[:40]!r}, which is a text there, is not translated"
        raise translation.refusal(node, what, _IN_POSTGRESQL)


def _check_order(translation: Translation, node: exp.Expr) -> None:
    for one in node.walk(prune=lambda inner: isinstance(inner, (exp.Interval, exp.Anonymous))):
        text = isinstance(one, exp.Literal) and one.is_string and not isinstance(one.parent, exp.Interval)
        if (text and not _DATE.fullmatch(str(one.this))) or (isinstance(one, exp.Column) and translation.labels(one)):
            what = "the order of texts, which depends on a collation there, is not translated"
            raise translation.refusal(one, what, _IN_POSTGRESQL)
