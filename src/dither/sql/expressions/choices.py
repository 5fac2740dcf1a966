"""Numbers that are one of several: by conditions, by which is not NULL, by which is least."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from dither.records import recorded
from dither.sql.expressions.base import Boolean, Numeric
from dither.sql.expressions.numbers import Constant, Null


@recorded("Case", "conditions", "values", "otherwise")
@dataclass(frozen=True)
class Case(Numeric):
    """The value beside the first condition that is true, or `otherwise`; all in equal units."""

    conditions: tuple[Boolean, ...]
    values: tuple[Numeric, ...]
    otherwise: Numeric

    @cached_property
    def bounds(self) -> tuple[int, int]:
        return hull((*self.values, self.otherwise))

    @cached_property
    def nullable(self) -> bool:
        return any(value.nullable for value in (*self.values, self.otherwise))

    @cached_property
    def scale(self) -> int:
        return max(value.scale for value in (*self.values, self.otherwise))


@dataclass(frozen=True)
class Several(Numeric):
    """An operator on numbers in equal units."""

    values: tuple[Numeric, ...]

    @cached_property
    def bounds(self) -> tuple[int, int]:
        return hull(self.values)

    @cached_property
    def nullable(self) -> bool:
        return all(value.nullable for value in self.values)


@recorded("Coalesce", "values")
@dataclass(frozen=True)
class Coalesce(Several):
    """The first that is not NULL."""


@recorded("Least", "values")
@dataclass(frozen=True)
class Least(Several):
    """The least of those that are not NULL; no constant is NULL, so it is not above one."""

    @cached_property
    def bounds(self) -> tuple[int, int]:
        low, high = hull(self.values)
        return low, min([high, *(value.value for value in self.values if isinstance(value, Constant))])


@recorded("Greatest", "values")
@dataclass(frozen=True)
class Greatest(Several):
    """The greatest of those that are not NULL, and not below any constant."""

    @cached_property
    def bounds(self) -> tuple[int, int]:
        low, high = hull(self.values)
        return max([low, *(value.value for value in self.values if isinstance(value, Constant))]), high


def hull(values: tuple[Numeric, ...]) -> tuple[int, int]:
    """The interval that holds every value; one that is always NULL adds nothing to it."""
    present = [value for value in values if not isinstance(value, Null)]
    return min((v.low for v in present), default=0), max((v.high for v in present), default=0)
