"""From tokens to a syntax tree in which every node and every argument that is set is on the allow-list."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp
from sqlglot.dialects.postgres import Postgres
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.parsers.postgres import PostgresParser
from sqlglot.tokenizer_core import TokenType

from dither.policy.catalog import Catalog
from dither.sql.text import grammar
from dither.sql.text.advice import Advice
from dither.sql.text.called import placed
from dither.sql.text.source import Source
from dither.sql.text.subtree import subtree

MOST_DEPTH = 100  # levels of the syntax tree, chains of AND and OR counted once

_FLAGS = {"ignore_nulls"}  # arguments that nobody writes
_ZONED = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:[\d:.]+ *[-+A-Za-z]")

# The parser reports what it does not know in its log as well; refusals are all that is said here.
logging.getLogger("sqlglot").addHandler(logging.NullHandler())
_BROKEN = (SqlglotError, ValueError, TypeError, AttributeError, KeyError, IndexError)


@dataclass(frozen=True)
class Parsed:
    """A SELECT within the grammar, and where its pieces stand."""

    select: exp.Select
    source: Source


def parse(source: Source, catalog: Catalog) -> Parsed:
    """The one SELECT of the text, every part of it allowed. The catalogue serves advice in refusals alone."""
    return checked(tree(source), source, catalog)


def checked(tree: exp.Expr, source: Source, catalog: Catalog) -> Parsed:
    """The tree, if it is one SELECT and every part of it allowed."""
    nodes = subtree(tree)
    _plain_groups(nodes, source, catalog)
    _only_allowed(nodes, source, catalog)
    shallow(tree, source)
    _short_lists(nodes, source)
    few_series(nodes, source)
    if isinstance(tree, exp.Union):
        hint = "Ask one question for each part, or unite the rows: SELECT COUNT(*) FROM (... UNION ALL ...) AS u."
        raise source.refusal(tree.expression, "UNION of answers is not supported.", hint)
    if not isinstance(tree, exp.Select):
        raise source.refusal(tree, "a query is one SELECT.", "Write SELECT ..., COUNT(*) FROM a table.")
    return Parsed(tree, source)


def _date_part(parser: Any) -> Any:
    """DATE_PART, which is EXTRACT as a float."""
    found = PostgresParser.FUNCTION_PARSERS["DATE_PART"](parser)
    if isinstance(found, exp.Expr):
        found.meta["float"] = True
    return found


class Grammar(PostgresParser):
    """PostgreSQL's grammar, in which DATE_PART can be told from EXTRACT."""

    FUNCTION_PARSERS = placed(PostgresParser.FUNCTION_PARSERS | {"DATE_PART": _date_part})


def tree(source: Source, parser: type[PostgresParser] = Grammar) -> exp.Expr:
    """The one syntax tree of the tokens, whatever it holds."""
    try:
        trees = parser(dialect=Postgres).parse(list(source.tokens), source.text)
    except ParseError as error:
        first: dict[str, Any] = error.errors[0] if error.errors else {}
        word = str(first.get("highlight") or "")
        line, end = first.get("line"), first.get("col")
        offset = 0
        if isinstance(line, int) and isinstance(end, int):
            starts = [token.start for token in source.tokens if (token.line, token.col) == (line, end)]
            offset = starts[0] if starts else 0
        what = f"the query cannot be understood at {word[:40]!r}." if word else "the query cannot be understood."
        raise source.refusal(offset, what, "Check for a missing comma, operator or parenthesis.") from None
    except _BROKEN:
        raise source.refusal(0, "the query cannot be understood.", "Check its spelling and order.") from None
    found = [tree for tree in trees if tree is not None]
    if len(found) != 1 or not isinstance(found[0], exp.Expr):
        raise source.refusal(0, "one query holds one statement.", "Send one SELECT.")
    return found[0]


def _plain_groups(nodes: Sequence[exp.Expr], source: Source, catalog: Catalog) -> None:
    """ALL and DISTINCT after GROUP BY are one flag, true or false where it should not be at all; or nothing follows."""
    groups = [node for node in nodes if isinstance(node, exp.Group)]
    if any(not any(group.args.values()) for group in groups):
        at = source.keyword("GROUP") or 0
        raise source.refusal(at, "GROUP BY names no key.", Advice.about(source, catalog).fill("{keys}"))
    if any(group.args.get("all") is False or (group.args.get("all") and group.expressions) for group in groups):
        followed = zip(source.tokens, source.tokens[1:], strict=False)
        word = next(after for token, after in followed if token.token_type == TokenType.GROUP_BY)
        what = f"GROUP BY {word.text.upper()} is not supported."
        raise source.refusal(word.start, what, Advice.about(source, catalog).fill("{keys}"))


def _only_allowed(nodes: Sequence[exp.Expr], source: Source, catalog: Catalog) -> None:
    for node in nodes:
        if node._meta and "refused" in node._meta:  # by its dialect, in questions
            raise source.refusal(*node._meta["refused"])
        without_zone(node, source)
        enough(node, source)
        allowed = grammar.ALLOWED.get(type(node))
        inside = isinstance(node, (exp.Window, exp.Qualify)) and node.parent_select is not nodes[0]
        if isinstance(node.parent, exp.Window) or inside or _is_derived(node):
            allowed = grammar.WINDOWS.get(type(node), allowed)
        if allowed is None or (isinstance(node, exp.Anonymous) and _name(node, source) not in grammar.OWN_FUNCTIONS):
            name = type(node).__name__
            what, hint = unsupported(node, source, Advice.about(source, catalog))
            at = None if source.written(node) else source.keyword(name.upper(), _name(node, source))
            raise source.refusal(node if at is None else at, what, hint)
        for name, value in node.args.items():
            if name not in allowed and value is not None and (value is not False or name == "indexed") and value != []:
                form = grammar.FORMS.get(_name(node, source), grammar.CLAUSES)
                words, what, hint = grammar.ARGUMENTS.get(name, ((), _clause(node, source), form))
                at = source.keyword(*words) if words else None
                hint, what = Advice.about(source, catalog).fill(hint), what.replace("{name}", _name(node, source))
                raise source.refusal(_argument(node, value) if at is None else at, what, hint)


def _is_derived(node: exp.Expr) -> bool:
    """Whether this is the query of a derived table, or of WITH, or one that UNION unites there."""
    around: exp.Expr | None = node.parent if isinstance(node, exp.Select) else None
    while isinstance(around, exp.Union) or (isinstance(around, exp.Subquery) and isinstance(around.parent, exp.Union)):
        around = around.parent
    return isinstance(around, exp.CTE) or isinstance(around and around.parent, (exp.From, exp.Join))


def enough(node: exp.Expr, source: Source) -> None:
    """Refuse a function without an argument that it needs."""
    if not isinstance(node, exp.Func):
        return
    needed = grammar.NEEDED.get(type(node), node.required_args - _FLAGS)
    if any(node.args.get(name) is None for name in needed):
        raise source.refusal(node, f"{_name(node, source)} needs more arguments.", "Write all of them.")


def without_zone(node: exp.Expr, source: Source) -> None:
    """Refuse TIMESTAMP with a zone, which PostgreSQL passes over and others do not."""
    if isinstance(node, exp.Cast) and node.to.this == exp.DType.TIMESTAMP and _ZONED.match(node.this.name):
        what = "TIMESTAMP passes over the zone in PostgreSQL, and so takes none here."
        raise source.refusal(node.this, what, "Write TIMESTAMPTZ '2024-12-31 23:59:59+01', or the time in UTC.")


def unsupported(node: exp.Expr, source: Source, advice: Advice) -> tuple[str, str]:
    """What is wrong with a node that is not in the grammar, and what to write instead."""
    if isinstance(node, exp.Bracket) and isinstance(node.this, exp.Func):
        node = node.this  # of a list that a function gives
    known = grammar.NODES.get(type(node).__name__)
    if known is not None:
        return known[0].replace("{name}", _name(node, source)), advice.fill(known[1])
    called = grammar.FUNCTIONS.get(_name(node, source)) if isinstance(node, exp.Func) else None
    if called is not None:
        return called[0].replace("{name}", _name(node, source)), called[1]
    if isinstance(node, exp.AggFunc):
        return f"{_name(node, source)} is not supported.", advice.fill(grammar.AGGREGATES)
    hint = "The page on dialects lists what is." if source.dialect else grammar.OTHERWISE
    return f"{_words(node, source)} is not supported.", hint


def _argument(node: exp.Expr, value: object) -> exp.Expr:
    """The argument itself if it is syntax, to point at; else the node that has it."""
    inner = value[0] if isinstance(value, list) else value
    return inner if isinstance(inner, exp.Expr) else node


def _clause(node: exp.Expr, source: Source) -> str:
    called = isinstance(node, exp.Func)
    return f"this argument of {_name(node, source)} is not supported." if called else "this clause is not supported."


def _words(node: exp.Expr, source: Source) -> str:
    """A node by the name an analyst would use: a function's own name, else the text where it stands."""
    return (
        f"the function {_name(node, source)}"
        if isinstance(node, exp.Func)
        else f"what begins with {_name(node, source)}"
    )


def _name(node: exp.Expr, source: Source) -> str:
    if not isinstance(node, exp.Func):
        at = source.offset(node)
        return repr(next((token.text for token in source.tokens if token.start == at), "")[:40])
    name = str(node.this) if isinstance(node, exp.Anonymous) else source.written(node) or node.sql_name()
    return name[:40].upper()


def shallow(tree: exp.Expr, source: Source) -> None:
    level = [(tree, 1)]
    while level:
        node, depth = level.pop()
        if depth > MOST_DEPTH:
            what = f"the query is nested more than {MOST_DEPTH} levels deep here."
            raise source.refusal(node, what, "Shorten the chain of operators.")
        for child in node.iter_expressions():
            chained = isinstance(node, (exp.And, exp.Or)) and type(child) is type(node)
            level.append((child, depth if chained else depth + 1))


def _short_lists(nodes: Sequence[exp.Expr], source: Source) -> None:
    for node in nodes:
        if isinstance(node, exp.In) and len(node.expressions) > grammar.MOST_OPTIONS:
            what = f"this IN list has {len(node.expressions)} values; at most {grammar.MOST_OPTIONS} are read."
            raise source.refusal(node, what, "Use BETWEEN for ranges of values.")


def few_series(nodes: Iterable[exp.Expr], source: Source) -> None:
    """Refuse many functions that are computed by long series: each takes a while to be read, before a price is paid."""
    found = [node for node in nodes if isinstance(node, (exp.Sqrt, exp.Ln, exp.Log, exp.Exp, exp.Pow))]
    if len(found) > grammar.MOST_SERIES:
        what = f"this has {len(found)} roots, logarithms and powers; at most {grammar.MOST_SERIES} are read."
        raise source.refusal(found[-1], what, "Ask several questions.")
