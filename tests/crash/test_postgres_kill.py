"""Threats 4 and 46 on PostgreSQL: client, server process or the whole server killed at any statement or commit."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests_clusters import wait_for_end

from dither.errors import LedgerCorrupt, LedgerError
from dither.ledger import Charge, Ledger
from dither.ledger.storage.postgres.session import Session

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
PRICE = Fraction(1, 10)
Ask = Callable[..., bytes]
Act = Callable[[psycopg.Connection[Any], str], None]


@pytest.fixture
def server(clusters: Callable[[str], Any]) -> Any:
    return clusters("killed")


@pytest.fixture
def clinic(server: Any, tmp_path: Path) -> Path:
    """A folder whose ledger is in PostgreSQL, with enough for thousands of questions."""
    folder = tmp_path / "clinic"
    with Ledger.open(folder, create=True, ledger=server.empty("clinic")) as ledger:
        for analyst in (None, "alice"):
            ledger.open_account("patients", analyst, kind="pure", cap=Charge(Fraction(9000)), terms={})
    return folder


@contextmanager
def at_statement(number: int, act: Act) -> Iterator[list[int]]:
    """Something happens before the n-th statement that is sent; yields how many were."""
    execute, sent = psycopg.Connection.execute, [0]

    def executed(connection: psycopg.Connection[Any], statement: Any, *given: Any, **named: Any) -> Any:
        if connection.info.parameter_status("application_name") == "dither":
            sent[0] += 1
            if sent[0] == number:
                act(connection, statement)
        return execute(connection, statement, *given, **named)

    psycopg.Connection.execute = executed  # type: ignore[method-assign]
    try:
        yield sent
    finally:
        psycopg.Connection.execute = execute  # type: ignore[method-assign]


def kill_client(_: psycopg.Connection[Any], __: str) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def kill_backend(connection: psycopg.Connection[Any], _: str) -> None:
    """The server's process for this connection; the server then ends all others too, and recovers."""
    process = connection.info.backend_pid
    os.kill(process, signal.SIGKILL)
    wait_for_end(process)


def kill_while_it_commits(connection: psycopg.Connection[Any], statement: str) -> None:
    """Whether the commit is done by then, nobody can say."""
    connection.pgconn.send_query(statement.encode())
    time.sleep(random.choice((0, 0, 0.0005, 0.002)))
    os.kill(connection.info.backend_pid, signal.SIGKILL)


def patient(act: Callable[[], Any]) -> Any:
    """Asked again until the server is back."""
    deadline = time.monotonic() + 120  # far beyond what a restart takes on any machine
    while True:
        try:
            return act()
        except LedgerCorrupt:
            raise
        except LedgerError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def once(act: Callable[[], bytes]) -> bytes:
    """What was released before anything broke: all or nothing."""
    try:
        return act()
    except LedgerCorrupt:
        raise
    except LedgerError:
        return b""


def spent(ledger: Ledger) -> Fraction:
    found = [patient(lambda who=who: ledger.balance("patients", who)).spent.cost for who in (None, "alice")]
    assert found[0] == found[1], "both are charged or neither"
    return found[0]


def check_after(ledger: Ledger, ask: Ask, request: str, before: Fraction, released: bytes) -> None:
    """What must hold after anything was killed while that request was asked."""
    patient(ledger.verify)
    after = spent(ledger)
    assert after in (before, before + PRICE), "charged at most once"
    assert not released or after == before + PRICE, "released implies charged"
    answer = patient(lambda: ask(ledger, request))
    assert spent(ledger) == before + PRICE, "a retry is charged once in all"
    assert released in (b"", answer), "a retry returns the same bytes"
    assert patient(lambda: ask(ledger, request)) == answer, "every retry returns the same bytes"
    assert spent(ledger) == before + PRICE
    assert ledger.pending() == []


def kill_at_every_statement(
    folder: Path, ask: Ask, act: Act, *, stride: int = 1, kind: type[Ledger] = Ledger, first: int = 1
) -> int:
    """Kill at every `stride`-th statement of a question; the ledger goes on by itself. How many kills there were."""
    number, kills = first, 0
    with patient(lambda: kind.open(folder)) as ledger:
        while True:
            before, request = spent(ledger), f"{act.__name__} {number}"
            with at_statement(number, act) as sent:
                released = once(lambda request=request: ask(ledger, request))
            check_after(ledger, ask, request, before, released)
            if sent[0] < number:
                patient(ledger.verify)
                return kills
            kills += 1
            number += stride


def test_the_server_process_killed_at_statements(clinic: Path, ask: Ask, tally: Any, every: Any) -> None:
    killed = kill_at_every_statement(clinic, ask, kill_backend, stride=every(4))
    tally(kills_of_postgresql=killed)
    assert killed > 30 // every(4)


def test_the_server_process_killed_while_it_commits(clinic: Path, ask: Ask, tally: Any, campaign: bool) -> None:
    killed = 0
    with Ledger.open(clinic) as ledger:
        for number in range(150 if campaign else 8):
            before, request, commits = spent(ledger), f"commit {number}", [0]

            def at_commit(connection: Any, statement: str, commits: list[int] = commits, number: int = number) -> None:
                if statement == "COMMIT":
                    commits[0] += 1
                    if commits[0] == 1 + number % 3:
                        kill_while_it_commits(connection, statement)

            with every_statement(at_commit):
                released = once(lambda request=request: ask(ledger, request))
            killed += commits[0] > number % 3
            check_after(ledger, ask, request, before, released)
    tally(kills_of_postgresql=killed)
    assert killed > 4


@contextmanager
def every_statement(act: Act) -> Iterator[None]:
    execute = psycopg.Connection.execute

    def executed(connection: psycopg.Connection[Any], statement: Any, *given: Any, **named: Any) -> Any:
        if connection.info.parameter_status("application_name") == "dither":
            act(connection, statement)
        return execute(connection, statement, *given, **named)

    psycopg.Connection.execute = executed  # type: ignore[method-assign]
    try:
        yield
    finally:
        psycopg.Connection.execute = execute  # type: ignore[method-assign]


def test_the_client_killed_at_statements(clinic: Path, ask: Ask, in_child: Any, tally: Any, every: Any) -> None:
    number, stride, kills = 1, every(5), 0
    while True:
        with Ledger.open(clinic) as ledger:
            before = spent(ledger)

        def work(release: Any, number: int = number) -> None:
            with at_statement(number, kill_client), Ledger.open(clinic) as ledger:
                release(ask(ledger, f"client {number}"))

        released, status = in_child(work).ended()
        with Ledger.open(clinic) as ledger:
            check_after(ledger, ask, f"client {number}", before, released)
        if status == 0:
            break
        assert status == -signal.SIGKILL
        kills, number = kills + 1, number + stride
    tally(kills=kills)
    assert kills > 50 // stride


def lose_power(clinic: Path, server: Any, ask: Ask, rounds: int) -> None:
    """Every process of the server is killed at once, right after an answer was returned."""
    for number in range(rounds):
        with Ledger.open(clinic) as ledger:
            before = spent(ledger)
            answer = ask(ledger, f"power {number}")
            server.kill()
            check_after(ledger, ask, f"power {number}", before, answer)


def test_the_whole_server_killed_after_an_answer(
    clinic: Path, server: Any, ask: Ask, tally: Any, campaign: bool
) -> None:
    rounds = 50 if campaign else 3
    lose_power(clinic, server, ask, rounds)
    tally(kills_of_postgresql=rounds)


def test_planted_commits_that_do_not_wait(clinic: Path, server: Any, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was answered is gone, and the anchor tells."""
    server.set(wal_writer_delay="10s")
    server.restart()
    begin = Session.begin

    def careless(session: Session, how: str) -> None:
        begin(session, how)
        session.raw.execute("SET LOCAL synchronous_commit = off")

    monkeypatch.setattr(Session, "begin", careless)
    with pytest.raises(
        (AssertionError, LedgerCorrupt), match=r"released implies charged|lost entries|rolled back|no pend"
    ):
        lose_power(clinic, server, ask, 1)


class ForgetsRequests(Ledger):
    """Planted bug: a retry is a new reservation."""

    def reserve(self, *given: Any, **named: Any) -> Any:
        return super().reserve(*given, **named | {"request": None})


class ReturnsBeforeStoring(Ledger):
    """Planted bug: the answer leaves before it is in the ledger."""

    def settle(self, reservation_id: int, answer: bytes) -> bytes:
        return answer


@pytest.mark.parametrize("kind", [ForgetsRequests, ReturnsBeforeStoring])
def test_planted_bugs_are_caught(clinic: Path, ask: Ask, kind: type[Ledger]) -> None:
    with pytest.raises(AssertionError, match=r"retry (is charged once|returns the same)"):
        kill_at_every_statement(clinic, ask, kill_backend, kind=kind, stride=5)


def test_many_clients_while_server_processes_are_killed(
    clinic: Path, server: Any, ask: Ask, in_child: Any, tally: Any, campaign: bool
) -> None:
    """Clients answer the same requests and go on by themselves; each is charged once and has one answer."""
    clients, requests, kills = (8, 400, 200) if campaign else (3, 24, 6)

    def work(release: Any) -> None:
        mine = patient(lambda: Ledger.open(clinic))
        for number in random.Random(os.getpid()).sample(range(requests), requests):
            answer = patient(lambda number=number: ask(mine, f"r{number}"))
            release(number.to_bytes(2, "big") + answer)

    children = [in_child(work) for _ in range(clients)]
    killed = 0
    seen = [b""] * clients
    for round_ in range(kills):
        seen[round_ % clients] += children[round_ % clients].released(18)
        processes = server.processes()
        if processes:
            with suppress(ProcessLookupError):
                os.kill(random.choice(processes), signal.SIGKILL)
            killed += 1
    ended = [child.ended() for child in children]
    assert {status for _, status in ended} == {0}
    answers: dict[int, set[bytes]] = {number: set() for number in range(requests)}
    for begun, (rest, _) in zip(seen, ended, strict=True):
        released = begun + rest
        for place in range(0, len(released), 18):
            answers[int.from_bytes(released[place : place + 2], "big")].add(released[place + 2 : place + 18])
    assert {len(found) for found in answers.values()} == {1}, "one charge, one draw of noise"
    with patient(lambda: Ledger.open(clinic)) as ledger:
        assert spent(ledger) == requests * PRICE, "each request is charged once"
        ledger.verify()
        assert ledger.pending() == []
    tally(kills_of_postgresql=killed, clients=clients)
