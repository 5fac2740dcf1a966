"""Threats 4 and 46: killed at any instant, released implies charged, nothing is charged twice, nothing is lost."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from itertools import count
from pathlib import Path
from typing import Any

import crash_kills as kills
import pytest

from dither.ledger import Ledger

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
PRICE = Fraction(1, 10)
Ask = Callable[..., bytes]
Release = Callable[[bytes], object]


def desk(folder: Path, ask: Ask, kind: type[Ledger] = Ledger) -> kills.Opening:
    """The ledger itself, charging the patients and alice."""

    @contextmanager
    def opening(release: Release) -> Iterator[kills.Desk]:
        ChargesAfterwards.release = staticmethod(release)
        with kind.open(folder) as ledger:

            def spent() -> Fraction:
                found = [ledger.balance("patients", analyst).spent.cost for analyst in (None, "alice")]
                assert found[0] == found[1], "both are charged or neither"
                return found[0]

            yield kills.Desk(lambda request: ask(ledger, request), spent, ledger.pending, ledger.verify)

    return opening


def test_killed_at_every_statement(rich: Path, ask: Ask, in_child: Any, tally: Any) -> None:
    killed = kills.kill_everywhere("statements", rich, desk(rich, ask), in_child, price=PRICE)
    tally(kills=killed)
    assert killed > 40


def test_killed_at_lines_of_code(rich: Path, ask: Ask, in_child: Any, tally: Any, campaign: bool) -> None:
    stride = 1 if campaign else 13
    killed = kills.kill_everywhere("lines", rich, desk(rich, ask), in_child, price=PRICE, stride=stride)
    tally(kills=killed)
    assert killed > 400 // stride


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
        kills.kill_everywhere("statements", rich, desk(rich, ask, kind), in_child, price=PRICE)


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
        least = round_ % 5
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
