"""Charges of ledgers that are long or have many accounts, beside those of small ones; for `bench/server.py`."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path

from dither.ledger import Charge, Ledger

PRICE = Charge(Fraction(1, 10**9))
Ledgers = Sequence[Ledger]
Clock = Callable[[], float]
ROUNDS = 25  # of a fifth of a second each; the best counts, since other work on the machine only takes from it


def rate_of(work: Callable[[int], object], seconds: float, threads: int = 1, clock: Clock = time.perf_counter) -> float:
    """Calls a second of so many threads together."""
    done = [0] * threads
    end = clock() + seconds

    def loop(thread: int) -> None:
        while clock() < end:
            work(done[thread] * threads + thread)
            done[thread] += 1

    started = clock()
    several = [threading.Thread(target=loop, args=(thread,)) for thread in range(threads)]
    for thread in several:
        thread.start()
    for thread in several:
        thread.join()
    return sum(done) / (clock() - started)


def _opened(folder: Path, accounts: int = 0) -> Ledger:
    ledger = Ledger.open(folder, create=True)
    ledger.open_account("patients", None, kind="pure", cap=Charge(Fraction(9000)), terms={})
    for number in range(accounts):
        ledger.open_account("patients", f"analyst{number}", kind="pure", cap=Charge(Fraction(1, 10)), terms={})
    return ledger


def _charge(ledger: Ledger, analyst: str | None, number: int) -> None:
    made = ledger.reserve("patients", analyst, PRICE, question=f"q{number}", snapshot="1", plan="{}")
    ledger.settle(made.id, b"an answer")


def _together(ledger: Ledger, several: Callable[[], None]) -> None:
    """Thousands in one commit, as nobody asks them: only so that they are there."""
    journal = ledger._journal
    with journal.writing() as page:
        journal.write = lambda change: change(page)  # type: ignore[assignment, method-assign]
        several()
    del journal.write


def _best(first: Ledgers, second: Ledgers, analyst: str | None, clock: Clock) -> tuple[float, float]:
    """Charges and answers a second of those who have a ledger open, in turn, and of those who have another."""
    best = [0.0, 0.0]
    for _ in range(ROUNDS):
        for place, several in enumerate((first, second)):
            turns = itertools.cycle(several)
            charge = lambda number, turns=turns: _charge(next(turns), analyst, number)  # noqa: E731
            found = rate_of(charge, 0.2, clock=clock)
            best[place] = max(best[place], found)
    return best[0], best[1]


def long_ledger(folder: Path, entries: int) -> tuple[float, float, float]:
    """Seconds until a ledger of so many entries is open, and what it charges a second beside an empty one's."""
    with _opened(folder / "long") as ledger:
        for left in range(entries // 2, 0, -5000):

            def several(left: int = left) -> None:
                for number in range(min(left, 5000)):
                    question = f"{left} {number}"
                    made = ledger.reserve("patients", None, PRICE, question=question, snapshot="1", plan="{}")
                    ledger.fail(made.id)

            _together(ledger, several)
    started = time.perf_counter()
    with Ledger.open(folder / "long") as ledger:
        seconds = time.perf_counter() - started
        with _opened(folder / "empty") as empty:
            return seconds, *_best([ledger], [empty], None, time.perf_counter)


def many_accounts(folder: Path, few: int, many: int) -> Iterator[tuple[str, float, float]]:
    """Charges and answers a second of computing among few accounts, and among many, of each who may be charged."""
    clock = time.process_time
    with _opened(folder / "few", few) as first, _opened(folder / "many", many) as second:
        yield "of one analyst", *_best([first], [second], "analyst1", clock)
        yield "of the curator", *_best([first], [second], None, clock)
        with Ledger.open(folder / "few") as also_first, Ledger.open(folder / "many") as also_second:
            yield "by two in turn", *_best([first, also_first], [second, also_second], "analyst1", clock)
