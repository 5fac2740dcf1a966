"""The analyst's text and its tokens, which know where everything stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from dither.errors import UnsupportedQuery
from dither.sql.text.subtree import subtree

# Words of hints that are PostgreSQL's alone, or have another form in some dialect.
_OURS = ("EXTRACT(EPOCH", "INTERVAL '", "day + 7", "LOG(2", "NUMERIC(", "TIMESTAMPTZ", "for a backslash")


@dataclass(frozen=True)
class Source:
    """Text and tokens. Positions are those of the nearest token that has one: lines and columns from 1.

    `dialect` is what people call the one that the text is in; empty: PostgreSQL's. `collated_by` is the same where
    collations decide which texts are equal, and in which order.
    """

    text: str
    tokens: tuple[Any, ...]
    dialect: str = ""
    collated_by: str = ""

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column of a character."""
        return self.text.count("\n", 0, offset) + 1, offset - self.text.rfind("\n", 0, offset)

    def refusal(self, at: exp.Expr | int, what: str, hint: str = "") -> UnsupportedQuery:
        """The error to raise about a piece of syntax or a character; a hint in PostgreSQL's words says so elsewhere."""
        if self.dialect and any(words in hint for words in _OURS) and "dialect" not in f"{what} {hint}":
            hint = f"{hint} That is PostgreSQL's dialect."
        line, column = self.place(at if isinstance(at, int) else self.offset(at))
        return UnsupportedQuery(what, line=line, column=column, hint=hint)

    def offset(self, node: exp.Expr) -> int:
        """Where a node begins: its own token, else the first token inside it, else that of the node around it."""
        around: exp.Expr | None = node
        while around is not None:
            starts = [start for inner in subtree(around) if isinstance(start := (inner._meta or {}).get("start"), int)]
            if starts:
                return min(starts)
            around = around.parent
        return 0

    def written(self, node: exp.Expr) -> str:
        """A node's own word as the analyst wrote it, or nothing."""
        meta = node._meta or {}
        return self.text[meta["start"] : meta["end"] + 1] if "start" in meta and "end" in meta else ""

    def keyword(self, *words: str) -> int | None:
        """Where one of these words first stands as a token of its own."""
        for token in self.tokens:
            quoted = token.token_type in (TokenType.STRING, TokenType.IDENTIFIER)
            if not quoted and token.text.upper().split(" ")[0] in words:
                return int(token.start)
        return None
