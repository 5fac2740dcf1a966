"""DuckDB's SQL."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from dither.policy.catalog import PublicTable, Table
from dither.sql.expressions import Part, Period
from dither.sql.lowering.dialect import Dialect
from dither.sql.lowering.statement import schema_name
from dither.sql.text import patterns

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
class DuckDB(Dialect):
    """`//` cuts toward zero and `%` follows the dividend on BIGINT and HUGEINT alike; SUM of integers is a HUGEINT.

    Texts compare by their bytes, which for UTF-8 is by code points.
    """

    engine: str = "DuckDB"
    word: str = "BIGINT"
    word_holds: int = 2**63 - 1
    double_word: str = "HUGEINT"
    double_word_holds: int = 2**127 - 1
    integers: tuple[tuple[str, int], ...] = (("TINYINT", 8), ("SMALLINT", 16), ("INTEGER", 32), ("BIGINT", 64))
    text_type: str = "VARCHAR"
    columnar: bool = True

    def name(self, identifier: str) -> str:
        return '"' + identifier.replace('"', '""') + '"'

    def text(self, value: str) -> str:
        return "'" + value.replace("'", "''") + "'"

    def rows(self, table: Table | PublicTable) -> str:
        """Every snapshot is a database of its own, attached under the table's name."""
        return f"{self.name(schema_name(table))}.{self.name('rows')}"

    def subquery(self, sql: str) -> str:
        return f"({sql})"

    # Numbers

    def divided(self, left: str, right: str, *, wide: bool) -> str:
        return f"({left} // NULLIF({right}, 0))"

    def halved(self, value: str, times: int) -> str:
        return f"({value} >> {times})"

    def modulo(self, left: str, right: str) -> str:
        return f"({left} % NULLIF({right}, 0))"

    def negated(self, value: str, *, wide: bool) -> str:
        return f"(- {value})"

    def absolute(self, value: str, *, wide: bool) -> str:
        return f"ABS({value})"

    def least(self, *values: str) -> str:
        return f"LEAST({', '.join(values)})"

    def greatest(self, *values: str) -> str:
        return f"GREATEST({', '.join(values)})"

    def summed(self, value: str, *, wide: bool) -> str:
        return f"SUM({value})"

    def count_if(self, truth: str) -> str:
        return self.cast(f"COALESCE(COUNT_IF({truth}), 0)", self.word)

    def lower_median(self, value: str) -> str:
        return f"quantile_disc({value}, 0.5)"

    def indicator(self, truth: str, type_: str) -> str:
        return self.cast(truth, type_)

    def local(self, name: str) -> str:
        return self.name(name)

    def let(self, name: str, value: str, body: str) -> str:
        """A list of one value, and a function of its elements: no other expression names anything."""
        return f"list_transform([{value}], lambda {self.local(name)}: {body})[1]"

    # Texts

    def same(self, left: str, right: str) -> str:
        return f"({left}) IS NOT DISTINCT FROM {right}"

    def ordered(self, text: str) -> str:
        return text

    def like(self, value: str, pattern: str, *, negated: bool = False) -> str:
        """LIKE without `_` and escapes takes linear time; else a regular expression does (RE2)."""
        cut = patterns.pieces(pattern)
        plain = all(character not in (None, "%", "_") for piece in cut for character in piece)
        if plain:
            word = "NOT LIKE" if negated else "LIKE"
            return f"({value} {word} {self.text('%'.join(''.join(map(str, piece)) for piece in cut))})"
        found = self._matches(value, cut, lambda character: character)
        return f"(NOT {found})" if negated else found

    def ilike(self, value: str, pattern: str) -> str:
        return self._matches(value, patterns.pieces(pattern), patterns.cases)

    def _matches(self, value: str, cut: list[list[str | None]], cases: Callable[[str], str]) -> str:
        regular = ("".join("." if one is None else _any_of(cases(one)) for one in piece) for piece in cut)
        return f"regexp_full_match({value}, {self.text('.*'.join(regular))}, 's')"

    def ending(self, value: str, length: int) -> str:
        return f"right({value}, {length})"

    def position(self, value: str, sought: str) -> str:
        return f"strpos({value}, {sought})"

    def length(self, value: str) -> str:
        return f"length({value})"

    def substring(self, value: str, start: int, length: int) -> str:
        return f"substring({value}, {start}, {length})"

    def split_part(self, value: str, separator: str, place: int) -> str:
        return f"split_part({value}, {separator}, {place})"

    def letters(self, value: str, case: str) -> str:
        return f"{case}({value})"

    def trim(self, value: str, leading: bool, trailing: bool) -> str:
        function = "trim" if leading and trailing else "ltrim" if leading else "rtrim"
        return f"{function}({value}, ' ')"

    # Days

    def day(self, days: str) -> str:
        return f"(DATE '1970-01-01' + CAST({days} AS INTEGER))"

    def date_part(self, part: Part, day: str) -> str:
        return f"{_PARTS[part]}({day})"

    def first_day(self, period: Period, day: str) -> str:
        return f"(CAST(date_trunc('{period}', {day}) AS DATE) - DATE '1970-01-01')"

    def add_months(self, day: str, months: int) -> str:
        return f"(CAST({day} + to_months({months}) AS DATE) - DATE '1970-01-01')"

    def month_start(self, months: str) -> str:
        return f"(CAST(DATE '1970-01-01' + to_months(CAST({months} AS INTEGER)) AS DATE) - DATE '1970-01-01')"


def _any_of(characters: str) -> str:
    """A regular expression for one of these characters."""
    escaped = [_SPECIAL.sub(r"\\\1", character) for character in characters]
    return escaped[0] if len(escaped) == 1 else f"(?:{'|'.join(escaped)})"


DUCKDB = DuckDB()
