from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither.errors import ParameterError, PolicyError
from dither.ledger import Charge
from dither.ledger.units import BEYOND_EVERY_CAP, SCALE, Units, cap_units, charge_units, exact_charge, show

CAP = Charge(Fraction(4), Fraction(1, 10**6))
amounts = st.fractions(min_value=Fraction(1, 10**40), max_value=9000)


@given(amounts, st.fractions(min_value=0, max_value=Fraction(999, 1000)))
def test_caps_round_down_and_by_less_than_a_unit(cost: Fraction, delta: Fraction) -> None:
    cap = Charge(cost, delta)
    if cost < Fraction(1, SCALE):
        with pytest.raises(PolicyError):
            cap_units(cap)
        return
    worth = exact_charge(cap_units(cap), cap)
    assert cost - Fraction(1, SCALE) < worth.cost <= cost
    assert worth.delta == delta


@given(amounts, st.fractions(min_value=0, max_value=Fraction(1, 10**6)))
def test_prices_round_up_and_by_less_than_a_unit(cost: Fraction, delta: Fraction) -> None:
    worth = exact_charge(charge_units(Charge(cost, delta), CAP), CAP)
    assert cost <= worth.cost < cost + Fraction(1, SCALE)
    assert delta <= worth.delta < delta + CAP.delta / SCALE


def test_any_delta_is_too_much_without_a_delta_cap() -> None:
    cap = Charge(Fraction(1))
    assert not charge_units(Charge(Fraction(0), Fraction(1, 10**30)), cap).fits(cap_units(cap))


def test_a_price_beyond_64_bits_fits_nowhere() -> None:
    price = charge_units(Charge(Fraction(10**200), Fraction(10**200)), CAP)
    assert price == Units(BEYOND_EVERY_CAP, BEYOND_EVERY_CAP)
    largest = cap_units(Charge(Fraction(2**63 - 2, SCALE)))
    assert not price.fits(largest)
    assert largest.fits(largest)


@pytest.mark.parametrize(
    ("cost", "delta", "words"),
    [
        ("1/10000000000000000", 0, "between 1e-15 and 9223; got 1e-16"),
        (0, 0, "got 0"),
        (9224, 0, "9224"),
        (1, 1, "below 1"),
    ],
)
def test_caps_that_cannot_be_kept(cost: str, delta: int, words: str) -> None:
    with pytest.raises(PolicyError, match=words):
        cap_units(Charge(Fraction(cost), Fraction(delta)))


@pytest.mark.parametrize("value", [Fraction(-1), float("nan"), float("inf"), True, "1e400", 10**400])
def test_hostile_charges_are_refused(value: Fraction) -> None:
    """Threat 26."""
    with pytest.raises(ParameterError):
        Charge(value)
    with pytest.raises(ParameterError):
        Charge(Fraction(1), value)


@pytest.mark.parametrize(
    ("value", "up", "down"),
    [
        ("0", "0", "0"),
        ("1/2", "0.5", "0.5"),
        ("1/3", "0.333334", "0.333333"),
        ("1/3000000", "3.33334e-7", "3.33333e-7"),
        ("10", "10", "10"),
        ("1000000", "1000000", "1000000"),
        ("12345678", "1.23457e+7", "1.23456e+7"),
    ],
)
def test_shown_outward(value: str, up: str, down: str) -> None:
    assert show(Fraction(value)) == up
    assert show(Fraction(value), up=False) == down


@pytest.mark.parametrize(("cost", "delta"), [(0, 0), (5, 0), (0, 7), (5, 7)])
def test_what_fits(cost: int, delta: int) -> None:
    assert Units(cost, delta).fits(Units(5, 7))


@pytest.mark.parametrize(("cost", "delta"), [(6, 0), (0, 8), (6, 7), (5, 8), (-1, 0), (0, -1), (-1, 8), (6, -1)])
def test_each_counter_must_fit(cost: int, delta: int) -> None:
    assert not Units(cost, delta).fits(Units(5, 7))
