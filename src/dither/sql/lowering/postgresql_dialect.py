"""PostgreSQL's SQL."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from dither.errors import PolicyError
from dither.policy.catalog import PublicTable, Table
from dither.sql.expressions import Part, Period, lowered, uppered
from dither.sql.lowering.dialect import Dialect
from dither.sql.lowering.statement import schema_name
from dither.sql.text import patterns

_MOST_BYTES = 63  # of a name; what is longer would be cut, and two names might become one
_SPECIAL = re.compile(r"([\\^$.|?*+()\[\]{}])")


@dataclass(frozen=True)
class PostgreSQL(Dialect):
    """`/` and `%` of BIGINT cut toward zero, as DIV and `%` of NUMERIC do. SUM of a BIGINT is a NUMERIC, of less not.

    Texts are compared by their bytes, whatever the collation of the database; it is encoded in UTF-8. A session pins
    all settings that anything here could depend on (`engines/postgres/session.py`).
    """

    engine: str = "PostgreSQL"
    word: str = "BIGINT"
    word_holds: int = 2**63 - 1
    double_word: str = "NUMERIC(38, 0)"
    double_word_holds: int = 10**38 - 1
    integers: tuple[tuple[str, int], ...] = (("SMALLINT", 16), ("INTEGER", 32), ("BIGINT", 64))
    text_type: str = "TEXT"
    columnar: bool = False

    def name(self, identifier: str) -> str:
        if len(identifier.encode()) > _MOST_BYTES:
            raise PolicyError(f"PostgreSQL has names of at most {_MOST_BYTES} bytes; got {identifier!r}.")
        return '"' + identifier.replace('"', '""') + '"'

    def text(self, value: str) -> str:
        if "\0" in value or any("\ud800" <= character < "\ue000" for character in value):
            raise PolicyError("PostgreSQL has no texts with the character U+0000, or with half of one (a surrogate).")
        return "'" + value.replace("'", "''") + "'"

    def rows(self, table: Table | PublicTable) -> str:
        """A table for each snapshot, in the schema that the search path begins with."""
        return self.name(f"{schema_name(table)}_{table.snapshot:06d}")

    def subquery(self, sql: str) -> str:
        return f"({sql}) AS held"

    # Numbers

    def divided(self, left: str, right: str, *, wide: bool) -> str:
        return f"DIV({left}, NULLIF({right}, 0))" if wide else f"({left} / NULLIF({right}, 0))"

    def halved(self, value: str, times: int) -> str:
        return f"DIV({value}, {2**times})"

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
        return f"SUM({value})" if wide else f"SUM({self.cast(value, self.word)})"

    def count_if(self, truth: str) -> str:
        return f"COUNT(*) FILTER (WHERE {truth})"

    def lower_median(self, value: str) -> str:
        return f"percentile_disc(0.5) WITHIN GROUP (ORDER BY {value})"

    def indicator(self, truth: str, type_: str) -> str:
        return self.cast(self.cast(truth, "INTEGER"), type_)

    def local(self, name: str) -> str:
        return f"{self.name(name)}.v"

    def let(self, name: str, value: str, body: str) -> str:
        return f"(SELECT {body} FROM (SELECT {value} AS v OFFSET 0) AS {self.name(name)})"

    # Texts

    def same(self, left: str, right: str) -> str:
        return f"({left}) IS NOT DISTINCT FROM {right}"

    def ordered(self, text: str) -> str:
        return f'({text} COLLATE "C")'

    def like(self, value: str, pattern: str, *, negated: bool = False) -> str:
        return f"({value} {'NOT LIKE' if negated else 'LIKE'} {self.text(pattern)} ESCAPE '{patterns.ESCAPE}')"

    def ilike(self, value: str, pattern: str) -> str:
        """A regular expression, since ILIKE depends on the locale. `***:` says which kind, whatever is set."""
        pieces = ("".join("." if one is None else _any_of(one) for one in piece) for piece in patterns.pieces(pattern))
        return f"({value} ~ {self.text('***:^(?:' + '.*'.join(pieces) + ')$')})"

    def ending(self, value: str, length: int) -> str:
        return f"right({value}, {length})"

    def position(self, value: str, sought: str) -> str:
        return f"strpos({value}, {sought})"

    def length(self, value: str) -> str:
        return f"LENGTH({value})"

    def substring(self, value: str, start: int, length: int) -> str:
        return f"SUBSTRING({value} FROM {start} FOR {length})"

    def split_part(self, value: str, separator: str, place: int) -> str:
        return f"split_part({value}, {separator}, {place})"

    def letters(self, value: str, case: str) -> str:
        """A table of all letters, since LOWER and UPPER depend on the locale; it is searched from its beginning for
        every character, so texts of ASCII alone, of which a byte is a character, are spared it."""
        table = f"TRANSLATE(l.v, {', '.join(map(self.text, _letters(case)))})"
        plain = f'OCTET_LENGTH(l.v) = LENGTH(l.v) THEN {case.upper()}(l.v COLLATE "C")'
        return f"(SELECT CASE WHEN {plain} ELSE {table} END FROM (SELECT {value} AS v OFFSET 0) AS l)"

    def trim(self, value: str, leading: bool, trailing: bool) -> str:
        return f"TRIM({'BOTH' if leading and trailing else 'LEADING' if leading else 'TRAILING'} ' ' FROM {value})"

    # Days

    def day(self, days: str) -> str:
        return f"(DATE '1970-01-01' + CAST({days} AS INTEGER))"

    def date_part(self, part: Part, day: str) -> str:
        return f"EXTRACT({part.upper()} FROM {day})"

    def first_day(self, period: Period, day: str) -> str:
        return f"(CAST(DATE_TRUNC('{period}', CAST({day} AS TIMESTAMP)) AS DATE) - DATE '1970-01-01')"

    def add_months(self, day: str, months: int) -> str:
        return f"(CAST({day} + INTERVAL '{months} months' AS DATE) - DATE '1970-01-01')"

    def month_start(self, months: str) -> str:
        later = f"DATE '1970-01-01' + MAKE_INTERVAL(months => CAST({months} AS INTEGER))"
        return f"(CAST({later} AS DATE) - DATE '1970-01-01')"


@lru_cache(maxsize=2)
def _letters(case: str) -> tuple[str, str]:
    """All characters that have that case, and what they have."""
    changed = lowered if case == "lower" else uppered
    every = (chr(code) for code in range(1, 0x110000) if not 0xD800 <= code < 0xE000)
    found = [(one, other) for one in every if (other := changed(one)) != one]
    return "".join(one for one, _ in found), "".join(other for _, other in found)


def _any_of(character: str) -> str:
    """A regular expression for a character in any case."""
    return "(?:" + "|".join(_SPECIAL.sub(r"\\\1", one) for one in patterns.cases(character)) + ")"


POSTGRESQL = PostgreSQL()
