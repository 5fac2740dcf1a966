"""The search for a root may fail; what is returned is checked, or refused."""

from __future__ import annotations

import math
import threading
from fractions import Fraction

import pytest
from flint import ctx
from hypothesis import given, settings
from hypothesis import strategies as st

from dither.accounting.guarantees.conversion import COST_UNIT
from dither.accounting.guarantees.gaussian_curve import (
    _checked_epsilon,
    _checked_rho,
    _checked_sigma,
    analytic_sigma,
    delta_of_gaussian,
    epsilon_of_gaussian,
    price_in_rho,
)

ONE, MILLIONTH = Fraction(1), Fraction(1, 10**6)

epsilons = st.one_of(
    st.fractions(min_value=Fraction(1, 10**6), max_value=9000), st.integers(0, 9).map(lambda k: Fraction(1, 10**k))
)
deltas = st.one_of(
    st.integers(1, 900).map(lambda k: Fraction(1, 2**k)),
    st.fractions(min_value=Fraction(1, 1000), max_value=Fraction(999, 1000)),
)


@settings(deadline=None, max_examples=150)
@given(epsilons, deltas)
def test_searches_converge_over_the_whole_range(epsilon, delta):
    sigma = analytic_sigma(epsilon, delta)
    assert delta_of_gaussian(1 / sigma**2, epsilon) <= float(delta) * (1 + 1e-15)
    rho = price_in_rho(epsilon, delta)
    assert abs(rho - 1 / (2 * sigma**2)) <= COST_UNIT + rho / 2**50
    back = epsilon_of_gaussian(1 / sigma**2, delta)
    assert delta_of_gaussian(1 / sigma**2, Fraction(back)) <= float(delta) * (1 + 1e-15)
    assert back <= float(epsilon) * (1 + 1e-14)


def test_a_poor_guess_is_corrected_or_refused():
    sigma, rho = analytic_sigma(ONE, MILLIONTH), price_in_rho(ONE, MILLIONTH)
    ulp = Fraction(1, 2**50)  # of a number between 4 and 8
    assert _checked_sigma(sigma - 3 * ulp, ONE, MILLIONTH) == sigma
    with pytest.raises(ArithmeticError):
        _checked_sigma(sigma / 2, ONE, MILLIONTH)
    assert _checked_rho(rho + 3 * COST_UNIT, ONE, MILLIONTH) == rho
    with pytest.raises(ArithmeticError):
        _checked_rho(2 * rho, ONE, MILLIONTH)
    assert _checked_rho(Fraction(0), Fraction(1, 10**12), Fraction(1, 10**300)) == 0
    epsilon = epsilon_of_gaussian(1 / sigma**2, MILLIONTH)
    assert _checked_epsilon(Fraction(epsilon) * (1 - Fraction(1, 10**7)), 1 / sigma**2, MILLIONTH) >= epsilon * (
        1 - 1e-12
    )
    assert _checked_epsilon(Fraction(1, 2), 1 / sigma**2, MILLIONTH) is None


def test_prices_are_the_same_while_other_threads_change_the_precision():
    cases = [(Fraction(k, 7), Fraction(1, 10**6 + k)) for k in range(1, 40)]
    calm = [price_in_rho(*case) for case in cases]
    price_in_rho.cache_clear()
    from dither.accounting.guarantees import gaussian_curve

    gaussian_curve._mu_near.cache_clear()
    stop = threading.Event()

    def meddle():
        while not stop.is_set():
            for bits in (53, 64, 300):
                ctx.prec = bits
            stop.wait(0.0001)

    meddler = threading.Thread(target=meddle)
    meddler.start()
    try:
        assert [price_in_rho(*case) for case in cases] == calm
    finally:
        stop.set()
        meddler.join()
        ctx.prec = 53


def test_the_identity_of_the_two_orders():
    """delta(0) is the total variation distance; the curve falls."""
    for mu in (Fraction(1, 100), ONE, Fraction(5)):
        assert delta_of_gaussian(mu**2, Fraction(0)) == pytest.approx(math.erf(float(mu) / 2 / math.sqrt(2)), rel=1e-12)
        curve = [delta_of_gaussian(mu**2, Fraction(k, 4)) for k in range(40)]
        assert curve == sorted(curve, reverse=True)
