"""What differs between engines: names of types and spellings of total operators. One object a dialect."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from dither.columns import Column
from dither.sql import patterns
from dither.sql.expressions import Part, Period
from dither.sql.physical import physical_type

_SPECIAL = re.compile(r"([\\^$.|?*+()\[\]{}])")
_PARTS: dict[Part, str] = {
    "year": "year",
    "month": "month",
    "day": "day",
    "doy": "dayofyear",
    "week": "weekofyear",
    "isoyear": "isoyear",
}


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

    def like(self, value: str, pattern: str, *, negated: bool = False) -> str:
        """A normal pattern. LIKE without `_` and escapes takes linear time; else a regular expression does (RE2)."""
        cut = patterns.pieces(pattern)
        plain = all(character not in (None, "%", "_") for piece in cut for character in piece)
        if plain:
            word = "NOT LIKE" if negated else "LIKE"
            return f"({value} {word} {self.text('%'.join(''.join(map(str, piece)) for piece in cut))})"
        found = self._matches(value, cut, lambda character: character)
        return f"(NOT {found})" if negated else found

    def ilike(self, value: str, pattern: str) -> str:
        """A normal pattern in which a letter stands for all its cases."""
        return self._matches(value, patterns.pieces(pattern), patterns.cases)

    def _matches(self, value: str, cut: list[list[str | None]], cases: Callable[[str], str]) -> str:
        regular = ("".join("." if one is None else _any_of(cases(one)) for one in piece) for piece in cut)
        return f"regexp_full_match({value}, {self.text('.*'.join(regular))}, 's')"

    # Days since 1970-01-01, of the years 1 to 9999

    def day(self, days: str) -> str:
        """A number of days as a date."""
        return f"(DATE '1970-01-01' + CAST({days} AS INTEGER))"

    def date_part(self, part: Part, day: str) -> str:
        return f"{_PARTS[part]}({day})"

    def first_day(self, period: Period, day: str) -> str:
        """The first day of a date's period, as a number of days."""
        return f"(CAST(date_trunc('{period}', {day}) AS DATE) - DATE '1970-01-01')"

    def add_months(self, day: str, months: int) -> str:
        """A date so many months later, as a number of days; the last day of a month that is too short."""
        return f"(CAST({day} + to_months({months}) AS DATE) - DATE '1970-01-01')"

    def month_start(self, months: str) -> str:
        """The first day of the month so many months after January 1970, as a number of days."""
        return f"(CAST(DATE '1970-01-01' + to_months(CAST({months} AS INTEGER)) AS DATE) - DATE '1970-01-01')"

    # Texts, counted in code points

    def length(self, value: str) -> str:
        return f"length({value})"

    def substring(self, value: str, start: int, length: int) -> str:
        return f"substring({value}, {start}, {length})"

    def trim(self, value: str, leading: bool, trailing: bool) -> str:
        function = "trim" if leading and trailing else "ltrim" if leading else "rtrim"
        return f"{function}({value}, ' ')"


def _any_of(characters: str) -> str:
    """A regular expression for one of these characters."""
    escaped = [_SPECIAL.sub(r"\\\1", character) for character in characters]
    return escaped[0] if len(escaped) == 1 else f"(?:{'|'.join(escaped)})"


DUCKDB = DuckDB()
