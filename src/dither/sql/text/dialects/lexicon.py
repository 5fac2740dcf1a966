"""How a dialect cuts text into tokens: what quotes names and texts, remarks, and literals that are its own."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from sqlglot.dialects.postgres import Postgres
from sqlglot.tokenizer_core import TokenType

from dither.sql.text.dialects.privacy_clause import stripped
from dither.sql.text.source import Source

_JOINED = re.compile(r"--(?=\S)")


@dataclass(frozen=True)
class Lexicon:
    """Lexical facts of a dialect. A text with something that is read otherwise elsewhere is refused, not guessed at."""

    names: str = '"'  # the quotation marks of names
    texts: str = "'"  # the quotation marks of texts
    backslash: bool = False  # whether a backslash in a text is an escape
    doubled: bool = True  # whether a quotation mark in a text is written twice
    hash_remark: bool = False  # whether # begins a remark
    blank_after_dashes: bool = False  # whether -- begins a remark only before a blank
    operators: tuple[str, ...] = ()  # words and signs of whole division
    top: bool = False  # whether SELECT TOP 5 is LIMIT 5
    private: bool = False  # whether it has SELECT WITH DIFFERENTIAL_PRIVACY
    types: tuple[tuple[str, str], ...] = field(default=())  # other words for PostgreSQL's types

    def cut(self, text: str) -> tuple[Any, ...]:
        """The tokens, with PostgreSQL's keywords."""
        return tuple(_tokenizer(self)().tokenize(text))

    def tokens(self, text: str) -> tuple[Any, ...]:
        """The same without a clause about privacy, which is read by itself."""
        found = self.cut(text)
        return stripped(found)[0] if self.private else found

    def check(self, source: Source) -> None:
        """Refuse literals and remarks that this dialect reads in a way of its own."""
        for token in source.tokens:
            for remark in token.comments:
                if "/*" in remark:
                    raise source.refusal(token.start, "a remark inside a remark is not read.", "Remove it.")
            if token.token_type == TokenType.STRING:
                raw = source.text[token.start + 1 : token.end]
                if self.backslash and "\\" in raw:
                    what = "a text with a backslash is not translated from this dialect."
                    raise source.refusal(
                        token.start, what, "Write it in PostgreSQL's dialect, where it is a character."
                    )
                if not self.doubled and source.text[token.start] in raw:
                    what = "a text with its own quotation mark in it is not translated from this dialect."
                    raise source.refusal(
                        token.start, what, "Write it in PostgreSQL's dialect, with two marks: 'it''s'."
                    )
        if self.blank_after_dashes and (found := _JOINED.search(source.text)):
            what = "-- begins a remark here only before a blank."
            raise source.refusal(
                found.start(), what, "Write - - for two minus signs, and a blank after -- for a remark."
            )

    def topped(self, source: Source) -> Source:
        """SELECT TOP 5 ... as SELECT ... LIMIT 5, also in parentheses."""
        tokens, place = list(source.tokens), 0
        while self.top and place + 2 < len(tokens):
            first, word, count = tokens[place : place + 3]
            place += 1
            if first.token_type != TokenType.SELECT or word.text.upper() != "TOP" or word.token_type == _QUOTED:
                continue
            following = tokens[place + 2].text.upper() if place + 2 < len(tokens) else ""
            if count.token_type != TokenType.NUMBER or following in ("PERCENT", "WITH"):
                raise source.refusal(word.start, "TOP takes a number of rows.", "Write SELECT TOP 5 ...")
            end = _end_of_query(tokens, place + 2)
            if end < len(tokens) and tokens[end].token_type in _SETS:
                what = "TOP beside UNION, which would cut one side of it, is not translated."
                raise source.refusal(word.start, what, "Put that SELECT in parentheses.")
            limit = type(word)(TokenType.LIMIT, "LIMIT", word.line, word.col, word.start, word.end)
            tokens = [*tokens[:place], *tokens[place + 2 : end], limit, count, *tokens[end:]]
        return Source(source.text, tuple(tokens))


_QUOTED = TokenType.IDENTIFIER
_SETS = (TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT)


def _end_of_query(tokens: list[Any], place: int) -> int:
    """Where a SELECT ends: at the parenthesis around it, a set operation, a semicolon, or with the text."""
    depth = 0
    while place < len(tokens):
        kind = tokens[place].token_type
        depth += (kind == TokenType.L_PAREN) - (kind == TokenType.R_PAREN)
        if depth < 0 or (depth == 0 and kind in (TokenType.SEMICOLON, *_SETS)):
            break
        place += 1
    return place


@lru_cache(maxsize=64)
def _tokenizer(lexicon: Lexicon) -> type[Postgres]:
    words: dict[str, Any] = {
        "IDENTIFIERS": [("[", "]") if mark == "[" else mark for mark in lexicon.names],
        "QUOTES": list(lexicon.texts),
        "STRING_ESCAPES": [*lexicon.texts, *(["\\"] if lexicon.backslash else [])],
        "COMMENTS": ["--", *(["#"] if lexicon.hash_remark else []), ("/*", "*/")],
        "KEYWORDS": Postgres.Tokenizer.KEYWORDS | dict.fromkeys(lexicon.operators, TokenType.DIV),
    }
    tokenizer = type("Tokenizer", (Postgres.Tokenizer,), words)
    return type("Lexed", (Postgres,), {"Tokenizer": tokenizer})
