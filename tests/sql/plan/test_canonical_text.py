"""The same question in other words is the same question; another question never is."""

from __future__ import annotations

import json

import pytest

from dither.sql.binding.reading import read
from dither.sql.bounding.aggregations import plan
from dither.sql.lowering.lower import lower

Q = "SELECT COUNT(*) FROM t WHERE "
SAME = [
    (Q + "id > 5 AND sick", Q + "sick AND id > 5"),
    (Q + "id > 5", Q + "5 < id"),
    (Q + "id > 5", Q + "id >= 6"),
    (Q + "id > 5", Q + "NOT id <= 5"),
    (Q + "money > 5", Q + "5.00 < money"),
    (Q + "money > 5.001", Q + "money >= 5.01"),
    (Q + "id BETWEEN 2 AND 9", Q + "id <= 9 AND 2 <= id"),
    (Q + "id NOT BETWEEN 2 AND 9", Q + "id < 2 OR id > 9"),
    (Q + "id IN (3, 1, 3)", Q + "id = 1 OR 3 = id"),
    (Q + "id NOT IN (3, 1)", Q + "id <> 1 AND id != 3"),
    (Q + "region = 'north'", Q + "'north' = region"),
    (Q + "region IN ('north', 'south')", Q + "region = 'south' OR region = 'north'"),
    (Q + "region LIKE 'no%'", Q + "region = 'north'"),
    (Q + "name = 'a'", Q + "name IN ('a')"),
    (Q + "name > 'a'", Q + "'a' < name"),
    (Q + "NOT (sick AND id = 1)", Q + "NOT sick OR id <> 1"),
    (Q + "NOT NOT sick", Q + "sick = TRUE"),
    (Q + "sick IS NOT NULL", Q + "NOT (sick IS NULL)"),
    (Q + "sick AND (id = 1 AND few = 2)", Q + "(few = 2 AND sick) AND id = 1 AND sick"),
    (Q + "day >= '2024-01-01'", Q + "day > DATE '2023-12-31'"),
    (Q + "small + few > 1 + 1", Q + "few + small >= 3"),
    (Q + "TRUE", "SELECT COUNT(*) FROM t"),
    (Q + "name LIKE 'a!%%' ESCAPE '!'", Q + "name LIKE 'a\\%%%'"),
    ("SELECT COUNT(*) FROM t", "select\n count ( * ) as n -- remark\n from T as v"),
    ("SELECT COUNT(id) FROM t", "SELECT COUNT(*) FROM t"),
    ("SELECT SUM(small * few) FROM t", 'SELECT SUM("FEW" * v.small) x FROM t v'),
    ("SELECT region, COUNT(*) FROM t GROUP BY region", "SELECT region r, COUNT(*) FROM t GROUP BY 1"),
    ("SELECT region, COUNT(*) FROM t GROUP BY region", "SELECT Region AS r, COUNT(1) FROM t GROUP BY r"),
    ("SELECT SUM(CASE few WHEN 1 THEN id END) FROM t", "SELECT SUM(CASE WHEN 1 = few THEN id ELSE NULL END) FROM t"),
]
DIFFERENT = [
    Q + "id > 5",
    Q + "id >= 5",
    Q + "id < 5",
    Q + "few > 5",
    Q + "name = 'a'",
    Q + "name = 'A'",
    Q + "name LIKE 'a_'",
    Q + "name LIKE 'a\\_'",
    Q + "sick",
    Q + "NOT sick",
    Q + "sick IS TRUE",
    Q + "sick IS NOT TRUE",
    Q + "sick AND id = 1 OR few = 1",
    Q + "sick AND (id = 1 OR few = 1)",
    "SELECT COUNT(*) FROM t",
    "SELECT COUNT(small) FROM t",
    "SELECT COUNT(DISTINCT owner_id) FROM t",
    "SELECT SUM(small) FROM t",
    "SELECT AVG(small) FROM t",
    "SELECT SUM(small - few) FROM t",
    "SELECT SUM(few - small) FROM t",
    "SELECT COUNT(*), SUM(small) FROM t",
    "SELECT SUM(small), COUNT(*) FROM t",
    "SELECT few, COUNT(*) FROM t GROUP BY few",
    "SELECT COUNT(*), few FROM t GROUP BY few",
    "SELECT COUNT(*) FROM t GROUP BY few",
    "SELECT few, COUNT(*) FROM t GROUP BY few, sick",
    "SELECT few, COUNT(*) FROM t GROUP BY sick, few",
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_same_question(catalog, one, other):
    first, second = read(one, catalog), read(other, catalog)
    assert first.canonical() == second.canonical()
    # A stored answer serves both, so both must have the same measures in the same order.
    assert plan(first) == plan(second)
    assert [lower(a).sql for a in plan(first)] == [lower(a).sql for a in plan(second)]


def test_different_questions(catalog):
    assert len({read(text, catalog).canonical() for text in DIFFERENT}) == len(DIFFERENT)


@pytest.mark.parametrize("text", [*DIFFERENT, *(one for one, _ in SAME)])
def test_canonical_text_is_json_without_aliases_or_snapshot(catalog, text):
    found = json.loads(read(text, catalog).canonical())
    assert list(found) == ["people", "from", "keys", "outputs", "order"]


def test_snapshot_is_not_part_of_the_question(catalog, table):
    from dataclasses import replace

    from dither.policy.catalog import Catalog

    later = Catalog({"t": replace(table, snapshot=7)})
    assert read("SELECT COUNT(*) FROM t", later).canonical() == read("SELECT COUNT(*) FROM t", catalog).canonical()
