"""Nothing that was written is passed over: the syntax tree, written as SQL again, has the words of the text.

Parsers are lenient. Some words they read and forget (`FROM t *`, a trailing comma), some they take for others
(`IS UNKNOWN`, a quoted text as a table), and no look at the tree can tell. This looks at the text instead.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from sqlglot.dialects.postgres import Postgres
from sqlglot.errors import ErrorLevel
from sqlglot.tokenizer_core import TokenType

from dither.errors import UnsupportedQuery
from dither.sql.parse import Parsed
from dither.sql.source import Source

# Words that come or go, and words that move, when the same is written in another way.
_FREE = {"AS", "CAST", "::", ";"}
_MOVING = {"NOT", "(", ")", "DATE", "TIMESTAMP", "TIMESTAMPTZ"}
_HINTS = {
    "UNKNOWN": "Write IS NULL.",
    "ISNULL": "Write IS NULL.",
    "NOTNULL": "Write IS NOT NULL.",
    "MOD": "Write x % y.",
    "IFNULL": "Write COALESCE(x, y).",
    "NVL": "Write COALESCE(x, y).",
    "WITH": "Write TIMESTAMPTZ.",
    ".": "Write 0.5 for .5.",
}


def faithful(parsed: Parsed) -> None:
    """Refuse a text of which the tree does not hold every word, in order."""
    source = parsed.source
    again = Postgres().generator(comments=False, unsupported_level=ErrorLevel.IGNORE).generate(parsed.select)
    written, kept = _words(source.tokens), _words(Postgres().tokenize(again))
    fixed = [(word, at) for word, at in written if word not in _MOVING]
    still = [word for word, _ in kept if word not in _MOVING]
    for position, (word, at) in enumerate(fixed):
        if position >= len(still) or still[position] != word:
            raise _refusal(word, at, source)
    moved = Counter(word for word, _ in written) - Counter(word for word, _ in kept)
    if moved or len(fixed) != len(still):
        lost = [(word, at) for word, at in written if word in moved]
        raise _refusal(*(lost[-1] if lost else written[-1]), source)


def _words(tokens: Iterable[Any]) -> list[tuple[str, int]]:
    found = ((_word(token), int(token.start)) for token in tokens)
    return [(word, at) for word, at in found if word not in _FREE]


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
    hint = _HINTS.get(word, "Leave it out.")
    if word.startswith("'"):
        word, hint = word[1:], "Only values stand in single quotes; names stand in double quotes or in none."
    return source.refusal(at, f"{word[:40]!r} has no meaning at this place.", hint)
