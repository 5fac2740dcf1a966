"""Outer joins of a FROM: what is beside what, whose a row is, and what other dialects mean by the same words."""

from __future__ import annotations

import pytest

from dither.errors import UnsupportedQuery
from dither.policy.catalog import Catalog, Table
from dither.policy.columns import Int
from dither.sql.binding.reading import read
from dither.sql.bounding.aggregations import plan
from dither.sql.guard.check import check
from dither.sql.plan.nodes import JoinFull, JoinOwner, Node


def table(name: str, rows: int) -> Table:
    return Table(name, "all", "uid", rows, {"x": Int(0, 9), "k": Int(0, 9)}, 1, key=("k",), owner_type="BIGINT")


CATALOG = Catalog({name: table(name, rows) for name, rows in (("a", 2), ("b", 3), ("c", 5))})


def rows(text: str) -> int:
    """How many rows of one owner the guard counts."""
    ((sensitivity,),) = check(plan(read(text, CATALOG)))
    return int(sensitivity.l1)


@pytest.mark.parametrize(
    ("source", "most"),
    [
        ("a FULL JOIN b ON a.uid = b.uid", 6),  # all find each other
        ("a FULL JOIN b ON a.uid = b.uid AND a.k = b.k", 5),  # each finds one at most, or none does
        ("a FULL JOIN b ON a.uid = b.uid AND a.k = b.x", 5),
        ("a FULL JOIN (SELECT uid, COUNT(*) AS n FROM b GROUP BY uid) q ON a.uid = q.uid", 3),
        ("a FULL JOIN b ON a.uid = b.uid FULL JOIN c ON c.uid = COALESCE(a.uid, b.uid)", 30),
        (
            "a FULL JOIN b ON a.uid = b.uid AND a.k = b.k FULL JOIN c ON c.uid = COALESCE(b.uid, a.uid) AND c.k = a.k",
            10,
        ),
        ("a RIGHT JOIN b ON a.uid = b.uid", 6),
        ("a RIGHT JOIN b ON a.uid = b.uid AND a.k = b.k", 3),
        ("a JOIN b ON a.uid = b.uid AND a.k = b.k RIGHT JOIN c ON c.uid = a.uid", 10),
    ],
)
def test_rows_of_one_owner(source: str, most: int) -> None:
    assert rows(f"SELECT COUNT(*) FROM {source}") == most


def kinds(text: str) -> list[type[Node]]:
    source = read(text, CATALOG).source
    return [type(node) for node in source.walk() if isinstance(node, (JoinFull, JoinOwner))]


def test_what_is_joined_to_what() -> None:
    assert kinds("SELECT COUNT(*) FROM a JOIN b ON a.uid = b.uid FULL JOIN c ON c.uid = a.uid") == [JoinFull, JoinOwner]
    assert kinds("SELECT COUNT(*) FROM a FULL JOIN (b JOIN c ON b.uid = c.uid) ON c.uid = a.uid") == [
        JoinFull,
        JoinOwner,
    ]
    same = "SELECT COUNT(*) FROM a LEFT JOIN b ON a.uid = b.uid AND a.x > b.x"
    assert read(same, CATALOG) == read(same.replace("a LEFT JOIN b", "b RIGHT JOIN a"), CATALOG)


def test_an_owner_is_that_of_the_nearest_tables_of_that_name() -> None:
    """Inside, a and b are others than those of the FULL JOIN, so that their owners are no owner of its rows."""
    joined = "SELECT COUNT(*) FROM a FULL JOIN b ON a.uid = b.uid WHERE EXISTS"
    read(f"{joined} (SELECT 1 FROM c WHERE c.uid = COALESCE(a.uid, b.uid))", CATALOG)
    with pytest.raises(UnsupportedQuery):
        read(f"{joined} (SELECT 1 FROM c JOIN a ON c.uid = a.uid WHERE c.uid = COALESCE(a.uid, b.uid))", CATALOG)
    with pytest.raises(UnsupportedQuery):
        read(f"{joined} (SELECT 1 FROM c WHERE c.uid = COALESCE(a.uid, a.uid))", CATALOG)


@pytest.mark.parametrize(
    ("dialect", "source", "words"),
    [
        ("mysql", "a FULL JOIN b USING (uid)", "a table's name there"),
        ("sqlite", "c, a RIGHT JOIN b ON a.uid = b.uid", "a comma beside RIGHT or FULL JOIN"),
        ("clickhouse", "a FULL JOIN b ON a.uid = b.uid", "instead of NULL"),
    ],
)
def test_other_dialects(dialect: str, source: str, words: str) -> None:
    with pytest.raises(UnsupportedQuery, match=words):
        read(f"SELECT COUNT(*) FROM {source}", CATALOG, dialect=dialect)
