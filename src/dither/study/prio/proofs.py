"""Fully linear proofs: whoever has a share of a measurement and of its proof asks both the same linear question.

The inputs of a gadget's calls are values of polynomials at roots of unity; one more value of each is random, so that
the question gives nothing away. The proof has these random values and the gadget's own polynomial, by its values. A
verifier compares the two at a random point: a wrong proof passes with probability at most degree / (field - points).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from dither.exact.threads import freed_at_end
from dither.study.errors import InvalidReport
from dither.study.prio.circuits import Circuit
from dither.study.prio.fields import Points, Vector, power_of_two


@dataclass(frozen=True)
class Proofs:
    """Proofs that measurements are valid for a circuit."""

    circuit: Circuit

    @cached_property
    def _wire(self) -> Points:
        """Where the polynomials of the wires are known: at the random value first, then at each call."""
        length = power_of_two(1 + self.circuit.calls)
        return Points(self.circuit.field, length, length)

    @cached_property
    def _gadget(self) -> Points:
        """Where the proof gives the gadget's polynomial: as many values as it has coefficients."""
        length = self.circuit.degree * (self._wire.length - 1) + 1
        return Points(self.circuit.field, power_of_two(length), length)

    @property
    def length(self) -> int:
        return self.circuit.arity + self._gadget.length

    @property
    def query_length(self) -> int:
        """Elements of randomness that a query takes: a point, and weights for the checks if they are several."""
        return 1 + (self.circuit.checks if self.circuit.checks > 1 else 0)

    @property
    def verifier_length(self) -> int:
        return 2 + self.circuit.arity

    @cached_property
    def _between(self) -> tuple[list[int], object]:
        """The places of the gadget's points that are no points of the wires, and the matrix that leads there."""
        step = self._gadget.group // self._wire.length
        places = [place for place in range(self._gadget.length) if place % step]
        nodes = self._gadget.nodes
        return places, self._wire.onto([nodes[place] for place in places])

    @cached_property
    def _called(self) -> list[int | Vector]:
        """For each call, the place of its value in the proof, or its coefficients where the proof has no such place."""
        step, root = self._gadget.group // self._wire.length, self.circuit.field.root(self._gadget.group)
        places = [step * (call + 1) for call in range(self.circuit.calls)]
        modulus = self.circuit.field.modulus
        return [
            place if place < self._gadget.length else self._gadget.at(pow(root, place, modulus)) for place in places
        ]

    def prove(self, encoded: Vector, seeds: Vector, joint: Vector) -> Vector:
        """The random values, one a wire, and the gadget's polynomial on the wires'."""
        from flint import fmpz_mod_ctx, fmpz_mod_mat

        freed_at_end()
        circuit, step = self.circuit, self._gadget.group // self._wire.length
        rows = [seeds, *circuit.wires(encoded, joint, 1)]
        rows += [[0] * circuit.arity] * (self._wire.length - len(rows))
        places, matrix = self._between
        wires = fmpz_mod_mat(
            len(rows), circuit.arity, [entry for row in rows for entry in row], fmpz_mod_ctx(circuit.field.modulus)
        )
        values = [0] * self._gadget.length
        for place in range(0, self._gadget.length, step):
            values[place] = circuit.gadget(rows[place // step])
        for place, row in zip(places, (matrix * wires).tolist(), strict=True):  # type: ignore[operator]
            values[place] = circuit.gadget([int(entry) for entry in row])
        return seeds + values

    def query(self, encoded: Vector, proof: Vector, random: Vector, joint: Vector, part: int) -> Vector:
        """What a verifier with these shares tells the others: its share of the checks and of both polynomials."""
        circuit, field = self.circuit, self.circuit.field
        seeds, values = proof[: circuit.arity], proof[circuit.arity :]
        returned = [values[at] if isinstance(at, int) else field.dot(at, values) for at in self._called]
        outputs = circuit.outputs(returned, encoded, part)
        *weights, point = random
        checked = field.dot(weights, outputs) if weights else outputs[0]
        if pow(point, self._wire.length, field.modulus) == 1:
            # There the polynomials of the wires have values of the measurement itself.
            raise InvalidReport("the random point of a report's proof is a root of unity.")
        coefficients = self._wire.at(point)
        rows = [seeds, *circuit.wires(encoded, joint, part)]
        wires = [field.dot(coefficients, column) for column in zip(*rows, strict=True)]
        return [checked, *wires, field.dot(self._gadget.at(point), values)]

    def decide(self, verifier: Vector) -> bool:
        """Whether the measurement is valid, from the sum of what all verifiers told."""
        checked, *wires, value = verifier
        return checked == 0 and self.circuit.gadget(wires) == value
