"""What differs between engines: names of types and spellings of total operators. One object a dialect."""

from __future__ import annotations

import re
from dataclasses import dataclass

from dither.columns import Column
from dither.sql import patterns
from dither.sql.physical import physical_type

_SPECIAL = re.compile(r"([\\^$.|?*+()\[\]{}])")


@dataclass(frozen=True)
class DuckDB:
    """DuckDB's spelling. `//` cuts toward zero and `%` follows the dividend on BIGINT and HUGEINT alike."""

    word: str = "BIGINT"  # holds results up to 2**62 in size
    double_word: str = "HUGEINT"  # up to 2**126
    quotient: str = "//"

    def name(self, identifier: str) -> str:
        return '"' + identifier.replace('"', '""') + '"'

    def text(self, value: str) -> str:
        return "'" + value.replace("'", "''") + "'"

    def stored(self, column: Column) -> str:
        """The type a declared column has in a snapshot."""
        return physical_type(column)

    def like(self, value: str, pattern: str) -> str:
        """A normal pattern. LIKE without `_` and escapes takes linear time; else a regular expression does (RE2)."""
        cut = patterns.pieces(pattern)
        plain = all(character not in (None, "%", "_") for piece in cut for character in piece)
        if plain:
            return f"({value} LIKE {self.text('%'.join(''.join(map(str, piece)) for piece in cut))})"
        regular = (
            "".join("." if character is None else _SPECIAL.sub(r"\\\1", character) for character in piece)
            for piece in cut
        )
        return f"regexp_full_match({value}, {self.text('.*'.join(regular))}, 's')"


DUCKDB = DuckDB()
