"""Real engines with the table in types of their own."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import dialects_rows as rows
import duckdb


class Failed(Exception):
    """The engine raises an error where dither has a documented value, such as NULL by zero."""


@dataclass(frozen=True)
class Engine:
    """Asks a question of a real engine, in its dialect."""

    dialect: str
    fetch: Callable[[str], list[tuple[Any, ...]]]
    close: Callable[[], None]

    def answer(self, text: str, keys: int) -> dict[tuple[Any, ...], tuple[Any, ...]]:
        """The measures of each group: the first items are keys."""
        found = self.fetch(text)
        return {tuple(map(rows.plain, row[:keys])): tuple(map(_number, row[keys:])) for row in found}


def _number(value: Any) -> Fraction:
    """SUM over no values is 0 in dither, where SQL has NULL. What is not finite is none of dither's."""
    if isinstance(value, float) and not math.isfinite(value):
        return Fraction(10**40)
    return Fraction(0 if value is None else value)


OTHERS = {"p": "owner_id BIGINT, age INTEGER, city {text}", "k": "code INTEGER, w INTEGER"}
DUCKDB = (
    "owner_id BIGINT, id BIGINT, a INTEGER, b INTEGER, m DECIMAL(9, 2), f BOOLEAN, d DATE, ts TIMESTAMP, "
    "g VARCHAR, s VARCHAR"
)
SQLITE = "owner_id INTEGER, id INTEGER, a INTEGER, b INTEGER, m REAL, f BOOLEAN, d TEXT, ts TEXT, g TEXT, s TEXT"


def others() -> list[tuple[str, list[list[Any]]]]:
    """The tables beside t, and their rows."""
    return [("p", [[*row.values()] for row in rows.people()]), ("k", [[*row.values()] for row in rows.codes()])]


def make_duckdb() -> Engine:
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE t ({DUCKDB})")
    connection.executemany(f"INSERT INTO t VALUES ({', '.join('?' * 10)})", [[*row.values()] for row in rows.values()])
    _fill(connection, "VARCHAR")

    def fetch(text: str) -> list[tuple[Any, ...]]:
        try:
            return connection.execute(text).fetchall()
        except duckdb.Error as error:
            raise Failed(str(error)) from None

    return Engine("duckdb", fetch, connection.close)


def make_sqlite() -> Engine:
    connection = sqlite3.connect(":memory:")
    connection.execute(f"CREATE TABLE t ({SQLITE})")
    stored = [[_for_sqlite(value) for value in row.values()] for row in rows.values()]
    connection.executemany(f"INSERT INTO t VALUES ({', '.join('?' * 10)})", stored)
    _fill(connection, "TEXT")

    def fetch(text: str) -> list[tuple[Any, ...]]:
        try:
            return connection.execute(text).fetchall()
        except sqlite3.Error as error:
            raise Failed(str(error)) from None

    return Engine("sqlite", fetch, connection.close)


def _fill(connection: Any, text: str) -> None:
    for name, held in others():
        connection.execute(f"CREATE TABLE {name} ({OTHERS[name].format(text=text)})")
        connection.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(held[0]))})", held)


def _for_sqlite(value: Any) -> Any:
    if isinstance(value, rows.Decimal):
        return float(value)
    if isinstance(value, rows.datetime.datetime):
        return value.isoformat(sep=" ")
    return value.isoformat() if isinstance(value, rows.datetime.date) else value
