"""Threats 4, 22 and 46 through HTTP: a server whose processes are killed anywhere comes back and charges once."""

from __future__ import annotations

import random
import signal
import time
from pathlib import Path
from threading import Thread
from typing import Any

import crash_served as served_
import pytest

OPENING = 74  # statements, about, of a process until it serves
QUESTIONS = 330  # until it has answered two questions, about


def check_orders(folder: Path, orders: list[served_.Order], bug: str | None = None) -> tuple[int, int]:
    """One client asks while one process after the other dies at its event; how many died, how many were charged."""
    with served_.serving(folder, orders, bug) as served:
        served_.clients(served, 1, lambda: served.lives <= len(orders), abandon=4)
        return served.lives - 1, served_.check(served)


def test_killed_at_statements(fast: Path, tally: Any, campaign: bool, scale: int) -> None:
    """Of the ledger and of what the server keeps beside it: while it is opened, and from a question to its answer."""
    rounds = 4 if scale >= 10 else 1
    for round_ in range(rounds):
        numbers = [*range(1, QUESTIONS)] if campaign else [*range(1, OPENING), *range(OPENING, QUESTIONS, 12)]
        random.Random(round_).shuffle(numbers)
        killed, charged = check_orders(fast / f"{round_}", [("statements", number) for number in numbers])
        tally(kills=killed, charges=charged)
        assert killed == len(numbers)
        assert charged > killed // 20


def test_killed_at_calls_of_the_engine(fast: Path, tally: Any, campaign: bool) -> None:
    orders = [("calls", number) for number in range(1, 26, 1 if campaign else 5)] * (8 if campaign else 1)
    killed, charged = check_orders(fast / "clinic", orders)
    tally(kills=killed, charges=charged)
    assert killed == len(orders)


def test_killed_at_random_instants(fast: Path, tally: Any, campaign: bool, scale: int) -> None:
    """Several processes, several clients: one of those that serve, a worker of theirs, or the one that started all."""
    rounds = min(500, 50 * scale) if campaign else 10
    draw = random.Random(1)
    with served_.serving(fast / "clinic", [], processes=2) as served:
        served.ask("request 0")

        def kill_some() -> None:
            for round_ in range(rounds):
                goal, deadline = len(served.seen) + draw.randint(0, 2), time.monotonic() + 5
                while time.monotonic() < deadline and len(served.seen) < goal:
                    time.sleep(0.01)
                time.sleep(draw.uniform(0, 0.1))
                deadline = time.monotonic() + 120
                while not (serving := served.children()):
                    assert time.monotonic() < deadline, "no process serves"
                    time.sleep(0.01)
                if round_ % 8 == 7:
                    served.process.kill()  # type: ignore[union-attr]
                    served.process.wait()  # type: ignore[union-attr]
                    served.start()
                else:
                    chosen = draw.choice(serving)
                    workers = served.children(chosen)
                    served_.kill(draw.choice(workers) if workers and round_ % 3 == 0 else chosen)

        killer = Thread(target=kill_some, daemon=True)
        killer.start()
        served_.clients(served, 4, killer.is_alive, abandon=7)
        killer.join()
        charged = served_.check(served)
    tally(kills=rounds, charges=charged)
    assert served.lost


@pytest.mark.parametrize(
    ("bug", "words"),
    [
        ("answers_before_it_is_durable", "returns the same bytes|released implies charged"),
        ("charges_a_retry_anew", "returns the same bytes|nothing is charged but what was asked"),
    ],
)
def test_planted_bugs_are_caught(fast: Path, bug: str, words: str) -> None:
    orders = [("statements", number) for number in (130, 150, 170)]
    with pytest.raises(AssertionError, match=words):
        check_orders(fast / "clinic", orders, bug)


def check_abandoned(folder: Path, bug: str | None = None) -> int:
    """Nobody asks again for what broke; how much of it was charged."""
    orders = [("calls", number) for number in (12, 16, 20, 24)]
    with served_.serving(folder, orders, bug) as served:
        served_.clients(served, 1, lambda: served.lives <= len(orders), abandon=1)
        assert served.lost == len(orders)
        return served_.check(served, 120 if bug is None else 6)


def test_what_a_dead_process_has_charged_is_answered(fast: Path, tally: Any) -> None:
    assert check_abandoned(fast / "clinic") >= 1
    tally(kills=4)


def test_planted_bug_charges_are_left_behind(fast: Path) -> None:
    with pytest.raises(AssertionError, match="what a dead process has charged is answered"):
        check_abandoned(fast / "clinic", "leaves_charges_behind")


def test_the_processes_end_with_the_one_that_started_them(fast: Path) -> None:
    with served_.serving(fast / "clinic", [], processes=2) as served:
        served.ask("request 0")
        serving = served.children()
        assert len(serving) == 2
        served.process.send_signal(signal.SIGKILL)  # type: ignore[union-attr]
        served.process.wait()  # type: ignore[union-attr]
        deadline = time.monotonic() + 120
        while any(Path(f"/proc/{process}").exists() for process in serving):
            assert time.monotonic() < deadline, "they go on alone"
            time.sleep(0.05)
        served.start()
        served.ask("request 0")
        assert served_.check(served) == 1
