"""Numbers that are named once and used often: what keeps algorithms of many steps short when they are written down."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from dither.records import recorded
from dither.sql.expressions.base import Numeric
from dither.sql.expressions.numbers import Stored


@recorded("Local", "name", "least", "most", "may_be_null")
@dataclass(frozen=True)
class Local(Numeric):
    """A whole number that the `Let` around it has named, with the bounds that are stated of it there."""

    name: str
    least: int
    most: int
    may_be_null: bool

    @cached_property
    def bounds(self) -> tuple[int, int]:
        return self.least, self.most

    @cached_property
    def nullable(self) -> bool:
        return self.may_be_null

    @property
    def column(self) -> Stored:
        """What it is among columns, of which none has such a name."""
        return Stored(f"\0{self.name}", self.least, self.most, 0, self.may_be_null)


@recorded("Let", "local", "value", "body")
@dataclass(frozen=True)
class Let(Numeric):
    """The body, in which the local number is the value, counted in its units.

    Engines see two expressions, and merge nothing across them.
    """

    local: Local
    value: Numeric
    body: Numeric

    @cached_property
    def bounds(self) -> tuple[int, int]:
        return self.body.bounds

    @cached_property
    def reach(self) -> int:
        return max(1, *map(abs, self.bounds))

    @cached_property
    def scale(self) -> int:
        return self.body.scale


def let(name: str, value: Numeric, body: Callable[[Numeric], Numeric]) -> Numeric:
    """The body of a number of units that is computed once.

    >>> from dither.sql.expressions.numbers import Add, Multiply
    >>> x = Stored("x", 0, 9, 0, may_be_null=False)
    >>> let("y", Add(x, x), lambda y: Multiply(y, y)).bounds
    (0, 324)
    """
    local = Local(name, value.low, value.high, value.nullable)
    return Let(local, value, body(local))
