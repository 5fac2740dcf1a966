"""What is refused before any parsing, in time proportional to a bounded text: size, characters, tokens, nesting."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import accumulate, pairwise
from typing import Any

from sqlglot.dialects.postgres import Postgres
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import TokenType

from dither.errors import UnsupportedQuery
from dither.sql.text.source import Source

MOST_BYTES = 65_536
MOST_TOKENS = 2_048  # a refusal takes less than 50 ms on a busy machine
MOST_NESTING = 24  # the parser needs some 25 stack frames a level, and Python allows 1000

_PIECES = re.compile(
    r"'[^']*'|\"[^\"]*\"|\w+|[<>!:|]{2}|[^\w\s]"
)  # about what the tokeniser will find, at a fraction of its time
_DEPTH = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}
_WORD = re.compile(r"\w")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufeff\u200b-\u200f\u202a-\u202e\u2060-\u2069]")
_OPEN = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE}
_CLOSE = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END}
_PREFIX = {TokenType.NOT, TokenType.DASH, TokenType.PLUS, TokenType.TILDE, TokenType.INTERVAL, TokenType.SELECT}


def _cut(text: str) -> tuple[Any, ...]:
    return tuple(Postgres().tokenize(text))


def tokens(text: str, cut: Callable[[str], tuple[Any, ...]] = _cut) -> Source:
    """The text cut into tokens, if it is small, plain and shallow enough to be parsed safely."""
    source = readable(text)
    try:
        found = cut(text)
    except (SqlglotError, ValueError) as error:
        raise source.refusal(_unfinished(text), "the query cannot be read to its end.", _QUOTES) from error
    source = Source(text, found)
    if not found:
        raise source.refusal(0, "the query is empty.", "Write SELECT COUNT(*) FROM a table.")
    for check in (_count, _comments, _numbers, _statements, _nesting):
        check(source)
    return source


_SHORTER = "Use BETWEEN for ranges of values, or ask several questions."
_QUOTES = "Close every quote and comment: 'text', \"name\", /* remark */."


def readable(text: str) -> Source:
    """The text, if it is small and plain enough to be cut into tokens, in whatever dialect."""
    source = _plain(text)
    pieces = _PIECES.findall(text)
    deepest = max(accumulate(_DEPTH.get(piece, 0) for piece in pieces), default=0)
    if len(pieces) > MOST_TOKENS:
        raise source.refusal(
            0, f"the query has about {len(pieces)} words and signs; at most {MOST_TOKENS} are read.", _SHORTER
        )
    if deepest > 2 * MOST_NESTING:
        what = f"the query is nested more than {MOST_NESTING} levels deep."
        raise source.refusal(0, what, "Remove parentheses that are not needed.")
    return source


def _plain(text: str) -> Source:
    if not isinstance(text, str):
        raise UnsupportedQuery(f"a query is text; got {type(text).__name__}.", hint="Decode bytes as UTF-8 first.")
    try:
        size = len(text) if len(text) > MOST_BYTES else len(text.encode("utf-8"))
    except UnicodeEncodeError as error:
        raise Source(text, ()).refusal(error.start, "the query is not valid Unicode.", "Send UTF-8 text.") from None
    source = Source(text, ())
    if size > MOST_BYTES:
        raise UnsupportedQuery(
            f"the query has {size} bytes; at most {MOST_BYTES} are read.", line=1, column=1, hint=_SHORTER
        )
    if found := _CONTROL.search(text):
        raise source.refusal(
            found.start(), f"the query contains the invisible character U+{ord(found[0]):04X}.", "Remove it."
        )
    return source


def _unfinished(text: str) -> int:
    """Where the last quote or comment opens, the likeliest to be unfinished."""
    return max(text.rfind(mark) for mark in ("'", '"', "/*", "$", "")) if text.strip() else 0


def _count(source: Source) -> None:
    if len(source.tokens) > MOST_TOKENS:
        what = f"the query has {len(source.tokens)} words and signs; at most {MOST_TOKENS} are read."
        raise source.refusal(source.tokens[MOST_TOKENS].start, what, _SHORTER)


def _comments(source: Source) -> None:
    for token in source.tokens:
        if any(comment.startswith(("+", "!")) for comment in token.comments):
            raise source.refusal(token.start, "hints inside comments are not read.", "Remove the /*+ or /*! comment.")


def _numbers(source: Source) -> None:
    """A number runs into no word: 1_000 would be 1 under the name _000."""
    for token, following in pairwise(source.tokens):
        if token.token_type == TokenType.NUMBER and following.start == token.end + 1 and _WORD.match(following.text):
            what = f"a number and a word run together: {(token.text + following.text)[:40]!r}."
            raise source.refusal(
                token.start, what, "Write numbers with digits, a point and an exponent only: 1000, 2.5, 1e3."
            )


def _statements(source: Source) -> None:
    for token in source.tokens[:-1]:
        if token.token_type == TokenType.SEMICOLON:
            raise source.refusal(
                token.start, "one query holds one statement.", "Remove the semicolon and what follows."
            )
    first = source.tokens[0]
    words = [token.text.upper() for token in source.tokens[:3]]
    if words[:2] == ["SELECT", "WITH"] and words[2:] in (["DIFFERENTIAL_PRIVACY"], ["ANONYMIZATION"]):
        hint = (
            'Ask SELECT WITH DIFFERENTIAL_PRIVACY with dialect="bigquery"; or state the price with the question, '
            "epsilon=1, rows_per_owner=3, and write OWNER_SUM(x, 0, 100) for a SUM with contribution bounds, and "
            "OWNER_COUNT(5) for such a COUNT."
        )
        raise source.refusal(source.tokens[1].start, f"SELECT WITH {words[2]} is not supported.", hint)
    opened = next((token for token in source.tokens if token.token_type != TokenType.L_PAREN), first)
    if opened.token_type not in (TokenType.SELECT, TokenType.WITH):
        hint = "Write SELECT ..., COUNT(*) FROM a table."
        raise source.refusal(
            opened.start, f"a query begins with SELECT; this one begins with {opened.text[:40]!r}.", hint
        )


def _nesting(source: Source) -> None:
    depth = run = 0
    for token in source.tokens:
        kind = token.token_type
        run = run + 1 if kind in _PREFIX else 0
        depth += (kind in _OPEN) - (kind in _CLOSE)
        if depth + run > MOST_NESTING:
            what = f"the query is nested more than {MOST_NESTING} levels deep here."
            raise source.refusal(token.start, what, "Remove parentheses, NOT or CASE that are not needed.")
