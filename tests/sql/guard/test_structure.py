"""What the guard makes of declared structure: few rows of an owner in each group, few groups of an owner."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dither.policy.structure import Structure
from dither.sql import expressions as e
from dither.sql.binding.reading import read
from dither.sql.bounding.aggregations import plan
from dither.sql.guard.check import check
from dither.sql.guard.facts import facts
from dither.sql.guard.key_columns import told_apart
from dither.sql.plan.nodes import (
    Aggregate,
    CountOwners,
    CountRows,
    Filter,
    JoinOwner,
    Key,
    OwnerAggregate,
    OwnerLimit,
    Project,
    Retruncate,
    Scan,
    SumRows,
    Total,
    UnionAll,
)

SMALL = e.Stored("small", -128, 127, 0, True)
BY_SMALL = Key(SMALL, True, -128, 127, True)


def few(low: int = 0, high: int = 3) -> Key:
    return Key(e.Stored("few", 0, 3, 0, False), True, low, high, False)


@pytest.fixture
def lying(table: Any) -> Any:
    """At most 2 rows of an owner with one value of few, and 3 different values of small."""
    return replace(table, structure=Structure({"few": 2}, {"small": 3}))


def scan(table: Any) -> Scan:
    return Scan(table, tuple((name, name) for name in table.columns))


def norms(child: Any, keys: tuple[Key, ...], measure: Any = None) -> tuple[Any, ...]:
    found = check((Aggregate(child, keys, (measure or CountRows(),)),))[0][0]
    return found.l1, found.l2_squared, found.linf


def test_few_rows_of_an_owner_in_each_group(lying: Any) -> None:
    """K rows, at most k in a group: L1 stays K, L2 is sqrt(K k), and no group moves by more than k."""
    rows = OwnerLimit(scan(lying), 4)
    assert norms(rows, (few(),)) == (4, 8, 2)
    assert norms(rows, (few(), BY_SMALL)) == (4, 8, 2), "more keys make smaller groups"
    assert norms(rows, (few(),), SumRows(SMALL)) == (4 * 128, 4 * 128 * 2 * 128, 2 * 128)
    assert norms(OwnerLimit(scan(lying), 1), (few(),)) == (1, 1, 1)
    assert norms(rows, ()) == (4, 16, 4)
    assert norms(rows, (BY_SMALL,)) == (4, 16, 4)


def test_a_coarser_key_may_put_all_rows_into_one_group(lying: Any) -> None:
    half = Key(e.Clamp(e.Divide(few().code, e.Constant(2)), 0, 1), True, 0, 1, False)
    assert norms(OwnerLimit(scan(lying), 4), (half,)) == (4, 16, 4)


def test_an_owner_is_in_few_groups(lying: Any) -> None:
    """At most 3 values of small: any key computed from it has no more, and others have all of theirs."""
    rows = OwnerLimit(scan(lying), 4)
    computed = Key(e.Clamp(e.Absolute(SMALL), 0, 128), True, 0, 128, True)
    assert norms(rows, (BY_SMALL,), CountOwners()) == (3, 3, 1)
    assert norms(rows, (computed,), CountOwners()) == (3, 3, 1)
    assert norms(rows, (Key(SMALL, False),), CountOwners()) == (3, 3, 1), "keys from the data too"
    assert norms(rows, (BY_SMALL, few()), CountOwners()) == (4, 4, 1), "3 times 4 groups are more than 4 rows"
    assert norms(rows, (few(),), CountOwners()) == (4, 4, 1)
    one = replace(lying, structure=Structure({}, {"small": 1}))
    assert norms(OwnerLimit(scan(one), 4), (BY_SMALL,), CountOwners()) == (1, 1, 1)
    both = Key(e.Clamp(e.Add(SMALL, e.Stored("id", 0, 71, 0, False)), -128, 198), True, -128, 198, True)
    assert norms(rows, (both,), CountOwners()) == (4, 4, 1), "computed from a column of any number of values"


def test_rows_that_are_left_out_keep_it(lying: Any) -> None:
    kept = Retruncate(Filter(OwnerLimit(scan(lying), 4), e.Among(SMALL, ((1, 9),))), 3)
    assert norms(kept, (few(),)) == (3, 6, 2)
    assert norms(kept, (BY_SMALL,), CountOwners()) == (3, 3, 1)


def test_a_projection_keeps_what_stays_as_it_is(lying: Any) -> None:
    rows = OwnerLimit(scan(lying), 4)
    half = e.Clamp(e.Divide(few().code, e.Constant(2)), 0, 3)
    made = Project(rows, (("a", few().code), ("few", half), ("b", e.Clamp(SMALL, 0, 3))))
    known = facts(made)
    assert (dict(known.alike), dict(known.values)) == ({"a": 2}, {"b": 3}), "a new column of an old name is another"
    assert norms(made, (few(),)) == (4, 16, 4)
    assert norms(made, (Key(e.Stored("a", 0, 3, 0, False), True, 0, 3, False),)) == (4, 8, 2)


def test_a_join_that_multiplies_rows_forgets_it(lying: Any) -> None:
    """Two rows of few = 1, beside each of three others, are six rows of few = 1; the values stay the same."""
    rows = OwnerLimit(scan(lying), 4)
    others = OwnerLimit(Scan(lying, (("small", "theirs"), ("few", "their_few"))), 3)
    many = JoinOwner(rows, others)
    assert dict(facts(many).alike) == {}
    assert norms(many, (few(),)) == (12, 144, 12)
    assert dict(facts(many).values) == {"small": 3, "theirs": 3}
    assert dict(facts(replace(many, outer=True)).values) == {"small": 3, "theirs": 4}, "NULL where none is found"
    single = replace(many, other=replace(others, rows=1))
    assert dict(facts(single).alike) == {"few": 2}
    assert norms(single, (few(),)) == (4, 8, 2)
    by_theirs = JoinOwner(replace(rows, rows=1), others)
    assert dict(facts(by_theirs).alike) == {"their_few": 2}


def test_a_union_forgets_it(lying: Any) -> None:
    rows = OwnerLimit(scan(lying), 4)
    known = facts(UnionAll((rows, rows)))
    assert (dict(known.alike), dict(known.values)) == ({}, {})


def test_totals_of_an_owner(lying: Any) -> None:
    """One row for each value that the owner has: as many as there are rows of it, and as values of the keys."""
    counted = (("n", Total("count", None, None, 0, 9, False)),)
    by_small = OwnerAggregate(scan(lying), (("k", SMALL),), counted)
    assert facts(by_small).rows == 3
    assert dict(facts(by_small).values) == {"k": 3}
    by_both = OwnerAggregate(scan(lying), (("k", SMALL), ("f", few().code)), counted)
    assert facts(by_both).rows == 12
    assert dict(facts(by_both).alike) == {"f": 2}


@pytest.mark.parametrize(
    "where",
    [
        "",
        "WHERE few <= 2",
        "WHERE few BETWEEN 1 AND 2",
        "WHERE few IN (0, 3)",
        "WHERE few <> 1",
        "WHERE few >= 1 AND small > 0",
        "WHERE few IN (0, 3) OR small > 0",  # narrows nothing, so the key is the column itself
    ],
)
def test_a_narrowed_key_tells_its_column_apart(lying: Any, catalog: Any, where: str) -> None:
    """WHERE leaves fewer groups, each of one value still; the guard finds that out by itself."""
    known = replace(catalog, tables={**catalog.tables, lying.name: lying})
    question = read(f"SELECT few, COUNT(*) FROM {lying.name} {where} GROUP BY few", known)
    (aggregate,) = plan(question)
    assert told_apart(aggregate) == {"few"}
    ((found,),) = check((aggregate,))
    assert found.linf == 2


@pytest.mark.parametrize(
    ("condition", "code"),
    [
        (e.Truth(True), e.Clamp(few().code, 1, 2)),  # 2 and 3 in one group
        (e.Among(few().code, ((0, 2),)), e.Clamp(few().code, 1, 2)),
        (e.Compare("<=", few().code, e.Constant(2)), e.Clamp(few().code, 1, 2)),
        (e.Compare("<", few().code, e.Constant(3)), e.Clamp(few().code, 0, 2)),  # a condition that is not looked at
        (e.Or((e.Among(few().code, ((1, 2),)), e.Truth(True))), e.Clamp(few().code, 1, 2)),
        (e.Not(e.Among(few().code, ((0, 0),))), e.Clamp(few().code, 0, 2)),
        (e.Among(few().code, ((1, 3),)), e.Clamp(e.Steps(few().code, (2,), (0, 1)), 0, 1)),  # 2 and 3 alike
        (e.Among(few().code, ((0, 1), (3, 3))), e.Clamp(e.Steps(few().code, (1, 3), (0, 1, 0)), 0, 1)),
        (e.Among(few().code, ((0, 1),)), e.Clamp(e.Steps(few().code, (1,), (0, 5)), 0, 0)),  # clamped together
    ],
)
def test_a_key_that_puts_values_together_does_not(lying: Any, condition: Any, code: Any) -> None:
    aggregate = Aggregate(
        Filter(OwnerLimit(scan(lying), 4), condition), (Key(code, True, 0, 5, False),), (CountRows(),)
    )
    assert told_apart(aggregate) == set()
    assert norms(aggregate.child, aggregate.keys) == (4, 16, 4)


def test_a_condition_below_a_projection_is_about_other_columns(lying: Any) -> None:
    below = Filter(OwnerLimit(scan(lying), 4), e.Among(few().code, ((1, 2),)))
    made = Project(below, (("few", e.Clamp(SMALL, 0, 3)),))
    code = e.Clamp(e.Coalesce((e.Stored("few", 0, 3, 0, True), e.Constant(1))), 1, 2)
    assert told_apart(Aggregate(made, (Key(code, True, 1, 2, False),), (CountRows(),))) == set()
