"""Nothing that was written is passed over: the syntax tree, written as SQL again, has the words of the text.

Parsers are lenient. Some words they read and forget (`FROM t *`, a trailing comma), some they take for others
(`IS UNKNOWN`, a quoted text as a table), and no look at the tree can tell. This looks at the text instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.postgres import Postgres
from sqlglot.errors import ErrorLevel
from sqlglot.generators.postgres import PostgresGenerator
from sqlglot.tokenizer_core import TokenType

from dither.errors import UnsupportedQuery
from dither.sql.text.parse import Parsed
from dither.sql.text.source import Source
from dither.sql.text.synonyms import plain

_HINTS = {
    ",": "Remove the comma.",
    "AS": "Write a name after it.",
    "ALL": "Leave it out: that is what is meant without it.",
    "+": "Leave it out: a number without it is the same.",
    "==": "Write =.",
    "!": "Write NOT.",
    "UNKNOWN": "Write IS NULL.",
    "ISNULL": "Write IS NULL.",
    "NOTNULL": "Write IS NOT NULL.",
    "MOD": "Write x % y.",
    "IFNULL": "Write COALESCE(x, y).",
    "NVL": "Write COALESCE(x, y).",
    "WITH": "Write TIMESTAMPTZ.",
    ".": "Write 0.5 for .5.",
    "[": "Write ARRAY[0.25, 0.5] for several percentiles.",
    "LEN": "Write LENGTH(x).",
    "STRPOS": "Write POSITION('a' IN x).",
    "INSTR": "Write POSITION('a' IN x).",
    "JOIN": "Write JOIN table ON condition, or CROSS JOIN table.",
    "BOTH": "Write TRIM(x).",
    "TRIM": "Write TRIM(x), LTRIM(x) or RTRIM(x).",
}
_FORMAT = re.compile(r"TO_CHAR\s*\([^']*,\s*\Z", re.IGNORECASE)


class _Writer(PostgresGenerator):
    """Writes MEDIAN as MEDIAN, ROUND without a cast, and QUALIFY as it stands: PostgreSQL itself has none."""

    SUPPORTS_MEDIAN = True
    TRANSFORMS: ClassVar = {
        **{node: write for node, write in PostgresGenerator.TRANSFORMS.items() if node is not exp.Select},
        exp.CountIf: lambda self, node: self.func("COUNT_IF", node.this),
        exp.Round: lambda self, node: self.function_fallback_sql(node),
        exp.Pow: lambda self, node: self.func("POWER", *_both(node)) if node._meta else self.binary(node, "^"),
        exp.IntDiv: lambda self, node: self.binary(node, "DIV"),  # of other dialects
    }


def _both(node: exp.Expr) -> tuple[exp.Expr, exp.Expr]:
    return node.this, node.expression


def written(tree: exp.Expr) -> str:
    """A tree as PostgreSQL's text; quotients of other dialects that have decimals have them there too."""
    tree = tree.copy()
    for node in [node for node in tree.find_all(exp.Div) if node.meta.get("exact")]:
        node.set("this", exp.Mul(this=exp.Literal.number("1.0"), expression=exp.Paren(this=node.this)))
    return _generated(tree)


def _generated(tree: exp.Expr) -> str:
    """A tree as text; the tree is not to be used after it."""
    writer = _Writer(dialect=Postgres, comments=False, unsupported_level=ErrorLevel.IGNORE)
    return str(writer.generate(tree, copy=False))


def faithful(parsed: Parsed) -> None:
    """Refuse a text of which the tree does not hold every word, in order. The tree is not to be used after it."""
    faithful_tree(parsed.select, parsed.source, {})


def faithful_tree(tree: exp.Expr, source: Source, synonyms: Mapping[str, str]) -> None:
    """The same of any tree, in a dialect that has other words for some of PostgreSQL's."""
    again = _generated(tree)
    written, kept = (
        plain([(synonyms.get(word, word), at) for word, at in _words(tokens)])
        for tokens in (source.tokens, Postgres().tokenize(again))
    )
    still = iter([word for word, _ in kept if word != "NOT"])
    for word, at in written:
        if word != "NOT":
            found = next(still, None)
            if found == "AS" and word != "AS":  # before an alias it may be left out
                found = next(still, None)
            if found != word:
                raise _refusal(word, at, source)
    if next(still, None) is not None:
        raise _refusal(*written[-1], source)
    nots = [at for word, at in written if word == "NOT"]
    if len(nots) != sum(word == "NOT" for word, _ in kept):  # it may move: x NOT IN y is NOT x IN y
        raise _refusal("NOT", nots[-1] if nots else 0, source)


def _words(tokens: Iterable[Any]) -> list[tuple[str, int]]:
    """Each token and where it stands, without the semicolon that may end a text."""
    found = [(_word(token), int(token.start)) for token in tokens]
    return found[:-1] if found[-1][0] == ";" else found


def _word(token: Any) -> str:
    """Text and quoted names with their quotation mark, all else in capitals."""
    text = str(token.text)
    if token.token_type == TokenType.STRING:
        return f"'{text}"
    if token.token_type == TokenType.IDENTIFIER:
        return f'"{text}'
    word = " ".join(text.upper().split())
    return "<>" if word == "!=" else word


def _refusal(word: str, at: int, source: Source) -> UnsupportedQuery:
    hint = _HINTS.get(word, "Check its spelling and its place.")
    if source.text[:at].upper().split()[-1:] == ["LIMIT"] and word.isdigit():
        hint = "Write LIMIT 2 OFFSET 1."
    if word.startswith("'"):
        word, hint = word[1:], "Write the parts of a format in capitals: 'YYYY-MM'."
        if not _FORMAT.search(source.text[:at]):
            hint = "Only values stand in single quotes; names stand in double quotes or in none."
    return source.refusal(at, f"{word[:40]!r} has no meaning at this place.", hint)
