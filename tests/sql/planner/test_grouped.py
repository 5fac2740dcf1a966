"""Few rows of an owner in each group: chosen where a profile says that rows of an owner seldom share one."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dither as dt
from dither.accounting.currency import Currency
from dither.columns import Category, Int
from dither.mechanisms import Gaussian, Laplace
from dither.neighbours import Relation
from dither.sql.bound import measures
from dither.sql.catalog import Catalog, Table
from dither.sql.explain import explain
from dither.sql.planner.agreeing import agreeing
from dither.sql.planner.profile import Agreeing, Profile, RowsPerOwner
from dither.sql.planner.spread import Owners, _beyond_in_each
from dither.sql.planner.strategy import Strategy
from dither.sql.price import PricedQuestion, again, price
from dither.sql.read import read

MOST = 1000
ZIPS = 200
COLUMNS = {
    "zip": Int(0, ZIPS - 1, nullable=False, default=0),
    "year": Int(1900, 2100, nullable=False, default=1900),
    "x": Int(-10, 100, nullable=False, default=0),
    "g": Category(["a", "b"]),
}
CATALOG = Catalog({"t": Table("t", "people", "uid", MOST, COLUMNS, 1, owner_type="BIGINT")}, {})
ZCDP, PURE = dt.ApproxDP(1, "1e-6"), dt.PureDP(1)
BASIC = dt.ApproxDP(1, "1e-6", composition="basic")
BY_ZIP = "SELECT zip, COUNT(*) FROM t GROUP BY zip"


def profile(agree: float = 1 / ZIPS, *, column: str = "zip", epsilon: Any = 1) -> Profile:
    """A million owners with 10 rows on average; of two rows of an owner a share agrees."""
    drawn = np.random.default_rng(7)
    rows = drawn.poisson(10 * drawn.lognormal(0, 1, 10**6) / math.exp(0.5))
    owners = np.bincount(np.log2(np.minimum(rows[rows > 0], MOST)).astype(int), minlength=MOST.bit_length())
    noise = Laplace(epsilon=epsilon, sensitivity=1, relation=Relation.OWNER)
    pairs = {column: Agreeing(int(agree * owners[1:].sum()), noise)}
    return Profile("t", 1, MOST, RowsPerOwner(tuple(int(n) for n in owners), noise), pairs=pairs)


def priced(text: str, known: Profile | None, budget: Any = ZCDP, **stated: Any) -> PricedQuestion:
    return price(read(text, CATALOG), Currency.of(budget), profile=known, **stated or {"epsilon": 1})


def test_rows_that_seldom_share_a_group_are_limited_in_each() -> None:
    made = priced(BY_ZIP, profile())
    (item,) = made.measures
    rows, few = made.strategy.rows, made.strategy.in_group
    assert rows is not None
    assert few is not None
    assert 2 < few < rows / 4
    assert (item.sensitivity.l1, item.sensitivity.l2_squared) == (rows, rows * few)
    assert isinstance(item.mechanism, Gaussian)
    assert item.mechanism.sensitivity**2 >= rows * few
    assert "LEAST(CAST(COUNT(*) AS BIGINT)" in made.statements[0].sql
    assert f'"_rank" <= {rows} GROUP BY s1."_owner", s1."zip")' in made.statements[0].sql
    unlimited = priced(BY_ZIP, replace(profile(), pairs={}))
    assert unlimited.strategy.in_group is None
    scale = unlimited.measures[0].mechanism.scale * unlimited.strategy.factor  # type: ignore[union-attr]
    assert item.mechanism.scale * made.strategy.factor < Fraction(3, 4) * scale


def zipf(power: float) -> Any:
    """Shares of zip codes."""
    shares = np.arange(1, ZIPS + 1) ** -power
    return shares / shares.sum()


def losses(made: PricedQuestion, shares: Any) -> Any:
    """By how much counts of a table like the profile's are off before noise, rows falling into groups by shares."""
    rows, few, factor = made.strategy.rows or MOST, made.strategy.in_group or MOST, float(made.strategy.factor)
    drawn = np.random.default_rng(3)
    counts = drawn.poisson(10 * drawn.lognormal(0, 1, 10**5) / math.exp(0.5))  # a tenth of the owners
    owner = np.repeat(np.arange(10**5), counts)
    group = drawn.choice(ZIPS, len(owner), p=shares)
    rank = np.concatenate([np.arange(n) for n in counts])
    _, place, held = np.unique(owner[rank < rows] * ZIPS + group[rank < rows], return_index=True, return_counts=True)
    kept = np.bincount(group[rank < rows][place], weights=np.minimum(held, few), minlength=ZIPS)
    return 10 * (factor * kept - np.bincount(group, minlength=ZIPS))  # ten such tables together, all off alike


def noise_of(made: PricedQuestion) -> float:
    return float(made.measures[0].mechanism.scale * made.strategy.factor)  # type: ignore[union-attr]


def test_the_error_is_near_what_it_promises() -> None:
    """Rows of an owner fall into groups alike, drawn here: what limits cost beside what was expected."""
    made = priced(BY_ZIP, profile())
    off = losses(made, zipf(0))
    promised = math.sqrt(made.strategy.promised or 0) * 10**7 / ZIPS
    assert math.hypot(float(np.sqrt(np.mean(off**2))) / math.sqrt(10), noise_of(made)) < 1.2 * promised
    assert noise_of(made) < promised


@pytest.mark.parametrize("power", [0, 0.02, 0.2, 0.5, 0.8, 1.2])
def test_popular_groups_are_not_shown_too_small(power: float) -> None:
    """What the limit in groups takes from the most popular one is less than its noise, or the limit is not chosen."""
    shares = zipf(power)
    made = priced(BY_ZIP, profile(float((shares**2).sum())))
    assert (made.strategy.in_group is None) == (power > 0.3)
    unlimited = replace(made, strategy=replace(made.strategy, in_group=None))
    taken = losses(unlimited, shares)[0] - losses(made, shares)[0]
    assert 0 <= taken < noise_of(made)


@pytest.mark.parametrize("agree", [0.5, 1.0])
def test_rows_that_share_groups_are_not(agree: float) -> None:
    """Such as visits by the zip code of a home: nearly all of them would be left out."""
    assert priced(BY_ZIP, profile(agree)).strategy.in_group is None


@pytest.mark.parametrize(
    ("text", "budget"),
    [
        (BY_ZIP, PURE),  # Laplace noise is by L1, which stays as it is
        (BY_ZIP, BASIC),
        ("SELECT COUNT(*) FROM t", ZCDP),
        ("SELECT zip, COUNT(*) FROM t WHERE x > 0 GROUP BY zip", ZCDP),  # of those rows the profile says nothing
        ("SELECT g, COUNT(*) FROM t GROUP BY g", ZCDP),
        ("SELECT zip / 10, COUNT(*) FROM t GROUP BY 1", ZCDP),
        ("SELECT zip, AVG(x) FROM t GROUP BY zip", ZCDP),  # a sum and a count must be of the same rows
        ("SELECT zip, SUM(x) / COUNT(*) FROM t GROUP BY zip", ZCDP),
    ],
)
def test_nothing_else_is_limited_in_groups(text: str, budget: Any) -> None:
    assert priced(text, profile(), budget).strategy.in_group is None
    assert priced(text, profile(), budget, epsilon=1, rows_per_owner=30).strategy.in_group is None


def test_sums_and_counts_of_owners_beside_counts() -> None:
    made = priced("SELECT zip, COUNT(*), SUM(x), COUNT(DISTINCT uid) FROM t GROUP BY zip", profile())
    rows, few = made.strategy.rows or MOST, made.strategy.in_group or MOST
    assert few < rows
    found = {type(item.measure).__name__: item.sensitivity for item in made.measures}
    assert found["CountRows"].l2_squared == rows * few
    assert found["SumRows"].l2_squared == rows * few * found["SumRows"].linf ** 2 / few**2
    assert found["CountOwners"].l2_squared == rows
    assert not made.strategy.centred


def test_each_key_that_the_profile_knows_is_a_bound() -> None:
    known = profile(0.3)
    both = replace(known, pairs={**known.pairs, **profile(0.002, column="year").pairs})
    question = read("SELECT zip, year, COUNT(*) FROM t GROUP BY zip, year", CATALOG)
    assert agreeing(question, both) == pytest.approx(0.002, abs=2e-4)
    assert agreeing(question, known) == pytest.approx(0.3, abs=2e-3)
    assert agreeing(question, replace(known, pairs={})) is None
    noisy = profile(0.0, epsilon="0.0001")  # as many pairs as the noise may hide
    assert 0.01 < (agreeing(question, noisy) or 0) < 0.05


def test_owners_who_lose_rows_lose_them_in_many_groups() -> None:
    """So Laplace noise does with fewer rows of each, too: what few owners lose is not all in one group."""
    rows = [priced(BY_ZIP, known, PURE).strategy.rows or MOST for known in (profile(), replace(profile(), pairs={}))]
    assert rows[0] < 0.9 * rows[1]


def test_it_is_explained() -> None:
    made = priced(BY_ZIP, profile())
    rows, few = made.strategy.rows, made.strategy.in_group
    told = explain(made, Fraction(19, 20))
    assert f"at most {few} rows of an owner count in each group" in told.to_dict()["strategy"]
    assert "slower plan" in told.to_dict()["strategy"]
    assert (told.to_dict()["rows_per_owner"], told.to_dict()["rows_in_group"]) == (rows, few)
    why = f"in L2, since an owner has at most {rows} rows, of which at most {few} count in each group"
    assert told.to_dict()["columns"][0]["measures"][0]["why"] == why
    assert why in str(told)
    assert f"Each owner's total in each group was moved into [0, {few}] before it was added." in str(told)
    assert told.to_dict()["columns"][0]["possible_bias"] > 0


def test_it_is_recorded_and_taken_up_again() -> None:
    made = priced(BY_ZIP, profile())
    recorded = json.loads(made.recipe())["strategy"]
    assert recorded["rows_in_group"] == made.strategy.in_group
    assert Strategy.read(recorded, measures(made.question)).in_group == made.strategy.in_group
    other = priced(BY_ZIP, None)
    assert other.recipe() != made.recipe()
    assert again(other, Currency.of(ZCDP), made.recipe()).recipe() == made.recipe()


def test_a_price_for_an_error_knows_of_it() -> None:
    asked = {"error": 100}
    few, many = (priced(BY_ZIP, known, **asked) for known in (profile(), replace(profile(), pairs={})))
    assert few.strategy.in_group is not None
    assert few.price.cost < many.price.cost
    assert explain(few, Fraction(19, 20)).to_dict()["columns"][0]["expected_error"][0]["half_width"] <= 100


@pytest.mark.parametrize(
    ("rows", "first", "share"), [(1, 1, 0.5), (5, 1, 0.01), (64, 2, 0.02), (30, 3, 0.4), (7, 9, 0.3)]
)
def test_rows_beyond_the_first_of_each_group(rows: int, first: int, share: float) -> None:
    """Against the sum over the binomial law."""
    chances = [math.comb(rows, j) * share**j * (1 - share) ** (rows - j) for j in range(rows + 1)]
    exact = sum(max(0, j - first) * chance for j, chance in enumerate(chances)) / share
    assert _beyond_in_each(np.array([float(rows)]), first, share)[0] == pytest.approx(exact, abs=1e-9)


def test_what_groups_lose_is_within_what_there_is() -> None:
    known = profile().rows
    assert known is not None
    owners = Owners.of(known, MOST)
    for share in (0.0, 1e-6, 0.01, 0.5, 1.0):
        lost = [float(owners.lost_in_groups(64, few, share)) for few in (1, 2, 8, 64)]
        assert lost == sorted(lost, reverse=True)
        assert 0 <= lost[-1] <= lost[0] <= owners.total
    everything = float(owners.lost_in_groups(64, 1, 1.0))
    assert everything == pytest.approx(owners.total - float(owners.lost(64)) - owners.weights.sum(), rel=1e-6)
