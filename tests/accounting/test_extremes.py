"""Far from everyday figures: right, rounded outward, or refused."""

from __future__ import annotations

import math

import pytest

from dither.accounting import GDP, PLD, RDP, ZCDP, ApproxDP, Filter, Odometer, PureDP, compose, group, optimal
from dither.errors import ParameterError
from dither.mechanisms import Laplace


def test_what_is_smaller_than_floats_is_not_nothing():
    assert compose([GDP("1e-200"), PureDP("1e-200")]).epsilon_at(0) == math.inf
    assert compose([GDP("1e-200"), PureDP("1e-200")]).delta_at("1e-199") > 0
    for tiny in (PureDP("1e-200"), ApproxDP("1e-200", "1e-250"), GDP("1e-200"), ZCDP("1e-300")):
        assert RDP.of(tiny).epsilon_at(tiny.zcdp().delta) == math.inf
        assert RDP.of(tiny).delta_at(0) > 0
    assert GDP("1e-200").delta_at(0) >= 3.98e-201
    assert GDP("1e-200").zcdp().rho > 0


def test_nothing_stays_nothing():
    for nothing in (PureDP(0), ZCDP(0), GDP(0)):
        assert RDP.of(nothing).epsilon_at(0) == nothing.epsilon_at(0) == 0


def test_many_large_steps_do_not_hang():
    bracket = optimal(epsilon="0.1", k=10**9, at="1e-300")
    assert 0 < bracket.lower < bracket.upper < 5.2e6


@pytest.mark.parametrize(
    ("mu", "delta"), [("1e-60", "1e-110"), ("1e-100", "1e-300"), ("1e-200", "1e-6"), (10**140, "1e-6")]
)
def test_extreme_gaussians_read(mu, delta):
    low, high = GDP(mu).bounds_at(delta=delta)
    assert 0 <= low <= high
    assert GDP(mu).delta_at(high) <= float(delta) * (1 + 1e-9) or high > 1e12


@pytest.mark.parametrize("loss", [GDP(mu_squared=2 * 10**6), GDP("0.1") * 10**9])
def test_large_gaussians_have_narrow_brackets(loss):
    low, high = loss.bounds_at(delta="1e-6")
    assert high * (1 - 1e-6) < low <= high


def test_a_group_too_large_is_refused():
    with pytest.raises(ParameterError, match="promises nothing"):
        group(ApproxDP(100, "1e-6"), 10**9)


@pytest.mark.parametrize("guarantee", [PureDP(1), GDP(1), ZCDP(1), PLD.laplace(1), RDP({2: 1}), PureDP(1) * 3])
@pytest.mark.parametrize("order", [math.inf, math.nan, 1, 0.5, -1])
def test_orders_are_finite_and_above_1(guarantee, order):
    with pytest.raises(ParameterError, match="order"):
        guarantee.renyi(order)
    assert guarantee.renyi(1e308) >= guarantee.renyi(1.5) > 0


@pytest.mark.parametrize(
    "call",
    [
        lambda: Odometer(delta="1e-6", additive_delta=5),
        lambda: Odometer(delta="1e-6").spend("x"),
        lambda: Filter(PureDP(1)).spend("x"),
        lambda: PLD((), math.nan),
        lambda: PLD((), -1),
        lambda: PLD(((1, 1),)),
    ],
)
def test_refused(call):
    with pytest.raises(ParameterError):
        call()


def test_one_step_of_laplace_noise_is_exact_far_out():
    low, high = Laplace(epsilon=1, sensitivity=1).guarantee.bounds_at(delta="1e-299")
    assert 1 - 1e-12 < low <= high <= 1
