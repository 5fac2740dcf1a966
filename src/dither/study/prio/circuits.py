"""What a report may hold: each kind is an arithmetic circuit that is zero on valid reports alone.

A circuit calls one gadget, the only part that is not affine, a number of times. `wires` are the inputs of these calls
and `outputs` follow from what they return; both are affine in the measurement, so that each aggregator computes its
share of them from its share. A constant is divided among the shares: `part` is one over their number.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from dither.errors import ParameterError
from dither.study.prio.fields import FIELD64, FIELD128, Field, Vector


class Circuit(ABC):
    """One kind of measurement: how it is encoded, proven valid and turned into what is summed."""

    algorithm: ClassVar[int]  # the draft's number for it
    field: Field = FIELD64
    degree: ClassVar[int] = 2  # of the gadget
    arity: int = 1  # inputs of one call of the gadget
    checks: int = 1  # outputs that must all be zero

    @property
    @abstractmethod
    def length(self) -> int:
        """Elements of an encoded measurement."""

    @property
    @abstractmethod
    def output(self) -> int:
        """Elements that are summed."""

    @property
    @abstractmethod
    def calls(self) -> int:
        """How often the gadget is called."""

    @property
    def joint(self) -> int:
        """Elements of randomness that prover and verifiers share."""
        return 0

    @abstractmethod
    def encode(self, measurement: Any) -> Vector:
        """The encoded measurement; one outside its range is refused."""

    @abstractmethod
    def wires(self, encoded: Vector, joint: Vector, part: int) -> list[Vector]:
        """The inputs of each call of the gadget."""

    @abstractmethod
    def gadget(self, inputs: Sequence[int]) -> int:
        """What a call of the gadget returns."""

    def outputs(self, returned: Vector, encoded: Vector, part: int) -> Vector:
        return returned

    def truncate(self, encoded: Vector) -> Vector:
        """What is summed."""
        return encoded


@dataclass(frozen=True)
class Count(Circuit):
    """One or zero: x^2 - x is zero."""

    algorithm = 1
    length = output = calls = 1
    arity = 2

    def encode(self, measurement: int) -> Vector:
        if measurement not in (0, 1):
            raise ParameterError("a measurement to be counted is 0 or 1.")
        return [int(measurement)]

    def wires(self, encoded: Vector, joint: Vector, part: int) -> list[Vector]:
        return [[encoded[0], encoded[0]]]

    def gadget(self, inputs: Sequence[int]) -> int:
        return inputs[0] * inputs[1] % self.field.modulus

    def outputs(self, returned: Vector, encoded: Vector, part: int) -> Vector:
        return self.field.minus(returned, encoded)


@dataclass(frozen=True)
class Sum(Circuit):
    """A whole number from 0 to `most`, as bits whose weights add up to `most`: each bit has x^2 - x = 0."""

    algorithm = 2
    most: int
    output = 1

    @property
    def length(self) -> int:
        return self.most.bit_length()

    calls = checks = length

    def encode(self, measurement: int) -> Vector:
        return bits_of(measurement, self.most)

    def wires(self, encoded: Vector, joint: Vector, part: int) -> list[Vector]:
        return [[bit] for bit in encoded]

    def gadget(self, inputs: Sequence[int]) -> int:
        return (inputs[0] - 1) * inputs[0] % self.field.modulus

    def truncate(self, encoded: Vector) -> Vector:
        return [self.field.dot(weights_of(self.most), encoded)]


class _Bits(Circuit):
    """Many bits at once: a call checks `chunk` of them, each weighed by a power of an element of joint randomness."""

    chunk: int
    field = FIELD128

    @property
    def arity(self) -> int:  # type: ignore[override]
        return 2 * self.chunk

    @property
    def calls(self) -> int:
        return -(-self.length // self.chunk)

    joint = calls

    def wires(self, encoded: Vector, joint: Vector, part: int) -> list[Vector]:
        """r^j x_j and x_j - 1 by turns."""
        modulus, chunk, found = self.field.modulus, self.chunk, []
        padded = encoded + [0] * (self.calls * chunk - len(encoded))
        for call, base in enumerate(joint):
            inputs: Vector = []
            power = base
            for element in padded[call * chunk : (call + 1) * chunk]:
                inputs += (power * element % modulus, (element - part) % modulus)
                power = power * base % modulus
            found.append(inputs)
        return found

    def gadget(self, inputs: Sequence[int]) -> int:
        return self.field.dot(inputs[::2], inputs[1::2])

    def outputs(self, returned: Vector, encoded: Vector, part: int) -> Vector:
        return [sum(returned) % self.field.modulus]


@dataclass(frozen=True)
class SumVec(_Bits):
    """`entries` whole numbers, each from 0 to `most`."""

    algorithm = 3
    entries: int
    most: int
    chunk: int
    field: Field = FIELD128

    @property
    def length(self) -> int:
        return self.entries * self.most.bit_length()

    @property
    def output(self) -> int:
        return self.entries

    def encode(self, measurement: Sequence[int]) -> Vector:
        if len(measurement) != self.entries:
            raise ParameterError(f"a measurement has {self.entries} entries.")
        return [bit for entry in measurement for bit in bits_of(entry, self.most)]

    def truncate(self, encoded: Vector) -> Vector:
        weights, bits = weights_of(self.most), self.most.bit_length()
        return [self.field.dot(weights, encoded[start : start + bits]) for start in range(0, len(encoded), bits)]


@dataclass(frozen=True)
class Histogram(_Bits):
    """One bucket of `buckets`: bits of which exactly one is set."""

    algorithm = 4
    buckets: int
    chunk: int
    checks = 2

    @property
    def length(self) -> int:
        return self.buckets

    output = length

    def encode(self, measurement: int) -> Vector:
        if not 0 <= measurement < self.buckets:
            raise ParameterError(f"a bucket is a number from 0 to {self.buckets - 1}.")
        return [int(place == measurement) for place in range(self.buckets)]

    def outputs(self, returned: Vector, encoded: Vector, part: int) -> Vector:
        return [*super().outputs(returned, encoded, part), (sum(encoded) - part) % self.field.modulus]


@dataclass(frozen=True)
class MultihotCountVec(_Bits):
    """`entries` bits of which at most `weight` are set: their number comes with them, in bits that reach no further."""

    algorithm = 5
    entries: int
    weight: int
    chunk: int
    checks = 2

    @property
    def length(self) -> int:
        return self.entries + self.weight.bit_length()

    @property
    def output(self) -> int:
        return self.entries

    def encode(self, measurement: Sequence[bool]) -> Vector:
        if len(measurement) != self.entries or any(entry not in (0, 1) for entry in measurement):
            raise ParameterError(f"a measurement has {self.entries} entries that are 0 or 1.")
        return [*map(int, measurement), *bits_of(sum(measurement), self.weight)]

    def outputs(self, returned: Vector, encoded: Vector, part: int) -> Vector:
        stated = self.field.dot(weights_of(self.weight), encoded[self.entries :])
        weighed = (sum(encoded[: self.entries]) - stated) % self.field.modulus
        return [*super().outputs(returned, encoded, part), weighed]

    def truncate(self, encoded: Vector) -> Vector:
        return encoded[: self.entries]


def weights_of(most: int) -> Vector:
    """Powers of two, but for the last: all together they are the largest number, so that nothing larger is written."""
    bits = most.bit_length()
    return [1 << place for place in range(bits - 1)] + [most - (1 << (bits - 1)) + 1]


def bits_of(number: int, most: int) -> Vector:
    """Zeros and ones whose weighted sum is the number."""
    if not 0 <= number <= most:
        raise ParameterError(f"a measurement is a whole number from 0 to {most}.")
    *small, last = weights_of(most)
    high = int(number > sum(small))
    rest = number - high * last
    return [rest >> place & 1 for place in range(len(small))] + [high]
