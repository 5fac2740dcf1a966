"""Laplace or Gaussian noise at a price in epsilon and delta: whichever errs by less, and delta only for the second."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import pytest

import dither as dt
from dither.accounting.currency.currency import Currency
from dither.accounting.guarantees.gaussian_curve import delta_of_gaussian, price_in_rho
from dither.errors import ParameterError
from dither.mechanisms import Gaussian, Laplace
from dither.policy.catalog import Catalog, Table
from dither.policy.columns import Category, Int, Text
from dither.sql.binding.reading import read
from dither.sql.planner.noise_kinds import epsilon_with
from dither.sql.planner.strategy import Strategy
from dither.sql.pricing.explain import explain
from dither.sql.pricing.price import PricedQuestion, again, price

COLUMNS = {"zip": Int(0, 999, nullable=False, default=0), "x": Int(0, 100), "g": Category(["a", "b"]), "s": Text()}
CATALOG = Catalog({"t": Table("t", "people", "uid", 500, COLUMNS, 1, owner_type="BIGINT")}, {})
BASIC = dt.ApproxDP(1, "1e-6", composition="basic")
OWNERS = "SELECT zip, COUNT(DISTINCT uid) FROM t GROUP BY zip"  # L1 is 500, L2 its root
MANY = f"SELECT {', '.join(f'SUM(x + {n})' for n in range(40))} FROM t"


def priced(text: str, budget: Any = BASIC, **stated: Any) -> PricedQuestion:
    stated = {"epsilon": "0.5", "delta": "1e-7"} | stated
    return price(read(text, CATALOG), Currency.of(budget), **{n: v for n, v in stated.items() if v is not None})


def mu_squared(made: PricedQuestion) -> Fraction:
    """Of all noise together, for an owner who moves every measure as far as one can."""
    noises = [item.mechanism for item in made.measures]
    assert all(isinstance(noise, Gaussian) for noise in noises)
    return sum((item.sensitivity.l2_squared / item.mechanism.scale**2 for item in made.measures), Fraction(0))  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "text", [OWNERS, MANY, "SELECT zip, COUNT(DISTINCT uid), COUNT(DISTINCT x) FROM t GROUP BY zip"]
)
def test_all_noise_together_has_the_price(text: str) -> None:
    """The curve of all measures together goes through (epsilon, delta), and hardly below."""
    made = priced(text)
    assert made.strategy.gaussian
    assert made.price == Currency.of(BASIC).price_of(epsilon="0.5", delta="1e-7")
    moved = mu_squared(made)
    assert delta_of_gaussian(moved, Fraction(1, 2)) <= 1e-7
    assert delta_of_gaussian(moved * Fraction(1001, 1000), Fraction(1, 2)) > 1e-7
    assert made.split == ("rho", price_in_rho(Fraction(1, 2), Fraction(1, 10**7)))


def test_planted_every_measure_at_the_whole_price_is_too_much() -> None:
    """What the test above would not let pass."""
    made = priced(MANY)
    whole = Gaussian(epsilon="0.5", delta="1e-7", sensitivity=made.measures[0].sensitivity.l2)
    assert delta_of_gaussian(40 * (whole.sensitivity / whole.scale) ** 2, Fraction(1, 2)) > 1e-7


@pytest.mark.parametrize("text", ["SELECT COUNT(*) FROM t", "SELECT zip, COUNT(*) FROM t GROUP BY zip"])
def test_laplace_noise_where_it_errs_by_less_costs_no_delta(text: str) -> None:
    made = priced(text)
    assert isinstance(made.measures[0].mechanism, Laplace)
    assert (made.price.delta, made.asked) == (0, {"epsilon": "0.5"})
    assert "no delta is paid" in made.strategy.why
    assert made.recipe() == priced(text, delta=None).recipe()


def test_without_a_stated_delta_none_is_paid() -> None:
    made = priced(OWNERS, delta=None)
    assert isinstance(made.measures[0].mechanism, Laplace)
    assert made.price.delta == 0
    gaussian = priced(OWNERS)
    assert gaussian.measures[0].mechanism.scale < made.measures[0].mechanism.scale / 2  # type: ignore[union-attr]


def test_values_and_keys_that_are_chosen_have_no_gaussian_noise() -> None:
    made = priced("SELECT zip, COUNT(DISTINCT uid), MEDIAN(x) FROM t GROUP BY zip")
    assert (made.strategy.gaussian, made.price.delta) == (False, 0)
    assert "No delta is paid" in made.strategy.why
    keys = priced("SELECT s, COUNT(DISTINCT uid) FROM t GROUP BY s")
    assert not keys.strategy.gaussian
    assert keys.price.delta == Fraction(1, 10**7), "it pays for the selection of keys"


@pytest.mark.parametrize("budget", [dt.PureDP(4), dt.ApproxDP(4, "1e-6")])
def test_other_budgets_take_no_delta_for_public_keys(budget: Any) -> None:
    with pytest.raises(ParameterError, match="all keys of this query are public"):
        priced(OWNERS, budget)
    with pytest.raises(ParameterError, match="needs a delta"):
        priced(OWNERS, budget, delta=None, strategy=Strategy(gaussian=True))


@pytest.mark.parametrize("delta", ["0", "1", "-0.1", "nan"])
def test_a_delta_that_is_none(delta: str) -> None:
    with pytest.raises(ParameterError, match="delta"):
        priced(OWNERS, delta=delta)


def test_it_is_explained() -> None:
    told = explain(priced(OWNERS), Fraction(19, 20)).to_dict()
    assert told["price"] == {"epsilon": "0.5", "delta": "1e-07"}
    assert "Noise is Gaussian, for which delta is paid" in told["strategy"]
    assert "at the same delta" in told["trade"]
    assert told["columns"][0]["measures"][0]["mechanism"] == "Gaussian"
    assert told["columns"][0]["measures"][0]["sensitivity"] == pytest.approx(math.sqrt(500))


def test_what_was_decided_is_taken_up_again() -> None:
    """Whatever noise would be chosen now, and whatever it would cost."""
    gaussian, laplace = priced(OWNERS), priced(OWNERS, strategy=Strategy())
    assert json.loads(gaussian.recipe())["strategy"]["noise"] == "Gaussian"
    currency = Currency.of(BASIC)
    for now, then in ((gaussian, laplace), (laplace, gaussian), (gaussian, gaussian)):
        made = again(now, currency, then.recipe())
        assert (made.recipe(), made.price, made.asked) == (then.recipe(), then.price, then.asked)
    with pytest.raises(ParameterError, match="needs a delta"):
        again(priced(OWNERS, delta=None), currency, gaussian.recipe())


def test_a_strategy_that_is_no_longer_made_is_refused() -> None:
    """Ledgers may keep plans of earlier versions that limit the rows of an owner in each group."""
    made = priced(OWNERS)
    recipe = json.loads(made.recipe())
    recipe["strategy"]["rows_in_group"] = 4
    with pytest.raises(ParameterError, match="no longer supported"):
        again(made, Currency.of(BASIC), json.dumps(recipe))


@pytest.mark.parametrize(("text", "gaussian"), [(OWNERS, True), ("SELECT COUNT(*) FROM t", False)])
def test_the_smallest_epsilon_for_an_error(text: str, gaussian: bool) -> None:
    made = priced(text, epsilon=None, error=2000)
    assert made.strategy.gaussian is gaussian
    told = explain(made, Fraction(19, 20)).to_dict()["columns"][0]["expected_error"][0]["half_width"]
    assert told <= 2000
    assert made.price.delta == (Fraction(1, 10**7) if gaussian else 0)
    assert made.price.cost <= priced(text, epsilon=None, error=2000, delta=None).price.cost
    if gaussian:
        less = priced(text, epsilon=str(float(made.price.cost) * 0.999))
        assert explain(less, Fraction(19, 20)).to_dict()["columns"][0]["expected_error"][0]["half_width"] > 1996


@pytest.mark.parametrize("rho", ["1e-9", "0.00012345", "0.02", "3", "70"])
@pytest.mark.parametrize("delta", ["1e-12", "1e-6", "0.01"])
def test_epsilons_that_buy_a_rho(rho: str, delta: str) -> None:
    epsilon = epsilon_with(Fraction(rho), Fraction(delta))
    assert price_in_rho(epsilon, Fraction(delta)) >= Fraction(rho)
    assert price_in_rho(epsilon * Fraction(9998, 10_000), Fraction(delta)) < Fraction(rho) or epsilon < Fraction(
        2, 10**9
    )
