"""Which rows count: near the best that an oracle could choose, from a profile alone."""

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
from dither.policy.catalog import Catalog, PublicTable, Table
from dither.policy.columns import Category, Fixed, Int, Text
from dither.sql.binding.reading import read
from dither.sql.guard.check import UnsafePlan, check
from dither.sql.plan.nodes import OwnerTotal, Retruncate
from dither.sql.planner.profiles.profile import RANKS, ColumnQuantiles, Distances, Profile, RowsPerOwner
from dither.sql.planner.profiles.row_spread import Owners
from dither.sql.planner.profiles.selectivity import groups_kept, kept
from dither.sql.planner.profiles.tail import smooth
from dither.sql.planner.profiles.value_spread import Values
from dither.sql.planner.row_limits import limited_table
from dither.sql.planner.strategy import Strategy
from dither.sql.pricing.price import PricedQuestion, price

MOST = 1000
COLUMNS = {
    "x": Int(0, 100, nullable=False, default=0),
    "paid": Fixed(0, 100, decimals=2, nullable=False, default=0),
    "region": Int(0, 49, nullable=False, default=0),
    "zip": Int(0, 9999, nullable=False, default=0),
    "g": Category(["a", "b"]),
    "name": Text(),
}
TABLES = {
    "t": Table("t", "people", "uid", MOST, COLUMNS, 1, owner_type="BIGINT"),
    "once": Table("once", "people", "uid", 1, {"z": Int(0, 9)}, 4, owner_type="BIGINT"),
    "other": Table("other", "people", "uid", 7, {"y": Int(0, 9)}, 2, owner_type="BIGINT"),
}
CATALOG = Catalog(TABLES, {"pub": PublicTable("pub", {"code": Int(0, 49, nullable=False, default=0)}, ("code",), 3)})
PURE = dt.PureDP(4)


def skewed(owners: int = 100_000) -> Any:
    drawn = np.random.default_rng(7)
    rows = drawn.poisson(10 * drawn.lognormal(0, 1, owners) / math.exp(0.5))
    return np.minimum(rows[rows > 0], MOST)


ROWS = skewed()


def profile(epsilon: Any = "0.05", seed: int | None = 1, rows: Any = ROWS) -> Profile:
    """What a profile at that price could tell: exact numbers of owners, or with noise drawn for this test."""
    owners = np.bincount(np.log2(rows).astype(int), minlength=MOST.bit_length())
    if seed is not None:
        drawn = np.random.default_rng(seed)
        owners = owners + np.round(drawn.laplace(0, 1 / float(Fraction(epsilon)), len(owners))).astype(int)
    mechanism = Laplace(epsilon=epsilon, sensitivity=1, relation=Relation.OWNER)
    values = tuple(int(100 * math.exp(3 + z)) for z in (-2.33, -1.64, -0.67, 0, 0.67, 1.64, 2.33))
    chosen = tuple(Quantile(epsilon=1, q=rank, lower=0, upper=10_000) for rank in RANKS)
    columns = {"paid": ColumnQuantiles(tuple(min(v, 10_000) for v in values), 2, chosen)}
    return Profile("t", 1, MOST, RowsPerOwner(tuple(int(n) for n in owners), mechanism), columns)


def priced(text: str, known: Profile | None, budget: Any = PURE, **stated: Any) -> PricedQuestion:
    return price(read(text, CATALOG), Currency.of(budget), profile=known, **stated or {"epsilon": 1})


def chosen(text: str, known: Profile | None, **stated: Any) -> int:
    return priced(text, known, **stated).strategy.rows or MOST


def test_without_a_profile_the_declared_rows_count() -> None:
    assert chosen("SELECT COUNT(*) FROM t", None) == MOST
    assert chosen("SELECT COUNT(*) FROM t", replace(profile(), rows=None)) == MOST
    assert chosen("SELECT COUNT(*) FROM t", replace(profile(), table="another")) == MOST


@pytest.mark.parametrize("epsilon", ["0.1", "1", "10"])
def test_a_count_is_near_the_best_possible(epsilon: str) -> None:
    """The error with the chosen number of rows, beside that of the best number, which takes the data to know."""
    errors = np.array([error(rows, float(epsilon)) for rows in range(1, MOST + 1)])
    made = [priced("SELECT COUNT(*) FROM t", profile(seed=seed), epsilon=epsilon).strategy for seed in range(12)]
    found = np.array([error(one.rows or MOST, float(epsilon), float(one.factor)) for one in made])
    assert np.median(found) <= (2.2 if epsilon == "10" else 1.5) * errors.min()  # at 10 it hangs on single owners
    assert found.max() <= 4 * errors.min()
    assert np.median(found) < 0.75 * errors[MOST - 1]


def error(rows: int, epsilon: float, factor: float = 1.0) -> float:
    off = factor * float(np.minimum(ROWS, rows).sum()) - float(ROWS.sum())
    return math.hypot(off, factor * math.sqrt(2) * rows / epsilon)


def test_counts_and_sums_are_scaled_up_for_rows_left_out() -> None:
    """The factor is near all rows over those kept, and so groups need fewer rows than without it."""
    text = "SELECT zip, COUNT(*), SUM(x), AVG(x) FROM t GROUP BY zip"
    for seed in range(6):
        made = priced(text, profile(seed=seed))
        rows, factor = made.strategy.rows, float(made.strategy.factor)
        assert rows is not None
        assert factor == pytest.approx(float(ROWS.sum() / np.minimum(ROWS, rows).sum()), rel=0.05)
        assert {item.factor for item in made.measures} == {made.strategy.factor}
        assert f"multiplied by {factor:.6g}" in made.strategy.why
        plain = priced(text, profile(seed=seed), epsilon=1, adjust=False)
        assert (plain.strategy.factor, {item.factor for item in plain.measures}) == (1, {1})
        assert rows < (plain.strategy.rows or MOST)
        assert made.known_as != plain.known_as


def test_nothing_else_is_scaled_up() -> None:
    known = profile()
    assert priced("SELECT COUNT(*) FROM t", None).strategy.factor == 1
    assert priced("SELECT zip, AVG(x) FROM t GROUP BY zip", known).strategy.factor == 1
    assert priced("SELECT COUNT(*) FROM t", known, epsilon=1, rows_per_owner=3).strategy.factor == 1
    made = priced("SELECT zip, COUNT(DISTINCT uid), MEDIAN(x), COUNT(*) FROM t GROUP BY zip", known)
    scaled = {type(item.measure).__name__: item.factor for item in made.measures}
    assert scaled.pop("CountRows") > 1
    assert set(scaled.values()) == {1}


@pytest.mark.parametrize("epsilon", ["0.1", "1"])
def test_totals_are_scaled_up_for_what_clamps_cut_off(epsilon: str) -> None:
    """The error with the chosen clamp and factor, beside that of the best clamp without one, which takes the data."""
    drawn = np.random.default_rng(11)
    paid = np.minimum(drawn.lognormal(3, 1, int(ROWS.sum())) * 100, 10_000)
    totals = np.add.reduceat(paid, np.append(0, np.cumsum(ROWS)[:-1]))

    def off(clamp: float, factor: float = 1.0) -> float:
        kept = factor * float(np.minimum(totals, clamp).sum())
        return math.hypot(kept - float(totals.sum()), factor * math.sqrt(2) * clamp / float(epsilon))

    best = min(off(clamp) for clamp in np.geomspace(1e4, 1e7, 200))
    found = []
    for seed in range(12):
        (summed,) = priced("SELECT SUM(paid) FROM t", profile("0.02", seed), epsilon=epsilon).measures
        assert summed.total is not None
        assert summed.factor > 1
        found.append(off(float(summed.total.most), float(summed.factor)))
    assert np.median(found) < (1.6 if epsilon == "1" else 1.1) * best  # at 1 it hangs on single owners
    assert max(found) < 3 * best
    made = priced("SELECT SUM(paid) FROM t", profile(), epsilon=epsilon, adjust=False)
    assert {item.factor for item in made.measures} == {1}


def test_totals_of_both_signs_are_not_scaled_up() -> None:
    (summed,) = priced("SELECT SUM(paid - 50) FROM t", profile()).measures
    assert summed.total is not None
    assert (summed.total.least, summed.factor) == (-summed.total.most, 1)


@pytest.mark.parametrize("spread", ["pareto", "bounded", "two numbers", "lognormal"])
def test_scaled_up_counts_of_groups_are_nearer_whatever_the_tail(spread: str) -> None:
    """Errors over many groups of owners, beside the best number of rows without a factor, which takes the data."""
    drawn = np.random.default_rng(5)
    size = 100_000
    rows = {
        "pareto": np.floor(3 * (1 - drawn.random(size)) ** (-1 / 1.5)).astype(int),
        "bounded": drawn.integers(1, 13, size),
        "two numbers": np.where(drawn.random(size) < 0.1, 60, 2),
        "lognormal": ROWS,
    }[spread]
    rows = np.minimum(rows, MOST)
    home = drawn.integers(0, 10_000, len(rows))
    exact = np.bincount(home, weights=rows, minlength=10_000)

    def off(limit: int, factor: float = 1.0) -> float:
        kept = factor * np.bincount(home, weights=np.minimum(rows, limit), minlength=10_000)
        return math.sqrt(float(np.mean((kept - exact) ** 2)) + 2 * (factor * limit) ** 2)

    best = min(off(limit) for limit in (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64))
    found = []
    for seed in range(8):
        made = priced("SELECT zip, COUNT(*) FROM t GROUP BY zip", profile("0.015", seed, rows)).strategy
        found.append(off(made.rows or MOST, float(made.factor)))
    assert np.median(found) < 1.05 * best


def test_fewer_rows_for_small_groups_and_for_low_prices() -> None:
    known = profile()
    by_groups = [
        chosen("SELECT COUNT(*) FROM t", known),
        chosen("SELECT region, COUNT(*) FROM t GROUP BY region", known),
        chosen("SELECT zip, COUNT(*) FROM t GROUP BY zip", known),
    ]
    assert by_groups == sorted(by_groups, reverse=True)
    assert by_groups[-1] < by_groups[0] / 4
    by_price = [chosen("SELECT COUNT(*) FROM t", known, epsilon=e) for e in ("10", "1", "0.01")]
    assert by_price == sorted(by_price, reverse=True)
    assert by_price[-1] < by_price[0] / 2


def test_an_average_needs_fewer_rows_than_a_sum() -> None:
    known = profile()
    assert chosen("SELECT AVG(x) FROM t", known) < chosen("SELECT COUNT(*) FROM t", known)
    assert chosen("SELECT MEDIAN(x) FROM t", known) < chosen("SELECT COUNT(*) FROM t", known)


def test_a_sum_of_small_values_adds_clamped_totals() -> None:
    """Most values of `paid` are far below their bound, so a clamp on totals needs less noise than one on rows."""
    made = priced("SELECT SUM(paid) FROM t", profile())
    ((measure, total),) = made.strategy.totals
    assert made.measures[0].total == total
    assert isinstance(total, OwnerTotal)
    assert (total.least, made.measures[0].measure) == (0, measure)
    assert made.measures[0].sensitivity.l1 == total.most < 10_000 * chosen("SELECT COUNT(*) FROM t", profile())
    assert "it is the slower plan" in made.strategy.why
    assert priced("SELECT g, SUM(paid) FROM t GROUP BY g", profile()).strategy.totals == ()
    assert priced("SELECT SUM(paid) FROM t", profile(), rows_per_owner=9, epsilon=1).strategy.totals == ()


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) FROM t a JOIN other b ON a.uid = b.uid",
        "SELECT SUM(q.n) FROM (SELECT uid, COUNT(*) AS n FROM t GROUP BY uid) q",
        "SELECT COUNT(*) FROM (SELECT uid, x FROM t UNION ALL SELECT uid, region AS x FROM t) q",
    ],
)
def test_relations_that_a_profile_says_little_about_keep_what_is_declared(text: str) -> None:
    assert priced(text, profile()).strategy.rows is None


def test_a_join_with_a_public_table_is_planned_like_the_table() -> None:
    joined = "SELECT COUNT(*) FROM t JOIN pub ON t.region = pub.code"
    assert chosen(joined, profile()) == chosen("SELECT COUNT(*) FROM t", profile()) < MOST


def test_owners_alone_do_not_depend_on_rows() -> None:
    made = priced("SELECT COUNT(DISTINCT uid) FROM t", profile())
    assert made.measures[0].sensitivity.l1 == 1
    assert made.strategy.why == ""


def test_the_spread_of_rows() -> None:
    """Rows beyond a limit, estimated from powers of two alone, are near the true ones."""
    owners = Owners.of(profile(seed=None).rows, MOST)  # type: ignore[arg-type]
    assert owners.total == pytest.approx(float(ROWS.sum()), rel=0.03)
    for most in (1, 5, 20, 60):
        assert float(owners.lost(most)) == pytest.approx(float(np.maximum(ROWS - most, 0).sum()), rel=0.15)
    assert float(owners.lost(200)) > 0.5 * float(np.maximum(ROWS - 200, 0).sum())
    several = owners.lost(np.array([5.0, 20.0]))
    assert several.tolist() == pytest.approx([float(owners.lost(5)), float(owners.lost(20))])
    assert float(owners.shift(MOST)) == pytest.approx(0, abs=1e-12)
    assert float(owners.shift(1)) > float(owners.shift(10)) > 0


def test_the_shift_of_an_average_is_that_of_dropped_rows() -> None:
    """Against owners whose values are drawn: how far averages over kept rows are from those over all."""
    owners = Owners.of(profile(seed=None).rows, MOST)  # type: ignore[arg-type]
    drawn = np.random.default_rng(2)
    kept = np.minimum(ROWS, 8)
    moved = []
    for _ in range(200):
        values = drawn.normal(0, 1, len(ROWS))
        moved.append(float(values @ ROWS) / ROWS.sum() - float(values @ kept) / kept.sum())
    assert float(owners.shift(8)) == pytest.approx(float(np.std(moved)), rel=0.25)


def test_noise_is_not_taken_for_owners() -> None:
    noisy = RowsPerOwner((500, 200, 60, -3, 8, -9, 5), Laplace(epsilon="0.1", sensitivity=1))
    owners = Owners.of(noisy, 127)
    assert float(owners.weights[owners.rows >= 16].sum()) < 10
    nothing = Owners.of(RowsPerOwner((0, -5), Laplace(epsilon="0.1", sensitivity=1)), 3)
    assert nothing.total == 1


def test_a_tail_in_the_noise_is_that_of_the_clear_numbers() -> None:
    """Whatever the noise, unless it is far beyond what noise can be; and an end that is seen is an end."""
    exact = np.array([8_000, 18_000, 26_000, 24_000, 13_000, 4_200, 860, 110, 13, 1], dtype=np.float64)
    drawn = np.random.default_rng(3)
    found = [smooth(exact + drawn.laplace(0, 67, 10), 67.0) for _ in range(300)]
    owners = np.array([one.owners for one in found])
    assert np.sqrt(((owners - exact)[:, 7] ** 2).mean()) < 0.5 * 67 * math.sqrt(2)
    assert np.sqrt(((owners - exact)[:, 8] ** 2).mean()) < 0.25 * 67
    doubt = np.sqrt(np.array([np.diag(one.covariance) for one in found]))
    assert 0.5 < np.sqrt((((owners - exact) / doubt)[:, 7] ** 2).mean()) < 2
    apart = smooth(np.append(exact[:-1], 900.0), 67.0)
    assert apart.owners[-1] == 900
    ended = smooth(np.array([8_000, 8_000, 8_000, 40.0, -90, 120]), 67.0)
    assert ended.owners[3:].sum() < 20


@pytest.mark.parametrize(("highest", "most"), [(59, 20), (15, 10), (40, 31), (8, 8), (7, 7)])
def test_owners_who_had_more_rows_than_count_have_as_many_as_count(highest: int, most: int) -> None:
    """Rows left out are near the true ones where what is declared cuts the tail."""
    rows = np.minimum(np.random.default_rng(6).integers(1, highest + 1, 50_000), most)
    counted = np.bincount(np.log2(rows).astype(int), minlength=most.bit_length())
    owners = Owners.of(RowsPerOwner(tuple(map(int, counted)), Laplace(epsilon="0.1", sensitivity=1)), most)
    assert owners.total == pytest.approx(float(rows.sum()), rel=0.06)
    for limit in (most // 2, most - 1):
        true = float(np.maximum(rows - limit, 0).sum())
        assert float(owners.lost(limit)) == pytest.approx(true, rel=0.35, abs=0.01 * rows.sum())


def test_values_of_a_column_and_of_anything_else() -> None:
    question = read("SELECT SUM(paid), SUM(paid * 2), SUM(x) FROM t", CATALOG)
    paid, doubled, x = (output.aggregate.value for output in question.outputs)  # type: ignore[attr-defined]
    known = profile()
    assert Values.of(paid, known).mean_size < 0.7 * Values.of(paid, None).mean_size
    assert Values.of(doubled, known).mean_size == pytest.approx(2 * Values.of(paid, known).mean_size, rel=0.05)
    assert Values.of(doubled, None).mean_size == pytest.approx(10_000, rel=0.05)
    assert Values.of(x, known).mean_size == pytest.approx(50)


def test_values_have_the_mean_that_was_released() -> None:
    """Quantiles are rough at a low price; the mean is what totals hang on."""
    paid = read("SELECT SUM(paid) FROM t", CATALOG).outputs[0].aggregate.value  # type: ignore[attr-defined]
    rough = profile()
    owners = rough.owners
    assert owners is not None
    for mean in (2_000, 3_000, 7_000, 20_000):
        noise = Laplace(epsilon=1, sensitivity=5_000)
        known = replace(rough.columns["paid"], distances=Distances(5_000, int(owners * (mean - 5_000)), noise))
        values = Values.of(paid, replace(rough, columns={"paid": known}))
        assert float(values.points.mean()) == pytest.approx(min(mean, 9_980), rel=0.01)
        assert values.points.min() >= 0
        assert values.points.max() <= 10_000


def test_totals_of_owners_spread_less_than_their_values() -> None:
    values = Values.of(read("SELECT SUM(paid) FROM t", CATALOG).outputs[0].aggregate.value, profile())  # type: ignore[attr-defined]
    one, many = values.totals(np.array([1.0, 100.0]))
    assert float(many.mean()) == pytest.approx(100 * float(values.points.mean()), rel=0.02)
    assert float(one.std()) == pytest.approx(values.spread, rel=0.1)
    assert float(many.std()) == pytest.approx(values.spread * math.sqrt(0.1 * 100**2 + 0.9 * 100), rel=0.1)


RARE = "x = 7 AND region = 3"


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT COUNT(*) FROM t WHERE {RARE}",
        f"SELECT g, COUNT(*), SUM(paid), AVG(x) FROM t WHERE {RARE} GROUP BY g",
        f"SELECT SUM(x) FROM t JOIN pub ON t.region = pub.code WHERE {RARE}",
    ],
)
def test_few_rows_that_are_asked_about_are_limited_after_where(text: str) -> None:
    """One in 5,050 rows: an owner has a few of them, however many rows there are in all."""
    made = priced(text, profile())
    reach = 1 if "SUM(x)" not in text else 100
    clamped = [total.most for _, total in made.strategy.totals]
    assert (made.strategy.cut or clamped[0] // reach) <= 8
    assert made.strategy.rows is None
    assert made.measures[0].sensitivity.l1 <= 8 * reach
    assert made.strategy.factor == 1
    assert "it is the slower plan" in made.strategy.why
    plain = priced(text.replace(RARE, "x >= 0"), profile())
    assert plain.strategy.cut is None
    assert plain.measures[0].sensitivity.l1 > 10 * made.measures[0].sensitivity.l1


def test_a_limit_after_where_is_what_the_guard_counts() -> None:
    made = priced(f"SELECT g, COUNT(*) FROM t WHERE {RARE} GROUP BY g", profile())
    (aggregate,) = made.aggregates
    assert isinstance(aggregate.child, Retruncate)
    assert aggregate.child.rows == made.strategy.cut == made.measures[0].sensitivity.l1
    unlimited = replace(aggregate, child=replace(aggregate.child, rows=0))
    with pytest.raises(UnsafePlan):
        check((unlimited,))
    assert Strategy.read(made.strategy.document(), [item.measure for item in made.measures]).cut == made.strategy.cut


def test_of_tables_that_are_joined_the_one_that_rows_follow_from_has_the_say() -> None:
    joined = "SELECT COUNT(*) FROM t JOIN once ON t.uid = once.uid"
    assert limited_table(read(joined, CATALOG)) == "t"
    assert chosen(joined, profile()) == chosen("SELECT COUNT(*) FROM t", profile()) < MOST
    assert limited_table(read("SELECT COUNT(*) FROM t a JOIN other b ON a.uid = b.uid", CATALOG)) is None


@pytest.mark.parametrize(
    ("condition", "share"),
    [
        ("x < 25", 25 / 101),
        ("x BETWEEN 10 AND 19", 10 / 101),
        ("x >= 20 AND x < 30 AND region = 7", 10 / 101 / 50),
        ("x = 5 OR region < 25", 1 - 0.5 * 100 / 101),
        ("NOT region = 7", 49 / 50),
        ("region IN (1, 2, 3, 4, 5)", 0.1),
        ("x = zip", 1 / 10_000),
        ("paid <= 20.09", 0.5),  # the median of the profile
        ("x >= 0", 1),
    ],
)
def test_the_share_of_rows_that_conditions_keep(condition: str, share: float) -> None:
    source = read(f"SELECT COUNT(*) FROM t WHERE {condition}", CATALOG).source
    assert kept(source, profile()) == pytest.approx(share, rel=0.25, abs=3e-4)


def test_what_cannot_be_told_keeps_all_rows() -> None:
    for text in (
        "SELECT COUNT(*) FROM t WHERE name LIKE 'a%'",
        "SELECT COUNT(*) FROM t WHERE EXISTS (SELECT 1 FROM other WHERE other.uid = t.uid AND other.y = 3)",
        "SELECT COUNT(*) FROM t LEFT JOIN pub ON t.region = pub.code",
    ):
        assert kept(read(text, CATALOG).source, profile()) == 1


def test_rows_that_are_asked_about_are_fewer_of_each_owner() -> None:
    """Expected rows are right in all, and each owner has fewer."""
    owners = Owners.of(profile(seed=None).rows, MOST)  # type: ignore[arg-type]
    for share in (0.3, 0.01, 1e-5):
        few = owners.thinned(share)
        assert few.total == pytest.approx(max(1.0, share * owners.total), rel=0.05)
        assert float(few.lost(20)) / few.total < float(owners.lost(20)) / owners.total
        assert float(few.lost_doubt(1)) > 0


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("SELECT region, COUNT(*) FROM t GROUP BY region", 1),
        ("SELECT region, COUNT(*) FROM t WHERE region IN (3, 4) AND x < 5 GROUP BY region", 2 / 50),
        ("SELECT q.r, COUNT(*) FROM (SELECT region AS r FROM t WHERE region < 25) q GROUP BY q.r", 0.5),
        ("SELECT g, COUNT(*) FROM t WHERE region < 25 GROUP BY g", 1),
    ],
)
def test_groups_that_conditions_leave(text: str, share: float) -> None:
    question = read(text, CATALOG)
    found = groups_kept(question.source, (key.code for key in question.keys), profile())
    assert found == pytest.approx(share, rel=0.1)
