"""Every mechanism of the registry on at least twenty pairs: nothing is refuted, and what claims too little is."""

from __future__ import annotations

import os

import pytest

from dither.accounting import ApproxDP, PureDP
from dither.audit.checking import check
from dither.audit.pairs import LEAST
from dither.audit.registered import audit, cases, confidence_of, table

# make campaign spends so many times more.
SCALE = int(os.environ.get("DITHER_CAMPAIGN", "1"))
EVERY = {case.name: case for case in cases(every=True)}
FIRST = [case.name for case in cases()]


@pytest.mark.parametrize("name", EVERY)
def test_there_are_twenty_pairs(name):
    _, pairs, claimed = EVERY[name].make()
    assert len({str(pair) for pair in pairs}) >= LEAST
    assert all(one != other for one, other in pairs)
    assert hasattr(claimed, "epsilon_at")


@pytest.mark.parametrize("name", FIRST)
def test_no_claim_is_refuted(name):
    row = audit(EVERY[name], samples=200_000 * SCALE, seconds=1.0 * SCALE, confidence=confidence_of(len(FIRST)))
    assert row.verdict.passed, row.verdict
    assert row.verdict.pairs >= LEAST
    assert name in table([row.document()])


@pytest.mark.parametrize("name", ["Laplace:0", "RandomizedResponse:0", "PermuteAndFlip:0", "KeySelection:0"])
def test_half_the_claim_is_refuted(name):
    mechanism, pairs, claimed = EVERY[name].make()
    half = claimed.epsilon / 2
    less = ApproxDP(half, claimed.delta) if claimed.delta else PureDP(half)
    assert not check(mechanism, neighbours=pairs, claimed=less, samples=10_000, screening=500, certified_pairs=2)
