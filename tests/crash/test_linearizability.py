"""Threat 5 through HTTP: however many clients ask however many processes, no cap is overspent, and order is kept."""

from __future__ import annotations

import time
from collections import defaultdict
from fractions import Fraction
from itertools import permutations
from pathlib import Path
from threading import Thread
from typing import Any

import crash_linearizability as checker
import crash_served as served_
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither.curator.curator import Curator
from dither.ledger.storage import schema

Operation, linearizable = checker.Operation, checker.linearizable
ONE = Fraction(1)


@pytest.mark.parametrize(
    ("history", "possible"),
    [
        ([(0, 1, True), (2, 3, True), (4, 5, False)], True),
        ([(0, 1, True), (2, 3, True), (4, 5, True)], False),  # overspent
        ([(0, 1, True), (2, 3, False)], False),  # refused though it fits
        ([(0, 1, True), (2, 3, Fraction(0))], False),  # a stale read
        ([(0, 3, True), (1, 2, Fraction(0))], True),
        ([(0, 9, True), (1, 2, Fraction(1)), (3, 4, Fraction(0))], False),  # a read that goes back
        ([(0, 9, True), (0, 9, True), (1, 2, False)], True),
    ],
)
def test_the_checker(history: list[tuple[float, float, Any]], possible: bool) -> None:
    assert linearizable([Operation(*one) for one in history], ONE, Fraction(2)) is possible


def by_definition(history: list[Any], price: Fraction, cap: Fraction) -> bool:
    """Every order there is."""
    for order in permutations(history):
        kept = all(not order[j].ended < order[i].begun for i in range(len(order)) for j in range(i + 1, len(order)))
        spent: Fraction | None = Fraction(0)
        for one in order if kept else ():
            spent = one.after(spent, price, cap) if spent is not None else None
        if kept and spent is not None:
            return True
    return False


SEEN = st.one_of(st.booleans(), st.integers(0, 2).map(Fraction))
OPERATION = st.builds(lambda at, last, seen: Operation(at, at + last, seen), st.integers(0, 6), st.integers(1, 5), SEEN)


@given(st.lists(OPERATION, max_size=5))
def test_the_checker_is_the_definition(history: list[Any]) -> None:
    assert linearizable(history, ONE, Fraction(2)) is by_definition(history, ONE, Fraction(2))


def check_clients(
    folder: Path,
    *,
    analysts: int,
    clients: int,
    requests: int,
    processes: int,
    bug: str | None = None,
    reads: bool = True,
    ledger: str | None = None,
) -> int:
    """So many clients for each analyst spend and look; more than fits is asked. How many requests there were."""
    each = clients * requests
    cap = served_.PRICE * (each // 2)
    names = [f"analyst{number}" for number in range(analysts)]
    with served_.serving(folder, [], bug, processes, dict.fromkeys(names, cap), ledger) as served:
        served.wait()
        histories: dict[str, list[Any]] = defaultdict(list)
        errors: list[BaseException] = []

        def work(analyst: int, client: int) -> None:
            try:
                for turn in range(requests):
                    begun = time.monotonic()
                    if reads and turn % 5 == 4:
                        seen: Any = Fraction(served.spent(names[analyst]))
                    else:
                        seen = served.spend(names[analyst], f"client {client} {turn} {client * requests + turn}")
                    histories[names[analyst]].append(Operation(begun, time.monotonic(), seen))
            except BaseException as error:  # noqa: BLE001 - raised again below
                errors.append(error)

        threads = [Thread(target=work, args=(a, c), daemon=True) for a in range(analysts) for c in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for error in errors:
            raise error
    for name, history in histories.items():
        assert linearizable(history, served_.PRICE, cap), f"{name} saw what no order explains"
    with Curator.open(folder) as curator:
        curator.verify()
        for name in names:
            granted = sum(one.seen is True for one in histories[name])
            spent = curator._ledger.balance("patients", name).spent.cost
            assert spent == granted * served_.PRICE <= cap, "spent is what was granted, within the cap"
    return analysts * each


def many_or_few(scale: int) -> dict[str, int]:
    if scale > 1:
        return {"analysts": 50, "clients": 4, "requests": min(500, 25 * scale), "processes": 4}
    return {"analysts": 5, "clients": 4, "requests": 50, "processes": 2}


def test_many_clients_of_several_processes(fast: Path, tally: Any, scale: int) -> None:
    tally(requests=check_clients(fast / "clinic", **many_or_few(scale)))


def test_many_clients_on_postgresql(fast: Path, database: str, tally: Any, scale: int) -> None:
    asked = many_or_few(scale) if scale > 1 else {"analysts": 2, "clients": 4, "requests": 10, "processes": 2}
    tally(requests=check_clients(fast / "clinic", **asked, ledger=database))


def test_a_planted_race_is_found(fast: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unchecked = tuple(text.replace("CHECK (spent BETWEEN 0 AND cap)", "") for text in schema.STATEMENTS)
    monkeypatch.setattr(schema, "STATEMENTS", unchecked)
    # Four at a time, who check together: a cap of 18 is overspent by two.
    few = {"analysts": 1, "clients": 4, "requests": 9, "processes": 1}
    with pytest.raises(AssertionError, match="what no order explains"):
        check_clients(fast / "clinic", **few, bug="checks_then_updates", reads=False)


def test_a_planted_stale_read_is_found(fast: Path) -> None:
    few = {"analysts": 1, "clients": 2, "requests": 10, "processes": 1}
    with pytest.raises(AssertionError, match="what no order explains"):
        check_clients(fast / "clinic", **few, bug="reads_what_was")
