"""What lowering must know about an engine's SQL. One object a dialect; nothing else in `sql` knows an engine.

Generated SQL keeps to what DuckDB, PostgreSQL and Spark read alike: SELECT, JOIN ... ON, EXISTS, UNION ALL, GROUP BY
places, COUNT(*) FILTER, COUNT(DISTINCT), ROW_NUMBER, CASE, COALESCE, NULLIF, ABS, `||`, CAST, TRUE and FALSE. All else
is asked of a `Dialect`, and a new one has to answer all of it: there is no spelling to inherit that might mean
something else elsewhere. Every spelling is total: no row of any snapshot can make it raise.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from dither.errors import PolicyError
from dither.policy.catalog import PublicTable, Table
from dither.policy.columns import Coded, Column, Text
from dither.sql.expressions import Part, Period
from dither.sql.guard.ranges import LARGEST

WORD = 2**62  # in size: numbers up to this are computed in words, larger ones in double words
DOUBLE_WORD = LARGEST  # the guard proves that no number reaches it


@dataclass(frozen=True)
class Dialect(ABC):
    """Names of types with what they hold, and spellings of total operators.

    `word` and `double_word` are the types that whole numbers are computed in: each holds every number that is at most
    `word_holds` or `double_word_holds` in size, and arithmetic on them is exact. `integers` are the types that columns
    are stored in, with their bits, the narrowest first. `columnar`: computing whether each row fits a comparison takes
    less time than choosing the rows that do.
    """

    engine: str
    word: str
    word_holds: int
    double_word: str
    double_word_holds: int
    integers: tuple[tuple[str, int], ...]
    text_type: str
    columnar: bool

    def __post_init__(self) -> None:
        # Sums below 2**63 are written as words.
        for name, holds, needed in (
            (self.word, self.word_holds, 2**63 - 1),
            (self.double_word, self.double_word_holds, DOUBLE_WORD),
        ):
            if not holds >= needed:
                raise PolicyError(
                    f"{self.engine} cannot compute what the guard admits: {name} holds numbers of {holds.bit_length()} "
                    f"bits, and {needed.bit_length()} are needed. Take a wider type."
                )

    def stored(self, column: Column) -> str:
        """The type a declared column has in a snapshot: the smallest that holds [low, high], or that of texts."""
        if isinstance(column, Text):
            return self.text_type
        if isinstance(column, Coded):
            for name, bits in self.integers:
                if -(2 ** (bits - 1)) <= column.low and column.high < 2 ** (bits - 1):
                    return name
        raise PolicyError(f"{type(column).__name__} has no stored form.")

    def outside(self, name: str, column: Column) -> str:
        """How many stored values break the column's declaration."""
        own = self.name(name)
        broken = [] if column.nullable else [f"{own} IS NULL"]
        if isinstance(column, Coded):
            broken.append(f"{own} < {column.low} OR {own} > {column.high}")
        if isinstance(column, Text):
            broken.append(f"{self.length(own)} > {column.max_length}")
        return f"COUNT(*) FILTER (WHERE {' OR '.join(broken) or 'FALSE'})"

    def cast(self, value: str, type_: str) -> str:
        """A value as one of a type that is known to hold it."""
        return f"CAST({value} AS {type_})"

    def null(self, type_: str) -> str:
        return self.cast("NULL", type_)

    # Names and places

    @abstractmethod
    def name(self, identifier: str) -> str:
        """An identifier, quoted."""

    @abstractmethod
    def text(self, value: str) -> str:
        """A text as a literal."""

    @abstractmethod
    def rows(self, table: Table | PublicTable) -> str:
        """Where the rows of a table's snapshot are found."""

    @abstractmethod
    def subquery(self, sql: str) -> str:
        """A query to select from, whose columns are named without it."""

    # Numbers: all operands and the result are words, or if `wide` double words

    @abstractmethod
    def divided(self, left: str, right: str, *, wide: bool) -> str:
        """The quotient cut toward zero, NULL where right is 0."""

    @abstractmethod
    def halved(self, value: str, times: int) -> str:
        """A double word that is not below zero, halved so often and cut: engines divide those slowly."""

    @abstractmethod
    def modulo(self, left: str, right: str) -> str:
        """What `divided` leaves, with the sign of left; NULL where right is 0."""

    @abstractmethod
    def negated(self, value: str, *, wide: bool) -> str:
        """The number below zero that is as large."""

    @abstractmethod
    def absolute(self, value: str, *, wide: bool) -> str:
        """The size of a number."""

    @abstractmethod
    def least(self, *values: str) -> str:
        """The least of those that are not NULL."""

    @abstractmethod
    def greatest(self, *values: str) -> str:
        """The greatest of those that are not NULL."""

    @abstractmethod
    def summed(self, value: str, *, wide: bool) -> str:
        """The exact sum over the rows of a group, wide enough for a double word; a stored column may be narrow."""

    @abstractmethod
    def count_if(self, truth: str) -> str:
        """For how many rows it is true; 0 where there are none."""

    @abstractmethod
    def lower_median(self, value: str) -> str:
        """Of n values in order the one at place n / 2, rounded up; exact, and as wide as the value."""

    @abstractmethod
    def indicator(self, truth: str, type_: str) -> str:
        """1 for true, 0 for false, NULL for neither."""

    @abstractmethod
    def local(self, name: str) -> str:
        """A number that `let` has named."""

    @abstractmethod
    def let(self, name: str, value: str, body: str) -> str:
        """The body, which names the value by `local`, for each row."""

    # Texts: code points in UTF-8, equal if and only if they are the same, in the order of their code points

    @abstractmethod
    def same(self, left: str, right: str) -> str:
        """Whether two values are equal or both NULL."""

    @abstractmethod
    def ordered(self, text: str) -> str:
        """A text that compares by its code points, whatever the database is set to."""

    @abstractmethod
    def like(self, value: str, pattern: str, *, negated: bool = False) -> str:
        """Whether a text matches a normal pattern, in time at most its length times `patterns.longest_search`."""

    @abstractmethod
    def ilike(self, value: str, pattern: str) -> str:
        """The same for a pattern in which a letter stands for all its cases (`patterns.cases`)."""

    @abstractmethod
    def length(self, value: str) -> str: ...

    @abstractmethod
    def substring(self, value: str, start: int, length: int) -> str:
        """At most `length` characters from the `start`-th on, counted from 1."""

    @abstractmethod
    def ending(self, value: str, length: int) -> str:
        """The last code points of a text."""

    @abstractmethod
    def position(self, value: str, sought: str) -> str:
        """The code point at which a text is first found in another, from 1 on; 0 if it is not."""

    @abstractmethod
    def split_part(self, value: str, separator: str, place: int) -> str:
        """The part of a text at a place, from 1 on, between separators; empty where there is none."""

    @abstractmethod
    def letters(self, value: str, case: str) -> str:
        """A text in lower or upper case, each character by itself: `expressions.lowered` and `uppered`."""

    @abstractmethod
    def trim(self, value: str, leading: bool, trailing: bool) -> str:
        """Without the spaces, U+0020, at its beginning, its end, or both."""

    # Days since 1970-01-01, of the years 1 to 9999

    @abstractmethod
    def day(self, days: str) -> str:
        """A number of days as a date."""

    @abstractmethod
    def date_part(self, part: Part, day: str) -> str:
        """A part of a date; weeks and their years are those of ISO 8601."""

    @abstractmethod
    def first_day(self, period: Period, day: str) -> str:
        """The first day of a date's period, as a number of days."""

    @abstractmethod
    def add_months(self, day: str, months: int) -> str:
        """A date so many months later, as a number of days; the last day of a month that is too short."""

    @abstractmethod
    def month_start(self, months: str) -> str:
        """The first day of the month so many months after January 1970, as a number of days."""
