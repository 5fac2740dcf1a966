"""Prio3: a measurement and its proof as shares, and how aggregators check them together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dither.errors import ParameterError
from dither.study.errors import InvalidReport
from dither.study.prio.circuits import Circuit
from dither.study.prio.fields import Field, Vector
from dither.study.prio.proofs import Proofs
from dither.study.prio.xof import SEED, Xof, tag

NONCE = 16  # bytes

(_MEASUREMENT, _PROOF, _JOINT, _PROVE, _QUERY, _JOINT_SEED, _JOINT_PART) = range(1, 8)  # uses of the stream


@dataclass(frozen=True)
class VerifyState:
    """What an aggregator keeps of a report while the others check it: its share of the output, and the joint seed."""

    output: Vector
    joint_seed: bytes


@dataclass(frozen=True)
class Prio3:
    """One kind of measurement among `shares` aggregators, with `proofs` proofs, in an application's `context`."""

    circuit: Circuit
    context: bytes
    shares: int = 2
    proofs: int = 1
    algorithm: int | None = None  # the circuit's own, if nothing is said

    def __post_init__(self) -> None:
        if not 2 <= self.shares < 256 or not 1 <= self.proofs < 256:
            raise ParameterError("there are 2 to 255 aggregators and 1 to 255 proofs.")

    @property
    def field(self) -> Field:
        return self.circuit.field

    @cached_property
    def _system(self) -> Proofs:
        return Proofs(self.circuit)

    @cached_property
    def _part(self) -> int:
        return pow(self.shares, -1, self.field.modulus)

    @cached_property
    def _tags(self) -> list[bytes]:
        number = self.circuit.algorithm if self.algorithm is None else self.algorithm
        return [tag(number, usage, self.context) for usage in range(8)]

    @property
    def randomness(self) -> int:
        """Bytes that sharding takes."""
        return SEED * self.shares * (2 if self.circuit.joint else 1)

    @property
    def report_bytes(self) -> int:
        """Of a public share and all input shares."""
        joint, helpers = bool(self.circuit.joint), self.shares - 1
        leader = (self.circuit.length + self._system.length * self.proofs) * self.field.size + SEED * joint
        return SEED * self.shares * joint + leader + helpers * SEED * (1 + joint)

    # -- the participant

    def shard(self, measurement: Any, nonce: bytes, randomness: bytes) -> tuple[bytes, list[bytes]]:
        """The public share and the input share of each aggregator."""
        if len(nonce) != NONCE or len(randomness) != self.randomness:
            raise ParameterError(f"sharding takes a nonce of {NONCE} bytes and {self.randomness} random bytes.")
        encoded = self.circuit.encode(measurement)
        seeds = [randomness[start : start + SEED] for start in range(0, len(randomness), SEED)]
        joint = bool(self.circuit.joint)
        width, helpers = 1 + joint, self.shares - 1
        keys, blinds = seeds[: helpers * width : width], seeds[1 : helpers * width : 2] if joint else [b""] * helpers
        blind, proving = (seeds[-2] if joint else b""), seeds[-1]

        own, parts = encoded, []
        for number, (key, hidden) in enumerate(zip(keys, blinds, strict=True), 1):
            share = self._measurement(number, key)
            own = self.field.minus(own, share)
            parts.append(self._joint_part(number, hidden, self.field.encode(share), nonce) if joint else b"")
        written = self.field.encode(own)
        if joint:
            parts.insert(0, self._joint_part(0, blind, written, nonce))
        randoms = self._joint(self._joint_seed(parts))
        random = self._expanded(_PROVE, proving, bytes([self.proofs]), self.circuit.arity * self.proofs)
        proof: Vector = []
        for number in range(self.proofs):
            proof += self._system.prove(
                encoded, _piece(random, number, self.circuit.arity), _piece(randoms, number, self.circuit.joint)
            )
        for number, key in enumerate(keys, 1):
            proof = self.field.minus(proof, self._proof(number, key))
        leader = written + self.field.encode(proof) + blind
        return b"".join(parts), [leader, *(key + hidden for key, hidden in zip(keys, blinds, strict=True))]

    # -- the aggregators

    def verify_init(
        self, key: bytes, number: int, nonce: bytes, public: bytes, share: bytes
    ) -> tuple[VerifyState, bytes]:
        """What aggregator `number` keeps of a report, and what it tells the others."""
        joint, size = self.circuit.joint, self.field.size
        if len(public) != (SEED * self.shares if joint else 0) or len(nonce) != NONCE:
            raise InvalidReport("the public share or the nonce of a report has the wrong length.")
        inner, blind = (share[:-SEED], share[-SEED:]) if joint else (share, b"")
        if number:
            if len(inner) != SEED or len(blind) != (SEED if joint else 0):
                raise InvalidReport("a share of a report has the wrong length.")
            encoded, proof = self._measurement(number, inner), self._proof(number, inner)
            written = self.field.encode(encoded) if joint else b""
        else:
            written = inner[: self.circuit.length * size]
            encoded = self.field.decode(written, self.circuit.length)
            proof = self.field.decode(inner[len(written) :], self._system.length * self.proofs)
        part, seed = b"", b""
        if joint:
            part = self._joint_part(number, blind, written, nonce)
            parts = [public[start : start + SEED] for start in range(0, len(public), SEED)]
            parts[number] = part
            seed = self._joint_seed(parts)
        randoms = self._joint(seed)
        asked = self._system.query_length
        random = self._expanded(_QUERY, key, bytes([self.proofs]) + nonce, asked * self.proofs)
        verifier: Vector = []
        for one in range(self.proofs):
            verifier += self._system.query(
                encoded,
                _piece(proof, one, self._system.length),
                _piece(random, one, asked),
                _piece(randoms, one, joint),
                self._part,
            )
        return VerifyState(self.circuit.truncate(encoded), seed), self.field.encode(verifier) + part

    def verifier_shares_to_message(self, shares: Sequence[bytes]) -> bytes:
        """What all told, checked: the joint seed that every aggregator must have; a wrong report is refused."""
        length = self._system.verifier_length * self.proofs
        if len(shares) != self.shares:
            raise InvalidReport("a verifier share is missing.")
        verifier, size = [0] * length, length * self.field.size
        for share in shares:
            if len(share) != size + (SEED if self.circuit.joint else 0):
                raise InvalidReport("a verifier share has the wrong length.")
            verifier = self.field.plus(verifier, self.field.decode(share[:size], length))
        for number in range(self.proofs):
            if not self._system.decide(_piece(verifier, number, self._system.verifier_length)):
                raise InvalidReport("the proof of a report does not hold.")
        return self._joint_seed([share[size:] for share in shares])

    def verify_next(self, state: VerifyState, message: bytes) -> Vector:
        """The share of the output, once the joint randomness is seen to be what the measurement gives."""
        if message != state.joint_seed:
            raise InvalidReport("the joint randomness of a report is not that of its measurement.")
        return state.output

    def aggregate(self, outputs: Sequence[Vector]) -> Vector:
        """The share of the sum."""
        modulus = self.field.modulus
        return [sum(column) % modulus for column in zip(*outputs, strict=True)] or [0] * self.circuit.output

    # -- the collector

    def unshard(self, shares: Sequence[bytes]) -> list[int]:
        """The sum of the aggregators' sums, centred: noise may have made it negative."""
        vectors = [self.field.decode(share, self.circuit.output) for share in shares]
        modulus = self.field.modulus
        return [total if total <= modulus // 2 else total - modulus for total in self.aggregate(vectors)]

    # -- streams

    def _expanded(self, usage: int, seed: bytes, binder: bytes, length: int) -> Vector:
        return Xof(seed, self._tags[usage], binder).vector(self.field, length)

    def _measurement(self, number: int, key: bytes) -> Vector:
        return self._expanded(_MEASUREMENT, key, bytes([number]), self.circuit.length)

    def _proof(self, number: int, key: bytes) -> Vector:
        return self._expanded(_PROOF, key, bytes([self.proofs, number]), self._system.length * self.proofs)

    def _joint_part(self, number: int, blind: bytes, written: bytes, nonce: bytes) -> bytes:
        return Xof(blind, self._tags[_JOINT_PART], bytes([number]) + nonce + written).seed()

    def _joint_seed(self, parts: Sequence[bytes]) -> bytes:
        return Xof(bytes(SEED), self._tags[_JOINT_SEED], b"".join(parts)).seed() if self.circuit.joint else b""

    def _joint(self, seed: bytes) -> Vector:
        if not self.circuit.joint:
            return []
        return self._expanded(_JOINT, seed, bytes([self.proofs]), self.circuit.joint * self.proofs)


def _piece(vector: Vector, number: int, length: int) -> Vector:
    return vector[number * length : (number + 1) * length]
