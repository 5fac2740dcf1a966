"""WHERE narrows the groups and the bounds of columns: by declarations and the question alone, and for good."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dither.policy.columns import Category, Int
from dither.policy.columns.key_domains import Listed
from dither.sql.binding.reading import read
from dither.sql.bounding.aggregations import plan
from dither.sql.guard.check import check


def key(catalog, text):
    return read(text, catalog).keys[0].declaration


@pytest.mark.parametrize(
    ("where", "values"),
    [
        ("id BETWEEN 3 AND 5", range(3, 6)),
        ("id > 60", range(61, 72)),
        ("60 < id AND id <> 71", range(61, 71)),
        ("id >= 2 AND id IN (1, 2, 3)", range(2, 4)),
        ("few = 1 AND id < 2", range(2)),
    ],
)
def test_groups_of_whole_numbers(catalog, where, values):
    found = key(catalog, f"SELECT id, COUNT(*) FROM t WHERE {where} GROUP BY id")
    assert isinstance(found, Int)
    assert (found.low, found.high, found.nullable) == (values[0], values[-1], False)


def test_groups_with_gaps(catalog):
    found = key(catalog, "SELECT id, COUNT(*) FROM t WHERE id IN (1, 5, 9) AND id > 2 GROUP BY id")
    assert isinstance(found, Listed)
    assert found.values == (5, 9)


def test_labels(catalog):
    found = key(catalog, "SELECT region, COUNT(*) FROM t WHERE region IN ('south', 'été') GROUP BY region")
    assert isinstance(found, Category)
    assert (found.values, found.nullable) == (("south", "été"), False)
    assert not key(catalog, "SELECT sick, COUNT(*) FROM t WHERE sick IS NOT NULL GROUP BY sick").nullable


def test_conditions_that_tell_nothing_or_never_hold_narrow_nothing(catalog):
    for where in ("id = few", "id < 3 OR few = 1", "NOT (id < 3 AND few = 1)", "id > 500", "id < 3 AND id > 5"):
        assert key(catalog, f"SELECT id, COUNT(*) FROM t WHERE {where} GROUP BY id").high == 71


@pytest.mark.parametrize(
    ("text", "l1"),
    [
        ("SELECT SUM(money) FROM t WHERE money BETWEEN 0 AND 10", [4 * 1000]),
        ("SELECT SUM(money * 2) FROM t WHERE money > 0 AND money <= 10", [4 * 2000]),
        ("SELECT SUM(small) FROM t WHERE small >= 100", [4 * 127]),
        ("SELECT SUM(small), COUNT(small), COUNT(*) FROM t WHERE small > 0", [4 * 127, 4]),
    ],
)
def test_sums_of_what_is_left(catalog, text, l1):
    found = check(plan(read(text, catalog)))
    assert [item.l1 for one in found for item in one] == [Fraction(size) for size in l1]


@pytest.mark.parametrize(
    "where",
    ["small > 0", "small IN (7, -7, 127)", "small <> 1 AND small < 100", "small BETWEEN -1 AND 1", "small IS NOT NULL"],
)
def test_exact_results_are_the_same(snapshot, where):
    """Narrowed and not (behind a condition that hides the column), the same rows give the same groups and sums."""
    narrowed = snapshot.exact(f"SELECT COUNT(small), SUM(small) FROM t WHERE {where}")
    hidden = snapshot.exact(f"SELECT COUNT(small), SUM(small) FROM t WHERE ({where}) IS TRUE OR few = 99")
    assert narrowed == hidden
    by_group = dict(snapshot.exact(f"SELECT id, SUM(small) FROM t WHERE {where} AND id BETWEEN 10 AND 40 GROUP BY id"))
    expected = dict(
        snapshot.exact(f"SELECT id, SUM(small) FROM t WHERE ({where} AND id BETWEEN 10 AND 40) IS TRUE GROUP BY id")
    )
    assert by_group == expected
