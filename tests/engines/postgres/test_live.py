"""Live tables: statements read what a load would make of their rows, whatever is in them; the rest is refused."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

import dither as dt
from dither.engines.duckdb.engine import DuckDBEngine
from dither.engines.postgres.live import LiveEngine
from dither.engines.postgres.live_session import LiveSession
from dither.engines.postgres.place import Place
from dither.engines.protocol import EngineError, StatementStopped
from dither.errors import PolicyError
from dither.mechanisms.sealed_values import _unseal
from dither.policy.catalog import ForeignKey, PublicTable, Table
from dither.policy.structure import Structure
from dither.sql.lowering.live_postgresql_dialect import LivePostgreSQL
from dither.sql.lowering.statement import OWNER, RANK, Statement

COLUMNS = {
    "i": dt.Int(0, 9),
    "big": dt.Int(-(2**62), 2**62, nullable=False, default=7),
    "f": dt.Fixed(-1, 100, decimals=2),
    "m": dt.Fixed(0, 10**6, decimals=9),
    "d": dt.Date("2020-01-01", "2029-12-31"),
    "at": dt.Timestamp("2020-01-01", "2029-12-31"),
    "tz": dt.Timestamp("1500-01-01", "2029-12-31", nullable=False, default="2020-02-02"),
    "b": dt.Bool(),
    "c": dt.Category(["a", "A", "it's", "ü"]),
    "s": dt.Text(max_length=5),
    "w": dt.Text(max_length=9, nullable=False, default="none"),
}
TYPES = {
    "i": "NUMERIC", "big": "BIGINT", "f": "FLOAT8", "m": "NUMERIC", "d": "DATE", "at": "TIMESTAMP", "tz": "TIMESTAMPTZ",
    "b": "BOOLEAN", "c": "VARCHAR", "s": "TEXT", "w": "TEXT",
}  # fmt: skip
VALUES = {
    "i": ["0.5", "8.49999", "-0.5", "NaN", "Infinity", "-Infinity", "1e40", "9" * 2000, "-" + "9" * 2000, "3",
          "1e-999", "9.5"],
    "big": [str(2**63 - 1), str(-(2**63)), "0", str(2**62)],
    "f": ["NaN", "Infinity", "-Infinity", "1.7976931348623157e308", "5e-324", "-0", "0.005", "1.005", "2.675", "99.995",
          "0.1", "-0.005", "100.004999999999999", "0.12499999999999999"],
    "m": ["0.0000000005", "0.00000000049999999999999999999999", "1" * 1000 + ".5", "NaN", "999999.9999999995",
          "0." + "9" * 900],
    "d": ["infinity", "-infinity", "0044-03-15 BC", "0001-01-01", "9999-12-31", "2024-02-29", "12024-01-01"],
    "at": ["infinity", "-infinity", "0044-03-15 BC", "0001-01-01", "294000-01-01", "2024-02-29 23:59:59.999999"],
    "tz": ["infinity", "1969-12-31 23:59:59.999999+00", "2024-03-31 02:30+02", "1500-06-01 00:00-11",
           "9999-12-31 00:00+14"],
    "b": ["true", "false"],
    "c": ["a", "A", "it's", "ü", "u\u0308", "a ", "", "b"],
    "s": ["", "abcde", "abcdef", "😀😀😀😀😀", "é\u0301", "\u0001", "\\", "a\ufdd0", "'", "\u200b", " x "],
    "w": ["", "NULL", "none", "%_\\", "1234567890"],
}  # fmt: skip
OWNERS = [
    "1",
    "7",
    "7.0",
    " 7",
    "7.00\u00a0",
    "\u200b7",
    "seven",
    "SEVEN",
    "",
    " \t\n",
    "-3.",
    "1\ufdd0",
    None,
    "0x7",
    "7.5",
]


@pytest.fixture
def live(cluster: Any, tmp_path: Path) -> Iterator[Live]:
    made = Live(cluster, tmp_path)
    yield made
    made.engine.close()


class Live:
    """A schema of somebody else's and an engine that may read it; SQL of whoever owns it."""

    def __init__(self, cluster: Any, folder: Path) -> None:
        self.cluster, self.settings, self.folder = cluster, cluster.live(), folder
        self.engine = LiveEngine(folder / "live", self.settings)
        self.schema = self.settings.schema

    def do(self, *statements: str) -> None:
        with psycopg.connect(self.cluster.address("snapshots"), autocommit=True) as connection:
            connection.execute(f"SET search_path = {self.schema}, public")
            for sql in statements:
                connection.execute(sql)

    def make(self, owner: str, rows: int) -> None:
        """A table `t` with values of every kind that ever was a problem."""
        drawn = random.Random(rows)
        defined = ", ".join(f"{name} {type_}" for name, type_ in TYPES.items())
        self.do("DROP TABLE IF EXISTS t", f"CREATE TABLE t (id {owner}, {defined}, unused JSONB)")
        owners = OWNERS if owner == "TEXT" else ["1", "2", "-3", None]
        sql = f"COPY {self.schema}.t (id, {', '.join(TYPES)}) FROM STDIN"
        with psycopg.connect(self.cluster.address("snapshots")) as connection, connection.cursor().copy(sql) as copy:
            for _ in range(rows):
                copy.write_row([drawn.choice(owners), *(drawn.choice([None, *VALUES[name]]) for name in TYPES)])

    def read(self, table: Table, dialect: LivePostgreSQL) -> list[tuple[Any, ...]]:
        names = ", ".join(map(dialect.name, (OWNER, *table.columns, RANK)))
        with self.engine._sessions.slot() as session:
            session.hold([table], dialect)
            found: list[tuple[Any, ...]] = session.raw.execute(
                f"SELECT {names} FROM {dialect.rows(table)} AS r"
            ).fetchall()
        return found


TABLE = Table("t", "p", "id", 1000, COLUMNS, 1)


def loaded(live: Live, table: Table) -> list[tuple[Any, ...]]:
    """What a load makes of the same table."""
    engine = DuckDBEngine(live.folder / "beside")
    engine.load(table, dt.PostgresTable(f"{live.schema}.t", live.settings.dsn_env))
    with engine.rows(table) as rows:
        found = [tuple(row.values()) for row in rows.read_all().to_pylist()]
    engine.drop(table)
    engine.close()
    return found


def check_alike(live: Live, owner: str) -> None:
    """The same rows as those of a load; ranks are 1, 2, ... of each owner, and no more than count."""
    live.make(owner, 400)
    report = live.engine.load(TABLE, f"{live.schema}.t")
    table = replace(TABLE, owner_type=live.engine.owner_type(TABLE))
    found, wanted = live.read(table, live.engine.dialect), loaded(live, table)
    assert Counter(row[:-1] for row in found) == Counter(row[:-1] for row in wanted)
    owners = Counter(row[0] for row in wanted)
    assert Counter((row[0], row[-1]) for row in found) == Counter(
        (one, n + 1) for one in owners for n in range(owners[one])
    )
    assert (report.rows, report.owners, report.dropped_without_owner) == (len(found), len(owners), 400 - len(found))
    few = live.read(replace(table, max_rows_per_owner=3), live.engine.dialect)
    assert sorted(few, key=repr) == sorted((row for row in found if row[-1] <= 3), key=repr)


@pytest.mark.parametrize("owner", ["BIGINT", "TEXT"])
def test_rows_are_those_of_a_load(live: Live, owner: str) -> None:
    check_alike(live, owner)


def test_planted_doubles_of_fifteen_digits(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    read = LivePostgreSQL._read

    def short(self: LivePostgreSQL, column: Any, value: str) -> str:
        return read(self, column, value).replace(f"CAST(CAST({value} AS TEXT) AS NUMERIC)", f"CAST({value} AS NUMERIC)")

    monkeypatch.setattr(LivePostgreSQL, "_read", short)
    with pytest.raises(AssertionError):
        check_alike(live, "BIGINT")


def test_an_owner_keeps_rows_whoever_else_is_there(live: Live) -> None:
    """Which rows of an owner count, and their ranks, follow from that owner's rows alone, however they lie."""
    live.make("BIGINT", 300)
    table = replace(TABLE, max_rows_per_owner=5, owner_type="BIGINT")
    before = live.read(table, live.engine.dialect)
    live.do("DELETE FROM t WHERE id = 2", "CREATE TABLE u AS SELECT * FROM t ORDER BY f, random()", "DROP TABLE t")
    live.do("ALTER TABLE u RENAME TO t", "VACUUM ANALYZE t", "CREATE INDEX ON t (id, s)")
    after = live.read(table, live.engine.dialect)
    assert sorted(after, key=repr) == sorted((row for row in before if row[0] != 2), key=repr)
    assert after


# What is refused

SIMPLE = Table("t", "p", "id", 2, {"n": dt.Int(0, 9)}, 1)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (replace(SIMPLE, key=("n",)), "key="),
        (replace(SIMPLE, max_rows=9), "max_rows="),
        (replace(SIMPLE, owner=""), "each row"),
        (replace(SIMPLE, structure=Structure(rows_in={"n": 1})), "max_rows_per_owner_in="),
        (replace(SIMPLE, via=ForeignKey("n", "other", "n")), "foreign key"),
        (PublicTable("pub", {"n": dt.Int(0, 9)}, ("n",), 1), "public table"),
    ],
)  # fmt: skip
def test_what_nothing_proves(live: Live, table: Any, said: str) -> None:
    with pytest.raises(PolicyError, match=said):
        live.engine.dialect.rows(table)
    if isinstance(table, Table):
        live.do("CREATE TABLE t (id BIGINT, n INTEGER)")
        with pytest.raises(PolicyError, match=said):
            live.engine.load(table, f"{live.schema}.t")


REFUSED = {
    "a view": (["CREATE VIEW t AS SELECT 1::BIGINT AS id, 2 AS n"], "no ordinary table"),
    "parts": (
        ["CREATE TABLE t (id BIGINT, n INTEGER)", "CREATE TABLE more () INHERITS (t)"],
        "no ordinary table",
    ),
    "partitions": (["CREATE TABLE t (id BIGINT, n INTEGER) PARTITION BY RANGE (n)"], "no ordinary table"),
    "a computed column": (
        ["CREATE TABLE t (id BIGINT, n INTEGER GENERATED ALWAYS AS (1 / id) VIRTUAL)"],
        "not from computed ones",
    ),
    "a type of somebody's": (
        ["CREATE DOMAIN d AS INTEGER CHECK (VALUE > 0)", "CREATE TABLE t (id BIGINT, n d)"],
        "'n'",
    ),
    "text for numbers": (["CREATE TABLE t (id BIGINT, n TEXT)"], "int2, int4, int8, numeric, float8"),
    "another owner": (["CREATE TABLE t (id FLOAT8, n INTEGER)"], "'id'"),
    "no such column": (["CREATE TABLE t (id BIGINT, N_ INTEGER)"], "no column 'n'"),
    "rows that are hidden": (
        ["CREATE TABLE t (id BIGINT, n INTEGER)", "ALTER TABLE t ENABLE ROW LEVEL SECURITY",
         "CREATE POLICY half ON t USING (id > 1)"],
        "PostgreSQL",
    ),
    "no right to read": (["CREATE TABLE t (id BIGINT, n INTEGER)", "REVOKE ALL ON t FROM curator"], "PostgreSQL"),
    "no table": ([], "PostgreSQL"),
}  # fmt: skip


@pytest.mark.parametrize("kind", REFUSED)
def test_tables_that_are_refused(live: Live, kind: str) -> None:
    made, said = REFUSED[kind]
    live.do(*made)
    with pytest.raises(PolicyError, match=said):
        live.engine.load(SIMPLE, f"{live.schema}.t")
    with pytest.raises(PolicyError, match=said):
        live.engine.has(SIMPLE)


def test_its_source_is_its_own_place(live: Live) -> None:
    live.do("CREATE TABLE t (id BIGINT, n INTEGER)")
    table = dt.PostgresTable(f"{live.schema}.t", live.settings.dsn_env)
    assert live.engine.load(SIMPLE, table).rows == 0
    for source in ("t", "elsewhere.t", dt.PostgresTable(f"{live.schema}.t", "OTHER_DSN")):
        with pytest.raises(PolicyError, match="live table"):
            live.engine.load(SIMPLE, source)
    with pytest.raises(PolicyError, match="strict"):
        live.engine.load(SIMPLE, table, strict=True)
    with pytest.raises(PolicyError, match="Load a copy"):
        live.engine.store(SIMPLE, None)


# One question

COUNT = Statement((replace(SIMPLE, owner_type="BIGINT"),), "SELECT COUNT(*) AS m0 FROM {} AS r", (), 1)


def counted(live: Live) -> int:
    (found,) = live.engine.run(replace(COUNT, sql=COUNT.sql.format(live.engine.dialect.rows(COUNT.tables[0]))))  # type: ignore[arg-type]
    return int(_unseal(found)[0])  # type: ignore[index]


def test_a_question_sees_one_version(live: Live) -> None:
    live.do("CREATE TABLE t (id BIGINT, n INTEGER)", "INSERT INTO t VALUES (1, 1), (2, 2)")
    with live.engine.slot():
        assert counted(live) == 2
        live.do("INSERT INTO t VALUES (3, 3)")
        assert counted(live) == 2
    assert counted(live) == 3


def test_planted_question_of_two_versions(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    hold = LiveSession.hold

    def anew(self: LiveSession, *stated: Any) -> Any:
        self._end()
        return hold(self, *stated)

    monkeypatch.setattr(LiveSession, "hold", anew)
    with pytest.raises(AssertionError):
        test_a_question_sees_one_version(live)


def test_columns_cannot_change_below_a_question(live: Live) -> None:
    """ALTER TABLE waits for the question; one that came before it is seen, and then nothing is told of any row."""
    live.do("CREATE TABLE t (id BIGINT, n INTEGER)", "INSERT INTO t VALUES (1, 1)")
    with live.engine.slot():
        assert counted(live) == 1
        with pytest.raises(psycopg.errors.LockNotAvailable):
            live.do("SET lock_timeout = '100ms'", "ALTER TABLE t ALTER n TYPE TEXT")
    live.do("ALTER TABLE t ALTER n TYPE TEXT", "UPDATE t SET n = 'CANARY'")
    with pytest.raises(dt.DitherError) as caught:
        counted(live)
    assert "CANARY" not in str(caught.value)
    assert (caught.value.code, caught.value.__context__) == ("engine_failed", None)
    live.do("ALTER TABLE t ALTER n TYPE INTEGER USING 1")
    assert counted(live) == 1


def test_a_killed_backend(live: Live) -> None:
    """What is asked then has ended like any statement that was stopped, and the next one is answered."""
    live.do("CREATE TABLE t (id BIGINT, n INTEGER)", "INSERT INTO t VALUES (1, 1)")
    rows = live.engine.dialect.rows(COUNT.tables[0])
    slow = replace(COUNT, sql=f"SELECT COUNT(*) AS m0 FROM {rows} AS r, (SELECT pg_sleep(600)) AS s")
    ended = threading.Thread(target=end_the_backend, args=(live,))
    ended.start()
    with pytest.raises(StatementStopped) as caught:
        live.engine.run(slow)
    ended.join()
    assert (str(caught.value), caught.value.__context__) == (str(EngineError()), None)
    assert counted(live) == 1


def end_the_backend(live: Live) -> None:
    """As soon as it sleeps."""
    running = "FROM pg_stat_activity WHERE application_name = 'dither' AND query LIKE '%pg_sleep%' AND state = 'active'"
    with psycopg.connect(live.cluster.address("snapshots"), autocommit=True) as connection:
        while not connection.execute(f"SELECT pg_terminate_backend(pid) {running}").fetchall():
            time.sleep(0.02)


def test_functions_beside_the_table_are_not_called(live: Live) -> None:
    """What somebody calls `array_position` beside the live table has no part in its statements."""
    live.do(
        "CREATE FUNCTION array_position(text[], text) RETURNS INTEGER AS 'SELECT 1 / 0' LANGUAGE sql",
    )
    check_alike(live, "BIGINT")


def test_planted_functions_beside_the_table(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dt.LivePostgreSQL, "search_path", Place.search_path)
    with pytest.raises(PolicyError):
        test_functions_beside_the_table_are_not_called(live)
