"""Averages by distances from the profile's mean: a smaller error where the mean is far from the middle."""

from __future__ import annotations

import math
from typing import Any

import pytest

import dither as dt
from dither.accounting.currency.currency import Currency
from dither.mechanisms import Laplace, Quantile
from dither.neighbours import Relation
from dither.policy.catalog import Catalog, Table
from dither.policy.columns import Int
from dither.sql.binding.reading import read
from dither.sql.bounding.aggregations import measures
from dither.sql.plan.aggregates.average import AverageFrom
from dither.sql.plan.nodes import SumRows
from dither.sql.planner.profiles.profile import RANKS, ColumnQuantiles, Distances, Profile, RowsPerOwner
from dither.sql.planner.strategy import Strategy
from dither.sql.pricing.price import PricedQuestion, price

OWNERS, LOW, HIGH = 100_000, 0, 1000
COLUMNS = {"x": Int(LOW, HIGH, nullable=False, default=0), "g": Int(0, 9, nullable=False, default=0)}
CATALOG = Catalog({"t": Table("t", "people", "uid", 2, COLUMNS, 1, owner_type="BIGINT")}, {})


def profile(mean: int) -> Profile:
    """Values that spread over all of what is declared, with this mean."""
    noise = Laplace(epsilon=1, sensitivity=HIGH, relation=Relation.OWNER)
    values = tuple(round(HIGH * float(rank) ** (HIGH / mean - 1)) for rank in RANKS)
    chosen = tuple(Quantile(epsilon=1, q=rank, lower=LOW, upper=HIGH) for rank in RANKS)
    column = ColumnQuantiles(values, 0, chosen, Distances(500, (mean - 500) * OWNERS, noise))
    rows = RowsPerOwner((OWNERS, 0), Laplace(epsilon=1, sensitivity=1, relation=Relation.OWNER))
    return Profile("t", 1, 2, rows, {"x": column})


def priced(text: str, known: Profile | None) -> PricedQuestion:
    return price(read(text, CATALOG), Currency.of(dt.PureDP(9)), profile=known, epsilon=1)


def off(made: PricedQuestion, mean: int) -> float:
    """The error of the average of all rows, to first order."""
    found: dict[bool, Any] = {isinstance(item.measure, SumRows): item for item in made.measures}
    share = {isinstance(item.measure, SumRows): part for item, part in zip(made.measures, made.shares, strict=True)}
    scale = {kind: float(item.sensitivity.l1 / share[kind]) for kind, item in found.items()}
    (leaf,) = (output.aggregate for output in made.answered.outputs)
    return math.hypot(scale[True], scale[False] * (mean - leaf.middle))  # type: ignore[attr-defined]


@pytest.mark.parametrize("mean", [100, 300, 500, 800])
def test_an_average_takes_distances_from_where_the_error_is_least(mean: int) -> None:
    made = priced("SELECT AVG(x) FROM t", profile(mean))
    without = priced("SELECT AVG(x) FROM t", None)
    assert off(made, mean) <= 1.001 * off(without, mean)
    if abs(mean - 500) >= 200:
        ((_, centre),) = made.strategy.centres
        assert centre == mean
        assert off(made, mean) < 0.95 * off(without, mean)
        (leaf,) = (output.aggregate for output in made.answered.outputs)
        assert isinstance(leaf, AverageFrom)


def test_without_a_profile_and_beside_other_aggregates() -> None:
    assert priced("SELECT AVG(x) FROM t", None).strategy.centres == ()
    question = read("SELECT AVG(x), VARIANCE(x) FROM t", CATALOG)
    made = price(question, Currency.of(dt.PureDP(9)), profile=profile(100), epsilon=1)
    assert len(made.measures) <= 4
    made = priced("SELECT AVG(x) + 1 FROM t", profile(100))
    assert Strategy.read(made.strategy.document(), measures(made.question)).centres == made.strategy.centres
    assert len(made.strategy.centres) == 1
