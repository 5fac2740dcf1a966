"""Composition theorems, group privacy, sampling and calibration: worked numbers, identities, and refusals."""

from __future__ import annotations

import math
import time
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dither.accounting import (
    GDP,
    PLD,
    RDP,
    ZCDP,
    ApproxDP,
    PureDP,
    advanced,
    advanced_inverse,
    calibrate,
    compose,
    group,
    optimal,
    optimal_inverse,
    optimal_of,
    parallel,
    replace_from_add_remove,
    subsample,
)
from dither.errors import ParameterError, RelationMismatch
from dither.neighbours import Relation


def test_advanced_composition_example():
    total = advanced(epsilon="0.1", k=100, delta_prime="1e-6", mean="textbook")
    assert float(total.epsilon) == pytest.approx(6.308230950513409, abs=1e-9)
    tight = advanced(epsilon="0.1", k=100, delta_prime="1e-6")
    assert float(tight.epsilon) == pytest.approx(5.756105519335732, abs=1e-9)
    assert tight.delta == Fraction(1, 10**6)
    assert (PureDP("0.1") * 100).basic().epsilon == 10
    assert advanced(epsilon="0.1", k=100, delta="1e-9", delta_prime="1e-6").delta == Fraction(11, 10**7)
    assert advanced(epsilon=1, k=2, delta_prime="1e-6").epsilon == 2  # basic is smaller
    assert advanced(epsilon=1, k=0, delta_prime="1e-6").epsilon == 0


def test_inverse_composition_example():
    """Total (1, 1e-6) over 100 steps: the two closed forms, the inverted bound, and the optimum."""
    textbook = 1 / (2 * math.sqrt(2 * 100 * math.log(1e6)))
    assert textbook == pytest.approx(0.00951199332754063, abs=5e-6)
    assert math.sqrt(2) * textbook == pytest.approx(0.013451989969010345, abs=5e-6)
    inverted = advanced_inverse(epsilon=1, k=100, delta_prime="1e-6")
    assert float(inverted) == pytest.approx(0.018376, abs=5e-6)
    assert advanced(epsilon=inverted, k=100, delta_prime="1e-6", mean="textbook").epsilon <= 1
    best = optimal_inverse(epsilon=1, k=100, at="1e-6")
    assert float(best) == pytest.approx(0.024011080397, abs=5e-6)
    assert optimal(epsilon=best, k=100, at="1e-6").upper <= 1
    assert float(advanced_inverse(epsilon=1, k=500, delta_prime="1e-6")) == pytest.approx(0.00822, rel=2e-3)
    assert float(optimal_inverse(epsilon=1, k=500, at="1e-6")) == pytest.approx(0.01062, rel=1e-3)
    assert advanced_inverse(epsilon=1, k=10, delta_prime="1e-6") == Fraction(1, 10)  # basic allows more than 0.0581
    assert advanced_inverse(epsilon=1, k=1, delta_prime="0.9") <= 1


@given(
    epsilon=st.fractions(Fraction(1, 1000), 2, max_denominator=1000),
    k=st.integers(1, 300),
    delta=st.sampled_from(["0.1", "1e-3", "1e-6", "1e-12"]),
)
@settings(max_examples=40, deadline=None)
def test_optimal_is_below_basic_and_advanced(epsilon, k, delta):
    best = optimal(epsilon=epsilon, k=k, at=delta)
    assert best.lower <= best.upper <= epsilon * k * (1 + Fraction(1, 10**12))
    assert best.upper <= float(advanced(epsilon=epsilon, k=k, delta_prime=delta).epsilon) * (1 + 1e-9)
    assert best.upper - best.lower <= 1e-3 * best.upper
    assert optimal(epsilon=epsilon, k=k, at=0).upper == pytest.approx(float(epsilon * k), rel=1e-9)


def test_optimal_of_different_steps():
    same = optimal_of([PureDP("0.1")] * 40, at="1e-6")
    assert same.upper == pytest.approx(optimal(epsilon="0.1", k=40, at="1e-6").upper, rel=1e-6)
    mixed = optimal_of([PureDP("0.1"), ApproxDP("0.2", "1e-7"), PureDP("0.37")], at="1e-6")
    assert 0 < mixed.lower <= mixed.upper <= 0.67
    assert optimal_of([ApproxDP("0.2", "1e-3")], at="1e-6").upper == math.inf
    with pytest.raises(ParameterError):
        optimal_of([ZCDP(1)], at="1e-6")


@pytest.mark.parametrize("wrong", [(0.0, 1.0), (9.0, 10.0)])
def test_sharper_bounds_that_contradict_the_others_are_no_answer(wrong, monkeypatch):
    """Planted bug: bounds of an epsilon that is 4.77."""
    monkeypatch.setattr("dither.accounting.pld.response_tails.binomial_epsilon", lambda *_: wrong)
    with pytest.raises(ArithmeticError, match="contradict each other"):
        optimal(epsilon="0.1", k=100, at="1e-6")


@pytest.mark.parametrize("wrong", [(2.0, 1.0), (math.nan, 1.0), (0.0, math.nan)])
def test_curves_with_bounds_that_contradict_each_other_are_no_answer(wrong, monkeypatch):
    """Planted bug: whatever evaluates the curve is wrong."""
    monkeypatch.setattr("dither.accounting.pld.curve._epsilon", lambda *_: wrong)
    monkeypatch.setattr("dither.accounting.pld.curve._delta", lambda *_: wrong)
    loss = compose([PureDP("0.1"), GDP("0.1")]).privacy_loss()
    for at in ({"delta": "1e-6"}, {"epsilon": 1}):
        with pytest.raises(ArithmeticError, match="contradict each other"):
            loss.bounds_at(**at)


def test_zero_steps_cost_nothing_and_repeats_are_whole():
    assert optimal(epsilon=1, k=0, at="1e-6").upper == 0
    for count in (-1, 1.5):
        with pytest.raises(ParameterError):
            PureDP(1) * count


EPSILONS = [PureDP("0.1"), PureDP("0.2"), PureDP("0.3")]


def test_parallel_example():
    assert parallel(EPSILONS) == PureDP("0.3")
    assert parallel(EPSILONS, relation="replace") == PureDP("0.6", "replace")
    assert parallel(EPSILONS, relation="replace", private_under_both=True) == PureDP("0.5", "replace")
    under_replace = [PureDP(g.epsilon, "replace") for g in EPSILONS]
    assert parallel(under_replace, by="position") == PureDP("0.3", "replace")
    with pytest.raises(ParameterError, match="shifts every later row"):
        parallel(EPSILONS, by="position")


def test_parallel_of_other_guarantees():
    assert parallel([ZCDP("0.1"), ZCDP("0.3")]) == ZCDP("0.3")
    assert parallel([ZCDP("0.1"), ZCDP("0.3")], relation="replace") == ZCDP("1.2", relation="replace")
    both = parallel([ZCDP("0.1"), ZCDP("0.3")], relation="replace", private_under_both=True)
    assert both == ZCDP("0.4", relation="replace")
    lost = parallel([ApproxDP(1, "1e-6"), ApproxDP("0.5", "2e-6")])
    assert lost == ApproxDP(1, "2e-6")
    moved = parallel([ApproxDP(1, "1e-6")], relation="replace")
    assert moved.epsilon == 2
    assert float(moved.delta) == pytest.approx((1 + math.e) * 1e-6, rel=1e-12)
    owners = [PureDP("0.1", "owner"), PureDP("0.2", "owner"), PureDP("0.3", "owner")]
    assert parallel(owners, parts_per_owner=2) == PureDP("0.5", "owner")
    assert parallel(owners, parts_per_owner=1) == PureDP("0.3", "owner")


@pytest.mark.parametrize(
    "arguments",
    [
        {"guarantees": [PureDP(1, "owner")]},
        {"guarantees": [PureDP(1)], "parts_per_owner": 2},
        {"guarantees": [PureDP(1, "replace")]},
        {"guarantees": [PureDP(1)], "by": "luck"},
        {"guarantees": [PureDP(1)], "relation": "owner"},
        {"guarantees": [PureDP(1, "replace")], "relation": "add_remove"},
        {"guarantees": [PureDP(1), PureDP(1, "replace")]},
        {"guarantees": []},
    ],
)
def test_parallel_refuses(arguments):
    with pytest.raises((ParameterError, RelationMismatch)):
        parallel(arguments.pop("guarantees"), **arguments)


def test_group_privacy():
    assert group(PureDP("0.1"), 7) == PureDP("0.7")
    assert group(ZCDP("0.1"), 3) == ZCDP("0.9")
    assert group(GDP("0.5"), 4) == GDP(2)
    lost = group(ApproxDP(1, "1e-6"), 3)
    assert lost.epsilon == 3
    assert float(lost.delta) == pytest.approx(1e-6 * math.expm1(3) / math.expm1(1), rel=1e-12)
    assert group(ApproxDP(0, "1e-6"), 3).delta == Fraction(3, 10**6)
    assert group(PLD.pure(1), 2).basic() == PureDP(2)
    for hopeless in (lambda: group(ApproxDP(20, "0.1"), 5), lambda: group(PureDP(1), 0)):
        with pytest.raises(ParameterError):
            hopeless()
    swapped = replace_from_add_remove(ApproxDP(1, "1e-6"))
    assert (swapped.epsilon, swapped.relation.value) == (2, "replace")
    assert float(swapped.delta) == pytest.approx((1 + math.e) * 1e-6, rel=1e-12)
    assert replace_from_add_remove(ZCDP(1)) == ZCDP(4, relation="replace")
    assert replace_from_add_remove(GDP(1)) == GDP(2, "replace")
    with pytest.raises(ParameterError):
        replace_from_add_remove(PureDP(1, "replace"))


def test_sampling_amplifies():
    assert float(subsample(PureDP(1), "0.01").epsilon) == pytest.approx(math.log1p(0.01 * math.expm1(1)), rel=1e-12)
    assert subsample(ApproxDP(1, "1e-6"), "0.5").delta == Fraction(5, 10**7)
    assert subsample(PureDP(1), 1) == PureDP(1)
    for refused in (lambda: subsample(PureDP(1, "replace"), "0.1"), lambda: subsample(PureDP(1), 2)):
        with pytest.raises(ParameterError):
            refused()


def test_conversions_keep_their_order():
    """Simple conversion >= optimised >= exact Gaussian; a Renyi curve of the same mechanism lies between."""
    for rho in ("1e-30", "0.001", "0.1", 10, "1e6"):
        for delta in ("1e-2", "1e-6", "1e-300"):
            optimised, exact = ZCDP(rho).epsilon_at(delta), GDP(mu_squared=2 * Fraction(rho)).epsilon_at(delta)
            simple = float(Fraction(rho)) + 2 * math.sqrt(-float(Fraction(rho)) * math.log(Fraction(delta)))
            assert exact <= optimised <= simple * (1 + 1e-12)
            renyi = RDP.of(ZCDP(rho)).epsilon_at(delta)
            assert optimised * (1 - 1e-12) <= renyi <= optimised * (1 + 1e-3) + 1e-30
            low, high = ZCDP(rho).bounds_at(delta=delta)
            assert low <= exact <= high == optimised


@pytest.mark.parametrize("k", [1, 3, 100, 10**9])
def test_gaussians_of_any_count_are_one_gaussian(k):
    one = GDP(mu_squared=Fraction(k, 10**4))
    many = GDP("0.01") * k
    assert many.epsilon_at("1e-6") == one.epsilon_at("1e-6")
    assert many.bounds_at(delta="1e-6") == one.bounds_at(delta="1e-6")


def test_renyi_curves_compose_with_everything():
    total = compose(
        [RDP({2: "0.1", 8: "0.5", 32: 2}), PureDP("0.1"), GDP("0.1"), ApproxDP("0.1", "1e-9"), ZCDP("0.01")]
    )
    assert 0 < total.epsilon_at("1e-6") < 5
    assert total.epsilon_at("1e-10") == math.inf
    assert 0 < total.delta_at(3) < 1
    low, high = total.bounds_at(delta="1e-6")
    assert 0 < low <= high
    bad = RDP(lambda order: math.nan)
    with pytest.raises(ParameterError):
        bad.epsilon_at("1e-6")
    with pytest.raises(ParameterError):
        RDP({1: "0.1"})
    assert RDP.of(PureDP(1)).renyi(2.0) == pytest.approx(math.log(math.cosh(1.5) / math.cosh(0.5)), rel=1e-12)


def test_calibration_is_safe_and_sharp():
    for family in ("gaussian", "laplace", "continuous_laplace", "pure"):
        for k in (1, 30):
            target = ApproxDP("0.7", "1e-5")
            found = calibrate(family, target, k)
            assert found.total.epsilon_at(target.delta) <= 0.7 * (1 + 1e-15)
            assert found.total.bounds_at(epsilon=target.epsilon)[0] <= 1e-5
            with_less = calibrate(family, ApproxDP("0.7001", "1e-5"), k)
            assert with_less.noise < found.noise
            assert with_less.noise > found.noise * (1 - Fraction(1, 500))
    assert calibrate("gaussian", ZCDP("0.1"), 10).noise ** 2 >= 50
    assert calibrate("laplace", PureDP(1), 7).noise == 7
    assert float(calibrate("gaussian", ApproxDP(1, "1e-6")).noise) == pytest.approx(4.22468, abs=1e-5)
    assert calibrate("pure", ApproxDP(1, "1e-6", relation="owner"), 5).total.relation.value == "owner"


def test_calibration_of_a_function():
    found = calibrate(lambda sigma: GDP(1 / sigma), ApproxDP(1, "1e-6"), 10)
    assert float(found.noise) == pytest.approx(4.22468 * math.sqrt(10), rel=1e-5)
    with pytest.raises(ParameterError):
        calibrate("student", ApproxDP(1, "1e-6"))
    with pytest.raises(ParameterError):
        calibrate(lambda sigma: ApproxDP(1 / sigma, "1e-3"), ApproxDP(1, "1e-6"))
    with pytest.raises(ParameterError):
        calibrate("gaussian", PLD.pure(1))


def test_calibrating_a_thousand_gaussians_is_immediate():
    calibrate("gaussian", ApproxDP(1, "1e-5"), 1000)
    times = []
    for digit in range(5):
        start = time.process_time()
        calibrate("gaussian", ApproxDP(1, f"1.0{digit}e-6"), 1000)
        times.append(time.process_time() - start)
    assert min(times) < 0.05


def test_a_family_under_another_relation_is_refused():
    with pytest.raises(RelationMismatch, match="replace"):
        calibrate(lambda sigma: GDP(1 / sigma, "replace"), ApproxDP(1, "1e-6"), 3)
    found = calibrate(lambda sigma: GDP(1 / sigma, "replace"), ApproxDP(1, "1e-6", relation="replace"), 3)
    assert found.total.relation is Relation.REPLACE


def test_advanced_composition_states_its_relation():
    for k in (0, 5):
        assert advanced(epsilon="0.1", k=k, delta_prime="1e-6", relation="replace").relation is Relation.REPLACE
    assert advanced(epsilon="0.1", k=5, delta_prime="1e-6").relation is Relation.ADD_REMOVE
