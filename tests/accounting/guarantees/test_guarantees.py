"""The three guarantees: what they accept, their curves, and the conversions between them."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dither.accounting import GDP, ZCDP, ApproxDP, PureDP, compose
from dither.accounting.currency.price_list import prices
from dither.errors import ParameterError
from dither.mechanisms import Laplace, RandomizedResponse
from dither.neighbours import Relation
from dither.stats import count

epsilons = st.fractions(min_value=Fraction(1, 1000), max_value=20, max_denominator=1000)
deltas = st.integers(1, 40).map(lambda k: Fraction(1, 3**k))
rhos = st.fractions(min_value=Fraction(1, 10**5), max_value=20, max_denominator=10**5)

# Threat 26.
HOSTILE = [math.nan, math.inf, -math.inf, -1, "1e-320", 10**400, True, np.True_, "1e400", "abc", None]


@pytest.mark.parametrize("value", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_numbers_are_refused_everywhere(value):
    for make in (
        lambda: PureDP(value),
        lambda: ApproxDP(value, "1e-6"),
        lambda: ApproxDP(1, value),
        lambda: ZCDP(value),
        lambda: ZCDP(1, value),
        lambda: PureDP(1).epsilon_at(value),
        lambda: PureDP(1).delta_at(value),
        lambda: ApproxDP(1, "1e-6").delta_at(value),
        lambda: ZCDP(1).epsilon_at(value),
        lambda: ZCDP(1).delta_at(value),
    ):
        with pytest.raises(ParameterError):
            make()


def test_parameters_are_exact_positional_or_keyword():
    assert PureDP("0.1") == PureDP(epsilon=0.1)
    assert PureDP(0).epsilon == PureDP(0).delta == 0
    budget = ApproxDP(1, "1e-6", "basic", "owner")
    assert (budget.epsilon, budget.delta, budget.composition) == (1, Fraction(1, 10**6), "basic")
    assert budget.relation is Relation.OWNER
    assert ZCDP("0.5", "1e-9") == ZCDP(rho="0.5", delta="1e-9")
    assert ZCDP(0).delta == 0
    for refused in (0, 1, "1.5"):
        with pytest.raises(ParameterError, match="delta"):
            ApproxDP(1, refused)
    with pytest.raises(ParameterError, match="less than 1"):
        ZCDP(1, 1)
    with pytest.raises(ParameterError, match='"zcdp" or "basic"'):
        ApproxDP(1, "1e-6", "advanced")


@pytest.mark.parametrize("guarantee", [PureDP(1), ApproxDP(1, "1e-6"), ZCDP(1)])
def test_guarantees_are_frozen_and_compare_by_value(guarantee):
    with pytest.raises(dataclasses.FrozenInstanceError):
        guarantee.relation = Relation.REPLACE
    assert guarantee.relation is Relation.ADD_REMOVE
    assert guarantee == type(guarantee)(*([1, "1e-6"] if isinstance(guarantee, ApproxDP) else [1]))
    assert len({guarantee, type(guarantee)(*([1, "1e-6"] if isinstance(guarantee, ApproxDP) else [1]))}) == 1


def test_the_relation_is_part_of_a_guarantee():
    assert PureDP(1) != PureDP(1, "replace")
    assert ZCDP(1) != ZCDP(1, relation="replace")


@settings(deadline=None)
@given(epsilons, deltas)
def test_the_curve_of_pure_dp_is_that_of_randomised_response(epsilon, delta):
    """theta = e^eps/(1+e^eps): delta(e) = theta - e^e (1 - theta), from the definition."""
    guarantee = PureDP(epsilon)
    at = guarantee.epsilon_at(delta)
    all_of_it = math.exp(float(epsilon))
    assert 0 <= at <= float(epsilon) * (1 + 1e-15)
    assert (all_of_it - math.exp(at)) / (1 + all_of_it) <= float(delta) * (1 + 1e-9) + 1e-12
    if at > 1e-9:
        assert guarantee.delta_at(at) == pytest.approx(float(delta), rel=1e-6, abs=1e-13)


def test_the_ends_of_the_pure_curve():
    assert PureDP(1).epsilon_at(0) == 1
    assert PureDP(1).delta_at(1) == PureDP(1).delta_at(5) == PureDP(0).delta_at(0) == 0
    assert PureDP(1).delta_at(0) == pytest.approx(math.tanh(0.5))
    assert PureDP(1).epsilon_at("0.9") == 0
    assert PureDP("1e300").delta_at(3) == 1
    assert PureDP("1e300").epsilon_at("0.1") == 1e300


@settings(deadline=None)
@given(epsilons, deltas)
def test_approximate_dp_adds_what_is_lost(epsilon, delta):
    guarantee = ApproxDP(epsilon, delta)
    assert guarantee.epsilon_at(delta) == pytest.approx(float(epsilon))
    assert guarantee.epsilon_at(delta) >= epsilon
    assert guarantee.epsilon_at(delta / 2) == math.inf
    assert guarantee.delta_at(epsilon) >= delta
    assert guarantee.delta_at(epsilon) == pytest.approx(float(delta))
    theta = math.exp(float(epsilon)) / (1 + math.exp(float(epsilon)))
    assert guarantee.delta_at(0) == pytest.approx(float(delta) + (1 - float(delta)) * (2 * theta - 1))
    assert guarantee.zcdp() == ZCDP(PureDP(epsilon).zcdp().rho, delta)
    assert guarantee.basic() is guarantee


@given(epsilons)
def test_pure_dp_implies_rho_rounded_up(epsilon):
    rho = PureDP(epsilon).zcdp().rho
    exact = float(epsilon) * math.tanh(float(epsilon) / 2)
    assert float(rho) == pytest.approx(exact, rel=1e-14)
    assert rho <= epsilon**2 / 2
    assert PureDP(epsilon, proven_rho=rho / 2).zcdp().rho == rho / 2
    assert PureDP(epsilon, proven_rho=rho * 2).zcdp().rho == rho


def test_extreme_epsilons_convert():
    assert PureDP(0).zcdp().rho == 0
    assert PureDP("1e-300").zcdp().rho >= Fraction(1, 2 * 10**600)
    assert PureDP("1e300").zcdp().rho == 10**300


@settings(deadline=None)
@given(rhos, deltas)
def test_rho_converts_better_than_the_simple_rule_and_worse_than_gaussian(rho, delta):
    loose = float(rho) + 2 * math.sqrt(float(rho) * math.log(1 / float(delta)))
    converted = ZCDP(rho).epsilon_at(delta)
    gaussian = ZCDP(rho, proven_mu_squared=2 * rho).epsilon_at(delta)
    assert gaussian <= converted <= loose
    if converted > 1e-6:
        assert ZCDP(rho).delta_at(converted) == pytest.approx(float(delta), rel=1e-4)


def test_the_reference_conversions():
    assert ZCDP("0.1").epsilon_at("1e-6") == pytest.approx(2.142, abs=5e-4)
    assert ZCDP("0.1", proven_mu_squared=Fraction(1, 5)).epsilon_at("1e-6") == pytest.approx(1.995, abs=5e-4)


def test_approximate_zcdp_pays_its_delta_first():
    guarantee = ZCDP("0.1", "1e-7")
    assert guarantee.epsilon_at("1.1e-6") == ZCDP("0.1").epsilon_at("1e-6")
    assert guarantee.epsilon_at("1e-7") == guarantee.epsilon_at(0) == math.inf
    assert guarantee.delta_at(3) >= ZCDP("0.1").delta_at(3) + 1e-7
    assert ZCDP(0, "1e-7").epsilon_at("1e-7") == 0
    assert ZCDP(0, "1e-7").epsilon_at("1e-8") == math.inf
    assert ZCDP(0).delta_at(1) == 0
    assert math.erf(0.5) < ZCDP(1).delta_at(0) < 1


def test_extreme_rhos_convert():
    assert ZCDP("1e300").delta_at(1) == 1
    assert ZCDP("1e300").epsilon_at("1e-6") >= 1e300
    assert ZCDP("1e-300").epsilon_at("1e-6") == 0
    assert 0 < ZCDP("0.1").delta_at("1e300") < 1e-300


def test_gaussian_curves_at_their_ends():
    nothing = ZCDP(0, proven_mu_squared=Fraction(0))
    assert nothing.epsilon_at("1e-6") == nothing.delta_at(0) == 0
    some = ZCDP("0.5", proven_mu_squared=Fraction(1))
    assert some.epsilon_at(0) == math.inf
    assert some.epsilon_at("0.9") == 0
    assert some.delta_at(0) == pytest.approx(math.erf(0.5 / math.sqrt(2)))
    assert 0 < some.delta_at("1e200") < 1e-300
    huge = ZCDP(10**6, proven_mu_squared=Fraction(2 * 10**6))
    assert 10**6 < huge.epsilon_at("1e-6") < ZCDP(10**6).epsilon_at("1e-6")


@pytest.mark.parametrize("make", [lambda **k: PureDP(1, **k), lambda **k: ApproxDP(1, "1e-9", **k)])
def test_a_proven_rho_lowers_the_curve_and_leaves_no_lower_bound_of_the_stated_epsilon(make):
    proven, plain = make(proven_rho=Fraction(1, 8)), make()
    by_rho = ZCDP("1/8", plain.delta)
    low, high = proven.bounds_at(epsilon="0.4")
    # Randomised response with an epsilon whose rho is 1/8 has the guarantee.
    smaller = 0.50526
    assert smaller * math.tanh(smaller / 2) == pytest.approx(0.125, rel=1e-4)
    response = (math.exp(smaller) - math.exp(0.4)) / (1 + math.exp(smaller))
    assert low == pytest.approx(response, rel=1e-3)
    assert low <= by_rho.delta_at("0.4") == high < plain.delta_at("0.4")
    assert proven.bounds_at(delta="0.2")[0] <= by_rho.epsilon_at("0.2")
    assert proven.epsilon_at("0.2") == by_rho.epsilon_at("0.2") < plain.epsilon_at("0.2")
    assert proven.epsilon_at("1e-8") == plain.epsilon_at("1e-8")
    assert (proven * 3).bounds_at(epsilon="0.5")[0] <= (by_rho * 3).delta_at("0.5")
    assert plain.bounds_at(epsilon="0.5")[0] > 0.28


def test_a_proven_rho_that_randomised_response_has_keeps_the_lower_bound():
    low, high = RandomizedResponse(epsilon=1).guarantee.bounds_at(epsilon="0.5")
    assert high * (1 - 1e-12) < low <= high
    assert PureDP(1, proven_rho=PureDP(1).zcdp().rho).bounds_at(epsilon="0.5")[0] > 0.28
    assert RandomizedResponse(epsilon=1, values=range(4)).guarantee.bounds_at(epsilon="0.5")[0] < low


def test_a_priced_plan_claims_no_lower_bound_past_a_proven_rho():
    sharper, plain = (prices([(part, 3)], "0.01")[-1] for part in (PureDP(1, proven_rho=Fraction(1, 8)), PureDP(1)))
    assert sharper.lower is None
    assert "itself" not in sharper.note
    assert plain.lower is not None


def test_a_rho_has_no_stated_epsilon():
    with pytest.raises(ParameterError, match="epsilon= and delta="):
        ZCDP(1).basic()


def test_guarantees_read_as_they_were_stated():
    assert repr(PureDP("0.1")) == "PureDP(epsilon=0.1)"
    assert repr(PureDP("1/3")) == "PureDP(epsilon=0.333334)", "rounded to the side that promises less"
    assert repr(PureDP(1, "edge")) == "PureDP(epsilon=1, relation='edge')"
    assert repr(ZCDP("0.5", "1e-9")) == "ZCDP(rho=0.5, delta=1e-9)"
    assert repr(ApproxDP(1, "1e-6")) == "ApproxDP(epsilon=1, delta=1e-6)"
    assert repr(ApproxDP(1, "1e-6", "basic")) == "ApproxDP(epsilon=1, delta=1e-6, composition='basic')"
    assert repr(GDP(2)) == "GDP(mu=2)"
    assert repr(PureDP("0.1") * 3) == "Composition(3 × PureDP(epsilon=0.1))"
    many = compose([PureDP(each) for each in (1, 2, 1, 3, 4, 5)])
    assert repr(many).endswith("PureDP(epsilon=3), ... 2 more kinds)")
    assert many._repr_html_() == f"<code>{many!r}</code>"


def test_compositions_of_what_has_a_guarantee():
    noise = Laplace(epsilon="0.1", sensitivity=1)
    found = compose([noise, noise.release(3), count([1, 2], epsilon="0.2"), PureDP("0.3")])
    assert found.epsilon == Fraction(7, 10)
    assert found == compose([PureDP("0.1"), PureDP("0.1"), PureDP("0.2"), PureDP("0.3")])
    with pytest.raises(ParameterError, match=r"only guarantees compose, and what has one.*got int"):
        compose([1])


def test_only_a_pure_composition_has_an_epsilon():
    assert (PureDP(1) * 0).epsilon == 0
    assert (PureDP("0.1") * 3).epsilon == Fraction(3, 10)
    mixed = compose([PureDP("0.1"), ZCDP("0.1")])
    with pytest.raises(ParameterError, match=r"\.epsilon_at\(delta\)"):
        _ = mixed.epsilon
    assert getattr(mixed, "epsilon", None) is None
