"""Other dialects over answers: what they mean there is what DuckDB, which computes it, means; all else is refused.

Numbers are computed with, by what stands on a list. Texts, days and truth values are passed on, grouped by, put in
order, and compared with their own kind: no function of them and no cast is translated.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from sqlglot import exp

from dither.errors import UnsupportedQuery
from dither.policy.catalog import PublicTable
from dither.policy.columns import Category, Column, Shown, Text
from dither.sql.over.outer_grammar import RANKS
from dither.sql.over.over_question import Part
from dither.sql.text.collations import check_apart, check_order
from dither.sql.text.dialects.vocabulary import Vocabulary
from dither.sql.text.source import Source

Kind = Literal["number", "text", "other", "truth", "null", "unknown"]

_COMPARED = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between, exp.In)
_TRUTHS = (*_COMPARED, exp.And, exp.Or, exp.Not, exp.Is, exp.Exists, exp.Boolean)
_CONDITIONS = (exp.And, exp.Or, exp.Not, exp.Where, exp.Having, exp.Qualify)
_CHOSEN = (exp.Coalesce, exp.Nullif, exp.Greatest, exp.Least, exp.Lag, exp.Lead)
_COPIED = (exp.Paren, exp.Alias, exp.Window, exp.Filter, exp.Min, exp.Max, exp.FirstValue, exp.LastValue, exp.NthValue)
_ADDED = (exp.Sum, exp.Avg, exp.Variance, exp.VariancePop, exp.Stddev, exp.StddevPop, exp.StddevSamp, exp.Median)
_COMPUTED = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Neg, exp.Abs, exp.Sign, exp.Floor, exp.Ceil, exp.Round, *_ADDED)
_QUERIES = (
    *(exp.Select, exp.Union, exp.Subquery, exp.With, exp.CTE, exp.From, exp.Table, exp.TableAlias, exp.Join),
    *(exp.Group, exp.Order, exp.Ordered, exp.Limit, exp.Offset, exp.Fetch, exp.LimitOptions, exp.Distinct, exp.Star),
    *(exp.WindowSpec, exp.Column, exp.Identifier, exp.Literal, exp.Null, exp.Case, exp.If, exp.Count, exp.Var),
    *(exp.Cast, exp.DataType),
)
NODES = frozenset({*_TRUTHS, *_CONDITIONS, *_CHOSEN, *_COPIED, *_COMPUTED, *_QUERIES, *RANKS})

_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_FLOATS, _DAYS = (exp.DType.DOUBLE, exp.DType.FLOAT), (exp.DType.DATE, exp.DType.TIMESTAMP)
_ORDER = (exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between, exp.Min, exp.Max, exp.Greatest, exp.Least)
_FROM = (exp.From, exp.Join, exp.Union, exp.In, exp.Exists)
_IN_POSTGRESQL = "Write it in PostgreSQL's dialect."


def check_dialect(
    outer: exp.Query, parts: Sequence[Part], public: Iterable[PublicTable], vocabulary: Vocabulary, source: Source
) -> None:
    """Refuse what means something else in the dialect; marks that only questions need are taken off the tree."""
    for guard in [node for node in outer.find_all(exp.Cast) if "instead" in (node._meta or {})]:
        guard.replace(guard.this)  # beside a date, which is refused below
    columns = [(key.name, key.declaration) for part in parts for key in part.question.keys]
    columns += [column for table in public for column in table.columns.items()]
    found = _Outer(outer, vocabulary, source, _kinds(outer, parts, columns), _texts(outer, columns))
    if not vocabulary.over_answers:
        raise found.refusal(outer, "what is computed from answers is not translated", _IN_POSTGRESQL)
    for node in outer.walk():
        found.check(node)


def _kind(column: Column | None) -> Kind:
    kinds: dict[Shown, Kind] = {"number": "number", "boolean": "truth", "text": "text"}
    return "number" if column is None else kinds.get(column.shown, "other")


def _texts(outer: exp.Query, columns: Sequence[tuple[str, Column]]) -> list[str] | None:
    """Every text that may be compared: labels and literals; None where there is no list of them."""
    if any(isinstance(column, Text) for _, column in columns):
        return None
    labels = [label for _, column in columns if isinstance(column, Category) for label in column.values]
    return labels + [str(node.this) for node in outer.find_all(exp.Literal) if node.is_string]


def _kinds(outer: exp.Query, parts: Sequence[Part], columns: Sequence[tuple[str, Column]]) -> dict[str, Kind]:
    """What is under each name that a query over answers has: unknown if it is one thing here and another there."""
    found: dict[str, set[Kind]] = defaultdict(set)
    for name, column in columns:
        found[name.lower()].add(_kind(column))
    for output in (output for part in parts for output in part.question.outputs):
        found[output.name.lower()].add(_kind(getattr(output.aggregate.leaves()[0], "declared", None)))
    aliased = [item for item in outer.find_all(exp.Alias) if isinstance(item.parent, exp.Select)]
    known: dict[str, Kind] = {}
    for last in (*(False for _ in aliased), True):  # names of names are found one after the other
        every = {name: set(kinds) for name, kinds in found.items()}
        for item in aliased:
            every.setdefault(item.alias.lower(), set()).add(kind_of(item.this, known))
        known = {name: _only(kinds if last else kinds - {"unknown"}) for name, kinds in every.items()}
    return known


def _only(kinds: Iterable[Kind]) -> Kind:
    """The one kind that values have, NULL aside."""
    some = set(kinds) - {"null"}
    return some.pop() if len(some) == 1 else "unknown" if some else "null"


def kind_of(node: exp.Expr, known: dict[str, Kind]) -> Kind:
    """What a value is, by the kinds of columns."""
    if isinstance(node, exp.Column):
        return known.get(node.name.lower(), "unknown")
    if isinstance(node, exp.Literal):
        return "text" if node.is_string else "number"
    if isinstance(node, exp.Cast):
        return "number" if node.to.this in _FLOATS else "other"
    if isinstance(node, (exp.Null, *_TRUTHS)):
        return "null" if isinstance(node, exp.Null) else "truth"
    if isinstance(node, exp.Subquery):
        return kind_of(node.this.expressions[0], known) if isinstance(node.this, exp.Select) else "unknown"
    if isinstance(node, (exp.Case, *_CHOSEN)):
        return _only(kind_of(one, known) for one in _choices(node))
    return kind_of(node.this, known) if isinstance(node, _COPIED) else "number"


def _choices(node: exp.Expr) -> list[exp.Expr]:
    """The values of which one is taken."""
    if isinstance(node, exp.Case):
        return [one.args["true"] for one in node.args["ifs"]] + [one for one in [node.args.get("default")] if one]
    return [one for name, one in node.args.items() if isinstance(one, exp.Expr) and name != "offset"] + node.expressions


@dataclass(frozen=True)
class _Outer:
    tree: exp.Query
    vocabulary: Vocabulary
    source: Source
    kinds: dict[str, Kind]
    texts: list[str] | None

    def check(self, node: exp.Expr) -> None:
        if type(node) not in NODES:
            word = self.source.written(node) or (node.sql_name() if isinstance(node, exp.Func) else "this")
            raise self.refusal(node, f"{word[:40].upper()} over answers is not translated", _IN_POSTGRESQL)
        if isinstance(node, exp.Column) and self._kind(node) == "text":
            check_apart(self.source, node, self.texts)
        if isinstance(node, (*_ORDER, exp.Ordered)):
            self._ordered(node)
        if isinstance(node, _COMPUTED):
            self._same([one for one in node.iter_expressions() if not isinstance(one, exp.Distinct)], "number")
        elif isinstance(node, (exp.Case, *_CHOSEN)):
            self._same(_choices(node))
            subject = node.this if isinstance(node, exp.Case) else None
            tests = [one.this for one in node.args["ifs"]] if isinstance(node, exp.Case) else []
            self._same(tests if subject is None else [subject, *tests], "truth" if subject is None and tests else None)
        elif isinstance(node, _COMPARED):
            self._same(self._sides(node))
        elif isinstance(node, _CONDITIONS):
            self._same(node.iter_expressions(), "truth")
        elif isinstance(node, exp.Join) and node.args.get("on") is not None:
            self._same([node.args["on"]], "truth")
        elif isinstance(node, exp.Union):
            self._sides_of_union(node)
        elif isinstance(node, exp.Subquery) and not isinstance(node.parent, _FROM):
            self._one_row(node)
        if isinstance(node, exp.Cast):
            self._cast(node)
        elif isinstance(node, exp.Div):
            self._quotient(node)
        elif isinstance(node, exp.Window):
            self._frame(node)

    def _sides(self, node: exp.Expr) -> list[exp.Expr]:
        """The values that are compared; days with quoted ones too, written as days."""
        sides = list(node.iter_expressions())
        sides = [exp.Subquery(this=side) if isinstance(side, exp.Select) else side for side in sides]
        if "other" in map(self._kind, sides):
            return [side for side in sides if not (isinstance(side, exp.Literal) and _DAY.fullmatch(str(side.this)))]
        return sides

    def _kind(self, node: exp.Expr) -> Kind:
        return kind_of(node, self.kinds)

    def _same(self, values: Iterable[exp.Expr], wanted: Kind | None = None) -> None:
        kinds = {self._kind(one): one for one in values}
        kinds.pop("null", None)
        odd = next((kind for kind in kinds if kind == "unknown" or kind != (wanted or next(iter(kinds)))), None)
        if odd is not None:
            hint = "Give columns of derived tables names of their own by AS; or write it in PostgreSQL's dialect."
            raise self.refusal(kinds[odd], "a value of this kind at this place over answers is not translated", hint)

    def _ordered(self, node: exp.Expr) -> None:
        by = node.this
        if isinstance(node, exp.Ordered) and isinstance(by, exp.Literal):
            query: exp.Expr | None = node.find_ancestor(exp.Select, exp.Union)
            while isinstance(query, (exp.Union, exp.Subquery)):
                query = query.this
            items = query.expressions if query is not None else []
            place = int(str(by.this)) if str(by.this).isdigit() else 0
            by = items[place - 1] if 0 < place <= len(items) else by
        if self._kind(by) == "text":
            check_order(self.source, node, self.texts or [])

    def _sides_of_union(self, node: exp.Union) -> None:
        sides: list[exp.Expr] = [node.this, node.expression]
        while any(isinstance(side, (exp.Subquery, exp.Union)) for side in sides):
            sides = [side.this if isinstance(side, (exp.Subquery, exp.Union)) else side for side in sides]
        if any(item.is_star for side in sides for item in side.expressions):
            raise self.refusal(node, "* in UNION over answers is not translated", "Name the columns.")
        for pair in zip(*(side.expressions for side in sides), strict=False):
            self._same(pair)

    def _one_row(self, node: exp.Subquery) -> None:
        """Refuse a query in an expression that may have several rows: some take the first."""
        query = node.this
        items = query.expressions if isinstance(query, exp.Select) and query.args.get("group") is None else []
        if not items or any(item.find(exp.AggFunc) is None or item.find(exp.Window) for item in items):
            what = "a query in an expression that may have several rows is not translated"
            raise self.refusal(node, what, "Aggregate it, without GROUP BY: (SELECT SUM(n) FROM m).")

    def _cast(self, node: exp.Cast) -> None:
        kind = node.to.this
        if kind in _FLOATS and self._kind(node.this) == "number":
            node.set("to", exp.DataType.build("DOUBLE"))
        elif kind not in _DAYS or not isinstance(node.this, exp.Literal):
            hint = "Cast inside the derived table, or write it in PostgreSQL's dialect."
            raise self.refusal(node, "this cast over answers is not translated", hint)

    def _quotient(self, node: exp.Div) -> None:
        facts, sides = self.vocabulary, (node.this, node.expression)
        if facts.division == "whole" and facts.decimal_division and not any(map(_decimal, sides)):
            what = "a division over answers that is cut to a whole number there is not translated"
            raise self.refusal(node, what, "Write 1.0 * x / y.")
        if not facts.decimal_division and not any(map(_float, sides)):
            what = "a division over answers that is cut or rounded there is not translated"
            raise self.refusal(node, what, "Write CAST(x AS DOUBLE) / y.")
        by = node.expression.unnest()
        zero = by.expression if isinstance(by, exp.Nullif) else None
        known = by if isinstance(by, exp.Literal) else None
        if facts.quotients_are_floats and not (_zero(zero) or (known is not None and not _zero(known))):
            what = f"this divisor can be 0, where a quotient is infinite in {facts.name}."
            raise self.source.refusal(by, what, "Write x / NULLIF(y, 0), which is NULL there.")

    def _frame(self, node: exp.Window) -> None:
        values = isinstance(node.this, (exp.FirstValue, exp.LastValue, exp.NthValue))
        if values and self.vocabulary.whole_frames and node.args.get("spec") is None:
            what = "a window without a frame, which is the whole partition there, is not translated"
            raise self.refusal(node, what, "Write ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING.")
        spec = node.args.get("spec")
        if spec is not None and spec.args.get("kind") not in ("ROWS", "RANGE"):
            raise self.refusal(node, "a frame of groups is not translated", "Write ROWS or RANGE.")

    def refusal(self, node: exp.Expr, what: str, hint: str) -> UnsupportedQuery:
        return self.source.refusal(node, f"{what} from {self.vocabulary.name}'s dialect.", hint)


def _zero(node: exp.Expr | None) -> bool:
    return isinstance(node, exp.Literal) and not node.is_string and not str(node.this).strip("0.")


def _float(node: exp.Expr) -> bool:
    """Whether a value is a float, whatever stands beside the cast that makes it one."""
    if isinstance(node, (exp.Add, exp.Sub, exp.Mul, exp.Div)):
        return _float(node.this) or _float(node.expression)
    if isinstance(node, (exp.Paren, exp.Neg, exp.Window, exp.Filter, exp.Sum, exp.Avg, exp.Min, exp.Max)):
        return _float(node.this)
    return isinstance(node, exp.Cast)


def _decimal(node: exp.Expr) -> bool:
    """Whether a value surely has decimals: by a cast, a point in a number, or an average."""
    if isinstance(node, (exp.Add, exp.Sub, exp.Mul, exp.Div)):
        return _decimal(node.this) or _decimal(node.expression)
    if isinstance(node, (exp.Paren, exp.Neg, exp.Window, exp.Filter, exp.Sum, exp.Min, exp.Max)):
        return _decimal(node.this)
    return isinstance(node, (exp.Cast, exp.Avg)) or (isinstance(node, exp.Literal) and "." in str(node.this))
