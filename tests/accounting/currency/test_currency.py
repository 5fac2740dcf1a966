"""Prices and charges in a budget's own currency: exact, certified, outward."""

from __future__ import annotations

import time
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dither.accounting import ZCDP, ApproxDP, Currency, Price, PureDP
from dither.accounting.guarantees.conversion import COST_UNIT
from dither.errors import ParameterError, RelationMismatch
from dither.mechanisms import Gaussian, Laplace
from dither.neighbours import Relation

PURE = Currency.of(PureDP(4))
RHO = Currency.of(ApproxDP(4, "1e-6"))
BASIC = Currency.of(ApproxDP(4, "1e-6", composition="basic"))
TIGHT = Currency.of(ApproxDP(4, "1e-30"))
BARE = Currency.of(ZCDP("0.5", "1e-9"))

epsilons = st.fractions(min_value=Fraction(1, 1000), max_value=20, max_denominator=1000)
deltas = st.integers(2, 60).map(lambda k: Fraction(1, 2**k))


def test_each_budget_has_one_currency():
    assert (PURE.kind, PURE.cap_cost, PURE.cap_delta, PURE.conversion_delta) == ("pure", 4, 0, None)
    assert (BASIC.kind, BASIC.cap_cost, BASIC.cap_delta) == ("basic", 4, Fraction(1, 10**6))
    assert (BARE.kind, BARE.cap_cost, BARE.cap_delta) == ("zcdp", Fraction(1, 2), Fraction(1, 10**9))
    assert (RHO.kind, RHO.cap_delta, RHO.conversion_delta) == ("zcdp", Fraction(1, 2 * 10**6), Fraction(1, 2 * 10**6))


@settings(deadline=None, max_examples=60)
@given(epsilons, deltas)
def test_the_rho_cap_is_the_largest_that_converts(epsilon, delta):
    cap = Currency.of(ApproxDP(epsilon, delta)).cap_cost
    assert cap % COST_UNIT == 0
    assert ZCDP(cap).epsilon_at(delta / 2) <= float(epsilon) * (1 + 1e-12)
    assert ZCDP(cap * (1 + Fraction(1, 10**9)) + 2 * COST_UNIT).epsilon_at(delta / 2) > epsilon


@pytest.mark.parametrize(("epsilon", "delta"), [(4, "1e-6"), (1, "1e-9"), ("0.1", "1e-5"), (10, "1e-12")])
def test_the_rho_cap_against_a_scan_of_orders(epsilon, delta, reference):
    budget = ApproxDP(epsilon, delta)
    cap = Currency.of(budget).cap_cost
    scanned = reference.rho_to_epsilon(cap, budget.delta / 2) / reference.number(budget.epsilon)
    assert 1 - 1e-9 < float(scanned) < 1 + 1e-5
    # What the budget promises holds for the Gaussian, the worst mechanism with this rho that is known exactly.
    assert reference.exact_delta([], 2 * cap, budget.epsilon) <= reference.number(budget.delta / 2)


@settings(deadline=None, max_examples=60)
@given(st.fractions(min_value=Fraction(1, 1000), max_value=50, max_denominator=1000))
def test_epsilon_is_priced_as_the_gaussian_that_keeps_it(epsilon):
    price = RHO.price_of(epsilon=epsilon)
    assert price.cost % COST_UNIT == 0
    assert price.delta == 0
    gaussian = Gaussian(rho=price.cost, sensitivity=1, grid="0.001").guarantee
    assert gaussian.delta_at(epsilon) <= RHO.conversion_delta
    more = ZCDP(price.cost + COST_UNIT, proven_mu_squared=2 * (price.cost + COST_UNIT))
    assert more.delta_at(epsilon) >= RHO.conversion_delta
    assert RHO.epsilon_for(price.cost) in (epsilon, Fraction(int(epsilon * 10**9), 10**9))


def test_a_price_is_the_same_every_time_and_adds_nothing_for_columns():
    assert RHO.price_of(epsilon=1) == RHO.price_of("1.0") == Price(Fraction(26240413664293, 10**15))
    assert PURE.price_of(epsilon="0.3") == BASIC.price_of(epsilon="0.3") == Price(Fraction(3, 10))
    assert RHO.price_of(rho="0.01", delta="1e-9") == Price(Fraction(1, 100), Fraction(1, 10**9))
    assert BASIC.price_of(epsilon=1, delta="1e-7").delta == Fraction(1, 10**7)


@pytest.mark.parametrize(
    ("currency", "request_", "message"),
    [
        (PURE, {}, "epsilon= or rho="),
        (RHO, {"epsilon": 1, "rho": 1}, "epsilon= or rho="),
        (PURE, {"rho": 1}, "pure budget counts in epsilon"),
        (BASIC, {"rho": 1}, "basic budget counts in epsilon"),
        (PURE, {"epsilon": 1, "delta": "1e-9"}, "no delta to spend"),
        (RHO, {"epsilon": 9001}, "at most 9000"),
        (TIGHT, {"epsilon": "1e-9"}, "below the smallest price"),
        (BARE, {"epsilon": 1}, "count in rho="),
        (RHO, {"epsilon": 0}, "greater than 0"),
        (RHO, {"rho": "nan"}, "rho"),
        (RHO, {"epsilon": True}, "epsilon"),
        (RHO, {"epsilon": 1, "delta": -1}, "delta"),
    ],
)
def test_prices_that_make_no_sense_are_refused_with_help(currency, request_, message):
    with pytest.raises(ParameterError, match=message):
        currency.price_of(**request_)


def test_mechanisms_are_charged_what_their_noise_costs():
    laplace = Laplace(epsilon=1, sensitivity=2).guarantee
    gaussian = Gaussian(epsilon=1, delta="1e-6", sensitivity=1).guarantee
    assert PURE.charge_of(laplace) == Price(Fraction(1))
    assert BASIC.charge_of(laplace) == Price(Fraction(1))
    assert float(RHO.charge_of(laplace).cost) == pytest.approx(0.3935, abs=1e-4)
    assert float(RHO.charge_of(PureDP(1)).cost) == pytest.approx(0.4621, abs=1e-4)
    assert RHO.charge_of(gaussian) == Price(gaussian.gaussian_mu_squared / 2)
    assert BASIC.charge_of(gaussian) == Price(Fraction(1), Fraction(1, 10**6))
    known_only = RHO.charge_of(ApproxDP(1, "1e-8"))
    assert known_only == Price(PureDP(1).zcdp().rho, Fraction(1, 10**8))
    assert RHO.charge_of(PureDP("0.1") * 10).cost == 10 * PureDP("0.1").zcdp().rho


def test_what_a_currency_does_not_know_is_refused():
    gaussian = Gaussian(epsilon=1, delta="1e-6", sensitivity=1).guarantee
    with pytest.raises(ParameterError, match="pure mechanisms only"):
        PURE.charge_of(gaussian)
    for currency in (PURE, BASIC):
        with pytest.raises(ParameterError):
            currency.charge_of(ZCDP("0.1"))
    with pytest.raises(RelationMismatch, match="add_remove"):
        PURE.charge_of(PureDP(1, "replace"))


def test_a_holder_states_its_own_relation():
    owners = Currency.of(ApproxDP(4, "1e-6"), relation="owner")
    assert owners.relation is Relation.OWNER
    assert owners.charge_of(ZCDP("0.1", relation="owner")).cost == Fraction(1, 10)
    with pytest.raises(RelationMismatch):
        owners.charge_of(ZCDP("0.1"))


USELESS = [PureDP(0), PureDP("1e-16"), PureDP(9001), ZCDP(0), ApproxDP("1e-9", "1e-9"), ApproxDP(0, "0.1")]


@pytest.mark.parametrize("budget", USELESS, ids=str)
def test_budgets_that_buy_nothing_or_protect_nobody_are_refused(budget):
    with pytest.raises(ParameterError, match="a budget must be between"):
        Currency.of(budget)
    with pytest.raises(ParameterError, match="PureDP, ApproxDP or ZCDP"):
        Currency.of(budget * 2)


def test_keys_from_the_data_cost_the_stated_delta_or_a_thousandth_of_all():
    price = Price(Fraction(1, 100), Fraction(1, 10**9))
    for currency in (RHO, BASIC, BARE):
        assert currency.with_keys(price) == Price(price.cost, currency.cap_delta / 1000)
        assert currency.with_keys(price, "1e-8") == Price(price.cost, Fraction(1, 10**8))
        with pytest.raises(ParameterError, match="delta must be greater than 0"):
            currency.with_keys(price, 0)
    for currency in (PURE, Currency.of(ZCDP("0.5"))):
        with pytest.raises(ParameterError, match="need a delta, which this budget does not have"):
            currency.with_keys(price, "1e-8")


def test_what_is_left_and_spent_is_shown_outward():
    for show in [show for budget in (RHO, PURE, BARE) for show in (budget.epsilon_for, budget.spent_epsilon)]:
        assert show(Fraction(0)) == show(Fraction(-1)) == 0
    assert PURE.epsilon_for(Fraction(3)) == BASIC.spent_epsilon(Fraction(3)) == 3
    left = RHO.epsilon_for(RHO.cap_cost)
    assert RHO.price_of(epsilon=left).cost <= RHO.cap_cost < RHO.price_of(epsilon=left + Fraction(1, 10**8)).cost
    assert Fraction(39999999, 10**7) < RHO.spent_epsilon(RHO.cap_cost) <= 4
    assert RHO.epsilon_for(COST_UNIT) >= 0
    for show in (BARE.epsilon_for, BARE.spent_epsilon):
        with pytest.raises(ParameterError, match="rho="):
            show(Fraction(1, 10))


@given(st.fractions(min_value=0, max_value=4), st.fractions(min_value=0, max_value=Fraction(1, 2 * 10**6)))
def test_units_round_a_price_up(cost, delta):
    units = RHO.units_of(Price(cost, delta))
    assert units[0] * COST_UNIT >= cost > (units[0] - 1) * COST_UNIT
    part = RHO.cap_delta / 10**15
    assert units[1] * part >= delta > (units[1] - 1) * part
    assert RHO.cap_units == (RHO.cap_cost / COST_UNIT, 10**15)


def test_a_delta_never_fits_where_there_is_none():
    assert PURE.cap_units == (4 * 10**15, 0)
    assert PURE.units_of(Price(Fraction(1), Fraction(0)))[1] == 0
    assert PURE.units_of(Price(Fraction(1), Fraction(1, 10**30)))[1] > 0


def test_pricing_is_fast_for_parameters_never_seen_before():
    """A price must not be a large part of the walk of a query, which takes some 10 ms."""
    RHO.price_of(epsilon=1)
    times = []
    for k in range(30):
        start = time.process_time()
        price = RHO.price_of(epsilon=Fraction(1000 + k, 2003))
        RHO.epsilon_for(RHO.cap_cost - price.cost)
        RHO.spent_epsilon(price.cost)
        mechanism = Gaussian(rho=price.cost, sensitivity=3)
        mechanism.error("0.95")
        times.append(time.process_time() - start)
    assert sorted(times)[len(times) // 2] < 0.02  # here 1 ms, on a slow machine several
