"""Closed forms of inverse composition, and the triangle inequality of concentrated privacy."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither.accounting import ZCDP, PureDP, advanced, advanced_inverse, closed_inverse, triangle
from dither.errors import ParameterError, RelationMismatch

RHO = st.fractions(Fraction(1, 10**6), 100, max_denominator=10**6)


@pytest.mark.parametrize("k", [1, 10, 100, 500])
@pytest.mark.parametrize("delta", ["1e-9", "1e-3", "0.3"])
def test_what_is_not_refused_is_within_the_total(k, delta):
    for rule in ("textbook", "short root"):
        each = closed_inverse(epsilon=1, k=k, delta_prime=delta, rule=rule)
        assert advanced(epsilon=each, k=k, delta_prime=delta, mean="textbook").epsilon <= 1
        assert each <= advanced_inverse(epsilon=1, k=k, delta_prime=delta)


def test_a_total_too_large_for_the_closed_form_is_refused():
    """The textbook's corollary is for a total of at most 1."""
    with pytest.raises(ParameterError, match="optimal_inverse"):
        closed_inverse(epsilon=200, k=10**4, delta_prime="0.5")


@given(RHO, RHO)
def test_the_triangle(x, y):
    found = triangle(ZCDP(x), ZCDP(y)).rho
    assert float(found) == pytest.approx((math.sqrt(x) + math.sqrt(y)) ** 2, rel=1e-12)
    assert x + y <= found <= 2 * (x + y) * (1 + Fraction(1, 2**50))
    assert found == triangle(ZCDP(y), ZCDP(x)).rho


def test_triangles_of_other_things_are_refused():
    with pytest.raises(RelationMismatch):
        triangle(ZCDP(1), ZCDP(1, relation="replace"))
    with pytest.raises(ParameterError, match="delta"):
        triangle(ZCDP(1, "1e-6"), ZCDP(1))
    assert triangle(PureDP(1).zcdp(), ZCDP(1)).rho > 2
