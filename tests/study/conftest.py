"""A small study with everything but processes."""

from __future__ import annotations

import json
import secrets
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dither.study.aggregator import Aggregator, Secrets
from dither.study.keys import make_key
from dither.study.organiser import init_study
from dither.study.reports import Report, make_report
from dither.study.study import Study

ANSWERS = {"smokes": "yes", "ward": "east", "age": 43, "symptoms": ["cough"]}
QUESTIONS = [
    {"name": "smokes", "kind": "yes/no"},
    {"name": "ward", "kind": "choice", "choices": ["north", "east", "south"]},
    {"name": "age", "kind": "number", "least": 10, "most": 120},
    {"name": "symptoms", "kind": "choices", "choices": ["cough", "fever", "pain"], "most": 2},
]


@dataclass
class Parties:
    """The study, its aggregators, and unused invitations."""

    study: Study
    secrets: Secrets
    folders: list[Path]
    aggregators: list[Aggregator]
    invitations: list[bytes]

    def report(self, **changed: Any) -> Report:
        return make_report(self.study, self.invitations.pop(), {**ANSWERS, **changed})

    def check(self, reports: list[Report]) -> list[bool]:
        """All aggregators check reports together, as the leader has them do; whether each counts everywhere."""
        leader, *helpers = self.aggregators
        leader.receive(reports)
        told = [[leader.begin(report)[1] for report in reports], *(helper.told(reports) for helper in helpers)]
        words = [
            (report.nonce, [one for one in column if one is not None])
            for report, column in zip(reports, zip(*told, strict=True), strict=True)
        ]
        verdicts = [one.check(words) for one in self.aggregators]
        return [all(column) for column in zip(*verdicts, strict=True)]

    def release(self, reports: list[Report]) -> list[bytes]:
        nonces = [report.nonce for report in reports]
        return [one.release(nonces, one.agreed(nonces)) for one in self.aggregators]


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Callable[..., Parties]]:
    opened: list[Aggregator] = []

    def make(aggregators: int = 2, ports: Sequence[int] = range(9000, 9256), **stated: Any) -> Parties:
        name = secrets.token_hex(4)
        folders = [tmp_path / f"{name}-{number}" for number in range(aggregators)]
        peers = [
            {"url": f"http://127.0.0.1:{port}", "key": make_key(folder).hex()}
            for port, folder in zip(ports, folders, strict=False)
        ]
        whole = {"name": "health", "epsilon": 4, "questions": QUESTIONS, "aggregators": peers, **stated}
        study = init_study(whole, tmp_path / name, 60)
        shared = Secrets.read(json.loads((tmp_path / name / "secrets.json").read_text()))
        tokens = [bytes.fromhex(line) for line in (tmp_path / name / "invitations.txt").read_text().split()]
        made = [Aggregator(folder, study, shared, number) for number, folder in enumerate(folders)]
        opened.extend(made)
        return Parties(study, shared, folders, made, tokens)

    yield make
    for one in opened:
        one.close()


@pytest.fixture
def parties(made: Callable[..., Parties]) -> Parties:
    return made()


@pytest.fixture
def free_ports() -> list[int]:
    with ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(2)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [int(probe.getsockname()[1]) for probe in probes]
