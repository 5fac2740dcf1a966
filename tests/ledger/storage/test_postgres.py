"""Servers that would lose or share a charge are refused; an anchor lies in another cluster; errors quote no rows."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
import pytest

from dither.errors import LedgerCorrupt, LedgerError, LedgerMissing, ParameterError
from dither.ledger import Charge, Ledger
from dither.ledger.storage.postgres import schema, session
from dither.ledger.storage.postgres.store import PostgresStore
from dither.ledger.storage.protocol import Mark
from dither.ledger.storage.schema import _OF_THE_BOOK

_spec = importlib.util.spec_from_file_location("ledger_pooler", Path(__file__).parent / "pooler.py")
_pooler = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_pooler)

CAP = Charge(Fraction(4))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "clinic"


@pytest.fixture
def made(folder: Path, database: str) -> Path:
    """A folder whose ledger is in the database."""
    with Ledger.open(folder, create=True, ledger=database) as ledger:
        ledger.open_account("patients", None, kind="pure", cap=CAP, terms={})
    return folder


def charge(ledger: Ledger, request: str | None = None, cost: str = "1/4") -> Any:
    price = Charge(Fraction(cost))
    return ledger.reserve("patients", None, price, question="q", snapshot="1", plan="{}", request=request)


@pytest.fixture
def setting(cluster: Any) -> Iterator[Callable[..., None]]:
    """Change a setting of the server, until the test ends."""
    changed: list[str] = []

    def change(name: str, value: str) -> None:
        changed.append(name)
        cluster.set(**{name: value})

    yield change
    cluster.set(**dict.fromkeys(changed, ""))


def check_refused(folder: Path, setting: Callable[..., None], name: str, value: str) -> None:
    """At opening, and while it is open: nothing is charged."""
    with Ledger.open(folder) as ledger:
        charge(ledger)
        setting(name, value)
        with pytest.raises(LedgerError, match=f"has {name} = {value}"):
            charge(ledger)
    with pytest.raises(LedgerError, match=f"has {name} = {value}"):
        Ledger.open(folder)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("fsync", "off"),
        ("full_page_writes", "off"),
        ("synchronous_commit", "off"),
        ("synchronous_commit", "local"),
        ("synchronous_commit", "remote_write"),
    ],
)
def test_a_server_that_may_lose_a_charge_is_refused(
    made: Path, setting: Callable[..., None], name: str, value: str
) -> None:
    check_refused(made, setting, name, value)


def test_planted_settings_that_nobody_reads(
    made: Path, setting: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session.Session, "_check", lambda *_: None)
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        check_refused(made, setting, "fsync", "off")


def test_a_user_whose_commits_do_not_wait_is_refused(made: Path, database: str) -> None:
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("ALTER ROLE dither SET synchronous_commit = off")
        try:
            with pytest.raises(LedgerError, match="synchronous_commit = off"):
                Ledger.open(made)
        finally:
            connection.execute("ALTER ROLE dither RESET synchronous_commit")


def test_a_standby_is_refused(made: Path, clusters: Callable[[str], Any]) -> None:
    """A copy of the cluster that waits for more to recover, and lets read."""
    first, copy = clusters("first"), clusters("copy")
    copy.stop()
    with psycopg.connect(first.address("postgres"), autocommit=True) as connection:
        connection.execute("CHECKPOINT")
        connection.execute("SELECT pg_backup_start('standby', TRUE)")
        shutil.rmtree(copy.data)
        shutil.copytree(first.data, copy.data, ignore=shutil.ignore_patterns("postmaster.pid"))
        (label, *_) = connection.execute("SELECT labelfile FROM pg_backup_stop(FALSE)").fetchone()
    shutil.copytree(first.data / "pg_wal", copy.data / "pg_wal", dirs_exist_ok=True)
    (copy.data / "backup_label").write_text(label)
    (copy.data / "standby.signal").touch()
    with (copy.data / "postgresql.conf").open("a") as file:
        file.write(f"unix_socket_directories = '{copy.folder}'\n")
    for path in [copy.data, *copy.data.rglob("*")]:
        os.chown(path, copy.folder.stat().st_uid, copy.folder.stat().st_gid)
    copy.start()
    (made / "ledger.address").write_text(f'{{"format": 1, "ledger": "{copy.address("clinic")}"}}')
    with pytest.raises(LedgerError, match="is a standby"):
        Ledger.open(made)


@pytest.mark.parametrize("honest", [False, True])
def test_a_pooler_is_refused(made: Path, database: str, cluster: Any, tmp_path: Path, honest: bool) -> None:
    """Also one that gives a client the same connection for now: it need not with the next transaction."""
    sockets = tmp_path / "p"
    sockets.mkdir()
    pooler = _pooler.Pooler(sockets, cluster.folder, honest=honest)
    address = f"postgresql://dither@/clinic?host={quote(str(sockets), safe='')}&sslmode=disable&gssencmode=disable"
    if honest:  # such a one is known by the number that it makes up
        pooler._open = lambda start, open=pooler._open: _renumbered(open(start))
    (made / "ledger.address").write_text(f'{{"format": 1, "ledger": "{address}"}}')
    with pytest.raises(LedgerError, match="connection pooler"):
        Ledger.open(made)
    pooler.close()
    assert pooler.turns


def _renumbered(opened: Any) -> Any:
    server, greeting = opened
    place = greeting.index(b"K\x00\x00\x00")
    return server, greeting[: place + 5] + bytes(4) + greeting[place + 9 :]


def test_errors_tell_neither_rows_nor_passwords(made: Path, database: str) -> None:
    """What PostgreSQL says of a refused row quotes it."""
    store = PostgresStore(database.replace("dither@", "dither:secret@"))
    with pytest.raises(LedgerCorrupt) as refused, store.transaction(write=True) as connection:
        connection.execute("UPDATE accounts SET spent = cap + 123456")
    assert "123456" not in str(refused.value)
    assert refused.value.__cause__ is None
    assert "secret" not in str(refused.value)
    assert "secret" not in store.name
    store.stop("")


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE accounts DROP CONSTRAINT accounts_within",
        "ALTER TABLE accounts DISABLE TRIGGER accounts_guard",
        "ALTER TABLE entries SET UNLOGGED",
        "DROP INDEX entries_events",
        "CREATE TABLE more (x BIGINT)",
        "CREATE RULE nothing AS ON UPDATE TO stored DO INSTEAD NOTHING",
        "ALTER TABLE stored ENABLE ROW LEVEL SECURITY",
        "CREATE OR REPLACE FUNCTION accounts_guard() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
        "ALTER TABLE accounts ALTER COLUMN cap TYPE NUMERIC",
    ],
)
def test_changed_tables_are_refused(made: Path, database: str, change: str) -> None:
    with psycopg.connect(database) as connection:
        connection.execute("SET search_path = dither")
        if "UNLOGGED" in change:
            change = "ALTER TABLE stored SET UNLOGGED"
        connection.execute(change)
    with pytest.raises(LedgerCorrupt, match="tables of the ledger were changed"):
        Ledger.open(made)


def test_a_ledger_of_the_layout_before_is_brought_to_this_one(made: Path, database: str) -> None:
    guard = schema._guard("accounts", schema._THIRD_NEVER_LESS)[0].replace("CREATE", "CREATE OR REPLACE", 1)
    with psycopg.connect(database, options="-c search_path=dither") as connection:
        connection.execute(guard)
        connection.execute("DROP INDEX entries_of_the_book")
        connection.execute(f"CREATE INDEX entries_of_the_book ON entries (sequence) WHERE {_OF_THE_BOOK}")
    for _ in range(2):
        with Ledger.open(made) as ledger:
            assert [entry.kind for entry in ledger.entries()].count("upgraded") == 1
            ledger.verify()


def test_the_tables_themselves_refuse(made: Path, database: str) -> None:
    for statement in (
        "UPDATE accounts SET spent = cap + 1",
        "UPDATE accounts SET cap = cap + 1",
        "DELETE FROM accounts",
        "TRUNCATE accounts CASCADE",
        "DELETE FROM entries",
        "UPDATE entries SET body = '{}'",
        "INSERT INTO entries SELECT 0, version, kind, body, state, mac FROM entries",
    ):
        refused = pytest.raises((psycopg.errors.RaiseException, psycopg.errors.IntegrityError))
        with psycopg.connect(database, options="-c search_path=dither") as connection, refused:
            connection.execute(statement)
    with psycopg.connect(database, options="-c search_path=dither", autocommit=True) as connection:
        connection.execute("UPDATE accounts SET spent = 1")
        with pytest.raises(psycopg.errors.RaiseException):
            connection.execute("UPDATE accounts SET spent = 0")


def test_the_anchoring_turn_writes_nothing(made: Path, database: str) -> None:
    """Its commit does not wait for the disk."""
    store = PostgresStore(database)
    with pytest.raises(LedgerError, match="takes no changes now"), store.turn() as connection:
        connection.execute("UPDATE accounts SET spent = spent")
    store.stop("")


# -- where it is


def test_the_folder_remembers_the_address(made: Path, database: str, clusters: Callable[[str], Any]) -> None:
    with Ledger.open(made, ledger=database) as ledger:
        assert ledger.verify() == 2
    with pytest.raises(LedgerError, match="at another address"):
        Ledger.open(made, ledger=clusters("first").address("elsewhere"))
    (made / "ledger.address").write_text("{}")
    with pytest.raises(LedgerCorrupt, match="is damaged"):
        Ledger.open(made)


def test_other_words_for_a_ledger_are_refused(tmp_path: Path, database: str) -> None:
    with pytest.raises(ParameterError, match="PostgreSQL database"):
        Ledger.open(tmp_path / "new", create=True, ledger="mysql://here")
    Ledger.open(tmp_path / "own", create=True).close()
    with pytest.raises(LedgerError, match="dither ledger copy"):
        Ledger.open(tmp_path / "own", ledger=database)
    with pytest.raises(LedgerMissing):
        Ledger.open(tmp_path / "none", ledger=database)


def test_an_emptied_database_is_noticed(made: Path, cluster: Any) -> None:
    cluster.empty("clinic")
    with pytest.raises(LedgerMissing):
        Ledger.open(made)
    with pytest.raises(LedgerCorrupt, match="remembers a ledger that is gone"):
        Ledger.open(made, create=True)
    cluster.empty("clinic")
    (made / "ledger.anchor").unlink()
    with pytest.raises(LedgerCorrupt, match="the folder was used"):
        Ledger.open(made, create=True)


def test_another_key_opens_nothing(made: Path, database: str, tmp_path: Path) -> None:
    with pytest.raises(LedgerCorrupt, match="does not bear its seal"):
        Ledger.open(tmp_path / "other", create=True, ledger=database)


# -- the anchor


@pytest.fixture
def elsewhere(clusters: Callable[[str], Any]) -> str:
    """A database of another cluster."""
    return clusters("second").empty("anchors")


def rolled_back(folder: Path, database: str, anchor: str, **weak: bool) -> None:
    """Charge, go back to before, and open again."""
    with Ledger.open(folder, create=True, ledger=database, anchor=anchor, **weak) as ledger:
        ledger.open_account("patients", None, kind="pure", cap=CAP, terms={})
        charge(ledger, "r1")
    with psycopg.connect(database, options="-c search_path=dither -c session_replication_role=replica") as connection:
        connection.execute("DELETE FROM reservations; DELETE FROM stored; UPDATE accounts SET spent = 0")
        connection.execute("DELETE FROM entries WHERE sequence = 3")
    Ledger.open(folder, anchor=anchor, **weak).close()


def test_a_row_elsewhere_anchors(folder: Path, database: str, elsewhere: str) -> None:
    with Ledger.open(folder, create=True, ledger=database, anchor=elsewhere) as ledger:
        ledger.open_account("patients", None, kind="pure", cap=CAP, terms={})
        assert charge(ledger, "r1").id == 3
    with Ledger.open(folder, anchor=elsewhere) as ledger:
        assert ledger.verify() == 3
        assert ledger._journal.anchor_mark().sequence == 3
    with pytest.raises(LedgerError, match="its own"):
        Ledger.restore_anchor(folder)
    with pytest.raises(LedgerError, match="cannot be read"):
        Ledger.open(folder)
    with psycopg.connect(elsewhere) as connection:
        connection.execute("UPDATE dither_anchor.marks SET mark = mark || 'x'")
    with pytest.raises(LedgerCorrupt, match="is damaged"):
        Ledger.open(folder, anchor=elsewhere)


def test_a_ledger_behind_its_row_is_refused(folder: Path, database: str, elsewhere: str) -> None:
    with pytest.raises(LedgerCorrupt, match="rolled back"):
        rolled_back(folder, database, elsewhere)


def test_planted_anchor_that_does_not_move(
    folder: Path, database: str, elsewhere: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "dither.ledger.storage.postgres.anchor.RowAnchor.advance", lambda self, mark, check=None: self.read()
    )
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        test_a_ledger_behind_its_row_is_refused(folder, database, elsewhere)


def test_an_anchor_never_goes_back(folder: Path, database: str, elsewhere: str) -> None:
    with Ledger.open(folder, create=True, ledger=database, anchor=elsewhere) as ledger:
        anchor = ledger._journal._anchor
        anchor.advance(Mark(7, bytes(32), ()))
        assert anchor.advance(Mark(6, bytes(32), ())).sequence == 7
        with pytest.raises(LedgerError, match="has a mark"):
            anchor.create(Mark(1, bytes(32), ()))


def test_an_anchor_in_the_same_cluster_is_weak(folder: Path, database: str, cluster: Any) -> None:
    near = cluster.empty("near")
    with pytest.raises(LedgerError, match="--weak-anchor"):
        Ledger.open(folder, create=True, ledger=database, anchor=near)
    with Ledger.open(folder, create=True, ledger=database, anchor=near, weak_anchor=True) as ledger:
        assert ledger.verify() == 1
    with pytest.raises(LedgerError, match="--weak-anchor"):
        Ledger.open(folder, anchor=near)


def test_a_ledger_in_a_file_may_have_a_row_as_its_anchor(folder: Path, elsewhere: str) -> None:
    with Ledger.open(folder, create=True, anchor=elsewhere) as ledger:
        ledger.open_account("patients", None, kind="pure", cap=CAP, terms={})
        charge(ledger)
    with Ledger.open(folder, anchor=elsewhere) as ledger:
        assert ledger._journal.anchor_mark().sequence == 3


def test_the_layout_is_described(database: str) -> None:
    """Everything that a statement makes is in the description that opening compares."""
    said = "\n".join(schema.expected())
    for statement in schema.STATEMENTS:
        assert statement.split("(")[0].split()[2].rstrip("()") in said


def test_an_older_dump_goes_on_as_if_all_were_spent(made: Path, database: str) -> None:
    with Ledger.open(made) as ledger:
        charge(ledger, "r1")
        charge(ledger, "r2")
    with psycopg.connect(database, options="-c search_path=dither -c session_replication_role=replica") as connection:
        connection.execute("DELETE FROM reservations; DELETE FROM stored; UPDATE accounts SET spent = 0")
        connection.execute("DELETE FROM entries WHERE sequence > 2")
    with pytest.raises(LedgerCorrupt, match="rolled back"):
        Ledger.open(made)
    Ledger.restore(made)
    with Ledger.open(made) as ledger:
        assert ledger.balance("patients").spent.cost == Fraction(1, 2)
        assert ledger.breaker.frozen() == {"patients"}
        ledger.verify()


def test_the_owner_of_a_database_needs_no_other_rights(
    folder: Path, cluster: Any, clusters: Callable[[str], Any]
) -> None:
    addresses = []
    for server in (cluster, clusters("second")):
        with psycopg.connect(server.address("postgres"), autocommit=True) as connection:
            connection.execute("DROP DATABASE IF EXISTS plain")
            connection.execute("DROP ROLE IF EXISTS plain")
            connection.execute("CREATE ROLE plain LOGIN")
            connection.execute("CREATE DATABASE plain OWNER plain")
        addresses.append(server.address("plain").replace("dither@", "plain@"))
    with Ledger.open(folder, create=True, ledger=addresses[0], anchor=addresses[1]) as ledger:
        ledger.open_account("patients", None, kind="pure", cap=CAP, terms={})
        ledger.settle(charge(ledger).id, bytes(2_000_000))
        assert ledger.verify() == 4
