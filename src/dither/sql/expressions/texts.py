"""Texts made of texts. Characters are Unicode code points, spaces are U+0020; nothing here depends on a locale."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from dither.records import recorded
from dither.sql.expressions.base import Boolean, Opaque, Textual

LONGEST = 65_536
"""The characters that any text can have, declared or computed. A declaration allows no more, so a computed text need
not be longer to be useful; and what one row's text takes stays far from the memory that a question may take."""


@recorded("TextNull")
@dataclass(frozen=True)
class TextNull(Textual):
    """A text that is always NULL."""

    nullable = True
    longest = 0


@recorded("TextCase", "conditions", "values", "otherwise")
@dataclass(frozen=True)
class TextCase(Textual):
    """The text beside the first condition that is true, or `otherwise`."""

    conditions: tuple[Boolean, ...]
    values: tuple[Textual, ...]
    otherwise: Textual

    @cached_property
    def nullable(self) -> bool:
        return any(value.nullable for value in (*self.values, self.otherwise))


@recorded("TextCoalesce", "values")
@dataclass(frozen=True)
class TextCoalesce(Textual):
    """The first that is not NULL."""

    values: tuple[Textual, ...]

    @cached_property
    def nullable(self) -> bool:
        return all(value.nullable for value in self.values)


@recorded("Joined", "values")
@dataclass(frozen=True)
class Joined(Textual):
    """The texts one after the other; NULL if one of them is."""

    values: tuple[Textual, ...]

    @cached_property
    def longest(self) -> int:
        return sum(value.longest for value in self.values)


@recorded("Substring", "value", "start", "length")
@dataclass(frozen=True)
class Substring(Textual):
    """At most `length` characters from the `start`-th on, which counts from 1."""

    value: Textual
    start: int
    length: int

    @cached_property
    def longest(self) -> int:
        return max(0, min(self.length, self.value.longest - self.start + 1))


@recorded("Trim", "value", "leading", "trailing")
@dataclass(frozen=True)
class Trim(Textual):
    """Without the spaces at its beginning, its end, or both."""

    value: Textual
    leading: bool
    trailing: bool


@recorded("Ending", "value", "length")
@dataclass(frozen=True)
class Ending(Textual):
    """The last `length` characters, or as many as there are."""

    value: Textual
    length: int

    @cached_property
    def longest(self) -> int:
        return max(0, min(self.length, self.value.longest))


@recorded("SplitPart", "value", "separator", "place")
@dataclass(frozen=True)
class SplitPart(Textual):
    """What stands before, between or after separators: the part at `place`, from 1 on; empty where there is none."""

    value: Textual
    separator: str
    place: int


@recorded("Position", "value", "sought")
@dataclass(frozen=True)
class Position(Opaque):
    """At which character, from 1 on, the text first holds what is sought; 0 if it does not."""

    value: Textual
    sought: str

    @cached_property
    def bounds(self) -> tuple[int, int]:
        return 0, self.value.longest


@recorded("Length", "value")
@dataclass(frozen=True)
class Length(Opaque):
    """How many characters the text has."""

    value: Textual

    @cached_property
    def bounds(self) -> tuple[int, int]:
        return 0, self.value.longest
