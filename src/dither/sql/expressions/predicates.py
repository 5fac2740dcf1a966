"""Texts, and the three-valued truths over texts and numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from dither.records import recorded
from dither.sql.expressions.base import Boolean, Expression, Numeric, Textual

Comparison = Literal["=", "<>", "<", "<=", ">", ">="]
Run = tuple[int, int]  # the first and the last of neighbouring whole numbers


# Without its length, which follows from where the column comes from.
@recorded("StoredText", "name", "may_be_null", without=("max_length",))
@dataclass(frozen=True)
class StoredText(Textual):
    """A text column: of the snapshot, verified when loaded to be no longer than declared, or of a derived table."""

    name: str
    may_be_null: bool
    max_length: int

    @cached_property
    def nullable(self) -> bool:
        return self.may_be_null

    @cached_property
    def longest(self) -> int:
        return self.max_length

    @cached_property
    def uses(self) -> Mapping[str, int]:
        return {self.name: 1}


@recorded("TextConstant", "value")
@dataclass(frozen=True)
class TextConstant(Textual):
    value: str

    @cached_property
    def longest(self) -> int:
        return len(self.value)


@recorded("Truth", "value")
@dataclass(frozen=True)
class Truth(Boolean):
    """TRUE, FALSE, or NULL (None)."""

    value: bool | None

    @cached_property
    def nullable(self) -> bool:
        return self.value is None


@recorded("Compare", "operator", "left", "right")
@dataclass(frozen=True)
class Compare(Boolean):
    """Two numbers in equal units."""

    operator: Comparison
    left: Numeric
    right: Numeric


@recorded("CompareText", "operator", "left", "right")
@dataclass(frozen=True)
class CompareText(Boolean):
    """Two texts, by code points."""

    operator: Comparison
    left: Textual
    right: Textual


@recorded("Among", "value", "runs")
@dataclass(frozen=True)
class Among(Boolean):
    """Whether the value, a whole number of its units, lies in one of the ascending runs, which do not touch."""

    value: Numeric
    runs: tuple[Run, ...]

    def times(self, child: Expression) -> int:
        """The value is written with each run of more than two numbers, and once more with the list of all others."""
        ranges = sum(last - first > 1 for first, last in self.runs)
        return ranges + 1 if self.runs else 2


@recorded("TextAmong", "value", "options")
@dataclass(frozen=True)
class TextAmong(Boolean):
    """Whether the text is one of the ascending `options`."""

    value: Textual
    options: tuple[str, ...]


@recorded("Like", "value", "pattern")
@dataclass(frozen=True)
class Like(Boolean):
    """Whether the text matches: `%` any run, `_` any character, backslash makes either or itself literal."""

    value: Textual
    pattern: str


@recorded("ILike", "value", "pattern")
@dataclass(frozen=True)
class ILike(Boolean):
    """As `Like`, where a letter of the pattern also matches its lower and its upper case, one character each."""

    value: Textual
    pattern: str


@recorded("IsNull", "value")
@dataclass(frozen=True)
class IsNull(Boolean):
    value: Expression

    @cached_property
    def nullable(self) -> bool:
        return False


@recorded("Is", "operand", "truth")
@dataclass(frozen=True)
class Is(Boolean):
    """IS TRUE or IS FALSE: never NULL."""

    operand: Boolean
    truth: bool

    @cached_property
    def nullable(self) -> bool:
        return False


@recorded("Not", "operand")
@dataclass(frozen=True)
class Not(Boolean):
    operand: Boolean


@recorded("And", "operands")
@dataclass(frozen=True)
class And(Boolean):
    operands: tuple[Boolean, ...]


@recorded("Or", "operands")
@dataclass(frozen=True)
class Or(Boolean):
    operands: tuple[Boolean, ...]
