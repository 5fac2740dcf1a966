"""The guard refuses every plan whose sensitivity it cannot prove, whoever made it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import pytest

from dither.neighbours import Relation
from dither.sql import expressions as e
from dither.sql.binding.reading import read
from dither.sql.bounding.aggregations import plan
from dither.sql.guard.check import UnsafePlan, check
from dither.sql.guard.facts import facts
from dither.sql.plan.nodes import (
    Aggregate,
    CountDistinct,
    CountOwners,
    CountRows,
    Filter,
    JoinOwner,
    Key,
    Measure,
    ModeRows,
    Node,
    OwnerAggregate,
    OwnerLimit,
    Project,
    QuantileRows,
    Retruncate,
    Scan,
    SemiJoin,
    SumRows,
    Total,
    UnionAll,
)

SMALL = e.Stored("small", -128, 127, 0, True)


def key(name, low, high, nullable, *, declared=None):
    """A public key over a stored column; `declared` are the column's own bounds where the key misstates them."""
    least, most = declared or (low, high)
    return Key(e.Stored(name, least, most, 0, nullable), public=True, low=low, high=high, nullable=nullable)


FEW = key("few", 0, 3, False)


def scan(table):
    return Scan(table, tuple((name, name) for name in table.columns))


def limited(table, rows=4):
    return OwnerLimit(scan(table), rows)


def norms(sensitivity):
    return sensitivity.l1, sensitivity.l2_squared, sensitivity.linf


def test_rows_of_one_owner_may_all_fall_into_one_group(table):
    ((count, total),) = check((Aggregate(limited(table, 3), (FEW,), (CountRows(), SumRows(SMALL))),))
    assert norms(count) == (3, 9, 3)
    assert norms(total) == (3 * 128, (3 * 128) ** 2, 3 * 128)
    assert count.relation is Relation.OWNER


def test_owners_per_group(table):
    assert norms(check((Aggregate(limited(table, 3), (FEW,), (CountOwners(),)),))[0][0]) == (3, 3, 1)
    wide = key("id", 0, 71, False)
    assert norms(check((Aggregate(limited(table, 4), (wide,), (CountOwners(),)),))[0][0]) == (4, 4, 1)


def test_owners_without_groups_need_no_limit(table):
    assert norms(check((Aggregate(scan(table), (), (CountOwners(),)),), every_row=True)[0][0]) == (1, 1, 1)
    assert norms(check((Aggregate(limited(table), (), (CountOwners(),)),))[0][0]) == (1, 1, 1)


def test_a_filter_keeps_the_limit_and_the_smaller_of_two_limits_holds(table):
    inner = Filter(Retruncate(Filter(limited(table, 2), e.Among(SMALL, ((1, 1),))), 3), e.Truth(True))
    assert norms(check((Aggregate(inner, (), (CountRows(),)),))[0][0]) == (2, 4, 2)


def test_a_clamp_is_what_counts_not_what_is_below_it(table):
    value = e.Clamp(e.Multiply(SMALL, e.Constant(10**6)), -5, 9)
    assert check((Aggregate(limited(table, 1), (), (SumRows(value),)),))[0][0].l1 == 9


def test_a_sum_of_nothing_but_zero_still_has_a_sensitivity(table):
    value = e.Clamp(e.Multiply(SMALL, e.Constant(0)), 0, 0)
    assert check((Aggregate(limited(table, 1), (), (SumRows(value),)),))[0][0].l1 == 1


def test_totals_of_owners_spread_over_groups(table):
    """Rows that differ in the keys of the groups fall into different groups; regrouped, they may not."""
    counted = (("x", Total("sum", SMALL, None, -5, 9, True)),)
    per_owner = Retruncate(OwnerAggregate(limited(table), (("k", FEW.code),), counted), 3)
    total = SumRows(e.Stored("x", -5, 9, 0, True))
    by_key = Key(e.Stored("k", 0, 3, 0, False), True, 0, 3, False)
    assert norms(check((Aggregate(per_owner, (by_key,), (total,)),))[0][0]) == (27, 243, 9)
    assert norms(check((Aggregate(per_owner, (), (total,)),))[0][0]) == (27, 27**2, 27)
    computed = Key(e.Clamp(e.Multiply(by_key.code, e.Constant(0)), 0, 0), True, 0, 0, False)
    assert norms(check((Aggregate(per_owner, (computed,), (total,)),))[0][0]) == (27, 27**2, 27)


def test_few_rows_of_an_owner_in_each_group(table):
    """K rows, k of them at most in each group: squares add up to K k, which is less than K groups of k rows each."""

    by_key = (Key(e.Stored("k", 0, 3, 0, False), True, 0, 3, False),)

    def norms_of(child, low, high, keys=by_key):
        measured = Aggregate(child, keys, (SumRows(e.Stored("x", low, high, 0, True)),))
        return norms(check((measured,), every_row=True)[0][0])

    def totals(source, total):
        return OwnerAggregate(source, (("k", FEW.code),), (("x", total),))

    counted = Total("count", None, None, 0, 2, True)
    assert norms_of(totals(limited(table, 3), counted), 0, 2) == (3, 6, 2)
    assert norms_of(totals(limited(table, 4), counted), 0, 2) == (4, 8, 2)
    assert norms_of(totals(limited(table, 1), counted), 0, 2) == (1, 1, 1)
    assert norms_of(totals(limited(table, 3), Total("sum", SMALL, None, -256, 256, True)), -256, 256) == (
        3 * 128,
        3 * 128 * 256,
        256,
    )
    assert norms_of(totals(limited(table, 3), counted), 0, 2, keys=()) == (3, 9, 3), "regrouped, all may be in one"
    # What is not one row of the owner in one group each, or is moved away from 0, has no such bound.
    assert norms_of(totals(scan(table), counted), 0, 2) == (8, 16, 2)
    assert norms_of(totals(limited(table, 3), Total("count", None, None, 1, 2, True)), 1, 2) == (6, 12, 2)
    assert norms_of(totals(limited(table, 3), Total("max", SMALL, None, -5, 9, True)), -5, 9) == (27, 243, 9)


@pytest.mark.parametrize("into", ["projected", "joined", "united"])
def test_what_puts_totals_elsewhere_forgets_what_they_come_to(table, into):
    """After a join or a union there may be more of them, and a projection may give another column the name."""
    made = OwnerAggregate(limited(table, 3), (("k", FEW.code),), (("x", Total("count", None, None, 0, 3, False)),))
    x, k = e.Stored("x", 0, 3, 0, False), e.Stored("k", 0, 3, 0, False)
    if into == "projected":
        source = Project(made, (("x", e.Clamp(e.Add(x, x), 0, 3)), ("k", k)))
    elif into == "joined":
        source = JoinOwner(made, OwnerAggregate(limited(table, 3), (("other", FEW.code),), ()), ())
    else:
        source = UnionAll((made, made))
    assert facts(made).together == {"x": 3}
    assert facts(source).together == {}
    assert check((Aggregate(source, (), (SumRows(x),)),))[0][0].l1 > 3


def test_one_total_of_each_owner(table):
    per_owner = OwnerAggregate(scan(table), (), (("x", Total("count", None, None, 0, 7, False)),))
    total = SumRows(e.Stored("x", 0, 7, 0, False))
    assert norms(check((Aggregate(per_owner, (), (total, CountRows())),), every_row=True)[0][0]) == (7, 49, 7)


def test_distinct_values_and_choices(table):
    few = e.Stored("few", 0, 3, 0, False)
    counted, chosen = (Aggregate(limited(table, 4), (), (measure,)) for measure in (CountDistinct(few), ModeRows(few)))
    assert norms(check((counted,))[0][0]) == (4, 16, 4)
    assert norms(check((Aggregate(limited(table, 4), (), (CountDistinct(e.Clamp(few, 0, 1)),)),))[0][0]) == (4, 8, 2)
    assert check((chosen,))[0][0].l1 == 4
    for numerator in (0, 1, 2):
        assert check((Aggregate(limited(table, 4), (), (QuantileRows(few, numerator, 2),)),))[0][0].l1 == 4


# Planted bugs: each is a plan that a faulty planner could make.


@dataclass(frozen=True)
class Unknown(Measure):
    pass


@dataclass(frozen=True)
class CleverCount(CountRows):
    pass


@dataclass(frozen=True)
class Regroup(Node):
    child: Node


@dataclass(frozen=True)
class Trick(e.Clamp):
    pass


@dataclass(frozen=True)
class Surprise(e.Boolean):
    pass


BUGS = {
    "limit missing": lambda t: Aggregate(scan(t), (), (CountRows(),)),
    "limit missing under a filter": lambda t: Aggregate(Filter(scan(t), e.Truth(True)), (), (SumRows(SMALL),)),
    "limit missing, owners by group": lambda t: Aggregate(scan(t), (FEW,), (CountOwners(),)),
    "limit missing, owners beside rows": lambda t: Aggregate(scan(t), (), (CountOwners(), CountRows())),
    "limit zero": lambda t: Aggregate(limited(t, 0), (), (CountRows(),)),
    "limit above the policy": lambda t: Aggregate(limited(t, 5), (), (CountRows(),)),
    "limit true": lambda t: Aggregate(limited(t, True), (), (CountRows(),)),
    "limit not a number": lambda t: Aggregate(limited(t, float("nan")), (), (CountRows(),)),
    "clamp missing": lambda t: Aggregate(limited(t), (), (SumRows(e.Multiply(SMALL, e.Constant(2))),)),
    "clamp before the expression": lambda t: Aggregate(
        limited(t), (), (SumRows(e.Multiply(e.Clamp(SMALL, 0, 1), e.Constant(10**6))),)
    ),
    "clamp before a case": lambda t: Aggregate(
        limited(t), (), (SumRows(e.Case((e.Among(SMALL, ((1, 1),)),), (e.Clamp(SMALL, 0, 1),), e.Null())),)
    ),
    "clamp the wrong way round": lambda t: Aggregate(limited(t), (), (SumRows(e.Clamp(SMALL, 5, -5)),)),
    "clamp of an unknown kind": lambda t: Aggregate(limited(t), (), (SumRows(Trick(SMALL, 0, 1)),)),
    "regroup": lambda t: Aggregate(Regroup(limited(t)), (), (CountRows(),)),
    "aggregate of an aggregate": lambda t: Aggregate(Aggregate(limited(t), (), (CountRows(),)), (), (CountRows(),)),
    "limit over an aggregate": lambda t: Aggregate(
        OwnerLimit(Aggregate(scan(t), (FEW,), (CountOwners(),)), 1), (), (CountRows(),)
    ),
    "unknown measure": lambda t: Aggregate(limited(t), (), (Unknown(),)),
    "measure of a derived kind": lambda t: Aggregate(limited(t), (), (CleverCount(),)),
    "no measure": lambda t: Aggregate(limited(t), (), ()),
    "bounds narrower than declared": lambda t: Aggregate(limited(t), (), (SumRows(replace(SMALL, most=1)),)),
    "column not declared": lambda t: Aggregate(limited(t), (), (SumRows(replace(SMALL, name="_rank")),)),
    "text as a number": lambda t: Aggregate(limited(t), (), (SumRows(replace(SMALL, name="name")),)),
    "undeclared column in a condition": lambda t: Aggregate(
        Filter(limited(t), e.Among(replace(SMALL, name="salary"), ((1, 1),))), (), (CountRows(),)
    ),
    "unknown condition": lambda t: Aggregate(Filter(limited(t), Surprise()), (), (CountRows(),)),
    "unknown counted condition": lambda t: Aggregate(limited(t), (), (CountRows(e.Not(Surprise())),)),
    "pattern that raises on some rows": lambda t: Aggregate(
        Filter(limited(t), e.Like(e.StoredText("name", True, 1000), "a\\")), (), (CountRows(),)
    ),
    "text as a public key": lambda t: Aggregate(
        limited(t), (Key(e.StoredText("name", True, 1000), True, 0, 1, True),), (CountRows(),)
    ),
    "keys narrower than declared": lambda t: Aggregate(
        limited(t), (key("few", 0, 2, False, declared=(0, 3)),), (CountRows(),)
    ),
    "key misstated": lambda t: Aggregate(limited(t), (key("few", 0, 2, False),), (CountRows(),)),
    "NULL group left out": lambda t: Aggregate(
        limited(t), (Key(SMALL, True, -128, 127, nullable=False),), (CountRows(),)
    ),
    "too many groups": lambda t: Aggregate(
        limited(t),
        (key("id", 0, 71, False), key("day", -3653, 22279, True), key("small", -128, 127, True)),
        (CountRows(),),
    ),
    "keys from the data, no limit": lambda t: Aggregate(
        scan(t), (Key(e.StoredText("name", True, 1000), False),), (CountOwners(),)
    ),
    "limit over a filter": lambda t: Aggregate(OwnerLimit(Filter(scan(t), e.Truth(True)), 2), (), (CountRows(),)),
    "truncation to nothing": lambda t: Aggregate(Retruncate(scan(t), 0), (), (CountRows(),)),
    "distinct values without a limit": lambda t: Aggregate(scan(t), (), (CountDistinct(SMALL),)),
    "choice without a clamp": lambda t: Aggregate(limited(t), (), (QuantileRows(e.Negate(SMALL), 1, 2),)),
    "choice without a limit": lambda t: Aggregate(scan(t), (), (ModeRows(SMALL),)),
    "rank below zero": lambda t: Aggregate(limited(t), (), (QuantileRows(SMALL, -1, 2),)),
    "rank above one": lambda t: Aggregate(limited(t), (), (QuantileRows(SMALL, 3, 2),)),
    "choices beside counts": lambda t: Aggregate(limited(t), (), (ModeRows(SMALL), CountRows())),
    "choices from two values": lambda t: Aggregate(limited(t), (), (ModeRows(SMALL), ModeRows(e.Clamp(SMALL, 0, 1)))),
    "total of an unknown kind": lambda t: Aggregate(
        OwnerAggregate(scan(t), (), (("x", Total("mean", SMALL, None, 0, 9, True)),)), (), (CountRows(),)
    ),
    "total used without its clamp": lambda t: Aggregate(
        OwnerAggregate(scan(t), (), (("x", Total("sum", SMALL, None, 0, 9, True)),)),
        (),
        (SumRows(e.Stored("x", 0, 8, 0, True)),),
    ),
    "totals by text without a limit": lambda t: Aggregate(
        OwnerAggregate(
            scan(t), (("k", e.StoredText("name", True, 1000)),), (("x", Total("count", None, None, 0, 9, False)),)
        ),
        (),
        (SumRows(e.Stored("x", 0, 9, 0, False)),),
    ),
    "more answers than measures": lambda t: Aggregate(limited(t), (), (CountRows(),), (CountRows(), CountOwners())),
    "sum that overflows": lambda t: Aggregate(limited(t), (), (SumRows(e.Clamp(SMALL, -(2**100), 2**100)),)),
    "value that overflows below a clamp": lambda t: Aggregate(
        limited(t),
        (),
        (SumRows(e.Clamp(e.Multiply(e.Constant(2**125), SMALL), 0, 1)),),
    ),
}


@pytest.mark.parametrize("bug", BUGS)
def test_planted_bugs_are_refused(table, bug):
    with pytest.raises(UnsafePlan):
        check((BUGS[bug](table),), every_row=True)


def test_an_empty_plan_is_refused():
    with pytest.raises(UnsafePlan):
        check(())


@pytest.mark.parametrize(
    ("text", "l1"),
    [
        ("SELECT COUNT(*) FROM t", [4]),
        ("SELECT SUM(money) FROM t", [400_000]),
        ("SELECT AVG(money) FROM t", [400_000, 4]),
        ("SELECT AVG(id) FROM t", [4 * 36, 4]),  # 0..71 around 35: distances up to 36
        ("SELECT AVG(id), COUNT(*), COUNT(id) FROM t", [4 * 36, 4]),
        ("SELECT COUNT(DISTINCT owner_id), COUNT(*) FROM t", [4, 1]),
        ("SELECT few, COUNT(DISTINCT owner_id) FROM t GROUP BY few", [4]),
        ("SELECT SUM(CASE WHEN id = 42 THEN small * 1000000 END) FROM t", [4 * 128 * 10**6]),
        ("SELECT SUM(small * 0) FROM t", [4]),
    ],
)
def test_sensitivities_of_questions(catalog, text, l1):
    found = check(plan(read(text, catalog)))
    assert [item.l1 for one in found for item in one] == [Fraction(size) for size in l1]


def test_the_gap_of_any_owner_is_within_the_sensitivity(snapshot):
    """Threat 7: an expression that singles out one owner moves the exact sum by no more than was declared."""
    for text in (
        "SELECT SUM(CASE WHEN id = 42 THEN small * 1000000 END) FROM t",
        "SELECT SUM(big * 8) FROM t WHERE id < 100",
        "SELECT AVG(small * money) FROM t",
    ):
        aggregates = plan(read(text, snapshot.catalog))
        bounds = [item.l1 for one in check(aggregates) for item in one]
        whole = snapshot.exact(text)[0]
        for owner in range(18):
            snapshot.connection.execute("BEGIN")
            snapshot.connection.execute('DELETE FROM "t_t"."rows" WHERE "_owner" = ?', [owner])
            without = snapshot.exact(text)[0]
            snapshot.connection.execute("ROLLBACK")
            assert all(abs(a - b) <= bound for a, b, bound in zip(whole, without, bounds, strict=True))


def test_totals_by_key_are_no_more_than_the_keys(table):
    """An owner has one row for each combination of keys: public keys bound their number without any limit on rows."""
    few = e.Stored("few", 0, 3, 0, False)
    by_key = OwnerAggregate(scan(table), (("k", few),), (("n", Total("count", None, None, 0, 9, False)),))
    assert norms(check((Aggregate(by_key, (), (CountRows(),)),), every_row=True)[0][0]) == (4, 16, 4)
    by_small = OwnerAggregate(limited(table, 3), (("k", SMALL),), (("n", Total("count", None, None, 0, 9, False)),))
    assert norms(check((Aggregate(by_small, (), (CountRows(),)),))[0][0]) == (3, 9, 3)
    by_text = OwnerAggregate(scan(table), (("k", e.StoredText("name", True, 1000)),), ())
    with pytest.raises(UnsafePlan):
        check((Aggregate(by_text, (), (CountRows(),)),), every_row=True)


BARE = {
    "owners": lambda t: Aggregate(scan(t), (), (CountOwners(),)),
    "totals": lambda t: Aggregate(
        OwnerAggregate(scan(t), (), (("x", Total("count", None, None, 0, 7, False)),)), (), (CountRows(),)
    ),
    "looked for": lambda t: Aggregate(SemiJoin(limited(t), scan(t)), (), (CountRows(),)),
    "one part of a union": lambda t: Aggregate(UnionAll((limited(t), scan(t))), (), (CountOwners(),)),
    "cut afterwards": lambda t: Aggregate(Retruncate(Filter(scan(t), e.Truth(True)), 2), (), (CountRows(),)),
}


@pytest.mark.parametrize("relation", BARE)
def test_no_table_is_read_beyond_its_declared_rows(table, relation):
    """One owner's reach is known; but then one answer would be about more rows than another beside it."""
    with pytest.raises(UnsafePlan, match="rows beyond those that are declared"):
        check((BARE[relation](table),))
