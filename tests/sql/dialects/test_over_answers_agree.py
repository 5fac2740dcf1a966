# ruff: noqa: E501
"""What is computed from answers in a dialect is what its real engine computes from the same noisy table, or refused."""

from __future__ import annotations

import datetime
import os
import random
import sqlite3
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import dialects_rows as rows
import duckdb
import pyarrow as pa
import pytest

from dither.errors import DitherError
from dither.policy.catalog import Catalog, Table
from dither.sql.over import outer_dialects
from dither.sql.over.engine_text import engine_text
from dither.sql.over.over_reading import read_over
from dither.sql.over.provenance import traced
from dither.sql.text.dialects.vocabularies import VOCABULARIES

CAMPAIGN = int(os.environ.get("DITHER_CAMPAIGN", "1"))
TEXTS = 60
CATALOG = Catalog({"t": Table("t", "people", "owner_id", 4, rows.COLUMNS)})
INNER = "SELECT b AS k, g, d, COUNT(*) AS n, SUM(m) AS u, AVG(m) AS v FROM t GROUP BY b, g, d"


def noisy() -> list[tuple[Any, ...]]:
    """Rows as an answer may have them: NULL keys, undefined averages, ties, numbers below zero."""
    draw = random.Random(7)
    days = [datetime.date(2024, 1, 1), datetime.date(2024, 2, 29), None]
    return [
        (
            key,
            draw.choice(["north", "south", "a_b", "Ost", None]),
            draw.choice(days),
            draw.choice([0, 5, 5, -3, 12, 7]),
            Decimal(draw.choice([0, 25, -150, 150, 1000])).scaleb(-2),
            draw.choice([None, None, 0.5, -2.0, 2.25]),
        )
        for key in range(10)
    ]


NAMES = ("k", "g", "d", "n", "u", "v")
TYPES = (pa.int64(), pa.string(), pa.date32(), pa.int64(), pa.decimal128(18, 2), pa.float64())
TABLE = pa.table([pa.array(cells, kind) for cells, kind in zip(zip(*noisy(), strict=True), TYPES, strict=True)], NAMES)


class Differs(AssertionError):
    """dither and the engine compute different rows."""


class Texts:
    """Draws queries over the table m, all in a total order."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)

    def some(self, *items: str) -> str:
        return self.draw.choice(items)

    def number(self, depth: int = 1) -> str:
        leaf = self.some("n", "u", "v", "k", "2", "0.5")
        if depth == 0:
            return leaf
        one, other = self.number(depth - 1), self.number(depth - 1)
        return self.some(
            leaf, f"({one} + {other})", f"({one} - {other})", f"{one} * {other}", f"ABS({one})", f"-({one})",
            f"COALESCE({one}, {other})", f"NULLIF({one}, {other})", f"CASE WHEN {self.condition()} THEN {one} END",
            f"1.0 * {one} / NULLIF({other}, 0)", f"{one} / 2", "100.0 * n / NULLIF(SUM(n) OVER (), 0)", f"{one} / {other}",
            f"ROUND({one}, 1)", f"FLOOR({one})", f"CAST({one} AS DOUBLE PRECISION) / 4", f"SQRT({one})", f"{one} % 3",
        )  # fmt: skip

    def condition(self) -> str:
        return self.some(
            "n > 5", "v IS NULL", "g = 'north'", "g IN ('south', 'Ost')", "g < 'o'", "u BETWEEN -1 AND 2", "v <> 0.5",
            "NOT n = 5", "d >= '2024-02-01'", "d = '2024-02-29'", "n = '5'", "k = '5' OR n > 5", "g > 3", "n", "g LIKE 'n%'",
        )  # fmt: skip

    def order(self) -> str:
        by = self.some("v", "v DESC", "g", "g DESC", "d", "d DESC", "n", "u DESC", "v NULLS FIRST", "v DESC NULLS LAST")
        return f"{by}, k"

    def window(self) -> str:
        part = self.some("", "PARTITION BY g ", "PARTITION BY d ")
        frame = self.some(
            "", "", " ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING", " ROWS 2 PRECEDING", " RANGE UNBOUNDED PRECEDING"
        )
        over = f"OVER ({part}ORDER BY {self.order()}{frame})"
        ranked = f"OVER ({part}ORDER BY {self.order().removesuffix(', k')})"
        value = self.some("n", "u", "v")
        return self.some(
            f"RANK() {ranked}", f"DENSE_RANK() {ranked}", f"PERCENT_RANK() {ranked}", f"CUME_DIST() {ranked}",
            f"SUM({value}) {ranked}", f"COUNT({value}) {ranked}", f"ROW_NUMBER() {over}", f"NTILE(3) {over}",
            f"SUM({value}) {over}", f"AVG({value}) {over}", f"MAX({value}) {over}", f"FIRST_VALUE({value}) {over}",
            f"LAST_VALUE({value}) {over}", f"NTH_VALUE({value}, 2) {over}", f"LAG({value}) {over}",
            f"LEAD({value}, 2, 0) {over}", f"{value} - LAG({value}) {over}", f"MIN(g) {over}",
        )  # fmt: skip

    def text(self) -> str:
        where = self.some("", "", f" WHERE {self.condition()}")
        kind = self.draw.randrange(6)
        if kind < 2:
            text = f"SELECT k, {self.window()} AS w, {self.number()} AS x FROM m{where} ORDER BY {self.order()}"
            return text + self.some("", " LIMIT 4", " LIMIT 3 OFFSET 2")
        if kind == 2:
            key = self.some("g", "d", "n", "v")
            value = self.some("SUM(n)", "AVG(u)", "MIN(v)", "MAX(g)", "COUNT(*)", "COUNT(DISTINCT n)", "SUM(n) / 2.0")
            return f"SELECT {key}, {value} AS w FROM m{where} GROUP BY {key} ORDER BY {key}{self.some('', ' DESC')}"
        if kind == 3:
            inner = f"SELECT k, g, {self.window()} AS w FROM m{where}"
            return (
                f"SELECT k, w, RANK() OVER (ORDER BY w) AS r FROM ({inner}) AS q ORDER BY w{self.some('', ' DESC')}, k"
            )
        if kind == 4:
            return f"SELECT k, v FROM m{where} UNION ALL SELECT k + 10, {self.number(0)} FROM m ORDER BY 2{self.some('', ' DESC')}, 1"
        return (
            f"SELECT k, n FROM m WHERE n > (SELECT {self.some('AVG(n)', 'MAX(v)', 'n')} FROM m) ORDER BY {self.order()}"
        )


def engine(dialect: str) -> Callable[[str], list[tuple[Any, ...]]]:
    """The table m in the real engine of the dialect."""
    if dialect == "duckdb":
        connection = duckdb.connect()
        connection.register("m", TABLE)
        return lambda text: connection.execute(text).fetchall()
    own = sqlite3.connect(":memory:")
    own.execute("CREATE TABLE m (k, g, d, n, u, v)")  # as computed columns, without a type that values are changed to
    plain = [
        [str(c) if isinstance(c, datetime.date) else float(c) if isinstance(c, Decimal) else c for c in row]
        for row in noisy()
    ]
    own.executemany("INSERT INTO m VALUES (?, ?, ?, ?, ?, ?)", plain)
    return lambda text: own.execute(text).fetchall()


def mine(dialect: str, text: str) -> list[tuple[Any, ...]]:
    """What dither computes from the same table."""
    over = read_over(f"WITH m AS ({INNER}) {text}", CATALOG, lambda people: "pure", vocabulary=VOCABULARIES[dialect])
    assert over is not None
    with duckdb.connect() as connection:
        connection.register(over.parts[0].table, TABLE)
        return connection.execute(engine_text(traced(over, lists=False).tree)).fetchall()


def alike(one: Any, other: Any) -> bool:
    if isinstance(one, (str, datetime.date)) or isinstance(other, str) or one is None or other is None:
        return (None if one is None else str(one)) == (None if other is None else str(other))
    return abs(float(one) - float(other)) <= 1e-6 * max(1.0, abs(float(other)))


def compare(dialect: str, fetch: Callable[[str], list[tuple[Any, ...]]], text: str) -> str:
    try:
        found = mine(dialect, text)
    except (DitherError, duckdb.BinderException, duckdb.ConversionException):  # the latter two refuse before the charge
        return "refused"
    try:
        wanted = fetch(text)
    except (duckdb.Error, sqlite3.Error):
        return "failed"
    if len(found) != len(wanted) or not all(map(alike, sum(found, ()), sum(wanted, ()))):
        raise Differs(f"{dialect}: {text}\n{found}\n{wanted}")
    return "alike"


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite"])
def test_random_queries_over_answers(dialect: str) -> None:
    texts, went, fetch = Texts(CAMPAIGN), Counter[str](), engine(dialect)
    for _ in range(TEXTS * CAMPAIGN):
        went[compare(dialect, fetch, texts.text())] += 1
    print(dialect, dict(went))
    assert went["alike"] > 0.45 * TEXTS * CAMPAIGN, went
    assert went["refused"] > 0, went


PLANTED: dict[str, tuple[str, dict[str, Any], str]] = {
    "NULL is the largest": ("sqlite", {"nulls": "large"}, "SELECT k, RANK() OVER (ORDER BY v) AS r FROM m"),
    "NULL is the smallest": ("duckdb", {"nulls": "small"}, "SELECT k FROM m ORDER BY v, k LIMIT 3"),
    "quotients have decimals": ("sqlite", {"division": "exact"}, "SELECT k, n / 2 AS x FROM m"),
    "no quotient is infinite": (
        "duckdb",
        {"quotients_are_floats": False},
        "SELECT k FROM m WHERE n / (n - 5) > 1",
    ),
}


def honest(dialect: str, text: str) -> None:
    """The text is computed as it should be, or refused."""
    compare(dialect, engine(dialect), f"{text} ORDER BY k" if " ORDER BY v, k" not in text else text)


@pytest.mark.parametrize(("dialect", "facts", "text"), PLANTED.values(), ids=PLANTED)
def test_planted_facts_are_found(
    dialect: str, facts: dict[str, Any], text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest(dialect, text)
    monkeypatch.setitem(VOCABULARIES, dialect, replace(VOCABULARIES[dialect], **facts))
    with pytest.raises(Differs):
        honest(dialect, text)


def test_planted_kinds_that_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite tells the number 5 from the text '5'; DuckDB, which computes, does not."""
    honest("sqlite", "SELECT k FROM m WHERE n = '5'")
    monkeypatch.setattr(outer_dialects._Outer, "_same", lambda *given: None)
    with pytest.raises(Differs):
        honest("sqlite", "SELECT k FROM m WHERE n = '5'")
