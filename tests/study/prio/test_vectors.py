"""Every published test vector of Prio3, the bad ones too: each share, message and sum, byte by byte."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from dither.study.errors import InvalidReport
from dither.study.prio import (
    FIELD64,
    FIELD128,
    Circuit,
    Count,
    Histogram,
    MultihotCountVec,
    Prio3,
    Sum,
    SumVec,
    VerifyState,
)
from dither.study.prio.fields import Vector
from dither.study.prio.xof import Xof

FOLDER = Path(__file__).parent / "vectors"
VECTORS = {path.stem: json.loads(path.read_text()) for path in sorted(FOLDER.glob("Prio3*.json"))}


@dataclass(frozen=True)
class HigherDegree(Circuit):
    """0, 1 or 2, by a gadget of degree three, which no kind of measurement of ours has."""

    algorithm = 0xFFFFFFFF
    length = output = calls = 1
    degree = 3

    def encode(self, measurement: int) -> Vector:
        return [measurement]

    def wires(self, encoded: Vector, joint: Vector, part: int) -> list[Vector]:
        return [encoded]

    def gadget(self, inputs: Sequence[int]) -> int:
        return inputs[0] * (inputs[0] - 1) * (inputs[0] - 2) % self.field.modulus


def prio3(name: str, vector: dict[str, Any]) -> Prio3:
    kind, context = name.split("_")[0].removeprefix("Prio3"), bytes.fromhex(vector["ctx"])
    circuit: Circuit
    if kind == "SumVecWithMultiproof":
        circuit = SumVec(vector["length"], vector["max_measurement"], vector["chunk_length"], FIELD64)
        return Prio3(circuit, context, vector["shares"], 3, 0xFFFFFFFF)
    if kind == "SumVec":
        circuit = SumVec(vector["length"], vector["max_measurement"], vector["chunk_length"])
    elif kind == "Histogram":
        circuit = Histogram(vector["length"], vector["chunk_length"])
    elif kind == "MultihotCountVec":
        circuit = MultihotCountVec(vector["length"], vector["max_weight"], vector["chunk_length"])
    elif kind == "Sum":
        circuit = Sum(vector["max_measurement"])
    else:
        circuit = {"Count": Count, "HigherDegree": HigherDegree}[kind]()
    return Prio3(circuit, context, vector["shares"])


def unhex(texts: Sequence[str]) -> list[bytes]:
    return [bytes.fromhex(text) for text in texts]


@dataclass
class Replay:
    """One vector: each operation is done anew, and what it makes is compared with what the vector has."""

    function: Prio3
    vector: dict[str, Any]
    states: dict[tuple[int, int], VerifyState] = field(default_factory=dict)
    outputs: dict[int, list[Vector]] = field(default_factory=dict)

    def shard(self, report_index: int) -> None:
        report = self.vector["reports"][report_index]
        nonce, public, randomness = unhex([report["nonce"], report["public_share"], report["rand"]])
        assert self.function.shard(report["measurement"], nonce, randomness) == (public, unhex(report["input_shares"]))

    def verify_init(self, report_index: int, aggregator_id: int) -> None:
        report = self.vector["reports"][report_index]
        nonce, public, share, key = unhex(
            [report["nonce"], report["public_share"], report["input_shares"][aggregator_id], self.vector["verify_key"]]
        )
        state, told = self.function.verify_init(key, aggregator_id, nonce, public, share)
        assert told == bytes.fromhex(report["verifier_shares"][0][aggregator_id])
        self.states[report_index, aggregator_id] = state

    def verifier_shares_to_message(self, report_index: int, round: int) -> None:
        report = self.vector["reports"][report_index]
        message = self.function.verifier_shares_to_message(unhex(report["verifier_shares"][round]))
        assert message == bytes.fromhex(report["verifier_messages"][round])

    def verify_next(self, report_index: int, aggregator_id: int, round: int) -> None:
        report = self.vector["reports"][report_index]
        message = bytes.fromhex(report["verifier_messages"][round - 1])
        output = self.function.verify_next(self.states[report_index, aggregator_id], message)
        assert self.function.field.encode(output) == bytes.fromhex(report["out_shares"][aggregator_id])
        self.outputs.setdefault(aggregator_id, []).append(output)

    def aggregate(self, aggregator_id: int) -> None:
        share = self.function.field.encode(self.function.aggregate(self.outputs[aggregator_id]))
        assert share == bytes.fromhex(self.vector["agg_shares"][aggregator_id])

    def unshard(self) -> None:
        total = self.function.unshard(unhex(self.vector["agg_shares"]))
        assert total == (self.vector["agg_result"] if len(total) > 1 else [self.vector["agg_result"]])


@pytest.mark.parametrize("name", sorted(VECTORS))
def test_prio3(name: str) -> None:
    replay = Replay(prio3(name, VECTORS[name]), VECTORS[name])
    for step in VECTORS[name]["operations"]:
        arguments = dict(step)
        operation, success = getattr(replay, arguments.pop("operation")), arguments.pop("success")
        with nullcontext() if success else pytest.raises(InvalidReport):
            operation(**arguments)


def test_the_stream() -> None:
    vector = json.loads((FOLDER / "XofTurboShake128.json").read_text())
    seed, tag, binder = unhex([vector["seed"], vector["dst"], vector["binder"]])
    assert Xof(seed, tag, binder).seed() == bytes.fromhex(vector["derived_seed"])
    elements = Xof(seed, tag, binder).vector(FIELD128, vector["length"])
    assert FIELD128.encode(elements) == bytes.fromhex(vector["expanded_vec_field128"])


def test_no_vector_is_left_out() -> None:
    assert len(VECTORS) == 25
    assert sum("_bad_" in name for name in VECTORS) == 8
