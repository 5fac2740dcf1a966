"""From syntax to terms over aggregates and keys. What is not known is refused, with what to write instead."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from sqlglot import exp

from dither.errors import UnsupportedQuery
from dither.policy.names import listed, meant
from dither.sql.binding.formula_comparisons import COMPARISONS, compare, read_text
from dither.sql.binding.formula_kinds import Bound, Kind, is_aggregate, part_bound
from dither.sql.plan.aggregates.aggregator import Aggregator
from dither.sql.postprocess.formulas import terms
from dither.sql.postprocess.formulas.terms import Condition, Term
from dither.sql.scalars import literals
from dither.sql.scalars.scalar import MOST_WORDS
from dither.sql.text.source import Source

_ONE: dict[type[exp.Expr], str] = {
    exp.Neg: "negate",
    exp.Abs: "absolute",
    exp.Floor: "floor",
    exp.Ceil: "ceil",
    exp.Sqrt: "sqrt",
    exp.Ln: "ln",
    exp.Exp: "exp",
}
_TWO: dict[type[exp.Expr], str] = {
    exp.Add: "add",
    exp.Sub: "subtract",
    exp.Mul: "multiply",
    exp.Div: "divide",
    exp.Mod: "modulo",
    exp.Pow: "power",
    exp.Nullif: "nullif",
}
_SEVERAL: dict[type[exp.Expr], str] = {exp.Coalesce: "coalesce", exp.Greatest: "greatest", exp.Least: "least"}
_WHOLE = (exp.DType.INT, exp.DType.BIGINT, exp.DType.SMALLINT)
_AS_IT_IS = (exp.DType.DECIMAL, exp.DType.FLOAT, exp.DType.DOUBLE)
_CASTS: dict[object, Kind] = {
    exp.DType.DATE: "date",
    exp.DType.TIMESTAMP: "timestamp",
    exp.DType.TIMESTAMPTZ: "timestamp",
}

_TWO_QUESTIONS = "Ask for that value in a question of its own, and compute with both answers."
KNOWN = (
    "Supported are + - * / %, ABS, ROUND, FLOOR, CEIL, GREATEST, LEAST, COALESCE, NULLIF, "
    "SQRT, LN, EXP, POWER and CASE."
)


@dataclass
class Binder:
    """Binds terms and conditions, and collects the aggregates that they need.

    `aggregate_of` binds one aggregate call. `name_of` says what a name, or any syntax that is a group key, stands for;
    None if it stands for nothing.
    """

    source: Source
    aggregate_of: Callable[[exp.Expr], Aggregator]
    name_of: Callable[[exp.Expr], Bound | None] = lambda node: None
    names: tuple[str, ...] = ()  # that the answer has, for refusals
    parts: list[Aggregator] = field(default_factory=list)

    def term(self, node: exp.Expr) -> Term:
        """A number."""
        bound = self.bound(node)
        if bound.kind == "number" and bound.term is not None:
            return bound.term
        what = {"boolean": "a condition", "text": "text"}.get(bound.kind, f"a {bound.kind}")
        raise self.source.refusal(node, f"a number is needed here, not {what}.", KNOWN)

    def condition(self, node: exp.Expr) -> Condition:
        """A truth."""
        found = self._condition(node.unnest())
        self._small(node, found)
        return found

    def _condition(self, node: exp.Expr) -> Condition:
        if isinstance(node, (exp.And, exp.Or)):
            operands = tuple(self.condition(operand) for operand in node.flatten())
            return terms.And(operands) if isinstance(node, exp.And) else terms.Or(operands)
        if isinstance(node, exp.Not):
            return terms.Not(self.condition(node.this))
        if type(node) in COMPARISONS:
            return compare(
                self.source, node, COMPARISONS[type(node)], self.bound(node.this), self.bound(node.expression)
            )
        if isinstance(node, exp.Between):
            this = self.bound(node.this)
            low, high = (self.bound(node.args[end]) for end in ("low", "high"))
            return terms.And(
                (compare(self.source, node, ">=", this, low), compare(self.source, node, "<=", this, high))
            )
        if isinstance(node, exp.In) and node.expressions and not node.args.get("query"):
            this = self.bound(node.this)
            return terms.Or(
                tuple(compare(self.source, node, "=", this, self.bound(value)) for value in node.expressions)
            )
        if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
            found = self._is_null(node.this)
            return terms.Not(found) if node.args.get("negate") else found
        if isinstance(node, exp.Boolean):
            return terms.Always(bool(node.this))
        if isinstance(node, exp.Null):
            return terms.Always(None)
        bound = self.name_of(node)
        if bound is not None and bound.kind == "boolean" and bound.condition is not None:
            return bound.condition
        hint = "Use = <> < <= > >=, AND, OR, NOT, IN, BETWEEN and IS NULL on aggregates, aliases and grouped columns."
        raise self.source.refusal(node, "this is no condition on an answer.", hint)

    def bound(self, node: exp.Expr) -> Bound:
        """Whatever a piece of syntax stands for."""
        found = self._bound(node.unnest())
        if found.term is not None:
            self._small(node, found.term)
        return found

    def _small(self, node: exp.Expr, found: Term | Condition) -> None:
        """CASE x WHEN, BETWEEN and IN use an operand more than once; written out, it must stay short."""
        if found.size > MOST_WORDS:
            what = f"this is longer than {MOST_WORDS:,} words when written out."
            raise self.source.refusal(node, what, "Nest fewer CASE, BETWEEN and IN.")

    def _bound(self, node: exp.Expr) -> Bound:
        if is_aggregate(node):
            return self._part(node)
        named = self.name_of(node)
        if named is not None:
            return named
        kind = type(node)
        if kind in _ONE:
            return self._apply(_ONE[kind], node, node.this)
        if kind in _TWO:
            return self._apply(_TWO[kind], node, node.this, node.expression)
        if kind in _SEVERAL:
            return self._apply(_SEVERAL[kind], node, node.this, *node.expressions)
        rule = _RULES.get(kind)
        if rule is not None:
            return rule(self, node)
        if isinstance(node, exp.Column):
            raise self._unknown(node)
        if isinstance(node, exp.Func):
            name = (self.source.written(node) or (node.name if isinstance(node, exp.Anonymous) else node.sql_name()))[
                :40
            ]
            raise self.source.refusal(node, f"the function {name.upper()} is not supported on aggregates.", KNOWN)
        if isinstance(node, exp.Select):
            raise self.source.refusal(node, "a query as a value is not supported.", _TWO_QUESTIONS)
        raise self.source.refusal(node, "this cannot stand beside aggregates.", KNOWN)

    def _unknown(self, node: exp.Column) -> UnsupportedQuery:
        if not self.names:
            hint = "Columns stand inside an aggregate, as in SUM(x); grouped columns are select items by themselves."
            return self.source.refusal(node, f"{node.name!r} stands outside of an aggregate.", hint)
        hint = " ".join(filter(None, (meant(node.name, self.names), f"The answer has: {listed(self.names)}.")))
        return self.source.refusal(node, f"{node.name!r} is no column of the answer and no grouped column.", hint)

    def _part(self, node: exp.Expr) -> Bound:
        aggregate = self.aggregate_of(node)
        if aggregate not in self.parts:
            self.parts.append(aggregate)
        return part_bound(self.parts.index(aggregate), aggregate)

    def _apply(self, function: str, node: exp.Expr, *operands: exp.Expr) -> Bound:
        bound = tuple(self.term(operand) for operand in operands)
        if function == "negate" and isinstance(bound[0], terms.Number):
            return Bound("number", terms.Number(-bound[0].value, bound[0].decimals))
        if function == "divide" and isinstance(bound[1], terms.Number) and not bound[1].value:
            raise self.source.refusal(node, "this divides by zero.", "Leave it out: the result would be NULL.")
        return Bound("number", terms.Apply(function, bound))

    def _is_null(self, node: exp.Expr) -> Condition:
        bound = self.bound(node)
        if bound.key is not None:
            return terms.KeyIsNull(bound.key)
        if bound.term is None:
            raise self.source.refusal(node, "IS NULL stands after a number or a grouped column.", KNOWN)
        return terms.IsNull(bound.term)


def _literal(binder: Binder, node: exp.Expr) -> Bound:
    if node.args.get("is_string"):
        return Bound("text", literal=str(node.this))
    try:
        read = literals.number(str(node.this))
    except (ValueError, ArithmeticError) as error:
        raise binder.source.refusal(node, f"this number cannot be read: {error}") from None
    return Bound("number", terms.Number(read.value, read.decimals))


def _cast(binder: Binder, node: exp.Expr) -> Bound:
    """DATE '...' and TIMESTAMP '...'; whole and decimal types round a number, all others leave it as it is."""
    to, inner = node.args["to"], node.this
    kind = _CASTS.get(to.this)
    if isinstance(inner, exp.Literal) and inner.args.get("is_string") and kind is not None:
        return read_text(binder.source, node, str(inner.this), kind)
    sizes = [int(size.name) for size in to.expressions if size.name.isascii() and size.name.isdigit()]
    if to.this in _WHOLE and not sizes:
        return Bound("number", terms.Rounded(binder.term(inner), 0))
    if to.this == exp.DType.DECIMAL and len(sizes) in (1, 2) and sizes[-1] <= 18:
        return Bound("number", terms.Rounded(binder.term(inner), sizes[1] if len(sizes) == 2 else 0))
    if to.this in _AS_IT_IS and not sizes:
        return Bound("number", binder.term(inner))
    hint = "Noisy numbers can be cast to INT, BIGINT, DECIMAL, FLOAT and DOUBLE PRECISION."
    raise binder.source.refusal(node, "this cast is not supported here.", hint)


def _case(binder: Binder, node: exp.Expr) -> Bound:
    subject = None if node.args.get("this") is None else binder.bound(node.args["this"])
    conditions, values = [], []
    for case in node.args["ifs"]:
        if subject is None:
            conditions.append(binder.condition(case.this))
        else:
            conditions.append(compare(binder.source, case, "=", subject, binder.bound(case.this)))
        values.append(binder.term(case.args["true"]))
    otherwise = node.args.get("default")
    bound = None if otherwise is None or isinstance(otherwise, exp.Null) else binder.term(otherwise)
    return Bound("number", terms.Choice(tuple(conditions), tuple(values), bound))


def _round(binder: Binder, node: exp.Expr) -> Bound:
    digits = 0
    if node.args.get("decimals") is not None:
        written = binder.term(node.args["decimals"])
        if not isinstance(written, terms.Number) or written.decimals or not -18 <= written.value <= 18:
            what = "ROUND takes a whole number of decimals from -18 to 18."
            raise binder.source.refusal(node.args["decimals"], what, "Write ROUND(x, 2).")
        digits = written.value
    return Bound("number", terms.Rounded(binder.term(node.this), digits))


_RULES: dict[type[exp.Expr], Callable[[Binder, exp.Expr], Bound]] = {
    exp.Literal: _literal,
    exp.Boolean: lambda binder, node: Bound("boolean", terms.Number(int(bool(node.this)))),
    exp.Null: lambda binder, node: Bound("number", terms.Missing()),
    exp.Cast: _cast,
    exp.Case: _case,
    exp.Round: _round,
}


def bind_formula(source: Source, node: exp.Expr, aggregate_of: Callable[[exp.Expr], Aggregator]) -> Aggregator:
    """The aggregate of a select item that computes with aggregates; a single call is that aggregate itself."""
    from dither.sql.plan.aggregates.formula import Formula

    binder = Binder(source, aggregate_of)
    term = binder.bound(node).term if is_aggregate(node.unnest()) else binder.term(node)
    if term is None or not binder.parts:
        raise source.refusal(node, "this item has no aggregate in it.", "Add COUNT(*), SUM(x) or AVG(x).")
    return binder.parts[0] if term == terms.Part(0) else Formula(term, tuple(binder.parts))
