"""What the exponential mechanism states of itself."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dither.mechanisms import Exponential


@pytest.mark.parametrize(("epsilon", "rho"), [("1/2", Fraction(1, 32)), (1, Fraction(1, 8)), (4, Fraction(2))])
def test_rho_is_an_eighth_of_the_square_of_epsilon(epsilon, rho):
    """Its losses span epsilon at most: a quarter of what epsilon alone would cost, also above 1."""
    assert Exponential(epsilon=epsilon, sensitivity=3).guarantee.zcdp().rho == rho


def test_one_candidate_is_the_best_unless_more_are_stated():
    mechanism = Exponential(epsilon=1, sensitivity=1)
    stated = ({}, {"optimal": 1}, {"optimal": 2})
    plain, one, two = (mechanism.error("0.95", candidates=10, **given) for given in stated)
    assert plain == one > two
