"""Expressions over one row: from syntax to a `Term`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

import sql_reference_terms as t
from sql_reference_terms import Row, Term, Unknown
from sqlglot import exp


@dataclass(frozen=True)
class Field:
    """A column of a relation: what the relation is called, the column's own name, and what it holds.

    The right one of two columns joined by USING is `hidden`: without its relation's name, the left one is meant.
    """

    alias: str
    name: str
    kind: str
    decimals: int = 0
    hidden: bool = False

    @property
    def place(self) -> tuple[str, str]:
        return self.alias, self.name


@dataclass(frozen=True)
class Scope:
    """The columns that can be named, those of the query outside after one's own; `subquery` runs a nested SELECT."""

    fields: tuple[Field, ...]
    outside: Scope | None = None
    subquery: Callable[[exp.Expr, Scope, Row], list[list[Any]]] | None = None

    def find(self, node: exp.Column) -> Field:
        named, wanted = node.table.lower(), node.name.lower()
        found = [known for known in self.fields if known.name == wanted]
        found = [known for known in found if (known.alias == named if named else not known.hidden)]
        if len(found) > 1:
            raise Unknown(f"{node.sql()} is ambiguous")
        if found:
            return found[0]
        if self.outside is None:
            raise Unknown(f"no column {node.sql()}")
        return self.outside.find(node)


@dataclass(frozen=True)
class Scalars:
    """Reads expressions in one scope."""

    scope: Scope
    rules: dict[type[exp.Expr], Callable[[Scalars, Any], Term]] = field(default_factory=lambda: RULES)

    def term(self, node: exp.Expr) -> Term:
        rule = self.rules.get(type(node))
        if rule is None:
            raise Unknown(f"{type(node).__name__}: {node.sql()}")
        return rule(self, node)

    def terms(self, nodes: list[exp.Expr]) -> list[Term]:
        return [_settled(self.term(node)) for node in nodes]

    def is_true(self, node: exp.Expr | None) -> Callable[[Row], bool]:
        if node is None:
            return lambda row: True
        term = self.term(node)
        return lambda row: term.of(row) is True


def _settled(term: Term) -> Term:
    """Quoted text that no neighbour turned into a date is text."""
    return Term("text", 0, term.of) if term.kind == "literal" else term


def _column(scalars: Scalars, node: exp.Column) -> Term:
    known = scalars.scope.find(node)
    return Term(known.kind, known.decimals, lambda row: row[known.place])


def _literal(scalars: Scalars, node: exp.Literal) -> Term:
    text = str(node.this)
    if node.is_string:
        return t.constant("literal", text)
    exponent = Decimal(text).as_tuple().exponent
    decimals = max(-int(exponent), 1) if any(sign in text for sign in ".eE") else 0
    return t.constant("number", Fraction(text), decimals)


def _binary(build: Callable[[Term, Term], Term]) -> Callable[[Scalars, Any], Term]:
    return lambda scalars, node: build(scalars.term(node.this), scalars.term(node.expression))


def _number(function: Callable[[Fraction], Fraction]) -> Callable[[Scalars, Any], Term]:
    def rule(scalars: Scalars, node: exp.Expr) -> Term:
        inner = scalars.term(node.this)
        return Term("number", inner.decimals, t.lifted(function, inner))

    return rule


def _case(scalars: Scalars, node: exp.Case) -> Term:
    branches = node.args["ifs"]
    conditions = [
        scalars.term(branch.this)
        if node.this is None
        else t.compare("EQ", scalars.term(node.this), scalars.term(branch.this))
        for branch in branches
    ]
    default = node.args.get("default") or exp.Null()
    *values, otherwise = terms = scalars.terms([*(branch.args["true"] for branch in branches), default])

    def of(row: Row) -> Any:
        for condition, value in zip(conditions, values, strict=True):
            if condition.of(row) is True:
                return value.of(row)
        return otherwise.of(row)

    return Term(*t.joined(terms), of)


def _nullif(scalars: Scalars, node: exp.Nullif) -> Term:
    value, other = scalars.term(node.this), scalars.term(node.expression)
    same = t.compare("EQ", value, other)
    value = _settled(value)
    return Term(value.kind, value.decimals, lambda row: None if same.of(row) is True else value.of(row))


def _several(pick: Callable[[list[Any]], Any]) -> Callable[[Scalars, Any], Term]:
    """Passes over NULL; NULL if there is nothing else."""

    def rule(scalars: Scalars, node: exp.Expr) -> Term:
        terms = scalars.terms([node.this, *node.expressions])

        def of(row: Row) -> Any:
            given = [value for value in (term.of(row) for term in terms) if value is not None]
            return pick(given) if given else None

        return Term(*t.joined(terms), of)

    return rule


def _compare(scalars: Scalars, node: exp.Expr) -> Term:
    return t.compare(type(node).__name__, scalars.term(node.this), scalars.term(node.expression))


def _between(scalars: Scalars, node: exp.Between) -> Term:
    value, low, high = (scalars.term(node.args[name]) for name in ("this", "low", "high"))
    return t.truth_and([t.compare("GTE", value, low), t.compare("LTE", value, high)])


def _in(scalars: Scalars, node: exp.In) -> Term:
    value = scalars.term(node.this)
    query = node.args.get("query")
    if query is None:
        return t.truth_or([t.compare("EQ", value, scalars.term(option)) for option in node.expressions])

    def of(row: Row) -> bool | None:
        found = [_first(values) for values in _inner(scalars, query, row)]
        sought = value.of(row)
        if not found:
            return False
        if sought is None:
            return None
        return True if sought in found else None if None in found else False

    return Term("boolean", 0, of)


def _first(values: list[Any]) -> Any:
    return values[0]


def _exists(scalars: Scalars, node: exp.Exists) -> Term:
    return Term("boolean", 0, lambda row: bool(_inner(scalars, node.this, row)))


def _inner(scalars: Scalars, query: exp.Expr, row: Row) -> list[list[Any]]:
    if scalars.scope.subquery is None:
        raise Unknown("a subquery here")
    return scalars.scope.subquery(query, scalars.scope, row)


def _is(scalars: Scalars, node: exp.Is) -> Term:
    inner, right = scalars.term(node.this), node.expression
    sought = None if isinstance(right, exp.Null) else bool(right.this)
    found = Term("boolean", 0, lambda row: inner.of(row) is sought)
    return t.truth_not(found) if node.args.get("negate") else found


def _like(scalars: Scalars, node: exp.Like | exp.ILike, escape: str = "\\") -> Term:
    inner, pattern = scalars.term(node.this), str(node.expression.unnest().this)
    found = Term("boolean", 0, t.lifted(lambda text: t.like(text, pattern, escape, isinstance(node, exp.ILike)), inner))
    return t.truth_not(found) if node.args.get("negate") else found


def _div(scalars: Scalars, node: exp.Div) -> Term:
    a, b = scalars.term(node.this), scalars.term(node.expression)
    if a.decimals == b.decimals == 0 and not (_integer(node.this) and _integer(node.expression)):
        a = Term("number", 1, a.of)
    return t.divide(a, b)


def _integer(node: exp.Expr) -> bool:
    """PostgreSQL has FLOOR and its like, and EXTRACT, as decimal numbers, also under another name."""
    if isinstance(node, (exp.Floor, exp.Ceil, exp.Round, exp.Trunc, exp.Sign, exp.Extract)):
        return False
    if isinstance(node, (exp.Sqrt, exp.Ln, exp.Log, exp.Exp, exp.Pow)):
        return False
    if isinstance(node, exp.Cast):
        return node.to.this.value not in ("DECIMAL", "DOUBLE", "FLOAT")
    if isinstance(node, exp.Literal):
        return "." not in str(node.this) and "e" not in str(node.this).lower()
    if isinstance(node, exp.Case):
        chosen = [one.args["true"] for one in node.args["ifs"]] + [node.args.get("default")]
        return all(_integer(one) for one in chosen if one is not None)
    if isinstance(node, exp.Column):
        named = [one.this for one in node.root().find_all(exp.Alias) if one.alias.lower() == node.name.lower()]
        return all(_integer(one) for one in named if one.find(exp.Column) != node)
    if isinstance(node, (exp.Length, exp.WidthBucket, exp.AggFunc, exp.Filter)):
        return True
    return all(_integer(one) for one in node.iter_expressions())


RULES: dict[type[exp.Expr], Callable[[Scalars, Any], Term]] = {
    exp.Paren: lambda scalars, node: scalars.term(node.this),
    exp.Column: _column,
    exp.Literal: _literal,
    exp.Boolean: lambda scalars, node: t.constant("boolean", bool(node.this)),
    exp.Null: lambda scalars, node: t.constant("null", None),
    exp.Neg: _number(lambda x: -x),
    exp.Abs: _number(abs),
    exp.Mul: _binary(t.multiply),
    exp.Div: _div,
    exp.Mod: _binary(t.modulo),
    exp.Case: _case,
    exp.Nullif: _nullif,
    exp.Coalesce: _several(lambda given: given[0]),
    exp.Least: _several(min),
    exp.Greatest: _several(max),
    exp.And: _binary(lambda a, b: t.truth_and([a, b])),
    exp.Or: _binary(lambda a, b: t.truth_or([a, b])),
    exp.Not: lambda scalars, node: t.truth_not(scalars.term(node.this)),
    exp.In: _in,
    exp.Exists: _exists,
    exp.Between: _between,
    exp.Is: _is,
    exp.Like: _like,
    exp.ILike: _like,
    exp.Escape: lambda scalars, node: _like(scalars, node.this, str(node.expression.this)),
} | dict.fromkeys((exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE), _compare)
