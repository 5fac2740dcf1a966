"""Every value has a proven size: texts at every nesting of derived tables, and key codes; run on rows at the limits.

The same checks are given back each hole that they close: a length forgotten, a clamp left out unproven, a bare code.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import duckdb
import pytest

from dither.engines.protocol import EngineError
from dither.engines.result import dense
from dither.errors import UnsupportedQuery
from dither.policy.catalog import Catalog, Table
from dither.policy.columns import Bool, Int, Text
from dither.sql import expressions as e
from dither.sql.binding import computed_columns
from dither.sql.binding.reading import read
from dither.sql.bounding.aggregations import plan
from dither.sql.guard import ranges
from dither.sql.guard.check import UnsafePlan, check
from dither.sql.guard.facts import facts, knowledge
from dither.sql.lowering import lower, writer
from dither.sql.plan.nodes import Aggregate, CountRows, Key, OwnerLimit, Project, Scan, SumRows

COLUMNS = {
    "age": Int(0, 9, nullable=False, default=0),
    "ill": Bool(nullable=False, default=False),
    "s": Text(max_length=6),
    "w": Text(max_length=3, nullable=False, default=""),
}
TABLE = Table("t", "people", "owner_id", 2, COLUMNS, owner_type="BIGINT")
CATALOG = Catalog({"t": TABLE})
NAMES = tuple((name, name) for name in COLUMNS)
Row = dict[str, Any]
S, W = ["aaaaaa", "  é😀  ", "", None, "  ", "b\nb"], ["zzz", "", " z "]
# Two rows of each owner; owner 0 has what nobody else has, at the limits.
ROWS: list[Row] = [
    {"age": 9, "ill": 1, "s": "aaaaaa", "w": "zzz", "_owner": 0, "_rank": rank} for rank in (1, 2)
] + [
    {"age": i % 8, "ill": 0, "s": S[i % 6], "w": W[i % 3], "_owner": 1 + i // 2, "_rank": 1 + i % 2} for i in range(24)
]  # fmt: skip


def stored(rows: list[Row]) -> duckdb.DuckDBPyConnection:
    """Rows as an engine holds them, but in words that would hold any other number as well."""
    connection = duckdb.connect()
    columns = {name: "VARCHAR" if isinstance(column, Text) else "BIGINT" for name, column in COLUMNS.items()}
    columns |= {"_owner": "BIGINT", "_rank": "INTEGER"}
    connection.execute('CREATE SCHEMA "t_t"')
    connection.execute(f'CREATE TABLE "t_t"."rows" ({", ".join(map(" ".join, columns.items()))})')
    values = [[row[name] for name in columns] for row in rows]
    connection.executemany(f'INSERT INTO "t_t"."rows" VALUES ({", ".join("?" for _ in columns)})', values)
    return connection


@dataclass(frozen=True)
class Sides:
    """A snapshot, and the same without owner 0."""

    all: duckdb.DuckDBPyConnection = field(repr=False)
    others: duckdb.DuckDBPyConnection = field(repr=False)

    def moved(self, text: str) -> None:
        """Both sides give results of one shape, and no measure moves by more than is claimed."""
        aggregates = plan(read(text, CATALOG))
        for aggregate, sensitivities in zip(aggregates, check(aggregates), strict=True):
            statement = lower.lower(aggregate)
            found = [
                dense(side.sql(statement.sql).to_arrow_table(), statement.keys, statement.measures)
                for side in (self.all, self.others)
            ]
            for one, other, claim in zip(*found, sensitivities, strict=True):
                distance = [abs(int(a) - int(b)) for a, b in zip(one, other, strict=True)]
                assert sum(distance) <= claim.l1, "a measure moves by more than is claimed"
                assert max(distance) <= claim.linf, "a measure moves by more than is claimed"

    def lengths(self, table: str) -> list[int]:
        """How long the text `c` of a derived table is on every row, as a plain engine computes it."""
        found = self.all.execute(f"SELECT LENGTH(c) FROM ({table}) AS z").fetchall()
        return [length for (length,) in found if length is not None]


@pytest.fixture(scope="module")
def sides() -> Iterator[Sides]:
    made = Sides(stored(ROWS), stored([row for row in ROWS if row["_owner"]]))
    for side in (made.all, made.others):
        side.execute('CREATE VIEW t AS SELECT * REPLACE (ill = 1 AS ill) FROM "t_t"."rows"')
    yield made
    made.all.close()
    made.others.close()


# Texts


def grown(level: int, operation: str, below: str) -> str:
    return f"SELECT {operation.replace('{}', 'c')} AS c, age, ill, s, w FROM ({below}) AS q{level}"


STARTS = ("s", "w", "'abc'", "CASE WHEN ill THEN s ELSE LEFT(s, 0) END", "LEFT(w, 0)", "COALESCE(s, w)", "s || w")
OPERATIONS = (
    "{} || {}",
    "{} || s || 'xyz'",
    "CASE WHEN age = 9 AND ill THEN {} || {} || {} ELSE LEFT({}, 0) END",
    "COALESCE({}, 'none of them')",
    "NULLIF({}, s)",
    "SUBSTRING({}, 2)",
    "SUBSTRING({}, 3, 4)",
    "SUBSTRING({}, -1, 9)",
    "LEFT({}, 11)",
    "TRIM({})",
    "LTRIM({}) || RTRIM({})",
    "CASE WHEN {} LIKE '%a%' THEN w WHEN age > 3 THEN {} END",
)


def nested(seed: int) -> str:
    """A derived table whose text `c` has been through a few operations, each in a table of its own."""
    choose = random.Random(seed)
    table = f"SELECT {choose.choice(STARTS)} AS c, age, ill, s, w FROM t"
    for level in range(choose.randrange(1, 6)):
        table = grown(level, choose.choice(OPERATIONS), table)
    if choose.random() < 0.3:
        other = grown(9, choose.choice(OPERATIONS), f"SELECT {choose.choice(STARTS)} AS c, age, ill, s, w FROM t")
        table = f"{table} UNION ALL {other}"
    return table


def proven(table: str) -> int:
    """The length that the guard derives for the text `c` of a derived table."""
    (aggregate,) = plan(read(f"SELECT SUM(LENGTH(c)) FROM ({table}) AS z", CATALOG))
    check((aggregate,))
    return ranges.interval(aggregate.measures[0].value, facts(aggregate.child).schema)[1]  # type: ignore[attr-defined]


@pytest.mark.parametrize("part", range(8))
def test_lengths_at_every_nesting(sides: Sides, part: int) -> None:
    tight = 0
    for seed in range(part * 15, part * 15 + 15):
        table = nested(seed)
        longest = max(sides.lengths(table), default=0)
        assert longest <= proven(table)
        tight += longest == proven(table)
        sides.moved(f"SELECT SUM(LENGTH(c)) FROM ({table}) AS z")
        sides.moved(f"SELECT LENGTH(c || 'a') AS k, COUNT(*), SUM(LENGTH(c)) FROM ({table}) AS z GROUP BY k")
    assert tight > 2, "bounds that are never met would prove nothing about those that are too small"


SECRET = "CASE WHEN age = 9 AND ill THEN s ELSE LEFT(s, 0) END"


def repeated(*times: int) -> str:
    """The text that told whether one person is ill: 6 letters or none, repeated so many times in each derived table."""
    table = f"SELECT {SECRET} AS c FROM t"
    for level, number in enumerate(times):
        table = f"SELECT {' || '.join(['c'] * number)} AS c FROM ({table}) AS q{level}"
    return table


def test_one_persons_text_repeated(sides: Sides) -> None:
    table = repeated(10, 10, 10, 10)
    assert proven(table) == 60_000
    sides.moved(f"SELECT SUM(LENGTH(c)) FROM ({table}) AS z")
    sides.moved(f"SELECT LENGTH(c || 'a') AS k, COUNT(*) FROM ({table}) AS z GROUP BY k")


@pytest.mark.parametrize("kind", ["SUM(LENGTH({}))", "COUNT(*) FILTER (WHERE {} LIKE 'a%')", "COUNT(DISTINCT {})"])
def test_a_text_beyond_the_limit_is_refused_where_it_is_written(kind: str) -> None:
    check(plan(read(f"SELECT {kind.format('c')} FROM ({repeated(22, 31, 16)}) AS z", CATALOG)))
    with pytest.raises(UnsupportedQuery, match="this text can have 65856 characters; at most 65536") as caught:
        read(f"SELECT {kind.format('c')} FROM ({repeated(28, 28, 14)}) AS z", CATALOG)
    assert caught.value.line == 1
    assert caught.value.column


def test_the_guard_refuses_longer_texts_by_itself() -> None:
    column = e.StoredText("s", True, 6)
    scan = OwnerLimit(Scan(TABLE, NAMES), 2)
    fits, beyond = e.Joined((column,) * 10_922), e.Joined((column,) * 10_923)
    assert facts(Project(scan, (("c", fits),))).schema["c"] == e.StoredText("c", True, 65_532)
    for value in (beyond, e.Trim(beyond, True, True), e.Substring(beyond, 1, 3)):
        with pytest.raises(UnsafePlan, match="more than 65536 characters"):
            facts(Project(scan, (("c", value),)))
    derived = Project(scan, (("c", e.Joined((column,) * 100)),))
    for stated in (6, 599, 601, 65_536):
        misstated = e.Clamp(e.Length(e.StoredText("c", True, stated)), 0, stated)
        with pytest.raises(UnsafePlan, match="misstates the text column"):
            check((Aggregate(derived, (), (SumRows(misstated),)),))
    length = e.Clamp(e.Length(e.StoredText("c", True, 600)), 0, 600)
    assert check((Aggregate(derived, (), (SumRows(length),)),))[0][0].l1 == 1_200


# Holes put back


def guard(monkeypatch: pytest.MonkeyPatch) -> None:
    """The guard takes a computed text for as long as a stored one."""
    monkeypatch.setattr(knowledge, "longest", lambda value, schema: 6)


def planner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(computed_columns, "Text", lambda max_length: Text(max_length=6))


def test_planted_length_forgotten_in_derived_tables(sides: Sides, monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"SELECT SUM(LENGTH(c)) FROM ({repeated(10, 10, 10, 10)}) AS z"
    sides.moved(text)
    guard(monkeypatch)
    planner(monkeypatch)
    with pytest.raises(AssertionError, match="more than is claimed"):
        sides.moved(text)


@pytest.mark.parametrize("forgetful", [guard, planner])
def test_planted_length_forgotten_by_one_of_the_two(monkeypatch: pytest.MonkeyPatch, forgetful: Any) -> None:
    forgetful(monkeypatch)
    with pytest.raises(UnsafePlan, match="misstates the text column"):
        check(plan(read(f"SELECT SUM(LENGTH(c)) FROM ({repeated(2, 2)}) AS z", CATALOG)))


def test_planted_clamp_left_out_without_proof(sides: Sides, monkeypatch: pytest.MonkeyPatch) -> None:
    """What only a condition bounds is clamped, since the guard cannot follow conditions."""
    text = "SELECT SUM(v) FROM (SELECT LENGTH(s) % (age + 1) AS v, age FROM t) AS q WHERE v < 1"
    clamp = e.Clamp(e.Stored("age", 0, 9, 0, False), 0, 2)
    aggregate = Aggregate(OwnerLimit(Scan(TABLE, NAMES), 2), (), (SumRows(clamp),))
    sides.moved(text)
    statement = lower.lower(aggregate)
    assert sides.all.execute(statement.sql).fetchall() == [(2 + 2 + sum(min(row["age"], 2) for row in ROWS[2:]),)]
    monkeypatch.setattr(writer, "no_op", lambda clamp, schema: True)
    unproven = lower.lower(Aggregate(aggregate.child, (), aggregate.measures))
    assert sides.all.execute(unproven.sql).fetchall() == [(sum(row["age"] for row in ROWS),)]


# Codes


BROKEN: list[Row] = [*ROWS, {**ROWS[0], "age": 10_000}, {**ROWS[0], "age": -5}, {**ROWS[0], "age": None}]
KEYS = {
    "stored": "SELECT age, COUNT(*), SUM(age) FROM t GROUP BY age",
    "computed": "SELECT age + 1 AS k, COUNT(*) FROM t GROUP BY k",
    "stepped": "SELECT CASE WHEN age > 3 THEN 'old' ELSE 'young' END AS k, COUNT(*) FROM t GROUP BY k",
    "derived": "SELECT k, COUNT(*) FROM (SELECT age / 2 AS k FROM t) AS q GROUP BY k",
    "of owners": "SELECT age, COUNT(*) FROM (SELECT owner_id, age, COUNT(*) AS n FROM t GROUP BY owner_id, age) AS q "
    "GROUP BY age",
}


def shaped(connection: duckdb.DuckDBPyConnection, text: str) -> None:
    for aggregate in plan(read(text, CATALOG)):
        statement = lower.lower(aggregate)
        found = dense(connection.sql(statement.sql).to_arrow_table(), statement.keys, statement.measures)
        assert [len(measure) for measure in found] == [aggregate.group_count] * statement.measures


@pytest.mark.parametrize("name", KEYS)
def test_codes_are_clamped_whatever_a_snapshot_holds(name: str) -> None:
    """Rows that break their declaration, as a faulty proof would let them through, change no result's shape."""
    with stored(BROKEN) as connection:
        shaped(connection, KEYS[name])


@pytest.mark.parametrize("name", [name for name in KEYS if name != "stepped"])  # which has two results whatever the age
def test_planted_bare_codes(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(lower, "_held", bare)
    with stored(BROKEN) as connection, pytest.raises(EngineError):
        shaped(connection, KEYS[name])


def bare(aggregate: Aggregate, measures: int, dialect: Any) -> Iterator[str]:
    """The planted bug: codes as the rows have them."""
    yield from (f"k{place}" for place in range(len(aggregate.keys)))
    yield from ["v"] * (aggregate.chosen_from is not None)
    yield from (f"m{place}" for place in range(measures))


@pytest.mark.parametrize("call", ["MEDIAN(age)", "MODE(age)", "MIN(age + 1)"])
def test_values_to_choose_from_are_clamped(monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    def values() -> set[int]:
        (aggregate,) = plan(read(f"SELECT {call} FROM t", CATALOG))
        low, high = aggregate.chosen_from.bounds  # type: ignore[union-attr]
        with stored(BROKEN) as connection:
            found = connection.execute(lower.lower(aggregate).sql).fetchall()
        return {value for value, _ in found if value is None or not low <= value <= high}

    assert not values()
    monkeypatch.setattr(lower, "_held", bare)
    assert values()


def test_computed_private_keys_keep_their_clamp() -> None:
    text = "SELECT s, age + 1 AS k, COUNT(*) FROM t GROUP BY s, k"
    (first, *_) = plan(read(text, CATALOG))
    statement = lower.lower(first)
    assert "GREATEST" in statement.sql.split(" AS k1")[0]
    assert statement.steps is not None
    assert "GREATEST" in statement.steps.bounds
    assert "GREATEST" in statement.steps.measures


def test_a_code_that_no_word_holds_is_refused() -> None:
    far = e.Clamp(e.Multiply(e.Stored("age", 0, 9, 0, False), e.Constant(2**60)), 2**63, 2**63 + 1)
    key = Key(far, True, 2**63, 2**63 + 1, False)
    with pytest.raises(UnsafePlan, match="misstates the values of a key"):
        check((Aggregate(OwnerLimit(Scan(TABLE, NAMES), 2), (key,), (CountRows(),)),))
