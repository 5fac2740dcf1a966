"""Numbers made of conditions and of ranges: what group keys and time zones are built from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from dither.records import recorded
from dither.sql.expressions.base import Boolean, Expression, Numeric, Opaque


@recorded("Indicator", "operand")
@dataclass(frozen=True)
class Indicator(Opaque):
    """1 where the condition is true, 0 where it is false, NULL where it is NULL."""

    operand: Boolean

    bounds = (0, 1)


@recorded("Steps", "value", "starts", "results")
@dataclass(frozen=True)
class Steps(Opaque):
    """A step function: `results[i]` from `starts[i - 1]` on, up to but without `starts[i]`; NULL where the value is.

    `starts` ascend; there is one result more than starts. The value counts in its own units, results are whole.

    >>> from dither.sql.expressions.numbers import Stored
    >>> Steps(Stored("x", 0, 9, 0, may_be_null=False), (3, 7), (0, 5, 1)).bounds
    (0, 5)
    """

    value: Numeric
    starts: tuple[int, ...]
    results: tuple[int, ...]

    @cached_property
    def bounds(self) -> tuple[int, int]:
        return min(self.results), max(self.results)

    def times(self, child: Expression) -> int:
        """Each start is written with the value beside it."""
        return len(self.starts) + 2


@recorded("Shifted", "value", "starts", "results")
@dataclass(frozen=True)
class Shifted(Steps):
    """The whole value plus the result that a step function has for it: a moment on the clock of a time zone."""

    @cached_property
    def bounds(self) -> tuple[int, int]:
        low, high = self.value.bounds
        firsts = (low, *(max(low, start) for start in self.starts))
        lasts = (*(min(high, start - 1) for start in self.starts), high)
        ends = [
            end + shift
            for first, last, shift in zip(firsts, lasts, self.results, strict=True)
            for end in (first, last)
            if first <= last
        ]
        return min(ends), max(ends)

    @cached_property
    def reach(self) -> int:
        return self.value.reach + max(map(abs, self.results))
