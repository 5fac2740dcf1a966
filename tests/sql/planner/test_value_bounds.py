"""Bounds tighter than declared: chosen where a profile knows that values are small, and nowhere else."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dither as dt
from dither.accounting.currency.currency import Currency
from dither.mechanisms import Laplace, Quantile
from dither.neighbours import Relation
from dither.policy.catalog import Catalog, Table
from dither.policy.columns import Int
from dither.sql.binding.reading import read
from dither.sql.bounding.aggregations import measures
from dither.sql.plan.nodes import SumRows
from dither.sql.planner.profiles.profile import RANKS, ColumnQuantiles, Distances, Profile, RowsPerOwner
from dither.sql.planner.strategy import Strategy
from dither.sql.pricing.explain import explain
from dither.sql.pricing.price import PricedQuestion, price

MOST, HIGH, OWNERS, GROUPS = 4, 1_000_000, 20_000, 100
COLUMNS = {
    "pay": Int(0, HIGH, nullable=False, default=0),
    "change": Int(-HIGH, HIGH, nullable=False, default=0),
    "town": Int(0, GROUPS - 1, nullable=False, default=0),
    "extra": Int(0, HIGH),
    "huge": Int(-(2**60) - 1, 2**60 + 1, nullable=False, default=0),
}
CATALOG = Catalog({"t": Table("t", "people", "uid", MOST, COLUMNS, 1, owner_type="BIGINT")}, {})
DRAWN = np.random.default_rng(8)
PAY = np.minimum(DRAWN.lognormal(9, 0.6, OWNERS * MOST).astype(int), HIGH)  # about 10,000; hardly any above 50,000


def profile(epsilon: str = "1", values: Any = PAY, low: int = 0) -> Profile:
    """What a profile of these values tells at that price."""
    chosen = tuple(Quantile(epsilon=epsilon, q=rank, lower=low, upper=HIGH) for rank in RANKS)
    found = tuple(int(np.quantile(values, float(rank))) for rank in RANKS)
    noise, middle = Laplace(epsilon=epsilon, sensitivity=HIGH, relation=Relation.OWNER), (low + HIGH) // 2
    column = ColumnQuantiles(found, 0, chosen, Distances(middle, int((values.mean() - middle) * OWNERS), noise))
    rows = RowsPerOwner((0, 0, OWNERS), Laplace(epsilon=epsilon, sensitivity=1, relation=Relation.OWNER))
    return Profile("t", 1, MOST, rows, dict.fromkeys(("pay", "change", "extra", "huge"), column))


def priced(text: str, known: Profile | None, **stated: Any) -> PricedQuestion:
    return price(read(text, CATALOG), Currency.of(dt.PureDP(9)), profile=known, **stated or {"epsilon": "0.5"})


def bounds(text: str, known: Profile | None, **stated: Any) -> tuple[tuple[str, int, int], ...]:
    return priced(text, known, **stated).strategy.bounds


@pytest.mark.parametrize("aggregate", ["SUM", "AVG"])
def test_errors_are_near_those_of_the_best_bounds(aggregate: str) -> None:
    made = priced(f"SELECT town, {aggregate}(pay) FROM t GROUP BY town", profile())
    ((_, least, most),) = made.strategy.bounds
    assert 0 <= least < np.quantile(PAY, 0.05)
    rows = made.strategy.rows or MOST
    group = OWNERS * rows / GROUPS
    share = float(made.shares[0])

    def off(least: int, most: int) -> float:
        cut = float(np.abs(PAY - np.clip(PAY, least, most)).mean())
        reach = most if aggregate == "SUM" else (most - least) / 2
        return math.hypot(cut, math.sqrt(2) * rows * reach / 0.5 / share / group)

    best = min(off(0, int(end)) for end in np.geomspace(1_000, HIGH, 200))
    assert off(least, most) < 1.6 * best
    assert off(least, most) < 0.25 * off(0, HIGH)
    assert {item.sensitivity.linf for item in made.measures if isinstance(item.measure, SumRows)} <= {
        rows * most,
        rows * -(-(most - least) // 2),
    }
    assert f"Values are clamped to {least} to {most}, of 0 to {HIGH}" in made.strategy.why


def test_what_a_profile_does_not_know_keeps_its_bounds() -> None:
    text = "SELECT town, SUM(pay) FROM t GROUP BY town"
    assert bounds(text, None) == ()
    assert bounds(text, profile("1e-5")) == ()  # ranks may be off by anything
    assert bounds(text, profile(values=DRAWN.integers(0, HIGH, len(PAY)))) == ()  # values are as declared
    assert bounds(text, profile(), epsilon="0.5", rows_per_owner=2) == ()
    for chosen_rows in (
        "SELECT town, SUM(pay) FROM t WHERE pay > 20000 GROUP BY town",
        "SELECT town, AVG(pay) FROM t WHERE town < 3 GROUP BY town",
        "SELECT town, AVG(pay), VARIANCE(pay) FROM t GROUP BY town",
        "SELECT town, SUM(pay * 2) FROM t GROUP BY town",
        "SELECT CASE WHEN pay > 60000 THEN 1 ELSE 0 END AS rich, AVG(pay) FROM t GROUP BY 1",
    ):
        assert bounds(chosen_rows, profile()) == ()


def test_both_ends_are_moved_where_values_have_both_signs() -> None:
    known = profile(values=PAY - 10_000, low=-HIGH)
    ((_, least, most),) = bounds("SELECT town, AVG(change) FROM t GROUP BY town", known)
    assert -HIGH < least < 0 < most < HIGH
    assert least < float(np.quantile(PAY, 0.05)) - 10_000


def test_aggregates_of_one_value_share_their_bounds() -> None:
    """A sum and an average beside a count: the count is paid once, and both are over the same clamped values."""
    made = priced("SELECT town, COUNT(*), SUM(pay), AVG(pay) FROM t GROUP BY town", profile())
    assert len(made.strategy.bounds) == 1
    assert len(made.measures) <= 3
    question = read("SELECT town, COUNT(*), SUM(pay), AVG(pay) FROM t GROUP BY town", CATALOG)
    assert Strategy.read(made.strategy.document(), measures(question)).bounds == made.strategy.bounds


def test_explain_says_what_may_be_cut_off() -> None:
    made = priced("SELECT town, SUM(pay) FROM t GROUP BY town", profile())
    told = explain(made, Fraction(19, 20)).to_dict()
    assert 0 < told["columns"][0]["possible_bias"] < 0.2 * PAY.sum()
    assert "Values are clamped" in told["strategy"]
    assert any("Values of pay were moved into [" in note for note in told["notes"])
    made = priced("SELECT town, SUM(pay) FROM t GROUP BY town", profile(), epsilon="0.5", adjust=False)
    assert made.strategy.bounds
    assert "too little or too much, all groups together" in str(explain(made, Fraction(19, 20)))


def test_owners_totals_stay_beside_an_average_of_narrowed_values() -> None:
    made = priced("SELECT SUM(change), AVG(change) FROM t", profile(values=PAY - 10_000, low=-HIGH))
    ((asked, total),) = made.strategy.totals
    assert len(made.strategy.bounds) == 1
    (summed,) = [item for item in made.measures if item.measure == asked]
    assert summed.total == total
    assert summed.sensitivity.linf == total.most
    assert explain(made, Fraction(19, 20)).to_dict()["columns"][0]["possible_bias"] is not None


def test_the_values_of_a_column_with_nulls_are_counted_once() -> None:
    made = priced("SELECT town, COUNT(extra), AVG(extra), SUM(extra) FROM t GROUP BY town", profile())
    assert len(made.strategy.bounds) == 1
    assert len(made.measures) == 2  # the sum is centred: its count is paid for anyway


def test_a_price_for_an_error_is_that_of_narrowed_values() -> None:
    made = priced("SELECT town, SUM(pay) FROM t GROUP BY town", profile(), error=2_000_000)
    assert made.strategy.bounds
    ((found,),) = [column["expected_error"] for column in explain(made, Fraction(19, 20)).to_dict()["columns"]]
    assert 0.999 * 2_000_000 < found["half_width"] <= 2_000_000
    made = priced("SELECT COUNT(extra), AVG(extra) FROM t", profile("20"), error=500)
    assert made.strategy.bounds
    assert len(made.measures) == 2


def test_bounds_beyond_what_floats_hold_stay_within_what_is_declared() -> None:
    low, high = -(2**60) - 1, 2**60 + 1
    for aggregate in ("SUM", "AVG"):
        for _, least, most in bounds(f"SELECT town, {aggregate}(huge) FROM t GROUP BY town", profile()):
            assert low <= least < most <= high


@pytest.mark.parametrize("value", [0, 7, 10_000, HIGH // 2, HIGH])
def test_columns_of_one_value_keep_it_and_starve_nothing_else(value: int) -> None:
    """Bounds may be declared any number of times too wide, and what hardly varies is no reason to forget the rest."""
    known = profile("50", values=np.full(100, value))
    for text in (
        "SELECT SUM(pay), AVG(pay) FROM t",
        "SELECT town, COUNT(*), SUM(change), VARIANCE(pay) FROM t GROUP BY 1",
    ):
        made = priced(text, known)
        for _, least, most in made.strategy.bounds:
            assert least <= value <= most
        assert min(made.shares) >= Fraction(1, 6 * len(made.measures))
        assert sum(made.shares) == 1


def test_a_mean_that_is_all_noise_moves_no_bounds() -> None:
    known = profile(values=np.full(100, 7))
    column = known.columns["pay"]
    noise = Laplace(epsilon="0.01", sensitivity=HIGH, relation=Relation.OWNER)
    for off in (-HIGH, HIGH):
        distances = Distances(HIGH // 2, (7 - HIGH // 2) * OWNERS + 50 * off, noise)
        told = replace(known, columns={"pay": replace(column, distances=distances)})
        for _, least, most in bounds("SELECT AVG(pay), COUNT(*) FROM t", told):
            assert least <= 7 <= most


def test_nobody_and_nothing_are_planned_for() -> None:
    known = profile(values=np.zeros(100))
    empty = replace(known, rows=RowsPerOwner((-5, -3, -9), known.rows.mechanism)) if known.rows else known
    for told in (known, empty):
        assert priced("SELECT SUM(pay) FROM t", told).price.cost == Fraction(1, 2)


def test_what_only_the_mean_knows_of_is_told() -> None:
    """Nearly all of the sum is in so few rows that no rank shows them: the mean does, and the bias says it."""
    rare = np.where(DRAWN.random(OWNERS * MOST) < 0.004, 9 * HIGH // 10, DRAWN.integers(0, 10, OWNERS * MOST))
    made = priced("SELECT town, SUM(pay) FROM t GROUP BY town", profile(values=rare))
    ((_, least, most),) = made.strategy.bounds or (("", 0, HIGH),)
    told = explain(made, Fraction(19, 20)).to_dict()["columns"][0]["possible_bias"]
    lost = float((rare - np.clip(rare, least, most)).sum())
    assert lost < 1.3 * told


def test_totals_allow_for_what_only_the_mean_knows_of() -> None:
    rare = np.where(DRAWN.random(OWNERS * MOST) < 0.004, 9 * HIGH // 10, DRAWN.integers(0, 10, OWNERS * MOST))
    made = priced("SELECT SUM(pay) FROM t", profile(values=rare), epsilon="0.5")
    ((asked, total),) = made.strategy.totals
    owners = rare.reshape(OWNERS, MOST).sum(axis=1)
    expected = float(np.minimum(owners, total.most).sum() * made.strategy.factor_of(asked))
    assert abs(expected - rare.sum()) < 0.3 * rare.sum()


def test_ranks_that_may_be_anywhere_are_no_shape_even_if_they_fit_the_mean() -> None:
    """A mean pins down how much there is, not where: quantiles that are mostly noise can explain any."""
    known = profile("200", values=PAY)
    rough = tuple(Quantile(epsilon="0.005", q=rank, lower=0, upper=HIGH) for rank in RANKS)
    column = replace(known.columns["pay"], mechanisms=rough)
    text = "SELECT AVG(pay), COUNT(*) FROM t"
    assert bounds(text, known) != ()
    assert bounds(text, replace(known, columns={"pay": column})) == ()


@pytest.mark.parametrize("aggregate", ["SUM", "AVG"])
def test_tables_with_one_row_of_each_owner_have_tighter_bounds_too(aggregate: str) -> None:
    table = Table("t", "people", "uid", 1, COLUMNS, 1, owner_type="BIGINT")
    question = read(f"SELECT {aggregate}(pay) FROM t", Catalog({"t": table}, {}))
    known = replace(profile(), most=1, rows=RowsPerOwner((OWNERS,), Laplace(epsilon=1, sensitivity=1)))
    made = price(question, Currency.of(dt.PureDP(9)), profile=known, epsilon="0.01")
    ((_, least, most),) = made.strategy.bounds
    assert 0 <= least < np.quantile(PAY, 0.05)
    assert np.quantile(PAY, 0.9) < most < HIGH / 4
    assert (made.strategy.rows, made.strategy.totals, made.strategy.factor) == (None, (), 1)
