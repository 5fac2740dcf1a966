"""Far from everyday figures: right, rounded outward, or refused."""

from __future__ import annotations

import math

from dither.accounting import GDP, RDP, ZCDP, ApproxDP, PureDP, compose


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
