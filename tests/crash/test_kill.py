"""Threats 4 and 46: killed at any instant, released implies charged, nothing is charged twice, nothing is lost."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from dither.ledger import Ledger

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
PRICE = Fraction(1, 10)
Ask = Callable[..., bytes]
Release = Callable[[bytes], object]


def check_after_kill(
    kind: type[Ledger], folder: Path, ask: Ask, request: str, released: bytes, before: Fraction
) -> None:
    """What must hold after a process died while it asked under that request id."""
    with kind.open(folder) as ledger:
        ledger.verify()
        spent = ledger.balance("patients").spent.cost
        assert spent in (before, before + PRICE), "charged at most once"
        assert not released or spent == before + PRICE, "released implies charged"
        answer = ask(ledger, request)
        assert ledger.balance("patients").spent.cost == before + PRICE, "a retry is charged once in all"
        assert ledger.balance("patients", "alice").spent.cost == before + PRICE
        assert released in (b"", answer), "a retry returns the same bytes"
        assert ask(ledger, request) == answer, "every retry returns the same bytes"
        assert ledger.pending() == []
        ledger.verify()


class KillAt:
    """Ends the process at the n-th event."""

    def __init__(self, number: int) -> None:
        self.left = number

    def __call__(self, *_: object) -> None:
        self.left -= 1
        if not self.left:
            os.kill(os.getpid(), signal.SIGKILL)

    def statements(self) -> None:
        connect = sqlite3.connect

        def traced(*given: Any, **named: Any) -> sqlite3.Connection:
            connection = connect(*given, **named)
            connection.set_trace_callback(self)
            return connection

        sqlite3.connect = traced  # type: ignore[assignment]

    def lines(self) -> None:
        def trace(frame: FrameType, event: str, _: object) -> Any:
            if f"dither{os.sep}ledger" not in frame.f_code.co_filename:
                return None
            if event == "line":
                self()
            return trace

        sys.settrace(trace)


def kill_everywhere(
    events: str, folder: Path, ask: Ask, in_child: Any, *, kind: type[Ledger] = Ledger, stride: int = 1
) -> int:
    """Kill a process at every `stride`-th event between opening and release; how many kills there were."""
    number, kills = 1, 0
    begun = shutil.copytree(folder, folder.with_name("begun"))
    while True:
        if kills % 50 == 49:  # a long ledger takes long to prove
            shutil.rmtree(folder)
            shutil.copytree(begun, folder)
        with kind.open(folder) as ledger:
            before = ledger.balance("patients").spent.cost
        request = f"r{number}"

        def work(release: Release, number: int = number, request: str = request) -> None:
            getattr(KillAt(number), events)()
            ChargesAfterwards.release = staticmethod(release)
            release(ask(kind.open(folder), request))

        released, status = in_child(work).ended()
        check_after_kill(kind, folder, ask, request, released[:16], before)
        if status == 0:
            assert released
            return kills
        assert status == -signal.SIGKILL
        kills += 1
        number += stride


def test_killed_at_every_statement(rich: Path, ask: Ask, in_child: Any, tally: Any) -> None:
    kills = kill_everywhere("statements", rich, ask, in_child)
    tally(kills=kills)
    assert kills > 40


def test_killed_at_lines_of_code(rich: Path, ask: Ask, in_child: Any, tally: Any, campaign: bool) -> None:
    stride = 1 if campaign else 13
    kills = kill_everywhere("lines", rich, ask, in_child, stride=stride)
    tally(kills=kills)
    assert kills > 400 // stride


class ForgetsRequests(Ledger):
    """Planted bug: a retry is a new reservation."""

    def reserve(self, *given: Any, **named: Any) -> Any:
        return super().reserve(*given, **named | {"request": None})


class ReturnsBeforeStoring(Ledger):
    """Planted bug: the answer leaves before it is in the ledger."""

    def settle(self, reservation_id: int, answer: bytes) -> bytes:
        return answer


class ChargesAfterwards(Ledger):
    """Planted bug: the answer is out before the charge is in."""

    release: Release = staticmethod(len)

    def reserve(self, *given: Any, **named: Any) -> Any:
        known = next((entry for entry in self.entries() if entry.body.get("request") == named["request"]), None)
        if known is None:
            self.release(b"a noisy answer!!")
        return super().reserve(*given, **named)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (ForgetsRequests, "returns the same bytes"),
        (ReturnsBeforeStoring, "returns the same bytes"),
        (ChargesAfterwards, "released implies charged"),
    ],
)
def test_planted_bugs_are_caught(rich: Path, ask: Ask, in_child: Any, kind: type[Ledger], words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        kill_everywhere("statements", rich, ask, in_child, kind=kind)


def test_killed_at_random_instants(rich: Path, ask: Ask, in_child: Any, tally: Any, campaign: bool) -> None:
    """A process answers one question after the other until it dies; whatever it released is there, and was charged.

    Killed once it has released so many answers and some time has passed: a busy machine moves the instants, no more.
    """
    rounds, waited, charged = 600 if campaign else 30, 0, 0
    for round_ in range(rounds):

        def work(release: Release, round_: int = round_) -> None:
            ledger = Ledger.open(rich)
            for number in count():
                release(ask(ledger, f"{round_} {number}"))

        child, started = in_child(work), time.monotonic()
        least = random.randint(0, 4)
        seen = child.released(16 * least)
        pace = (time.monotonic() - started) / least if least else 0.03
        time.sleep(random.uniform(0, pace))
        child.kill()
        rest, status = child.ended()
        assert status == -signal.SIGKILL
        released = seen + rest
        answers = [released[place : place + 16] for place in range(0, len(released), 16)]
        assert len(answers) >= least
        waited += least
        with Ledger.open(rich) as ledger:
            now = ledger.balance("patients").spent.cost / PRICE
            assert now - charged - len(answers) in (0, 1), "released implies charged, and at most one was under way"
            assert len(ledger.pending()) <= 1
            retried = [ask(ledger, f"{round_} {number}") for number in range(int(now) - charged)]
            assert retried[: len(answers)] == answers
            assert ledger.balance("patients").spent.cost / PRICE == now
            charged = int(now)
            if round_ % 10 == 9:
                ledger.verify()
    tally(kills=rounds)
    assert charged >= waited > rounds
