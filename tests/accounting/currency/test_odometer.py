"""The odometer's bound holds at all moments at once; what is not a filter is refused as one (threat 29)."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import pytest

from dither.accounting import GDP, PLD, RDP, ZCDP, ApproxDP, Filter, Odometer, PureDP
from dither.errors import BudgetExceeded, ParameterError, RelationMismatch
from dither.mechanisms import Gaussian


def test_it_rises_in_steps_and_starts_at_0():
    meter = Odometer(delta="1e-6", first_rho="0.01")
    assert meter.epsilon == 0
    seen = []
    for _ in range(50):
        meter.spend(ZCDP("0.001"))
        seen.append(meter.epsilon)
    assert seen == sorted(seen)
    assert len(set(seen)) == 4  # 0.01, 0.02, 0.04, 0.08
    assert seen[0] == pytest.approx(0.01 + 2 * math.sqrt(0.01 * math.log(2e6)), rel=1e-12)
    assert seen[-1] == pytest.approx(0.08 + 2 * math.sqrt(0.08 * math.log(20e6)), rel=1e-12)
    assert meter.rho == Fraction(5, 100)


def worst_exceedance(bound_at, seed, depth=11):
    """P[at some moment the loss exceeds the bound shown then], over all transcripts of an adversary that asks
    randomised responses and picks each epsilon from the answers so far."""
    choices = [0.1, 0.3, 0.8, 1.5]

    def explore(path, spends, loss, chance):
        if spends and loss > bound_at(tuple(spends)) + 1e-12:
            return chance
        if len(path) == depth:
            return 0.0
        epsilon = choices[random.Random(f"{seed}/{path}").randrange(4)]
        right = 1 / (1 + math.exp(-epsilon))
        return explore(path + "1", [*spends, epsilon], loss + epsilon, chance * right) + explore(
            path + "0", [*spends, epsilon], loss - epsilon, chance * (1 - right)
        )

    return explore("", [], 0.0, 1.0)


def odometer_bound(spends):
    meter = Odometer(delta="0.05")
    for epsilon in spends:
        meter.spend(PureDP(epsilon))
    return meter.epsilon


def reconverted_bound(spends):
    """The planted bug: the running sum converted anew after each release, at the same delta, by the sharpest curve."""
    rho = sum((PureDP(epsilon).zcdp().rho for epsilon in spends), Fraction(0))
    return ZCDP(rho).epsilon_at("0.05")


def test_an_adaptive_adversary_seldom_exceeds_it():
    cache: dict[tuple[float, ...], float] = {}

    def bound(spends):
        key = tuple(sorted(spends))
        if key not in cache:
            cache[key] = odometer_bound(key)
        return cache[key]

    assert max(worst_exceedance(bound, seed) for seed in range(4)) <= 0.05


def test_the_same_check_catches_a_bound_that_is_converted_again_and_again():
    cache: dict[tuple[float, ...], float] = {}

    def bound(spends):
        key = tuple(sorted(spends))
        if key not in cache:
            cache[key] = reconverted_bound(key)
        return cache[key]

    assert max(worst_exceedance(bound, seed) for seed in range(4)) > 0.05


def test_pure_steps_show_no_more_than_their_sum():
    meter = Odometer(delta="1e-6")
    shown = []
    for _ in range(5):
        meter.spend(PureDP(1))
        shown.append(meter.epsilon)
    assert shown == [1, 2, 3, 4, 5]
    meter.spend(ZCDP("0.001"))  # not pure: the sum is no bound any more
    assert meter.epsilon > 5
    meter.spend(PureDP("0.01"))
    assert meter.epsilon > 5


@pytest.mark.parametrize("step", [ApproxDP("0.1", "1e-9"), Gaussian(epsilon=1, delta="1e-6", sensitivity=1).guarantee])
def test_an_epsilon_beside_a_delta_is_no_bound_of_the_loss(step):
    """Gaussian noise that is (1, 1e-6)-DP has a loss above 1 with probability 2e-5."""
    meter = Odometer(delta="1e-7", additive_delta="1e-8")
    meter.spend(step)
    alone = Odometer(delta="1e-7", additive_delta="1e-8")
    alone.spend(ZCDP(step.zcdp().rho, step.zcdp().delta))
    assert meter.epsilon == alone.epsilon > 1
    mu = float(step.gaussian_mu_squared or 0) ** 0.5
    if mu:
        above = math.erfc((1 / mu - mu / 2) / math.sqrt(2)) / 2
        assert above > 1e-5


def pure_sum_of_the_pure_ones(spends):
    """The planted bug: the sum of epsilons of those steps that have one, although others were not pure."""
    return sum(epsilon for epsilon in spends if epsilon != 0.3)


def test_the_same_check_catches_a_sum_that_leaves_steps_out():
    assert max(worst_exceedance(pure_sum_of_the_pure_ones, seed) for seed in range(4)) > 0.05


def test_additive_deltas_have_their_own_allowance():
    meter = Odometer(delta="1e-6", additive_delta="1e-7")
    meter.spend(ApproxDP("0.1", "6e-8"))
    before = meter.rho, meter.epsilon
    with pytest.raises(BudgetExceeded, match="nothing was counted"):
        meter.spend(ApproxDP("0.1", "6e-8"))
    assert (meter.rho, meter.epsilon) == before
    assert meter.delta == Fraction(11, 10**7)
    with pytest.raises(RelationMismatch):
        meter.spend(PureDP(1, "replace"))
    with pytest.raises(ParameterError):
        meter.spend(RDP({2: "0.1"}))
    for bad in ({"delta": 0}, {"delta": "1e-6", "first_rho": 0}, {"delta": "nan"}):
        with pytest.raises(ParameterError):
            Odometer(**bad)


@pytest.mark.parametrize(
    ("budget", "reason"),
    [
        (PLD.pure(1), "not a running filter"),
        (RDP({2: 1}), "order"),
        (GDP(1), "ZCDP"),
        (PureDP(1) * 3, "fixed in advance"),
    ],
    ids=["PLD", "RDP", "GDP", "composition"],
)
def test_what_is_not_a_filter_is_refused_with_the_reason(budget, reason):
    with pytest.raises(ParameterError, match=reason):
        Filter(budget)


def test_a_mechanism_without_a_rho_cannot_be_spent():
    with pytest.raises(ParameterError, match="no rho is proven"):
        Filter(ApproxDP(1, "1e-6")).spend(PLD.from_pmf(["1/3", "2/3"], ["2/3", "1/3"]))
    with pytest.raises(ParameterError, match="Renyi"):
        Filter(ApproxDP(1, "1e-6")).spend(RDP({2: "0.1"}))
    account = Filter(ApproxDP(1, "1e-6"))
    account.spend(GDP("0.1"))
    account.spend(PLD.discrete_laplace("0.1", 3))
    assert account.spent.cost >= Fraction(1, 200)
