"""Changes that wait at the same time share one durable commit: each stands or is refused by itself."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dither.errors import BudgetExceeded, LedgerError
from dither.ledger import Charge, Ledger
from dither.ledger.page import Page
from dither.ledger.storage import together as sharing
from dither.ledger.storage.anchor import Anchor
from dither.ledger.storage.store import undoing
from dither.ledger.storage.together import Together, asking

CAP = Charge(Fraction(1), Fraction(0))
TERMS = {"kind": "pure", "cap": CAP, "terms": {"budget": "PureDP", "epsilon": "1"}}


@pytest.fixture
def ledger(tmp_path: Path) -> Any:
    with Ledger.open(tmp_path / "clinic", create=True) as ledger:
        ledger.open_account("patients", None, **TERMS)  # type: ignore[arg-type]
        yield ledger


def together(ledger: Ledger, costs: list[str]) -> list[Any]:
    """Reservations of all these costs that wait for the same commit; what each gave or raised, in their order."""
    found: list[Any] = [None] * len(costs)

    def reserve(place: int) -> None:
        try:
            charge = Charge(Fraction(costs[place]), Fraction(0))
            found[place] = ledger.reserve("patients", None, charge, question=f"q{place}", snapshot="t#1", plan="{}")
        except Exception as error:  # noqa: BLE001 - it is what is looked at
            found[place] = error

    together = ledger._journal._together
    with together.leading:  # as if somebody else's commit were on its way to the disk
        threads = [threading.Thread(target=reserve, args=(place,)) for place in range(len(costs))]
        for place, thread in enumerate(threads):
            thread.start()
            while len(together.waiting) <= place:
                pass
    for thread in threads:
        thread.join()
    return found


def check(ledger: Ledger) -> None:
    found = together(ledger, ["0.25", "2", "0.25", "0.6", "0.5", "1/1000"])
    fits = [not isinstance(one, Exception) for one in found]
    assert fits == [True, False, True, False, True, False], "each is decided by itself, in the order of waiting"
    assert all(isinstance(one, BudgetExceeded) for one in found if isinstance(one, Exception))
    assert ledger.balance("patients").spent.cost == 1
    assert [one.question for one in ledger.pending()] == ["q0", "q2", "q4"]
    ledger.verify()


def test_each_change_stands_or_is_refused_by_itself(ledger: Ledger) -> None:
    check(ledger)


def test_they_share_one_commit_and_one_mark(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    marks, commits = [], []
    advance = Anchor.advance
    monkeypatch.setattr(Anchor, "advance", lambda *given: marks.append(1) or advance(*given))  # type: ignore[func-returns-value]
    with ledger._journal._store.transaction(write=False) as connection:
        connection.set_trace_callback(lambda text: commits.append(text) if text == "COMMIT" else None)
    assert len(together(ledger, ["1/100"] * 20)) == 20
    assert len(marks) == 1
    assert len(commits) - 1 == 2, "one for the entries, and one that only holds the lock around the mark"


class Gathering:
    """Says when whoever commits waits for others to join."""

    def __init__(self, ledger: Ledger) -> None:
        self.arrival = ledger._journal._together.arrival
        self.begun = threading.Event()
        ledger._journal._together.arrival = self  # type: ignore[assignment]

    def wait_for(self, met: Callable[[], bool], _: float) -> bool:
        if not met():
            self.begun.set()
        return self.arrival.wait_for(met, 120)  # however slow the machine

    def __enter__(self) -> Any:
        return self.arrival.__enter__()

    def __exit__(self, *given: object) -> None:
        self.arrival.__exit__(*given)

    def notify(self) -> None:
        self.arrival.notify()


def check_gathering(ledger: Ledger, monkeypatch: pytest.MonkeyPatch, under_way: int) -> int:
    """Of so many questions under way two are charged, one after the other; how many marks that takes."""
    marks: list[int] = []
    advance = Anchor.advance
    monkeypatch.setattr(Anchor, "advance", lambda *given: marks.append(1) or advance(*given))  # type: ignore[func-returns-value]
    monkeypatch.setattr(sharing, "_asking", {-number: 0.0 for number in range(1, under_way - 1)})
    gathering = Gathering(ledger)

    def reserve(number: int) -> None:
        with asking():
            charge = Charge(Fraction(1, 10))
            ledger.reserve("patients", None, charge, question=f"q{number}", snapshot="t#1", plan="{}")

    first, second = (threading.Thread(target=reserve, args=(number,)) for number in (1, 2))
    with asking():  # the second question is under way when the first is charged
        first.start()
        while first.is_alive() and not gathering.begun.wait(0.01):
            pass
    second.start()
    for thread in (first, second):
        thread.join()
    assert ledger.balance("patients").spent.cost == Fraction(1, 5)
    return len(marks)


def test_whoever_commits_waits_for_half_of_those_under_way(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_gathering(ledger, monkeypatch, 4) == 1


def test_nobody_waits_where_few_are_under_way(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_gathering(ledger, monkeypatch, 3) == 2


def test_planted_bug_nobody_waits(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Together, "_gather", lambda _: None)
    assert check_gathering(ledger, monkeypatch, 6) == 2


def test_a_question_waits_no_longer_than_it_took(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    monkeypatch.setattr(sharing.time, "monotonic", lambda: 100.0)
    monkeypatch.setattr(sharing, "_asking", {-number: 0.0 for number in range(1, 100)})
    monkeypatch.setattr(
        ledger._journal._together.arrival, "wait_for", lambda met, most: waited.append(most), raising=False
    )
    for since in (100.0, 99.9, 3.0, None):
        sharing._asking.pop(threading.get_ident(), None)
        if since is not None:
            sharing._asking[threading.get_ident()] = since
        ledger._journal._together._gather()
    assert waited == [0.0, pytest.approx(0.1), 0.5, 0.0]


def test_what_does_not_reach_the_disk_is_nobodys(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    append = Page.append

    def failing(page: Page, kind: str, body: Any) -> Any:
        if body.get("question") == "q2":
            page.connection.execute("no such statement")
        return append(page, kind, body)

    monkeypatch.setattr(Page, "append", failing)
    assert all(isinstance(one, LedgerError) for one in together(ledger, ["0.1"] * 4))
    monkeypatch.undo()
    assert ledger.balance("patients").spent.cost == 0
    assert ledger.pending() == []


@contextmanager
def _all_undone(page: Page) -> Iterator[None]:
    try:
        yield
    except BudgetExceeded:
        page.connection.execute("DELETE FROM reservations")
        raise


@contextmanager
def _undone_in_the_file_alone(page: Page) -> Iterator[None]:
    with undoing(page.connection):
        page.append("event", {"event": "attempt", "body": {}})
        yield


@pytest.mark.parametrize("planted", [_all_undone, _undone_in_the_file_alone])
def test_planted_bugs_of_undoing(ledger: Ledger, planted: Callable[[Page], Any]) -> None:
    """A refusal that takes others with it, or that the file forgets and the book remembers."""
    ledger._journal._together = Together(ledger._journal.writing, planted)
    with pytest.raises((AssertionError, LedgerError)):
        check(ledger)
