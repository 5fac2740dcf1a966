"""The core calculus that engines evaluate: total functions over integers, text and three-valued booleans.

Every numeric node carries the interval its value must lie in (`low`, `high`, in storage units) and the number of
decimals those units stand for, so widths, clamps and sensitivities follow from declarations alone. No node can raise
on any row: division and modulo by zero give NULL, comparisons with NULL give NULL.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
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


@dataclass(frozen=True)
class Numeric(Expression):
    """An integer-valued node; subclasses provide low, high, decimals and nullable."""


@dataclass(frozen=True)
class Boolean(Expression):
    """A three-valued truth."""


@dataclass(frozen=True)
class Textual(Expression):
    """A text-valued node."""


Comparison = Literal["=", "<>", "<", "<=", ">", ">="]
