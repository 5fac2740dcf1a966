"""The full walk and the history are read in pages: others go on writing meanwhile, and nothing is held but a page."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any
from weakref import WeakSet

import pytest

from dither.errors import LedgerCorrupt
from dither.ledger import Ledger, history, page
from dither.ledger import verify as verify_module
from dither.ledger.answers import LARGEST_INLINE_ANSWER
from dither.ledger.chain import Link
from dither.ledger.verify import Walk

Ask = Callable[..., bytes]
BEFORE, ROUNDS = 15, 4


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages of three entries."""
    monkeypatch.setattr(verify_module, "PAGE_OF_ENTRIES", 3)
    monkeypatch.setattr(history, "_PAGE_OF_ENTRIES", 3)


@pytest.fixture
def filled(ledger: Ledger, ask: Ask) -> Ledger:
    """Of fifteen entries."""
    for number in range(6):
        ask(ledger, cost="1/100", question=f"q{number}")
    assert ledger.verify() == BEFORE
    return ledger


@contextmanager
def writing(ledger: Ledger, reserve: Any, ask: Ask, wait: float = 60) -> Iterator[Callable[[], None]]:
    """A thread that, told to, reserves once and asks once; whoever tells it waits until both are durable."""
    told, done, ended, failures = threading.Semaphore(0), threading.Semaphore(0), threading.Event(), list[str]()

    def work() -> None:
        while told.acquire() and not ended.is_set():
            try:
                reserve(ledger, cost="1/1000", question="open")
                ask(ledger, cost="1/1000", question="more")
            except Exception as error:  # noqa: BLE001 - told below
                failures.append(repr(error))
            done.release()

    def tell() -> None:
        told.release()
        assert done.acquire(timeout=wait), "the writer waits for whoever reads"

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield tell
    finally:
        ended.set()
        told.release()
        thread.join()
    assert failures == []


def check_goes_on(ledger: Ledger, monkeypatch: pytest.MonkeyPatch, tell: Callable[[], None]) -> None:
    """Between one page and the next of the walk, another writes: three entries, of which one stays open."""
    follow, pages = Walk.follow, list[int]()

    def between(walk: Walk, at: Any, most: int) -> None:
        pages.append(walk.entries)
        follow(walk, at, most)

    read_files = Walk.read_files

    def told(walk: Walk) -> None:
        if len(pages) <= ROUNDS:
            tell()
        read_files(walk)

    with monkeypatch.context() as patch:
        patch.setattr(Walk, "follow", between)
        patch.setattr(Walk, "read_files", told)
        assert ledger.verify() == BEFORE + 3 * ROUNDS
    assert pages == [*range(0, BEFORE + 3 * ROUNDS, 3), BEFORE + 3 * ROUNDS]


@pytest.mark.parametrize("own", [False, True])
def test_a_writer_goes_on_between_the_pages(
    filled: Ledger, folder: Path, ask: Ask, reserve: Any, monkeypatch: pytest.MonkeyPatch, own: bool
) -> None:
    """In another thread, with the same ledger object or with one of its own."""
    with Ledger.open(folder) if own else nullcontext(filled) as writer, writing(writer, reserve, ask) as tell:
        check_goes_on(filled, monkeypatch, tell)
    assert len(filled.pending()) == ROUNDS
    filled.verify()


def test_planted_bug_one_transaction_for_all(
    filled: Ledger, ask: Ask, reserve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: the walk is one transaction, which holds the lock of this process."""
    walk = history.verify

    def held(reading: Any, folder: Any) -> int:
        with reading() as page:
            return walk(lambda: nullcontext(page), folder)

    monkeypatch.setattr(history, "verify", held)
    with writing(filled, reserve, ask, wait=0.2) as tell, pytest.raises(AssertionError, match="the writer waits"):
        check_goes_on(filled, monkeypatch, tell)


def test_history_ends_where_it_began_and_others_write_meanwhile(filled: Ledger, ask: Ask, reserve: Any) -> None:
    with writing(filled, reserve, ask) as tell:
        seen = []
        for entry in filled.entries():
            seen.append(entry.sequence)
            if entry.sequence % 3 == 0:
                tell()
    assert seen == [*range(1, BEFORE + 1)]
    assert filled.verify() == BEFORE + BEFORE


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """How many entries are held at once."""
    alive, most, authentic = WeakSet[Link](), [0], page.authentic

    def count(*given: Any) -> Link:
        link = authentic(*given)
        alive.add(link)
        most[0] = max(most[0], len(alive))
        return link

    with monkeypatch.context() as patch:
        patch.setattr(page, "authentic", count)
        yield most


def test_no_more_than_a_page_is_held(filled: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    with counted(monkeypatch) as most:
        filled.verify()
        assert sum(1 for _ in filled.entries()) == BEFORE
    assert 3 <= most[0] <= 8


def test_planted_bug_everything_is_held(filled: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    links_after = page.links_after
    monkeypatch.setattr(verify_module, "links_after", lambda *given: list(links_after(*given[:3])))
    with counted(monkeypatch) as most:
        filled.verify()
    assert most[0] >= BEFORE


@pytest.mark.parametrize("store", ["sqlite"])
def test_large_answers_are_read_outside_of_transactions(
    filled: Ledger, reserve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled.settle(reserve(filled, cost="1/100").id, bytes(LARGEST_INLINE_ANSWER + 1))
    load, connection = filled._folder.load_answer, filled._journal._store._connect()
    read = []

    def looked(name: str) -> bytes:
        read.append(connection.in_transaction)
        return load(name)

    monkeypatch.setattr(filled._folder, "load_answer", looked)
    filled.verify()
    assert read == [False]


def test_what_others_wrote_meanwhile_is_proven_too(
    filled: Ledger, folder: Path, edit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_files, done = Walk.read_files, []

    def meanwhile(walk: Walk) -> None:
        if not done:
            done.append(edit(folder, "UPDATE reservations SET cost = cost + 1 WHERE id = 14"))
        read_files(walk)

    monkeypatch.setattr(Walk, "read_files", meanwhile)
    with pytest.raises(LedgerCorrupt, match="do not follow from the entries"):
        filled.verify()
