"""One call of a function, and what turns calls into PostgreSQL's: rules. A rule says every argument that it takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from dither.errors import UnsupportedQuery
from dither.sql.text import grammar

if TYPE_CHECKING:
    from dither.sql.text.dialects.translation import Translation

Rule = Callable[["Call"], exp.Expr]


@dataclass(frozen=True)
class Call:
    """A function's name as written, its arguments not yet translated, and who translates them."""

    node: exp.Expr
    name: str
    arguments: Sequence[exp.Expr]
    translation: Translation

    def value(self, place: int) -> exp.Expr:
        """An argument that is a value, in PostgreSQL's words."""
        return self.translation.value(self.arguments[place])

    def values(self) -> list[exp.Expr]:
        return [self.value(place) for place in range(len(self.arguments))]

    def word(self, place: int) -> str:
        """An argument that is a word, bare or in quotes, such as the unit of a period; else nothing."""
        node = self.arguments[place]
        if isinstance(node, exp.Column) and not node.table:
            return node.name.lower()
        return str(node.this).lower() if isinstance(node, (exp.Literal, exp.Var)) else ""

    def whole(self, place: int, *, least: int) -> int | None:
        """An argument that is a whole number written out, if it is at least so large."""
        node = self.arguments[place]
        sign = 1
        if isinstance(node, exp.Neg):
            node, sign = node.this, -1
        if (
            isinstance(node, exp.Literal)
            and not node.is_string
            and str(node.this).isascii()
            and str(node.this).isdigit()
        ):
            return found if (found := sign * int(node.this)) >= least else None
        return None

    def takes(self, *counts: int) -> None:
        """Refuse any other number of arguments."""
        if len(self.arguments) not in counts:
            what = f"{self.name} with {len(self.arguments)} arguments is not translated"
            raise self.refusal(what, grammar.FORMS.get(self.name, ""))

    def refusal(self, what: str, hint: str = "") -> UnsupportedQuery:
        return self.translation.refusal(self.node, what, hint)


def built(kind: type[exp.Expr], *names: str, optional: int = 0) -> Rule:
    """The same function in PostgreSQL, with these arguments, the last of them optional."""

    def rule(call: Call) -> exp.Expr:
        call.takes(*range(len(names) - optional, len(names) + 1))
        return kind(**dict(zip(names, call.values(), strict=False)))

    return rule


def of_one(kind: type[exp.Expr]) -> Rule:
    return built(kind, "this")


def of_two(kind: type[exp.Expr]) -> Rule:
    return built(kind, "this", "expression")


def several(kind: type[exp.Expr]) -> Rule:
    """The same function in PostgreSQL, of one or more values."""

    def rule(call: Call) -> exp.Expr:
        call.takes(*range(1, 1000))
        first, *rest = call.values()
        return kind(this=first, expressions=rest)

    return rule


def whole(value: int) -> exp.Expr:
    return exp.Literal.number(value) if value >= 0 else exp.Neg(this=exp.Literal.number(-value))


def inside(node: exp.Expr) -> exp.Expr:
    """A value in parentheses where it would otherwise run together with what is around it."""
    return exp.Paren(this=node) if isinstance(node, (exp.Binary, exp.Unary, exp.Between, exp.In)) else node


def either_null(values: Sequence[exp.Expr], otherwise: exp.Expr) -> exp.Expr:
    """NULL if one of the values is, else the other expression."""
    tests: exp.Expr = exp.Is(this=inside(values[0].copy()), expression=exp.Null())
    for value in values[1:]:
        tests = exp.Or(this=tests, expression=exp.Is(this=inside(value.copy()), expression=exp.Null()))
    return exp.Case(ifs=[exp.If(this=tests, true=exp.Null())], default=otherwise)
