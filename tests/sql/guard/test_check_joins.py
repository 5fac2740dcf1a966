"""The guard on joins: rows of people are never taken for public ones, nor for fewer or more different than they are."""

from __future__ import annotations

import pytest

from dither.sql import expressions as e
from dither.sql.guard.check import UnsafePlan, check
from dither.sql.plan.nodes import (
    Aggregate,
    CountRows,
    JoinOwner,
    JoinPublic,
    Key,
    OwnerAggregate,
    OwnerLimit,
    Retruncate,
    Scan,
    SumRows,
    Total,
)

FEW = e.Stored("few", 0, 3, 0, False)
TOTAL = SumRows(e.Stored("x", -5, 9, 0, True))
BY_KEY = Key(e.Stored("k", 0, 3, 0, False), True, 0, 3, False)


@pytest.fixture
def rows(table):
    return Scan(table, tuple((name, name) for name in table.columns))


@pytest.fixture
def per_owner(rows):
    """Three rows of each owner at most, no two with the same k."""
    total = Total("sum", e.Stored("small", -128, 127, 0, True), None, -5, 9, True)
    return Retruncate(OwnerAggregate(OwnerLimit(rows, 4), (("k", FEW),), (("x", total),)), 3)


def test_rows_of_people_do_not_stand_on_the_public_side(rows, per_owner):
    joined = JoinPublic(OwnerLimit(rows, 2), per_owner, ((FEW, BY_KEY.code),))
    with pytest.raises(UnsafePlan, match="rows of people stand on the public side"):
        check((Aggregate(joined, (), (CountRows(),)),))


@pytest.mark.parametrize(("most", "expected"), [(1, (27, 3 * 9**2, 9)), (2, (54, 54**2, 54))])
def test_rows_found_more_than_once_may_fall_into_one_group(rows, per_owner, most, expected):
    joined = JoinOwner(OwnerLimit(rows, most), per_owner)
    ((found,),) = check((Aggregate(joined, (BY_KEY,), (TOTAL,)),))
    assert (found.l1, found.l2_squared, found.linf) == expected
