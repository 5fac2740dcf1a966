"""From a syntax tree of another dialect to one that means the same in PostgreSQL, by what stands on a list alone."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from dither.errors import UnsupportedQuery
from dither.policy.catalog import Catalog
from dither.sql.text import grammar
from dither.sql.text.dialects import clauses, hints, names, operators
from dither.sql.text.dialects.call import Call
from dither.sql.text.dialects.vocabulary import Vocabulary
from dither.sql.text.source import Source

# Syntax that means the same in every dialect that has it; what a function, an operator or a literal of these means is
# looked up by itself.
SAME: frozenset[type[exp.Expr]] = frozenset({
    exp.Select, exp.Join, exp.With, exp.CTE, exp.Subquery, exp.Union, exp.Exists, exp.Filter, exp.From, exp.Table,
    exp.TableAlias, exp.Where, exp.Having, exp.Order, exp.Ordered, exp.Limit, exp.Offset, exp.Fetch, exp.LimitOptions,
    exp.Group, exp.Alias, exp.Distinct, exp.WithinGroup, exp.Star, exp.Column, exp.Identifier, exp.Literal, exp.Boolean,
    exp.Null, exp.Paren, exp.Neg, exp.Mul, exp.Case, exp.If, exp.And, exp.Or, exp.Not, exp.EQ, exp.NEQ, exp.LT, exp.LTE,
    exp.GT, exp.GTE, exp.In, exp.Between,
})  # fmt: skip
# The same over answers, and in windows within one owner.
OVER: frozenset[type[exp.Expr]] = frozenset(
    {exp.Window, exp.WindowSpec, exp.Qualify, exp.Rollup, exp.Cube, exp.GroupingSets, exp.Tuple}
)


@dataclass(frozen=True)
class Translation:
    """One text in one dialect, and the declarations that tell which of its columns are texts."""

    vocabulary: Vocabulary
    source: Source
    catalog: Catalog
    aliases: frozenset[str]
    private: bool = False  # whether SELECT WITH DIFFERENTIAL_PRIVACY is written

    def value(self, node: exp.Expr) -> exp.Expr:
        """The same in PostgreSQL's words; it stands where the other stood in the text."""
        rule = operators.RULES.get(type(node))
        if isinstance(node, exp.Anonymous):
            found = self._called(node, str(node.this), node.expressions)
        elif rule is not None:
            found = rule(self, node)
        elif type(node) in SAME or type(node) in OVER:
            clauses.check(self, node)
            found = self.with_translated(node)
        elif isinstance(node, exp.Func) and node.sql_name() in grammar.FUNCTIONS:  # without parentheses
            found = self._called(node, node.sql_name(), [])
        elif type(node) in grammar.ALLOWED:
            raise self.refusal(node, f"{self._word(node)} is not translated", "Write it in PostgreSQL's dialect.")
        else:
            found = node  # refused by the grammar, which has words for it
        if found is not node and not (found._meta or {}).get("start"):
            found.meta.update({name: at for name, at in node.meta.items() if name in _PLACE})
        return found

    def with_translated(self, node: exp.Expr) -> exp.Expr:
        """The node itself, all that is inside it translated."""
        for name, inner in list(node.args.items()):
            if isinstance(inner, list):
                node.set(name, [self.value(one) if isinstance(one, exp.Expr) else one for one in inner])
            elif isinstance(inner, exp.Expr):
                node.set(name, self.value(inner))
        return node

    def call(self, node: exp.Expr, name: str, arguments: list[exp.Expr]) -> exp.Expr:
        """A function in a form of its own, such as SUBSTRING(x FROM 2), by the rule of another name."""
        return self._called(node, name, arguments)

    def _called(self, node: exp.Expr, written: str, arguments: list[exp.Expr]) -> exp.Expr:
        name = written.upper()
        rule = self.vocabulary.functions.get(name)
        if rule is None:
            what, hint = hints.refusal(self.vocabulary, name)
            if what:
                at = None if self.source.written(node) else self.source.keyword(name)
                raise self.source.refusal(node if at is None else at, what.replace("{name}", name[:40]), hint)
            shown = (self.source.written(node) or name)[:40].upper()
            raise self.refusal(node, f"the function {shown} is not translated", hint)
        return rule(Call(node, name, arguments, self))

    def decimal(self, node: exp.Expr) -> bool:
        """Whether a value surely has decimals: PostgreSQL's sums and products with a decimal number do."""
        node = node.unnest()
        if isinstance(node, exp.Literal):
            return not node.is_string and "." in str(node.this)
        if isinstance(node, exp.Column):
            return names.all_decimal(self.catalog, self.aliases, node.name)
        if isinstance(node, exp.Cast):
            return len(node.args["to"].expressions) == 2 or node.args["to"].this in (exp.DType.DOUBLE, exp.DType.FLOAT)
        if isinstance(node, (exp.Add, exp.Sub, exp.Mul, exp.Div)):
            return self.decimal(node.this) or self.decimal(node.expression)
        return isinstance(node, exp.Neg) and self.decimal(node.this)

    def plain_letters(self, node: exp.Expr) -> bool:
        """Whether LOWER and UPPER of a value are the same everywhere."""
        labels, ascii_only = self.labels(node), self.vocabulary.ascii_letters
        return labels is not None and all(names.plain(label, ascii_only=ascii_only) for label in labels)

    def labels(self, node: exp.Expr) -> list[str] | None:
        """The labels that a column of categories or a quoted text can have; None where that is not known."""
        return names.labels(self.catalog, self.aliases, node.unnest())

    def refusal(self, node: exp.Expr, what: str, hint: str = "") -> UnsupportedQuery:
        return self.source.refusal(node, f"{what} from {self.vocabulary.name}'s dialect.", hint)

    def _word(self, node: exp.Expr) -> str:
        written = self.source.written(node)
        return written[:40].upper() if written else WORDS.get(type(node), "this")


_PLACE = ("line", "col", "start", "end")
WORDS: dict[type[exp.Expr], str] = {
    exp.AtTimeZone: "AT TIME ZONE",
    exp.DPipe: "||",
    exp.Mod: "%",
}
