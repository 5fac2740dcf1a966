"""Relations as PostgreSQL means them: the exact answers of a curator beside those of an engine that reads plain tables."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass

import duckdb
import pyarrow as pa
import pytest

from dither.accounting import ApproxDP
from dither.columns import Category, Int, Text
from dither.curator import Curator
from dither.errors import UnsupportedQuery
from dither.mechanisms.exact import _unseal
from dither.sql.plan import Retruncate
from dither.sql.relations import MOST_RELATIONS

PEOPLE = {"age": pa.int64(), "code": pa.int64()}
ORDERS = {"number": pa.int64(), "x": pa.int64(), "name": pa.string(), "code": pa.int64()}
VISITS = {"k": pa.int64(), "y": pa.int64(), "name": pa.string()}
CODES = {"code": pa.int64(), "grp": pa.string()}


def table(rows: list[tuple[object, ...]], types: dict[str, pa.DataType], *, owner: bool = True) -> pa.Table:
    names = {"uid": pa.int64(), **types} if owner else types
    return pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows], pa.schema(names))


def sources(owners: int = 30) -> dict[str, pa.Table]:
    """Owners with rows in some tables and none in others, NULLs everywhere, and keys that several owners share."""
    drawn = random.Random(3)
    people = [(uid, drawn.choice([None, 10, 40]), drawn.choice([None, 0, 1, 2])) for uid in range(owners)]
    orders = [
        (uid, place, drawn.choice([None, -5, 0, 7]), drawn.choice([None, "a", "A", ""]), drawn.choice([None, 1, 2, 9]))
        for uid in range(owners)
        for place in range(drawn.randint(0, 2))
    ]
    visits = [
        (uid, k, drawn.choice([None, 1, 2]), drawn.choice([None, "a"]))
        for uid in range(owners)
        for k in drawn.sample([None, 0, 1, 2], drawn.randint(0, 2))
    ]
    return {
        "people": table(people, PEOPLE),
        "orders": table(orders, ORDERS),
        "visits": table(visits, VISITS),
        "codes": table([(0, "x"), (1, "y"), (2, None)], CODES, owner=False),
    }


@dataclass(frozen=True)
class Both:
    """A curator, and an engine that answers without privacy."""

    curator: Curator
    plain: duckdb.DuckDBPyConnection

    def exact(self, text: str) -> int:
        """The first exact number that the curator's plan computes."""
        priced = self.curator._price(text, epsilon=1)
        return int(_unseal(self.curator._engine.run(priced.statements[0])[0])[0])

    def meant(self, text: str) -> int:
        return int(self.plain.execute(text).fetchone()[0] or 0)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    curator, plain = Curator.open(tmp_path_factory.mktemp("relations")), duckdb.connect()
    curator.people("ppl", budget=ApproxDP(100, "1e-3"))
    number = Int(0, 9, nullable=False, default=0)
    declared = {
        "people": {"max_rows_per_owner": 1, "columns": {"age": Int(0, 120), "code": Int(0, 9)}},
        "orders": {
            "max_rows_per_owner": 2,
            "key": "number",
            "columns": {"number": number, "x": Int(-9, 9), "name": Text(), "code": Int(0, 9)},
        },
        "visits": {"max_rows_per_owner": 2, "key": "k", "columns": {"k": Int(0, 9), "y": Int(0, 9), "name": Text()}},
    }
    for name, source in sources().items():
        plain.register(f"given_{name}", source)
        plain.execute(f"CREATE TABLE {name} AS SELECT * FROM given_{name}")
        if name == "codes":
            columns = {"code": Int(0, 9), "grp": Category(["x", "y"])}
            curator.register_public(name, source, columns=columns, key="code")
        else:
            curator.register(name, source, owner="uid", people="ppl", **declared[name])
    yield Both(curator, plain)
    curator.close()
    plain.close()


def joins(tables: int) -> str:
    more = (f"JOIN orders AS t{place} ON t{place}.uid = t0.uid" for place in range(1, tables))
    return f"SELECT COUNT(*) FROM orders AS t0 {' '.join(more)}"


def doubling(steps: int, relation: str, source: str = "SELECT uid, x FROM orders") -> str:
    named = [f"q0 AS ({source})"]
    named += [f"q{step + 1} AS ({relation.replace('q', f'q{step}')})" for step in range(steps)]
    return f"WITH {', '.join(named)} SELECT COUNT(*) FROM q{steps}"


@pytest.mark.parametrize(
    "relation",
    [
        "SELECT a.uid, a.x FROM q AS a JOIN q AS b ON a.uid = b.uid",
        "SELECT uid, x FROM q UNION ALL SELECT uid, x FROM q",
        "SELECT uid, x FROM q AS a WHERE EXISTS (SELECT 1 FROM q AS b WHERE a.uid = b.uid)",
    ],
)
def test_named_queries_that_use_each_other_twice_are_refused_at_once(both, relation):
    """They would be bound 2**60 times."""
    started = time.perf_counter()
    with pytest.raises(UnsupportedQuery, match=f"more than {MOST_RELATIONS} tables"):
        both.curator.explain(doubling(60, relation), epsilon=1)
    assert time.perf_counter() - started < 1


def test_joins_nested_on_the_right_are_planned_in_time_that_grows_with_their_number(both):
    query = "SELECT uid, x FROM orders"
    for _ in range(18):
        query = f"SELECT a.uid, a.x FROM orders AS a JOIN ({query}) AS b ON a.uid = b.uid"
    started = time.perf_counter()
    both.curator.explain(f"SELECT COUNT(*) FROM ({query}) AS z", epsilon=1)
    assert time.perf_counter() - started < 5


@pytest.mark.parametrize("text", [joins(30), f"SELECT COUNT(*) FROM people WHERE uid IN ({joins(30)})"])
def test_many_joins_are_cut_before_the_rows_of_an_owner_are_multiplied(both, text):
    """2**30 rows of an owner would never be counted."""
    text = text.replace("(SELECT COUNT(*)", "(SELECT t0.uid")
    (aggregate,) = both.curator._price(text, epsilon=1).aggregates
    assert sum(isinstance(node, Retruncate) for node in aggregate.walk()) > 1
    started = time.perf_counter()
    assert both.exact(text) > 0
    assert time.perf_counter() - started < 20
