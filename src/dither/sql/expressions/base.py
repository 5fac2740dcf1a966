"""What every expression has: children, nullability, one text; and for a number its bounds, reach and decimals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from typing import Any

from dither.records import text_of


@dataclass(frozen=True)
class Expression:
    """A node; children are found by their type, so that walks need no list of node kinds."""

    def children(self) -> Iterator[Expression]:
        for value in values_of_fields(self):
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
    def size(self) -> int:
        """About how many words it takes to write the node down, where what is used twice is written twice."""
        found = 1
        for value in values_of_fields(self):
            for part in value if isinstance(value, tuple) else (value,):
                found += self.times(part) * part.size if isinstance(part, Expression) else _size(part)
        return found

    def times(self, child: Expression) -> int:
        """How often a child is written, in the statement or by the engine that reads it."""
        return 1

    @cached_property
    def uses(self) -> Mapping[str, int]:
        """How often each column is written."""
        found: Counter[str] = Counter()
        for child in self.children():
            times = self.times(child)
            for name, often in child.uses.items():
                found[name] += times * often
        return found

    @cached_property
    def text(self) -> str:
        """The node as it is recorded, the same for equal nodes only: what they are sorted and remembered by."""
        return text_of(self)


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
class Opaque(Numeric):
    """A number that is no arithmetic of its operands, so that nothing outside can be merged with what is inside."""

    @cached_property
    def reach(self) -> int:
        return max(1, *map(abs, self.bounds))

    @cached_property
    def scale(self) -> int:
        return 0


@dataclass(frozen=True)
class Boolean(Expression):
    """A three-valued truth."""


@dataclass(frozen=True)
class Textual(Expression):
    """A text-valued node."""

    @cached_property
    def longest(self) -> int:
        """How many characters it can have at most."""
        return max((child.longest for child in self.children() if isinstance(child, Textual)), default=0)


def values_of_fields(node: Any) -> list[Any]:
    """What a node is made of: the values of its fields, in their order."""
    return [getattr(node, name) for name in _names(node.__class__)]


@lru_cache(maxsize=1024)
def _names(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


def _size(value: object) -> int:
    """The words of what is no child."""
    if isinstance(value, Expression):
        return 0
    if isinstance(value, tuple):
        return sum(map(_size, value))
    return 1 + len(value) // 8 if isinstance(value, str) else 1
