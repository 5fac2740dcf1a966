"""Keys computed in a derived table: grouped by outside, they have the groups that they would have inside."""

from __future__ import annotations

import pytest

from dither.policy.columns.key_domains import Listed, Periods
from dither.sql.binding.reading import read

KEYS = {
    "DATE_TRUNC('month', day)": "date",
    "DATE_TRUNC('quarter', day)": "date",
    "DATE_TRUNC('year', at)": "moment",
    "DATE_TRUNC('week', at)": "moment",
    "DATE_TRUNC('hour', at AT TIME ZONE 'Europe/Berlin')": "moment",
    "small / 10 * 10": "number",
    "few * few": "number",
    "small * 10": "number",
    "CASE WHEN small < 0 THEN -5 WHEN small < 50 THEN 7 END": "number",
    "ROUND(small * 0.5)": "number",
    "small": "number",
    "sick": "truth",
    "COALESCE(region, 'none')": "label",
    "small % 7 > 2": "truth",
}


@pytest.mark.parametrize("key", KEYS)
def test_groups_outside_are_the_groups_inside(snapshot, key):
    inside = f"SELECT {key} AS k, COUNT(*), SUM(small) FROM t GROUP BY 1"
    outside = f"SELECT k, COUNT(*), SUM(small) FROM (SELECT {key} AS k, small FROM t) AS d GROUP BY k"
    within = f"WITH d AS (SELECT {key} AS k, small FROM t) SELECT k, COUNT(*), SUM(small) FROM d GROUP BY k"
    first, second, third = (read(text, snapshot.catalog).keys[0].declaration for text in (inside, outside, within))
    assert first == second == third
    assert sorted(snapshot.exact(inside), key=repr) == sorted(snapshot.exact(outside), key=repr)
    assert sorted(snapshot.exact(inside), key=repr) == sorted(snapshot.exact(within), key=repr)


USES = {
    "date": ("EXTRACT(year FROM {}) + EXTRACT(month FROM {})", "{} >= DATE '2000-01-01'"),
    "moment": ("EXTRACT(year FROM {}) * 24 + EXTRACT(hour FROM {})", "{} >= TIMESTAMP '2000-01-01 00:00:00'"),
    "number": ("{} * 2 + 1", "{} > 5"),
    "truth": ("CAST({} AS INTEGER)", "NOT {}"),
    "label": ("LENGTH({})", "{} = 'north'"),
}


@pytest.mark.parametrize("key", KEYS)
def test_carried_keys_are_values_like_any_other(snapshot, key):
    value, condition = USES[KEYS[key]]
    plain = f"SELECT SUM({value}), COUNT(*), COUNT({{}}) FROM t WHERE {condition}".replace("{}", f"({key})")
    carried = f"SELECT SUM({value}), COUNT(*), COUNT({{}}) FROM (SELECT {key} AS k FROM t) AS d WHERE {condition}"
    # A key that WHERE leaves without NULL is counted with the rows: the last measure is then the one before.
    (found,), (expected,) = snapshot.exact(carried.replace("{}", "k")), snapshot.exact(plain)
    assert (*found[:2], found[-1]) == (*expected[:2], expected[-1])


@pytest.mark.parametrize("key", ["DATE_TRUNC('month', day)", "small / 10 * 10", "few * few"])
def test_keys_of_each_owner(snapshot, key):
    rows = f"SELECT owner_id, {key} AS k, SUM(few) AS n FROM t GROUP BY owner_id, k"
    text = f"SELECT k, COUNT(*) FROM ({rows}) AS d GROUP BY k"
    found = read(text, snapshot.catalog).keys[0].declaration
    assert isinstance(found, (Listed, Periods))
    assert found == read(f"SELECT {key} AS k, COUNT(*) FROM t GROUP BY 1", snapshot.catalog).keys[0].declaration
    assert snapshot.exact(text)


def test_unions_of_carried_keys_hold_their_values(snapshot):
    union = "SELECT small / 10 * 10 AS k FROM t UNION ALL SELECT few * few AS k FROM t"
    (total,) = snapshot.exact(f"SELECT SUM(k), COUNT(*) FROM ({union}) AS d")
    ((first, one),) = snapshot.exact("SELECT SUM(small / 10 * 10), COUNT(*) FROM t")
    ((second, other),) = snapshot.exact("SELECT SUM(few * few), COUNT(*) FROM t")
    assert total == (first + second, one + other)
    months = "SELECT DATE_TRUNC('month', day) AS k FROM t UNION ALL SELECT DATE_TRUNC('year', day) AS k FROM t"
    ((total_months,),) = snapshot.exact(f"SELECT SUM(EXTRACT(month FROM k)) FROM ({months}) AS d")
    ((one_month,),) = snapshot.exact("SELECT SUM(EXTRACT(month FROM day)) FROM t")
    years = sum(row["day"] is not None for row in snapshot.rows)
    assert total_months == one_month + years


def test_constants_and_large_numbers_are_carried_as_they_are(snapshot):
    assert snapshot.exact("SELECT SUM(one), COUNT(huge) FROM (SELECT 1 AS one, big AS huge FROM t) AS d")
    assert read("SELECT SUM(k) FROM (SELECT small * 1000000000 AS k FROM t) AS d", snapshot.catalog)
