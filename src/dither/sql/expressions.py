"""The core calculus that engines evaluate: total functions over integers, text and three-valued booleans.

Every numeric node carries the interval its value must lie in (`low`, `high`, in storage units) and the number of
decimals those units stand for, so widths, clamps and sensitivities follow from declarations alone. No node can raise
on any row: division and modulo by zero give NULL, comparisons with NULL give NULL.

>>> age = Stored("age", 0, 120, 0, may_be_null=False)
>>> Multiply(Subtract(age, Constant(60)), Constant(-2)).bounds
(-120, 120)
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Literal


@dataclass(frozen=True)
class Expression:
    """A node; children are found by their type, so that walks need no list of node kinds."""

    def children(self) -> Iterator[Expression]:
        for f in fields(self):
            value = getattr(self, f.name)
            for item in value if isinstance(value, tuple) else (value,):
                if isinstance(item, Expression):
                    yield item

    def walk(self) -> Iterator[Expression]:
        yield self
        for child in self.children():
            yield from child.walk()

    @cached_property
    def nullable(self) -> bool:
        """Whether the node can be NULL on some row; most nodes are NULL as soon as an operand is."""
        return any(child.nullable for child in self.children())

    @cached_property
    def text(self) -> str:
        """The node as JSON, the same for equal nodes only: what they are sorted and remembered by."""
        return _json((type(self).__name__, *(getattr(self, f.name) for f in fields(self))))


@dataclass(frozen=True)
class Numeric(Expression):
    """An integer-valued node: a multiple of 10**-decimals, counted in those units."""

    @cached_property
    def bounds(self) -> tuple[int, int]:
        """The least and greatest value over all rows that the declarations allow."""
        raise NotImplementedError

    @property
    def low(self) -> int:
        return self.bounds[0]

    @property
    def high(self) -> int:
        return self.bounds[1]

    @cached_property
    def reach(self) -> int:
        """How large any regrouping of the arithmetic below could get: optimisers merge constants, (x * 2) * 3 to x * 6.

        At least 1 and at least as large as the value and all its parts, whatever cancels out in `bounds`.
        """
        inner = (child.reach for child in self.children() if isinstance(child, Numeric))
        return max(1, *map(abs, self.bounds), *inner)

    @cached_property
    def scale(self) -> int:
        """How many decimals the units stand for."""
        return max((child.scale for child in self.children() if isinstance(child, Numeric)), default=0)


@dataclass(frozen=True)
class Boolean(Expression):
    """A three-valued truth."""


@dataclass(frozen=True)
class Textual(Expression):
    """A text-valued node."""


Comparison = Literal["=", "<>", "<", "<=", ">", ">="]


# Numbers


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
    def scale(self) -> int:
        return self.decimals


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


@dataclass(frozen=True)
class Add(Binary):
    """left + right, in equal units."""

    @cached_property
    def reach(self) -> int:
        return self.left.reach + self.right.reach

    @cached_property
    def bounds(self) -> tuple[int, int]:
        return self.left.low + self.right.low, self.left.high + self.right.high


@dataclass(frozen=True)
class Subtract(Binary):
    """left - right, in equal units."""

    @cached_property
    def reach(self) -> int:
        return self.left.reach + self.right.reach

    @cached_property
    def bounds(self) -> tuple[int, int]:
        return self.left.low - self.right.high, self.left.high - self.right.low


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
class Divide(Binary):
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
    def nullable(self) -> bool:
        return super().nullable or self.right.low <= 0 <= self.right.high

    @cached_property
    def scale(self) -> int:
        return self.decimals


@dataclass(frozen=True)
class Modulo(Binary):
    """What `Divide` leaves, with the sign of left; NULL where right is 0."""

    @cached_property
    def bounds(self) -> tuple[int, int]:
        room = max(0, max(map(abs, self.right.bounds)) - 1)
        return max(min(self.left.low, 0), -room), min(max(self.left.high, 0), room)

    @cached_property
    def nullable(self) -> bool:
        return super().nullable or self.right.low <= 0 <= self.right.high


@dataclass(frozen=True)
class Negate(Numeric):
    value: Numeric

    @cached_property
    def bounds(self) -> tuple[int, int]:
        return -self.value.high, -self.value.low


@dataclass(frozen=True)
class Absolute(Numeric):
    value: Numeric

    @cached_property
    def bounds(self) -> tuple[int, int]:
        low, high = self.value.bounds
        return max(0, low, -high), max(-low, high)


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


@dataclass(frozen=True)
class Coalesce(Several):
    """The first that is not NULL."""


@dataclass(frozen=True)
class Least(Several):
    """The least of those that are not NULL."""


@dataclass(frozen=True)
class Greatest(Several):
    """The greatest of those that are not NULL."""


@dataclass(frozen=True)
class Clamp(Numeric):
    """The value moved into [least, most]; NULL stays NULL."""

    value: Numeric
    least: int
    most: int

    @cached_property
    def bounds(self) -> tuple[int, int]:
        return self.least, self.most


# Text


@dataclass(frozen=True)
class StoredText(Textual):
    """A text column of the snapshot."""

    name: str
    may_be_null: bool

    @cached_property
    def nullable(self) -> bool:
        return self.may_be_null


@dataclass(frozen=True)
class TextConstant(Textual):
    value: str


# Truths


@dataclass(frozen=True)
class Truth(Boolean):
    """TRUE, FALSE, or NULL (None)."""

    value: bool | None

    @cached_property
    def nullable(self) -> bool:
        return self.value is None


@dataclass(frozen=True)
class Compare(Boolean):
    """Two numbers in equal units."""

    operator: Comparison
    left: Numeric
    right: Numeric


@dataclass(frozen=True)
class CompareText(Boolean):
    """Two texts, by code points."""

    operator: Comparison
    left: Textual
    right: Textual


@dataclass(frozen=True)
class Among(Boolean):
    """Whether the value is one of the ascending whole numbers `options`, in the value's units."""

    value: Numeric
    options: tuple[int, ...]


@dataclass(frozen=True)
class TextAmong(Boolean):
    """Whether the text is one of the ascending `options`."""

    value: Textual
    options: tuple[str, ...]


@dataclass(frozen=True)
class Like(Boolean):
    """Whether the text matches: `%` any run, `_` any character, backslash makes either or itself literal."""

    value: Textual
    pattern: str


@dataclass(frozen=True)
class IsNull(Boolean):
    value: Expression

    @cached_property
    def nullable(self) -> bool:
        return False


@dataclass(frozen=True)
class Is(Boolean):
    """IS TRUE or IS FALSE: never NULL."""

    operand: Boolean
    truth: bool

    @cached_property
    def nullable(self) -> bool:
        return False


@dataclass(frozen=True)
class Not(Boolean):
    operand: Boolean


@dataclass(frozen=True)
class And(Boolean):
    operands: tuple[Boolean, ...]


@dataclass(frozen=True)
class Or(Boolean):
    operands: tuple[Boolean, ...]


def cut(dividend: int, divisor: int) -> int:
    """The quotient cut toward zero."""
    size = abs(dividend) // abs(divisor)
    return size if (dividend < 0) == (divisor < 0) else -size


def hull(values: tuple[Numeric, ...]) -> tuple[int, int]:
    """The interval that holds every value; one that is always NULL adds nothing to it."""
    present = [value for value in values if not isinstance(value, Null)]
    return min((v.low for v in present), default=0), max((v.high for v in present), default=0)


def _json(value: object) -> str:
    if isinstance(value, Expression):
        return value.text
    if isinstance(value, tuple):
        return f"[{','.join(map(_json, value))}]"
    return json.dumps(value)
