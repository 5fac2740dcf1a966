"""Numbers: columns, literals and arithmetic over them, each with the interval its value must lie in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from dither.records import recorded
from dither.sql.expressions.base import Expression, Numeric


@recorded("Stored", "name", "least", "most", "decimals", "may_be_null")
@dataclass(frozen=True)
class Stored(Numeric):
    """A column of the snapshot, verified to lie in its declared bounds when loaded."""

    name: str
    least: int
    most: int
    decimals: int
    may_be_null: bool

    @cached_property
    def bounds(self) -> tuple[int, int]:
        return self.least, self.most

    @cached_property
    def nullable(self) -> bool:
        return self.may_be_null

    @cached_property
    def uses(self) -> Mapping[str, int]:
        return {self.name: 1}

    @cached_property
    def scale(self) -> int:
        return self.decimals


@recorded("Constant", "value", "decimals")
@dataclass(frozen=True)
class Constant(Numeric):
    """A literal, in units of 10**-decimals."""

    value: int
    decimals: int = 0

    @cached_property
    def bounds(self) -> tuple[int, int]:
        return self.value, self.value

    @cached_property
    def scale(self) -> int:
        return self.decimals


@recorded("Null")
@dataclass(frozen=True)
class Null(Numeric):
    """A number that is always NULL."""

    bounds = (0, 0)
    nullable = True


@dataclass(frozen=True)
class Binary(Numeric):
    """An operator on two numbers."""

    left: Numeric
    right: Numeric


@recorded("Add", "left", "right")
@dataclass(frozen=True)
class Add(Binary):
    """left + right, in equal units."""

    @cached_property
    def reach(self) -> int:
        return self.left.reach + self.right.reach

    @cached_property
    def bounds(self) -> tuple[int, int]:
        return self.left.low + self.right.low, self.left.high + self.right.high


@recorded("Subtract", "left", "right")
@dataclass(frozen=True)
class Subtract(Binary):
    """left - right, in equal units."""

    @cached_property
    def reach(self) -> int:
        return self.left.reach + self.right.reach

    @cached_property
    def bounds(self) -> tuple[int, int]:
        return self.left.low - self.right.high, self.left.high - self.right.low


@recorded("Multiply", "left", "right")
@dataclass(frozen=True)
class Multiply(Binary):
    """left * right; decimals add."""

    @cached_property
    def reach(self) -> int:
        return self.left.reach * self.right.reach

    @cached_property
    def bounds(self) -> tuple[int, int]:
        corners = [a * b for a in self.left.bounds for b in self.right.bounds]
        return min(corners), max(corners)

    @cached_property
    def scale(self) -> int:
        return self.left.scale + self.right.scale


@dataclass(frozen=True)
class Divided(Binary):
    """An operator that is NULL where right is 0."""

    @cached_property
    def nullable(self) -> bool:
        return super().nullable or self.right.low <= 0 <= self.right.high

    def times(self, child: Expression) -> int:
        """Engines read NULLIF(right, 0) as a CASE that has it twice."""
        return 2 if child is self.right else 1


@recorded("Divide", "left", "right", "decimals")
@dataclass(frozen=True)
class Divide(Divided):
    """left / right cut toward zero, NULL where right is 0. Whole divisors are at least 1 in size, so it never grows."""

    decimals: int = 0

    @cached_property
    def bounds(self) -> tuple[int, int]:
        size = max(map(abs, self.left.bounds))
        if self.right.low > 0:
            nearest, farthest = self.right.bounds
            corners = [cut(n, d) for n in self.left.bounds for d in (nearest, farthest)]
            return min(corners), max(corners)
        return -size, size

    @cached_property
    def scale(self) -> int:
        return self.decimals


@recorded("Modulo", "left", "right")
@dataclass(frozen=True)
class Modulo(Divided):
    """What `Divide` leaves, with the sign of left; NULL where right is 0."""

    @cached_property
    def bounds(self) -> tuple[int, int]:
        room = max(0, max(map(abs, self.right.bounds)) - 1)
        return max(min(self.left.low, 0), -room), min(max(self.left.high, 0), room)


@recorded("Negate", "value")
@dataclass(frozen=True)
class Negate(Numeric):
    value: Numeric

    @cached_property
    def bounds(self) -> tuple[int, int]:
        return -self.value.high, -self.value.low


@recorded("Absolute", "value")
@dataclass(frozen=True)
class Absolute(Numeric):
    value: Numeric

    @cached_property
    def bounds(self) -> tuple[int, int]:
        low, high = self.value.bounds
        return max(0, low, -high), max(-low, high)


@recorded("Rescale", "value", "decimals")
@dataclass(frozen=True)
class Rescale(Numeric):
    """The same number in finer units: `decimals` is at least the decimals of the value."""

    value: Numeric
    decimals: int

    @property
    def factor(self) -> int:
        return int(10 ** (self.decimals - self.value.scale))

    @cached_property
    def reach(self) -> int:
        return self.value.reach * self.factor

    @cached_property
    def bounds(self) -> tuple[int, int]:
        return self.value.low * self.factor, self.value.high * self.factor

    @cached_property
    def scale(self) -> int:
        return self.decimals


@recorded("Clamp", "value", "least", "most")
@dataclass(frozen=True)
class Clamp(Numeric):
    """The value moved into [least, most]; NULL stays NULL."""

    value: Numeric
    least: int
    most: int

    @cached_property
    def bounds(self) -> tuple[int, int]:
        return self.least, self.most

    def times(self, child: Expression) -> int:
        """The value is written once more to see whether it is NULL."""
        return 2 if self.value.nullable else 1


def cut(dividend: int, divisor: int) -> int:
    """The quotient cut toward zero."""
    size = abs(dividend) // abs(divisor)
    return size if (dividend < 0) == (divisor < 0) else -size
