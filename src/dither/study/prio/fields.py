"""The two prime fields of Prio3, and polynomials as their values at roots of unity."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from operator import mul
from typing import TYPE_CHECKING

from dither.exact.threads import freed_at_end
from dither.study.errors import InvalidReport

if TYPE_CHECKING:
    from flint import fmpz_mod_mat

Vector = list[int]


@dataclass(frozen=True)
class Field:
    """Whole numbers modulo a prime; `generator` has the order `order`, a large power of two, in the field's group."""

    modulus: int
    size: int  # bytes of an element
    generator: int
    order: int

    def root(self, order: int) -> int:
        """The principal root of unity of an order that is a power of two."""
        return pow(self.generator, self.order // order, self.modulus)

    def encode(self, vector: Sequence[int]) -> bytes:
        return b"".join([element.to_bytes(self.size, "little") for element in vector])

    def words(self, encoded: bytes) -> Vector:
        """The numbers that the bytes spell, which need not lie below the modulus."""
        halves = struct.unpack(f"<{len(encoded) // 8}Q", encoded)
        if self.size == 8:
            return list(halves)
        return [low | high << 64 for low, high in zip(halves[::2], halves[1::2], strict=True)]

    def decode(self, encoded: bytes, length: int) -> Vector:
        """A vector of that length; anything that no encoder writes is refused."""
        if len(encoded) != length * self.size:
            raise InvalidReport("a vector of a report has the wrong length.")
        vector = self.words(encoded)
        if vector and max(vector) >= self.modulus:
            raise InvalidReport("a vector of a report has an element that is not below the modulus.")
        return vector

    def plus(self, left: Sequence[int], right: Sequence[int]) -> Vector:
        modulus = self.modulus
        return [(one + other) % modulus for one, other in zip(left, right, strict=True)]

    def minus(self, left: Sequence[int], right: Sequence[int]) -> Vector:
        modulus = self.modulus
        return [(one - other) % modulus for one, other in zip(left, right, strict=True)]

    def dot(self, left: Sequence[int], right: Sequence[int]) -> int:
        total: int = sum(map(mul, left, right))
        return total % self.modulus


FIELD64 = Field(2**32 * 4294967295 + 1, 8, pow(7, 4294967295, 2**32 * 4294967295 + 1), 2**32)
FIELD128 = Field(
    2**66 * 4611686018427387897 + 1, 16, pow(7, 4611686018427387897, 2**66 * 4611686018427387897 + 1), 2**66
)


def power_of_two(least: int) -> int:
    """The smallest power of two that is no smaller."""
    return 1 << (least - 1).bit_length()


@dataclass(frozen=True)
class Points:
    """The first `length` powers of the root of unity of order `group`.

    A polynomial of degree below `length` is given by its values there; its value anywhere else is linear in these.
    """

    field: Field
    group: int
    length: int

    @cached_property
    def nodes(self) -> Vector:
        root, modulus = self.field.root(self.group), self.field.modulus
        return list(accumulate([root] * (self.length - 1), lambda left, right: left * right % modulus, initial=1))

    @cached_property
    def _weights(self) -> Vector:
        """1 / prod (x_i - x_j) over the other nodes: x_i / group if all powers are nodes, times those that are not."""
        modulus, share = self.field.modulus, pow(self.group, -1, self.field.modulus)
        missing = Points(self.field, self.group, self.group).nodes[self.length :] if self.length < self.group else []
        found = []
        for node in self.nodes:
            weight = node * share % modulus
            for other in missing:
                weight = weight * (node - other) % modulus
            found.append(weight)
        return found

    def at(self, point: int) -> Vector:
        """The Lagrange coefficients: a polynomial's value at the point is their dot product with its values here."""
        modulus = self.field.modulus
        gaps = [(point - node) % modulus for node in self.nodes]
        found, before = [], 1
        for weight, gap in zip(self._weights, gaps, strict=True):
            found.append(before * weight % modulus)
            before = before * gap % modulus
        after = 1
        for place in range(self.length - 1, -1, -1):
            found[place] = found[place] * after % modulus
            after = after * gaps[place] % modulus
        return found

    def onto(self, points: Sequence[int]) -> fmpz_mod_mat:
        """The matrix that takes values here to values there."""
        from flint import fmpz_mod_ctx, fmpz_mod_mat

        freed_at_end()
        rows = [self.at(point) for point in points]
        return fmpz_mod_mat(
            len(rows), self.length, [entry for row in rows for entry in row], fmpz_mod_ctx(self.field.modulus)
        )
