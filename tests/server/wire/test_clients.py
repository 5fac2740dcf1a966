"""Real clients at a real listener: psql, psycopg, SQLAlchemy, pandas and a program over JDBC."""

from __future__ import annotations

import datetime
from typing import Any

import pandas as pd
import pytest
import sqlalchemy as sa
import wire_clients as clients
import wire_places as places


@pytest.fixture
def engine(shared: places.Wired) -> Any:
    made = clients.engine(shared)
    yield made
    made.dispose()


def test_psql_looks_around(shared: places.Wired) -> None:
    before = shared.spent()
    shown, complaints = clients.psql(shared, r"\d", r"\dt", r"\d visits", r"\dn", r"\l", r"\du", r"\d nosuch")
    assert complaints == 'Did not find any relation named "nosuch".\n'
    assert shown.count(" public | visits | table |") == 2
    for line in (
        " age    | bigint                   |           |          | ",
        " fee    | numeric(38,2)            |           |          | ",
        " at     | timestamp with time zone |           |          | ",
        " pid    | bigint                   |           | not null | ",
    ):
        assert f"{line}\n" in shown
    assert shared.spent() == before


def test_psql_asks(shared: places.Wired) -> None:
    price = "SET dither.epsilon = '0.01'"
    question = "SELECT region, COUNT(*) AS n FROM visits WHERE age > 41 GROUP BY region"
    shown, complaints = clients.psql(shared, question)
    assert (shown, "SET dither.epsilon" in complaints) == ("", True)
    shown, complaints = clients.psql(shared, price, f"EXPLAIN {question}", question)
    assert "Price: epsilon 0.01" in shown
    assert "(3 rows)" in shown
    spent = shared.spent()
    shown, complaints = clients.psql(shared, typed=f"{price};\n{question} \\watch i=0.01 c=3\n")
    assert shown.count("(3 rows)") == 3
    assert shared.spent() == spent
    shown, complaints = clients.psql(shared, question, PGOPTIONS="-c dither.epsilon=0.01 -c dither.intervals=on")
    assert " region |" in shown
    assert "n_lower" in shown
    shown, complaints = clients.psql(shared, price, "SELECT region FROM visits")
    assert "LINE 1: SELECT region FROM visits\n               ^" in complaints


def test_sqlalchemy_reflects(shared: places.Wired) -> None:
    before = shared.spent()
    found = clients.reflect(shared)
    (table,) = found.tables.values()
    assert {column.name: str(column.type) for column in table.columns} == {
        "pid": "BIGINT", "age": "BIGINT", "fee": "NUMERIC(38, 2)", "region": "TEXT", "day": "DATE", "at": "TIMESTAMP",
        "ok": "BOOLEAN", "note": "TEXT",
    }  # fmt: skip
    assert table.columns["age"].comment == "Int(0, 120)"
    assert shared.spent() == before


def test_sqlalchemy_and_pandas_ask(shared: places.Wired, engine: Any) -> None:
    table = sa.Table("visits", sa.MetaData(), autoload_with=engine)
    question = (
        sa.select(table.c.region, sa.func.count().label("n"), sa.func.sum(table.c.fee).label("fees"))
        .where(table.c.age > 30, table.c.day >= datetime.date(2024, 1, 3), table.c.region != "south")
        .group_by(table.c.region)
    )
    with engine.connect() as connection:
        rows = connection.execute(question).fetchall()
    spent = shared.spent()
    frame = pd.read_sql(question, engine)
    assert frame["n"].tolist() == [row.n for row in rows]
    assert list(frame.columns) == ["region", "n", "fees"]
    text = "SELECT day, COUNT(*) AS n FROM visits WHERE age > %(age)s GROUP BY day"
    parts = list(pd.read_sql(text, engine, params={"age": 30}, chunksize=10))
    assert [len(part) for part in parts] == [10, 10, 9]
    assert shared.spent() != spent


def test_jdbc(shared: places.Wired) -> None:
    lines = clients.java(shared)
    assert [line for line in lines if line.startswith("refused")] == ["refused: 55000", "refused: 0A000"]
    found = dict(line.split(": ", 1) for line in lines)
    assert found["product"] == "16.0"
    assert found["tables"] == "visits"
    assert found["columns"] == (
        "pid -5 int8, age -5 int8, fee 2 numeric, region 12 text, day 91 date, "
        "at 93 timestamptz, ok -7 bool, note 12 text"
    )
    assert found["shape"] == "region text, n int8, fees numeric, years float8"
    assert {found[f"again {number}"] for number in range(3)} == {"1 true"}
    assert found["portal"] == "29"
    assert (found["primary keys"], found["indexes"], found["type info"]) == ("", "", "true")
    assert found["explain"].startswith("Table visits")
