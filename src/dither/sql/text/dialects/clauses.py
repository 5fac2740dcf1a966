"""Clauses and names that PostgreSQL writes the same, refused where they mean something else in a dialect."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sqlglot import exp

from dither.policy.columns import Date, Timestamp
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
_LEVELS = (exp.Rollup, exp.Cube, exp.GroupingSets)
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
        if node.side == "FULL" and not facts.full_joins:
            raise translation.refusal(node, "FULL, which is a table's name there, is not translated", _IN_POSTGRESQL)
    elif isinstance(node, exp.Order) and not isinstance(node.parent, exp.WithinGroup):
        for ordered in node.expressions:
            if not ordered.meta.get("nulls_written"):
                down = bool(ordered.args.get("desc"))
                ordered.set("nulls_first", {"large": down, "small": not down, "last": False}[facts.nulls])
    elif isinstance(node, exp.Group):
        _check_levels(translation, node)
    elif isinstance(node, exp.Qualify) and not facts.qualify:
        hint = "Write it in PostgreSQL's dialect, or ask for the window in a derived table, and WHERE around it."
        raise translation.refusal(node, "QUALIFY is not translated", hint)
    elif isinstance(node, exp.Column):
        _check_column(translation, node)
    elif isinstance(node, _ORDER) and facts.collated:
        _check_order(translation, node)
    elif isinstance(node, exp.Literal) and node.is_string and _ZONED.fullmatch(str(node.this)):
        raise translation.refusal(node, "a time with a zone is not translated", "Write it in UTC, without a zone.")
    elif facts.dates_by_setting and isinstance(node, exp.Literal) and _beside_days(translation, node):
        what = "a quoted date or time beside another, which a setting reads there, is not translated"
        raise translation.refusal(node, what, "Write DATE '2024-12-31' or TIMESTAMP '2024-12-31 23:59:59'.")
    elif isinstance(node, exp.Literal) and facts.empty_is_null and node.is_string and not str(node.this):
        raise translation.refusal(node, "'', which is NULL there, is not translated", "Write IS NULL.")


def _beside_days(translation: Translation, node: exp.Literal) -> bool:
    """Whether a quoted text may be read as the day or moment that stands beside it."""
    around: exp.Expr = node
    while isinstance(around.parent, exp.Condition) and not isinstance(around.parent, exp.Connector):
        around = around.parent
    if isinstance(node.parent, exp.Cast) or not node.is_string or not _DATE.fullmatch(str(node.this)):
        return False
    beside = [names.declared(translation.catalog, one.name) for one in around.find_all(exp.Column)]
    return any(not found or any(isinstance(one, (Date, Timestamp)) for one in found) for found in beside)


def _check_select(translation: Translation, node: exp.Select) -> None:
    joins = node.args.get("joins") or ()
    commas = [join for join in joins if not any(join.args.get(name) for name in ("kind", "side", "on", "using"))]
    if commas and any(join.side in ("RIGHT", "FULL") for join in joins):
        what = "a comma beside RIGHT or FULL JOIN, which some read before and some after it, is not translated"
        raise translation.refusal(commas[0].this, what, "Write CROSS JOIN, or JOIN ... ON.")
    names_used = ("where", "group", "having", "qualify", "order")
    clauses = [node.args[name] for name in names_used if node.args.get(name)]
    used = {one.name.lower() for clause in clauses for one in clause.find_all(exp.Column) if not one.table}
    for item in node.expressions:
        if isinstance(item, exp.EQ) and translation.vocabulary.equals_is_alias:
            raise translation.refusal(item, "= in a select item, which names a column there, is not translated")
        own = isinstance(item, exp.Alias) and isinstance(item.this, exp.Column) and item.this.name.lower()
        alias = item.alias.lower() if isinstance(item, exp.Alias) else ""
        known = alias in used and alias != own
        if known and (names.declared(translation.catalog, alias) or alias in _derived(node)):
            what = f"the alias {item.alias[:40]!r}, which is also a column's name and used again, is not translated"
            raise translation.refusal(item.args["alias"], what, "Choose another alias.")


def _derived(node: exp.Select) -> set[str]:
    """The names of columns that queries in FROM have given."""
    found: set[str] = set()
    places = [clause.this for clause in (node.args.get("from_"), *(node.args.get("joins") or ())) if clause]
    for place in places:
        query = place.this if isinstance(place, exp.Subquery) else None
        if isinstance(place, exp.Table):
            named = node.root().find_all(exp.CTE)
            query = next((one.this for one in named if one.alias.lower() == place.name.lower()), None)
        while isinstance(query, (exp.Union, exp.Subquery)):
            query = query.this
        found |= {item.alias_or_name.lower() for item in query.expressions} if isinstance(query, exp.Select) else set()
    return found


def _check_levels(translation: Translation, node: exp.Group) -> None:
    """GROUP BY a, b WITH ROLLUP as GROUP BY ROLLUP (a, b); refused where a dialect has no such thing."""
    facts = translation.vocabulary
    for name, kind in (("rollup", exp.Rollup), ("cube", exp.Cube)):
        after = node.args.get(name)
        if after and (not facts.with_rollup or any(isinstance(key, _LEVELS) for key in node.expressions)):
            raise translation.refusal(node, f"WITH {name.upper()} is not translated", "Write ROLLUP (a, b).")
        if after:
            node.set("expressions", [kind(expressions=node.expressions)])
            node.set(name, None)
            return
    found = next((key for key in node.expressions if isinstance(key, _LEVELS)), None)
    if found is not None and not facts.rollup:
        raise translation.refusal(found, f"{found.key.upper()} is not translated", _IN_POSTGRESQL)


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
    for one in node.walk(prune=lambda inner: isinstance(inner, (exp.Interval, exp.Anonymous, exp.Query))):
        text = isinstance(one, exp.Literal) and one.is_string and not isinstance(one.parent, exp.Interval)
        if (text and not _DATE.fullmatch(str(one.this))) or (isinstance(one, exp.Column) and translation.labels(one)):
            what = "the order of texts, which depends on a collation there, is not translated"
            raise translation.refusal(one, what, _IN_POSTGRESQL)
