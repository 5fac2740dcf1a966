"""The split of a price, sums from a shared count, and what two noises come to together."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dither.accounting import ApproxDP, PureDP
from dither.accounting.currency.currency import Currency
from dither.mechanisms import Gaussian, Laplace
from dither.policy.catalog import Catalog, Table
from dither.policy.columns import Category, Fixed, Int
from dither.sql.binding.reading import read
from dither.sql.expressions import Stored
from dither.sql.plan.aggregates import Sum
from dither.sql.plan.aggregates.centred_sum import CentredSum
from dither.sql.planner.candidate import answered
from dither.sql.planner.split import least_error, shares
from dither.sql.planner.split import weights as weigh
from dither.sql.planner.strategy import Strategy
from dither.sql.postprocess.measure_errors import errors_of
from dither.sql.pricing.price import again, price

COLUMNS = {
    "x": Int(0, 100, nullable=False, default=0),
    "y": Fixed(-50, 50, decimals=1, nullable=False, default=0),
    "z": Int(0, 1000),
    "g": Category(["a", "b"]),
}
CATALOG = Catalog({"t": Table("t", "people", "uid", 8, COLUMNS, 1)})
BUDGETS = [PureDP(4), ApproxDP(4, "1e-6")]


def priced(text: str, budget: Any = BUDGETS[0], **stated: Any) -> Any:
    return price(read(text, CATALOG), Currency.of(budget), **stated or {"epsilon": 1})


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*), SUM(x) FROM t",
        "SELECT g, COUNT(*), SUM(x), AVG(x), COUNT(DISTINCT uid) FROM t GROUP BY g",
        "SELECT VARIANCE(z), MEDIAN(z), SUM(z) FROM t",
        "SELECT SUM(y), AVG(y), SUM(x) / COUNT(*) FROM t",
    ],
)
def test_no_other_split_is_better(text: str, budget: Any) -> None:
    """Against random splits: the weighted squared errors are never smaller, and the price is spent once."""
    made = priced(text, budget)
    kind = Currency.of(budget).kind
    needed = [item.measure for item in made.measures]
    moved = [item.sensitivity for item in made.measures]
    weights = weigh(made.answered)

    def error(parts: list[float]) -> float:
        found = 0.0
        for measure, sensitivity, part in zip(needed, moved, parts, strict=True):
            reach = float(sensitivity.l2 if kind == "zcdp" else sensitivity.l1)
            if type(measure).__name__ in ("QuantileRows", "ModeRows"):
                reach = 3 * float(sensitivity.l1)
            found += weights[measure] * reach**2 / (part if kind == "zcdp" else part**2)
        return found

    mine = shares(needed, moved, weights, kind) or [Fraction(1, len(needed))] * len(needed)
    assert sum(mine) == 1
    best = error([float(share) for share in mine])
    factor = 4 if kind == "zcdp" else 1
    assert best == pytest.approx(factor * least_error(needed, moved, weights, kind), rel=0.02)
    drawn = random.Random(5)
    for _ in range(300):
        parts = [drawn.expovariate(1) for _ in needed]
        if min(parts) < 0.2 * sum(parts) / len(parts):  # no measure gets less than a fifth of an even share
            continue
        assert error([part / sum(parts) for part in parts]) >= 0.999 * best


@pytest.mark.parametrize("budget", BUDGETS)
def test_decimals_do_not_change_a_split(budget: Any) -> None:
    """The same value in units of 10^-10, where its weight is tiny, gets the same share."""
    made = priced("SELECT SUM(x * 1.0000000000) AS a, SUM(z) AS b FROM t", budget)
    plain = priced("SELECT SUM(x) AS a, SUM(z) AS b FROM t", budget)
    kind = Currency.of(budget).kind

    def split(question: Any) -> tuple[Fraction, ...]:
        needed = [item.measure for item in question.measures]
        weights = weigh(question.answered)
        return shares(needed, [item.sensitivity for item in question.measures], weights, kind)

    assert [float(part) for part in split(made)] == pytest.approx([float(part) for part in split(plain)], abs=1e-3)


def test_an_average_alone_splits_evenly_without_a_profile() -> None:
    assert priced("SELECT AVG(x) FROM t").strategy.shares == ()


def test_count_sum_and_average_share_one_count() -> None:
    made = priced("SELECT g, COUNT(*), SUM(x), AVG(x) FROM t GROUP BY g")
    assert len(made.measures) == 2
    assert [type(output.aggregate) for output in made.answered.outputs][1] is CentredSum
    assert [type(output.aggregate) for output in made.question.outputs][1] is Sum  # what was asked is kept as it was


def test_a_sum_by_itself_is_not_centred() -> None:
    assert [type(item.aggregate) for item in priced("SELECT SUM(x) FROM t").answered.outputs] == [Sum]
    made = priced("SELECT COUNT(*), SUM(z) FROM t")  # z may be NULL: its rows are counted by nobody
    assert made.strategy.centred == ()


def test_a_strategy_is_read_back_from_a_recipe() -> None:
    made = priced(
        "SELECT g, COUNT(*), SUM(x), AVG(x), COUNT(DISTINCT uid) FROM t GROUP BY g", rows_per_owner=3, epsilon=1
    )
    assert made.strategy.shares
    assert made.strategy.centred
    other = priced("SELECT g, COUNT(*), SUM(x), AVG(x), COUNT(DISTINCT uid) FROM t GROUP BY g")
    assert other.recipe() != made.recipe()
    assert again(other, Currency.of(BUDGETS[0]), made.recipe()).recipe() == made.recipe()
    assert answered(made.question, Strategy()) == made.question


@pytest.mark.parametrize("scales", [(3, 4), (50, 50), (200, 1), (1, 300), (40, Fraction(79, 2))])
@pytest.mark.parametrize("confidence", ["0.5", "0.95", "0.999"])
def test_two_noises_together(scales: tuple[Any, Any], confidence: str) -> None:
    """The half-width of a centred sum holds for the noise really drawn, and is hardly wider than it must be."""
    value = Stored("x", 0, 14, 0, False)
    aggregate = CentredSum(value)
    middle = aggregate.middle
    for kind in ("laplace", "gaussian"):
        if kind == "laplace":
            noises = [Laplace(epsilon=1 / Fraction(scale), sensitivity=1) for scale in scales]
        else:
            noises = [Gaussian(rho=1 / (2 * Fraction(scale) ** 2), sensitivity=1) for scale in scales]
        width, nothing = errors_of(aggregate, noises, Fraction(confidence))
        assert nothing == 0
        law = [_law(noise, 14 * int(max(scales)) + 60) for noise in noises]
        joint = _spread(law[0], law[1], middle)
        size = (len(joint) - 1) // 2
        ends = np.abs(np.arange(-size, size + 1))
        assert joint[ends > float(width)].sum() <= 1 - float(confidence) + 1e-9
        slack = 2 * (1 + middle) + 0.02 * float(width)
        assert joint[ends > float(width) - slack].sum() > 1 - float(confidence) - 1e-9


def _law(noise: Any, reach: int) -> Any:
    scale = float(noise.scale)
    if isinstance(noise, Laplace):
        q = math.exp(-1 / scale)
        return (1 - q) / (1 + q) * q ** np.abs(np.arange(-reach, reach + 1))
    from scipy.special import ndtr

    at = np.arange(-reach, reach + 1)
    return ndtr((at + 0.5) / scale) - ndtr((at - 0.5) / scale)


def _spread(one: Any, other: Any, factor: int) -> Any:
    stretched = np.zeros((len(other) - 1) * factor + 1)
    stretched[::factor] = other
    from scipy.signal import fftconvolve

    return np.maximum(fftconvolve(one, stretched), 0)
