"""A table of PostgreSQL as a source: what its values become, whatever they are, on any engine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import psycopg
import pytest

import dither as dt
from dither.engines.duckdb.engine import DuckDBEngine
from dither.errors import PolicyError
from dither.policy.catalog import Table

COLUMNS = {
    "i": dt.Int(0, 9),
    "f": dt.Fixed(0, 100, decimals=2),
    "m": dt.Fixed(0, 100, decimals=2),
    "d": dt.Date("2020-01-01", "2029-12-31"),
    "at": dt.Timestamp("2020-01-01", "2029-12-31"),
    "tz": dt.Timestamp("2020-01-01", "2029-12-31"),
    "b": dt.Bool(),
    "s": dt.Text(max_length=5),
}
DAY, MOMENT, LAST = 18263, 18263 * 86_400 * 10**6, 21914 * 86_400 * 10**6


@pytest.fixture
def source(cluster: Any) -> str:
    """The name of a variable that has the address of a database with a table `live.visits`."""
    cluster.settings()
    with psycopg.connect(os.environ["DITHER_TEST_DSN"], autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS live CASCADE")
        connection.execute("CREATE SCHEMA live")
        connection.execute(
            "CREATE TABLE live.visits (id NUMERIC, i SMALLINT, f FLOAT8, m NUMERIC, d DATE, at TIMESTAMP, "
            'tz TIMESTAMPTZ, b BOOLEAN, s TEXT, "unused ""column" JSONB)'
        )
        for values in (
            "(1, 3, 2.5, 7.125, '2020-01-02', '2020-01-02', '2020-01-02 02:00+02', true, 'ü😀', '{}')",
            "(1, -5, 'NaN', 'NaN', 'infinity', '-infinity', 'infinity', NULL, 'too long', NULL)",
            "(2, NULL, 'Infinity', 1e40, '0044-03-15 BC', '294000-01-01', NULL, false, '', NULL)",
            "('NaN', 1, 1, 1, NULL, NULL, NULL, NULL, NULL, NULL)",
        ):
            connection.execute(f"INSERT INTO live.visits VALUES {values}")
    return "DITHER_TEST_DSN"


def test_every_value_is_made_fit_by_itself(source: str, tmp_path: Path) -> None:
    table = Table("t", "p", "id", 9, COLUMNS, 1, owner_type="BIGINT")
    engine = DuckDBEngine(tmp_path)
    engine.load(table, dt.PostgresTable("live.visits", source))
    with engine.rows(table) as rows:
        found = sorted((tuple(row.values())[:-1] for row in rows.read_all().to_pylist()), key=repr)
    assert found == [
        (1, 0, None, None, None, None, None, None, None),
        (1, 3, 250, 713, DAY, MOMENT, MOMENT, 1, "ü😀"),
        (2, None, None, 10000, None, LAST, None, 0, ""),
    ]


def test_what_cannot_be_read(source: str) -> None:
    for table, wrong in (("live.nosuch", source), ("live.visits", "NOT_SET_DSN")):
        with pytest.raises(PolicyError):
            dt.PostgresTable(table, wrong)._reader()
    with pytest.raises(PolicyError):
        dt.PostgresTable("a.b.c", source)
    with pytest.raises(PolicyError):
        dt.PostgresTable("a", "postgresql://secret")
