"""Relations mean what PostgreSQL means: exact answers beside those of an engine that reads plain tables."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass

import duckdb
import pyarrow as pa
import pytest

from dither.accounting import ApproxDP
from dither.curator.curator import Curator
from dither.errors import UnsupportedQuery
from dither.mechanisms.sealed_values import _unseal
from dither.policy.columns import Category, Int, Text
from dither.policy.limits import Limits
from dither.sql.binding.relations import MOST_RELATIONS

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
        priced = self.curator._walk.price(text, epsilon=1)
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
    assert time.perf_counter() - started < 30


@pytest.fixture
def generous(both):
    """Joins that are refused for what they could take are planned all the same where limits are higher."""
    both.curator.limits(Limits(max_growth=10**6, statement_seconds=10_000))
    yield
    both.curator.limits(Limits())


def test_joins_nested_on_the_right_are_planned_in_time_that_grows_with_their_number(both, generous):
    query = "SELECT uid, x FROM orders"
    for _ in range(18):
        query = f"SELECT a.uid, a.x FROM orders AS a JOIN ({query}) AS b ON a.uid = b.uid"
    started = time.perf_counter()
    with pytest.raises(UnsupportedQuery, match="of one owner"):
        both.curator.explain(f"SELECT COUNT(*) FROM ({query}) AS z", epsilon=1)
    assert time.perf_counter() - started < 60


@pytest.mark.parametrize("text", [joins(30), f"SELECT COUNT(*) FROM people WHERE uid IN ({joins(30)})"])
def test_many_joins_that_multiply_the_rows_of_an_owner_are_refused(both, generous, text):
    """2**30 rows of an owner would never be counted, and to leave some of them out no interval could cover."""
    text = text.replace("(SELECT COUNT(*)", "(SELECT t0.uid")
    with pytest.raises(UnsupportedQuery, match="of one owner"):
        both.curator.explain(text, epsilon=1)


def test_many_joins_are_limited_after_where_in_time_that_grows_with_their_number(both, generous):
    query = "SELECT uid, x FROM orders WHERE x > 1"
    for _ in range(18):
        query = f"SELECT a.uid, a.x FROM orders AS a JOIN ({query}) AS b ON a.uid = b.uid WHERE a.x > 1"
    explained = both.curator.explain(f"SELECT COUNT(*) FROM ({query}) AS z", epsilon=1, rows_per_owner=1)
    assert explained.content["rows_per_owner"] == 1


MEANT = """
SELECT COUNT(*) FROM people AS c LEFT JOIN orders AS o ON c.uid = o.uid LEFT JOIN visits AS v ON v.uid = c.uid AND v.y = o.code
SELECT COUNT(*) FROM people AS c LEFT JOIN orders AS o ON c.uid = o.uid AND o.x > 0 WHERE o.x IS NULL
SELECT COUNT(*) FROM people AS c LEFT JOIN orders AS o ON c.uid = o.uid AND c.age > 20
SELECT COUNT(*) FROM people AS c LEFT JOIN orders AS o ON c.uid = o.uid, codes AS p WHERE p.code = o.code
SELECT COUNT(*) FROM people AS c LEFT JOIN codes AS p ON p.code = c.code AND p.grp = 'x' WHERE p.code IS NULL
SELECT COUNT(*) FROM visits AS a LEFT JOIN visits AS b ON a.uid = b.uid AND a.k = b.k
SELECT SUM(v.y) FROM orders AS o LEFT JOIN visits AS v USING (uid, name)
SELECT COUNT(*) FROM people AS c WHERE NOT EXISTS (SELECT 1 FROM orders AS o WHERE o.uid = c.uid AND o.x > c.age)
SELECT COUNT(*) FROM people WHERE uid NOT IN (SELECT uid FROM orders WHERE x > 0)
SELECT COUNT(*) FROM people AS c WHERE code IN (SELECT o.code FROM orders AS o WHERE o.uid = c.uid)
SELECT COUNT(*) FROM people WHERE uid IN (SELECT uid FROM orders GROUP BY uid HAVING SUM(x) > 2 AND COUNT(x) < 3)
SELECT SUM(COALESCE(d.n, 1)) FROM people AS c LEFT JOIN (SELECT uid, COUNT(*) AS n FROM orders GROUP BY uid) AS d ON c.uid = d.uid
SELECT SUM(d.n) FROM orders AS o LEFT JOIN (SELECT uid, name, COUNT(*) AS n FROM orders GROUP BY uid, name) AS d ON o.uid = d.uid AND o.name = d.name
SELECT COUNT(*) FROM orders AS o LEFT JOIN (SELECT uid, name, MAX(y) AS m FROM visits GROUP BY uid, name) AS d ON o.uid = d.uid AND o.x > 3 LEFT JOIN visits AS v ON v.uid = o.uid AND v.y = 1
SELECT COUNT(*) FROM (SELECT uid, 'k' AS k, COUNT(*) AS n FROM orders GROUP BY uid, 'k') AS d WHERE n > 1
SELECT COUNT(*) FROM people AS c LEFT JOIN (SELECT uid, x AS v FROM orders UNION ALL SELECT uid, y FROM visits) AS d ON c.uid = d.uid AND v > 0
WITH orders AS (SELECT uid, x FROM orders WHERE x > 0), q AS (SELECT * FROM orders) SELECT COUNT(*) FROM q
SELECT COUNT(*) FROM (SELECT uid, x + 1 AS c, x + 2 AS c_2, x + 3 AS "_r0", x + 4 AS "_owner" FROM orders) AS d WHERE c > 1 AND c_2 > 1 AND "_r0" > 1 AND "_owner" > 1
SELECT COUNT(*) FROM (SELECT uid, x + 1 AS "a""b" FROM orders) AS "d""e" WHERE "a""b" > 1
SELECT COUNT(*) FROM people AS c WHERE EXISTS (SELECT 1 FROM orders AS o WHERE o.uid = c.uid AND EXISTS (SELECT 1 FROM visits AS v WHERE v.uid = o.uid AND v.y = o.code))
"""  # noqa: E501 - a query a line


@pytest.mark.parametrize("text", MEANT.strip().splitlines())
def test_relations_mean_what_they_mean_elsewhere(both, text):
    assert both.exact(text) == both.meant(text)


REFUSED = {
    "an owner that LEFT JOIN may not have found": (
        "SELECT COUNT(*) FROM people AS c LEFT JOIN orders AS o ON c.uid = o.uid "
        "LEFT JOIN visits AS v ON v.uid = o.uid",
        "the owner of o may be missing after its LEFT JOIN. Compare with c.uid",
    ),
    "the same in WHERE": (
        "SELECT COUNT(*) FROM people AS c LEFT JOIN orders AS o ON c.uid = o.uid, visits AS v WHERE v.uid = o.uid",
        "may be missing after its LEFT JOIN",
    ),
    "a key that each owner has for themselves": (
        "SELECT COUNT(*) FROM visits AS a JOIN visits AS b ON a.k = b.k",
        "without an equality of owners",
    ),
    "a column of the outermost query": (
        "SELECT COUNT(*) FROM people AS c WHERE EXISTS (SELECT 1 FROM orders AS o WHERE o.uid = c.uid AND EXISTS "
        "(SELECT 1 FROM visits AS v WHERE v.uid = o.uid AND v.y = c.code))",
        "c.code belongs to a query farther out",
    ),
    "the owner of the outermost query": (
        "SELECT COUNT(*) FROM people AS c WHERE EXISTS (SELECT 1 FROM orders AS o WHERE o.uid = c.uid AND EXISTS "
        "(SELECT 1 FROM visits AS v WHERE v.uid = c.uid))",
        "c.uid belongs to a query farther out",
    ),
    "a column called as the owner is": (
        "SELECT COUNT(*) FROM (SELECT uid AS z, x AS z FROM orders) AS d",
        "'z' is both the owner and another column",
    ),
    "a total called as the owner is": (
        "SELECT COUNT(*) FROM (SELECT uid, SUM(x) AS uid FROM orders GROUP BY 1) AS d",
        "'uid' is both the owner and another column",
    ),
    "owners at other places of a union": (
        "SELECT COUNT(*) FROM (SELECT uid, x AS v FROM orders UNION ALL SELECT y, uid FROM visits) AS d WHERE v > 0",
        "the parts of a UNION ALL have different columns",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_would_mean_something_else_is_refused(both, name):
    text, message = REFUSED[name]
    with pytest.raises(UnsupportedQuery) as refusal:
        both.curator.explain(text, epsilon=1)
    assert message in str(refusal.value)


def test_row_level_tables_are_not_united():
    from dither.errors import UnsupportedQuery
    from dither.policy.catalog import Catalog, Table
    from dither.policy.columns import Int
    from dither.sql.binding.reading import read

    row_level = Table("r", "people", "", 1, {"x": Int(0, 9)})
    with pytest.raises(UnsupportedQuery, match="row-level") as caught:
        read("SELECT COUNT(*) FROM (SELECT x FROM r UNION ALL SELECT x FROM r) AS u", Catalog({"r": row_level}))
    assert caught.value.line == 1
