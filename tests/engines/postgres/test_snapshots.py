"""Snapshots in PostgreSQL: whole or not there, read back, in a schema that nobody else may look into."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest

import dither as dt
from dither.engines.postgres import binary_rows, snapshots
from dither.engines.postgres.engine import PostgresEngine
from dither.errors import PolicyError
from dither.policy.catalog import ForeignKey, PublicTable, Table
from dither.policy.columns import Category, Int, Text

COLUMNS = {"x": Int(-9, 9), "s": Text(max_length=5), "g": Category(["n", "s"], nullable=False, default="n")}
TABLE = Table("t", "p", "id", 3, COLUMNS, 1)
SOURCE = pa.table(
    {
        "id": [1, 1, 1, 2, 3, None],
        "x": [1, None, 99, -3, 0, 5],
        "s": ["", None, "a\t\\.\n", "ünï€😀", "'\"", "x"],
        "g": ["n", "s", "n", "x", "s", "n"],
    }
)
ROWS = [(1, -9, "", 0), (1, None, None, 1), (1, 9, "a\t\\.\n", 0), (2, -3, "ünï€😀", 0), (3, 0, "'\"", 1)]
ROWS[0] = (1, 1, "", 0)


class Place:
    """An engine in a schema of its own, and its superuser's view of it."""

    def __init__(self, cluster: Any, folder: Path) -> None:
        self.cluster, self.settings = cluster, cluster.settings()
        self.engine = PostgresEngine(folder, self.settings)

    def superuser(self, sql: str) -> list[Any]:
        with psycopg.connect(self.cluster.address("snapshots"), autocommit=True) as connection:
            done = connection.execute(sql)
            return done.fetchall() if done.description else []

    def tables(self) -> list[str]:
        found = self.superuser(
            f"SELECT tablename FROM pg_tables WHERE schemaname = '{self.settings.schema}' ORDER BY 1"
        )
        return [name for (name,) in found]


@pytest.fixture
def place(cluster: Any, tmp_path: Path) -> Iterator[Place]:
    made = Place(cluster, tmp_path / "snapshots")
    yield made
    made.engine.close()


def stored(place: Place, table: Table | PublicTable = TABLE) -> list[tuple[Any, ...]]:
    with place.engine.rows(table) as rows:
        return [tuple(row.values()) for row in rows.read_all().to_pylist()]


def test_rows_are_what_was_loaded(place: Place) -> None:
    seen: list[float] = []
    report = place.engine.load(TABLE, SOURCE, progress=lambda what, done: seen.append(done))
    assert (report.rows, report.owners, report.dropped_without_owner, report.clamped["x"]) == (5, 3, 1, 1)
    found = stored(place)
    assert sorted((row[:-1] for row in found), key=repr) == sorted(ROWS, key=repr)
    assert sorted(row[-1] for row in found if row[0] == 1) == [1, 2, 3]
    assert seen == sorted(seen)
    assert seen[-1] == 1
    assert (place.engine.has(TABLE), place.engine.owner_type(TABLE)) == (True, "BIGINT")
    with pytest.raises(PolicyError, match="reports an error"):
        place.engine.load(TABLE, SOURCE)  # a snapshot never changes


def test_ranks_are_those_of_duckdb(place: Place, tmp_path: Path) -> None:
    from dither.engines.duckdb.engine import DuckDBEngine

    home = DuckDBEngine(tmp_path / "snapshots")
    home.load(TABLE, SOURCE)
    place.engine.load(TABLE, SOURCE)
    with home.rows(TABLE) as rows:
        assert sorted(map(repr, stored(place))) == sorted(
            repr(tuple(row.values())) for row in rows.read_all().to_pylist()
        )


def test_owners_by_a_foreign_key(place: Place) -> None:
    parent = Table("o", "p", "id", 3, {"n": Int(0, 9)}, 1, key=("n",), owner_type="BIGINT")
    place.engine.load(parent, pa.table({"id": [7, 7, 8], "n": [1, 2, 3]}))
    child = Table("c", "p", "id", 9, {"n": Int(0, 9)}, 2, via=ForeignKey("n", "o", "n"))
    place.engine.load(child, pa.table({"n": [1, 2, 3, 3, 4]}), parent=parent)
    assert sorted(row[0] for row in stored(place, child)) == [7, 7, 8, 8]


def test_old_snapshots_go(place: Place) -> None:
    for number in (1, 2, 3):
        place.engine.load(replace(TABLE, snapshot=number), SOURCE)
    place.superuser(f"CREATE TABLE {place.settings.schema}.other (x INTEGER)")
    place.engine.drop(replace(TABLE, snapshot=1))
    place.engine.keep_only([replace(TABLE, snapshot=3)])
    assert place.tables() == ["other", "t_t_000003"]


def test_a_server_that_is_away_is_cleaned_up_later(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(place.settings.dsn_env, "postgresql://nobody@/nowhere?host=/nonexistent")
    with pytest.warns(UserWarning, match="may still be in PostgreSQL"):
        place.engine.keep_only([])
    with pytest.raises(PolicyError, match="cannot be reached"):
        place.engine.has(TABLE)


BROKEN: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "rows that get lost": lambda patch: patch.setattr(
        snapshots, "copied", lambda batch, types: binary_rows.copied(batch.slice(1), types)
    ),
    "values out of bounds": lambda patch: patch.setattr(
        snapshots, "copied", lambda batch, types: binary_rows.copied(_with(batch, "x", [77] * batch.num_rows), types)
    ),
    "ranks that repeat": lambda patch: patch.setattr(
        snapshots, "copied", lambda batch, types: binary_rows.copied(_with(batch, "_rank", [1] * batch.num_rows), types)
    ),
    "NULL where none may be": lambda patch: patch.setattr(
        snapshots, "copied", lambda batch, types: binary_rows.copied(_with(batch, "g", [None] * batch.num_rows), types)
    ),
}


def _with(batch: Any, name: str, values: list[Any]) -> Any:
    place = batch.schema.names.index(name)
    return batch.set_column(place, batch.schema.field(place), pa.array(values, batch.schema.field(place).type))


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_planted_copies_that_differ_are_not_stored(
    place: Place, broken: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    broken(monkeypatch)
    with pytest.raises(PolicyError, match="does not hold what was declared"):
        place.engine.load(TABLE, SOURCE)
    assert place.tables() == []


@pytest.mark.parametrize("at", ["sanitising", "ranking", "copying"])
def test_an_interrupted_load_leaves_nothing(place: Place, at: str, tmp_path: Path) -> None:
    def interrupt(what: str, done: float) -> None:
        if what == at:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        place.engine.load(TABLE, SOURCE, progress=interrupt)
    assert place.tables() == []
    assert [path.name for path in (tmp_path / "snapshots").iterdir()] == ["rank.key"]
    place.engine.load(TABLE, SOURCE)


def test_what_postgresql_cannot_store_is_refused(place: Place) -> None:
    with pytest.raises(PolicyError, match=r"U\+0000"):
        place.engine.load(TABLE, pa.table({"id": ["a\0b"], "x": [1], "s": ["a"], "g": ["n"]}))
    with pytest.raises(PolicyError, match="63 bytes"):
        place.engine.load(replace(TABLE, name="t" * 60), SOURCE)
    assert place.tables() == []


# Whom the server is asked as, and what it is like


def test_superusers_are_refused(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(place.settings.dsn_env, place.cluster.address("snapshots"))
    with pytest.raises(PolicyError, match="superuser"):
        place.engine.load(TABLE, SOURCE)
    place.superuser("CREATE ROLE reads LOGIN IN ROLE pg_read_server_files")
    place.superuser("GRANT CONNECT ON DATABASE snapshots TO reads")
    try:
        monkeypatch.setenv(place.settings.dsn_env, place.cluster.address("snapshots", "reads"))
        with pytest.raises(PolicyError, match="files of the server"):
            place.engine.has(TABLE)
    finally:
        place.superuser("DROP OWNED BY reads; DROP ROLE reads")


def test_a_database_that_everybody_may_connect_to_is_refused(place: Place) -> None:
    """Its catalog says how many rows each table has."""
    place.superuser("GRANT CONNECT ON DATABASE snapshots TO PUBLIC")
    try:
        with pytest.raises(PolicyError, match="REVOKE CONNECT ON DATABASE snapshots FROM PUBLIC"):
            place.engine.load(TABLE, SOURCE)
    finally:
        place.superuser("REVOKE CONNECT ON DATABASE snapshots FROM PUBLIC")


def test_a_server_that_logs_counts_is_refused(place: Place) -> None:
    place.superuser("ALTER ROLE curator SET auto_explain.log_analyze = 'on'")
    try:
        with pytest.raises(PolicyError, match="logs how many rows"):
            place.engine.load(TABLE, SOURCE)
    finally:
        place.superuser("ALTER ROLE curator RESET auto_explain.log_analyze")


def test_long_texts_travel_in_small_batches() -> None:
    from dither.engines.duckdb.snapshots.stored_rows import batch_rows

    assert batch_rows(TABLE) == 65_536
    assert batch_rows(replace(TABLE, columns={"s": Text(max_length=65_536)})) == 2_048


def test_a_server_that_forgets_is_refused(place: Place) -> None:
    place.cluster.set(fsync="off")
    try:
        with pytest.raises(PolicyError, match="fsync = off"):
            place.engine.load(TABLE, SOURCE)
    finally:
        place.cluster.set(fsync="")


def test_a_schema_of_somebody_else_is_refused(place: Place, tmp_path: Path) -> None:
    place.engine.load(TABLE, SOURCE)
    other = PostgresEngine(tmp_path / "other folder", place.settings)
    with pytest.raises(PolicyError, match="not of this curator's folder"):
        other.load(replace(TABLE, snapshot=2), SOURCE)
    with pytest.warns(UserWarning, match="not of this curator's folder"):
        other.keep_only([])
    assert place.tables() == ["t_t_000001"]


def test_nobody_else_may_read(place: Place) -> None:
    """Rights that others have, or get by default, are refused; PUBLIC has none."""
    schema = place.settings.schema
    place.engine.load(TABLE, SOURCE)
    place.superuser("CREATE ROLE stranger LOGIN; GRANT CONNECT ON DATABASE snapshots TO stranger")
    try:
        with psycopg.connect(place.cluster.address("snapshots", "stranger")) as connection:
            for sql in (f"SELECT * FROM {schema}.t_t_000001", f"CREATE TABLE {schema}.x (y INTEGER)"):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    connection.execute(sql)
                connection.rollback()
        place.superuser("ALTER DEFAULT PRIVILEGES FOR ROLE curator GRANT SELECT ON TABLES TO stranger")
        with pytest.raises(PolicyError, match="by default"):
            place.engine.load(replace(TABLE, snapshot=2), SOURCE)
        place.superuser("ALTER DEFAULT PRIVILEGES FOR ROLE curator REVOKE SELECT ON TABLES FROM stranger")
        place.superuser(f"GRANT USAGE ON SCHEMA {schema} TO stranger")
        with pytest.raises(PolicyError, match="have rights on the schema"):
            place.engine.load(replace(TABLE, snapshot=3), SOURCE)
        assert place.tables() == ["t_t_000001"]
    finally:
        place.superuser("DROP OWNED BY stranger; DROP ROLE stranger")


def test_no_secret_is_named(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "hunter2secret"
    monkeypatch.setenv("OTHER_DSN", f"postgresql://curator:{secret}@/nowhere?host={place.cluster.folder}")
    settings = dt.PostgreSQL("OTHER_DSN")
    for wrong in (settings, dt.PostgreSQL("NOT_SET_DSN")):
        with pytest.raises(PolicyError) as told:
            PostgresEngine(Path(os.devnull), wrong).has(TABLE)
        assert secret not in str(told.value) + repr(wrong) + str(wrong.declaration())
    with pytest.raises(PolicyError) as told:
        dt.PostgreSQL(f"postgresql://curator:{secret}@/nowhere")
    assert secret not in str(told.value)
