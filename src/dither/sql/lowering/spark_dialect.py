"""Apache Spark's SQL, with the settings that its engine pins: ANSI mode, texts by their bytes, no substitution."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from dither.policy.catalog import PublicTable, Table
from dither.sql.expressions import Part, Period, lowered, uppered
from dither.sql.lowering.dialect import Dialect
from dither.sql.lowering.statement import schema_name
from dither.sql.text import patterns

_SPECIAL = re.compile(r"([\\^$.|?*+()\[\]{}\-&#\s])")
_ESCAPED = re.compile(r"[\x00-\x1f'\\$]")  # `${...}` would be replaced where a session substitutes variables
_HALF = 2**63
_PARTS: dict[Part, str] = {
    "year": "year",
    "month": "month",
    "day": "day",
    "doy": "dayofyear",
    "week": "weekofyear",
    "isoyear": "yearofweek",
}


@dataclass(frozen=True)
class Spark(Dialect):
    """`div` and `%` cut toward zero. `div` of decimals is a BIGINT, and wraps around where that does not hold it; `/`
    keeps six decimals, and so has 32 digits before the point; ABS and a sign keep 34 digits. SUM of integers is a
    BIGINT, of decimals a decimal.

    Texts compare by their bytes, which for UTF-8 is by code points.
    """

    engine: str = "Spark"
    word: str = "BIGINT"
    word_holds: int = 2**63 - 1
    double_word: str = "DECIMAL(38,0)"
    double_word_holds: int = 10**38 - 1
    integers: tuple[tuple[str, int], ...] = (("TINYINT", 8), ("SMALLINT", 16), ("INT", 32), ("BIGINT", 64))
    text_type: str = "STRING"
    columnar: bool = False

    def name(self, identifier: str) -> str:
        return "`" + identifier.replace("`", "``") + "`"

    def text(self, value: str) -> str:
        return "'" + _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", value) + "'"

    def rows(self, table: Table | PublicTable) -> str:
        """A view of the engine's own session for each snapshot."""
        return self.name(f"{schema_name(table)}_{table.snapshot:06d}")

    def subquery(self, sql: str) -> str:
        return f"({sql}) AS held"

    # Numbers

    def divided(self, left: str, right: str, *, wide: bool) -> str:
        """Double words by long division in two digits to the base 2**63, each quotient of which is a word."""
        if not wide:
            return f"({left} div NULLIF({right}, 0))"
        base = self.cast(str(_HALF), self.double_word)
        low, high = f"(d.a % {base})", f"((d.a - d.a % {base}) div {base})"
        rest = f"({self.cast(f'{high} % d.b', self.double_word)} * {base} + {low})"
        first, second = (self.cast(f"{part} div d.b", self.double_word) for part in (high, rest))
        values = f"struct({left} AS a, NULLIF({right}, 0) AS b)"
        return f"get(transform(array({values}), d -> {self.cast(f'{first} * {base} + {second}', self.double_word)}), 0)"

    def halved(self, value: str, times: int) -> str:
        divisor = self.cast(str(2**times), self.double_word)
        if times < 63:
            return self.divided(value, divisor, wide=True)
        return self.cast(f"{value} div {divisor}", self.double_word)  # of numbers below 2**126 this is a word

    def modulo(self, left: str, right: str) -> str:
        return f"({left} % NULLIF({right}, 0))"

    def negated(self, value: str, *, wide: bool) -> str:
        """The sign of a decimal is changed with 34 digits, and subtraction has all of them."""
        return f"({self.cast('0', self.double_word)} - {value})" if wide else f"(- {value})"

    def absolute(self, value: str, *, wide: bool) -> str:
        return self.greatest(value, self.negated(value, wide=True)) if wide else f"ABS({value})"

    def least(self, *values: str) -> str:
        return f"least({', '.join(values)})" if len(values) > 1 else values[0]

    def greatest(self, *values: str) -> str:
        return f"greatest({', '.join(values)})" if len(values) > 1 else values[0]

    def summed(self, value: str, *, wide: bool) -> str:
        """Words whose sum may not be one come as double words."""
        return f"SUM({value})"

    def count_if(self, truth: str) -> str:
        return f"COUNT(*) FILTER (WHERE {truth})"

    def lower_median(self, value: str) -> str:
        """Out of a list, since percentiles are doubles; NULL where it is empty."""
        return f"get(array_sort(collect_list({value})), CAST((COUNT({value}) + 1) div 2 AS INT) - 1)"

    def indicator(self, truth: str, type_: str) -> str:
        return self.cast(truth, type_)

    def local(self, name: str) -> str:
        return self.name(name)

    def let(self, name: str, value: str, body: str) -> str:
        """A list of one value, and a function of its elements: no other expression names anything."""
        return f"get(transform(array({value}), {self.local(name)} -> {body}), 0)"

    # Texts

    def same(self, left: str, right: str) -> str:
        return f"({left}) <=> {right}"

    def ordered(self, text: str) -> str:
        return f"({text} COLLATE UTF8_BINARY)"

    def like(self, value: str, pattern: str, *, negated: bool = False) -> str:
        """What is sought in one place by a search for it, which takes linear time; else by a regular expression."""
        cut = patterns.pieces(pattern)
        plain = all(one is not None for piece in cut for one in piece)
        first, last = (self.text("".join(map(str, cut[place]))) for place in (0, -1))
        if plain and len(cut) == 1:
            return f"({value} {'<>' if negated else '='} {first})"
        if plain and len(cut) == 2 and not (cut[0] and cut[1]):
            found = f"startswith({value}, {first})" if cut[0] else f"endswith({value}, {last})"
        elif plain and len(cut) == 3 and not cut[0] and not cut[2]:
            found = f"contains({value}, {self.text(''.join(map(str, cut[1])))})"
        else:
            found = self._matches(value, cut, lambda character: character)
        return f"(NOT {found})" if negated else found

    def ilike(self, value: str, pattern: str) -> str:
        return self._matches(value, patterns.pieces(pattern), patterns.cases)

    def _matches(self, value: str, cut: list[list[str | None]], cases: Callable[[str], str]) -> str:
        """A piece is taken where it is first found and never given back: what follows may lie anywhere after it."""
        first, *rest = ["".join("." if one is None else _any_of(cases(one)) for one in piece) for piece in cut]
        middle = "".join(f"(?>.*?{piece})" for piece in rest[:-1])
        end = f"(?=.{{{len(cut[-1])}}}).*+(?<={rest[-1]})" if rest else r"\z"
        return f"({value} RLIKE {self.text('(?s)^' + first + middle + end)})"

    def length(self, value: str) -> str:
        return f"char_length({value})"

    def substring(self, value: str, start: int, length: int) -> str:
        return f"substring({value}, {start}, {length})"

    def ending(self, value: str, length: int) -> str:
        return f"right({value}, {length})"

    def position(self, value: str, sought: str) -> str:
        return f"instr({value}, {sought})"

    def split_part(self, value: str, separator: str, place: int) -> str:
        return f"split_part({value}, {separator}, {place})"

    def letters(self, value: str, case: str) -> str:
        """A table of all letters: Spark's own functions look at what stands around a letter, and may make it two."""
        return f"translate({value}, {', '.join(map(self.text, _letters(case)))})"

    def trim(self, value: str, leading: bool, trailing: bool) -> str:
        return f"TRIM({'BOTH' if leading and trailing else 'LEADING' if leading else 'TRAILING'} ' ' FROM {value})"

    # Days

    def day(self, days: str) -> str:
        return f"date_from_unix_date(CAST({days} AS INT))"

    def date_part(self, part: Part, day: str) -> str:
        return f"extract({_PARTS[part]} FROM {day})" if part == "isoyear" else f"{_PARTS[part]}({day})"

    def first_day(self, period: Period, day: str) -> str:
        return f"unix_date(trunc({day}, '{period}'))"

    def add_months(self, day: str, months: int) -> str:
        return f"unix_date(add_months({day}, {months}))"

    def month_start(self, months: str) -> str:
        return f"unix_date(add_months(DATE '1970-01-01', CAST({months} AS INT)))"


@lru_cache(maxsize=2)
def _letters(case: str) -> tuple[str, str]:
    """All characters that have that case, and what they have."""
    changed = lowered if case == "lower" else uppered
    every = (chr(code) for code in range(1, 0x110000) if not 0xD800 <= code < 0xE000)
    found = [(one, other) for one in every if (other := changed(one)) != one]
    return "".join(one for one, _ in found), "".join(other for _, other in found)


def _any_of(characters: str) -> str:
    """A regular expression for one of these characters."""
    escaped = [_SPECIAL.sub(r"\\\1", character) for character in characters]
    return escaped[0] if len(escaped) == 1 else f"[{''.join(escaped)}]"


SPARK = Spark()
