"""Threats 47 and 70 on PostgreSQL: logs of the server have no data and no key, and a server that dies tells nothing."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest

import dither as dt
from dither.engines.postgres import snapshots

CANARY, OWNER = "CANARY-4217", 742_174_217
COUNT = "SELECT COUNT(*), SUM(x) FROM t"
SOURCE = pa.table({"id": [OWNER, OWNER, 2, 3], "x": [5, None, 7, 8], "s": [CANARY, "", None, "plain"]})
COLUMNS = {"x": dt.Int(0, 9), "s": dt.Text(max_length=20)}


class Clinic:
    """A curator whose table is on PostgreSQL, and the server's superuser."""

    def __init__(self, cluster: Any, folder: Path) -> None:
        self.cluster, self.folder = cluster, folder
        self.curator = dt.Curator.open(folder, create=True, engines={"postgres": cluster.settings()})
        self.curator.people("p", budget=dt.PureDP(9))

    def register(self, progress: Any = None) -> None:
        named: dict[str, Any] = {"owner": "id", "max_rows_per_owner": 2, "columns": COLUMNS, "progress": progress}
        self.curator.register("t", SOURCE, people="p", engine="postgres", **named)

    def superuser(self, sql: str) -> list[Any]:
        with psycopg.connect(self.cluster.address("snapshots"), autocommit=True) as connection:
            return list(connection.execute(sql).fetchall())

    def spent(self) -> int:
        return int(self.curator.budget("p").spent.epsilon)


@pytest.fixture
def clinic(cluster: Any, tmp_path: Path) -> Iterator[Clinic]:
    made = Clinic(cluster, tmp_path / "curator")
    yield made
    made.curator.close()


# Threat 70: what the server writes down


@pytest.fixture
def logging(cluster: Any) -> Iterator[Callable[[], str]]:
    """All that a server can log, and what it has logged since then."""
    log, most = cluster.folder / "log", {"log_statement": "all", "log_min_messages": "debug1", "log_duration": "on"}
    cluster.set(**most, log_min_duration_statement="0")
    begun = log.stat().st_size
    yield lambda: log.read_bytes()[begun:].decode(errors="replace")
    with psycopg.connect(cluster.address("postgres"), autocommit=True) as connection:
        for name in (*most, "log_min_duration_statement"):
            connection.execute(f"ALTER SYSTEM RESET {name}")
        connection.execute("SELECT pg_reload_conf()")


def check_logs(clinic: Clinic, logged: Callable[[], str]) -> None:
    """Loads that are broken off and that are not, questions, a move: no value, no owner, no key in any log."""

    def interrupt(what: str, done: float) -> None:
        if what == "copying":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        clinic.register(interrupt)
    clinic.register()
    for text in (COUNT, "SELECT MEDIAN(x) FROM t"):
        clinic.curator.sql(text, epsilon=1)
    clinic.curator.copy("t", to="duckdb")
    found, key = logged(), (clinic.folder / "snapshots" / "rank.key").read_bytes()
    assert "COPY" in found, "the server must have logged what it did, or this shows little"
    assert "m0" in found
    for secret in (CANARY, str(OWNER), key.hex(), key.decode(errors="replace").strip()):
        assert secret not in found


def test_no_data_and_no_key_in_any_log(clinic: Clinic, logging: Callable[[], str]) -> None:
    check_logs(clinic, logging)


def test_planted_statement_that_names_a_value(
    clinic: Clinic, logging: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    verify = snapshots._verify

    def chatty(connection: Any, table: Any, place: str, sent: int) -> None:
        verify(connection, table, place, sent)
        connection.execute(f"SELECT COUNT(*) FROM {place} WHERE s = '{CANARY}'")

    monkeypatch.setattr(snapshots, "_verify", chatty)
    with pytest.raises(AssertionError, match=CANARY):
        check_logs(clinic, logging)


# A server process that dies, or takes too long, while a question runs


class Waits:
    """The engine, with statements that wait for minutes before they answer."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine

    def run(self, statement: Any) -> Any:
        slow = f"SELECT q.* FROM ({statement.sql}) AS q, (SELECT pg_sleep(600) IS NULL) AS s"
        return self._engine.run(replace(statement, sql=slow))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)


def end_the_backend(clinic: Clinic) -> None:
    """As soon as the statement runs."""
    running = "FROM pg_stat_activity WHERE application_name = 'dither' AND query LIKE '%pg_sleep%' AND state = 'active'"
    while not clinic.superuser(f"SELECT pg_terminate_backend(pid) {running}"):
        time.sleep(0.02)


def test_a_killed_backend(clinic: Clinic) -> None:
    """The charge stands, it is an incident, nothing is told; asked again, the question is answered, and once."""
    clinic.register()
    sound = clinic.curator._engine
    clinic.curator._engine = Waits(sound)  # type: ignore[assignment]
    killer = threading.Thread(target=end_the_backend, args=(clinic,))
    killer.start()
    with pytest.raises(dt.QueryFailed) as caught:
        clinic.curator.sql(COUNT, epsilon=1, request="r1")
    killer.join()
    assert (str(caught.value), caught.value.__cause__, caught.value.__context__) == (str(dt.QueryFailed()), None, None)
    assert clinic.spent() == 1
    entries = [entry.kind for entry in clinic.curator.ledger()]
    assert entries[-3:] == ["reserve", "fail", "incident"]
    clinic.curator._engine = sound
    with pytest.raises(dt.QueryFailed):
        clinic.curator.sql(COUNT, epsilon=1, request="r1")
    answers = [clinic.curator.sql(COUNT, epsilon=1, request="r2").to_dicts() for _ in range(2)]
    assert answers[0] == answers[1]
    assert clinic.spent() == 2


def test_a_statement_has_its_time(clinic: Clinic, monkeypatch: pytest.MonkeyPatch) -> None:
    clinic.register()
    clinic.curator.limits(dt.Limits(statement_seconds=1))
    monkeypatch.setattr("dither.engines.postgres.session._WALL", 0.2)
    clinic.curator._engine = Waits(clinic.curator._engine)  # type: ignore[assignment]
    with pytest.raises(dt.QueryFailed):
        clinic.curator.sql(COUNT, epsilon=1)
    (incident,) = [entry for entry in clinic.curator.ledger() if entry.kind == "incident"]
    assert incident.body["reason"] == "stopped"


def test_a_server_that_is_away_costs_nothing(clinic: Clinic, monkeypatch: pytest.MonkeyPatch) -> None:
    clinic.register()
    clinic.curator.sql(COUNT, epsilon=1)
    clinic.curator._engine.close()
    monkeypatch.setenv("DITHER_TEST_DSN", "postgresql://nobody@/nowhere?host=/nonexistent")
    with pytest.raises(dt.PolicyError, match="cannot be reached"):
        clinic.curator.sql("SELECT COUNT(*) FROM t", epsilon=1)
    assert len(clinic.curator.sql(COUNT, epsilon=1)) == 1, "what was paid for needs no server"
    assert clinic.spent() == 1
    with pytest.raises(dt.PolicyError, match="cannot be reached"):
        clinic.curator.drop("t")
    assert [table.name for table in clinic.curator.tables()] == ["t"]


def test_statements_change_nothing(clinic: Clinic) -> None:
    """Threat 47: whatever SQL came to be run, its transaction is read-only, and sees one version of all tables."""
    clinic.register()
    engine: Any = clinic.curator._engine.named("postgres")
    for sql in ('DELETE FROM "t_t_000001"', "CREATE TABLE x (y INTEGER)", 'UPDATE "t_t_000001" SET "x" = 0'):
        with engine._sessions.slot() as session, pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            session.raw.execute(sql)
    with engine._sessions.slot() as session:
        shown = session.raw.execute("SHOW transaction_isolation").fetchone()
    assert shown == ("repeatable read",)
