"""Numbers are read once, exactly, and everything that is not a sensible number is refused with help."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither.errors import DitherError, ParameterError
from dither.exact.parameters import (
    ceil_units,
    exact,
    floor_units,
    interval,
    non_negative,
    positive,
    probability,
    sqrt_down,
    sqrt_up,
    whole,
)

TENTH = Fraction(1, 10)

# Threat 26: what a hostile or careless caller writes for epsilon.
HOSTILE = [
    float("nan"), float("inf"), -math.inf, True, False, np.True_, None, [], object(), b"1", 1j,
    "abc", "", " ", "nan", "inf", "-inf", "1e400", "1e-400", "1e-320", "1e99999", "1/0", "0x10", "1 2", "1e", "--1",
    " 1e999999999 ", "1e999_999_999", "1e²", "١", "1_0", "9" * 701, "1/" + "9" * 690,
    10**400, -(10**400), 10**5000, Fraction(1, 10**400), Fraction(1, 3**3000),
    Decimal("nan"), Decimal("sNaN"), Decimal("Infinity"), Decimal("1e400"), Decimal("1e-999999"), np.float32(0.5),
]  # fmt: skip


@pytest.mark.parametrize("value", [TENTH, "0.1", " 0.1 ", "1/10", "1e-1", "+.1", Decimal("0.1"), 0.1, np.float64(0.1)])
def test_every_way_to_write_a_tenth_is_exactly_a_tenth(value):
    assert exact(value, "epsilon") == TENTH


@pytest.mark.parametrize(("value", "number"), [(3, 3), (np.int8(-3), -3), ("-2", -2), ("1.", 1), ("2E3", 2000), (0, 0)])
def test_whole_numbers_keep_their_value(value, number):
    assert exact(value, "bound") == number


@pytest.mark.parametrize("value", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("read", [exact, positive, non_negative, probability])
def test_hostile_values_are_refused_quickly_and_by_name(read, value):
    with pytest.raises(ParameterError, match="epsilon") as caught:
        read(value, "epsilon")
    assert len(str(caught.value)) < 300


@given(st.text(max_size=12))
def test_any_text_is_a_number_or_a_parameter_error(text):
    try:
        number = exact(text, "epsilon")
    except ParameterError:
        return
    assert number == Fraction(text.strip())


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300))
def test_a_float_means_its_shortest_decimal_form(value):
    if value == 0 or abs(value) >= 1e-300:
        assert exact(value, "x") == Fraction(repr(value))


@pytest.mark.parametrize("value", [0, -1, "-0.1"])
def test_positive_refuses_zero_and_less(value):
    with pytest.raises(ParameterError, match="greater than 0"):
        positive(value, "epsilon")


def test_non_negative_takes_zero_and_refuses_less():
    assert non_negative(0, "epsilon") == 0
    with pytest.raises(ParameterError, match="0 or more"):
        non_negative("-1e-9", "epsilon")


@pytest.mark.parametrize("value", [0, 1, "1.5", -1])
def test_a_probability_lies_strictly_inside(value):
    with pytest.raises(ParameterError, match="strictly between 0 and 1"):
        probability(value, "delta")


def test_bounds_are_ordered():
    assert interval("-1", 2, "age") == (-1, 2)
    for lower, upper in [(1, 1), (2, 1)]:
        with pytest.raises(ParameterError, match="lower < upper"):
            interval(lower, upper, "age")
    with pytest.raises(ParameterError, match="lower bound of age"):
        interval(float("nan"), 1, "age")


def test_whole_numbers_have_a_range():
    assert whole(np.int64(5), "count") == 5
    assert whole(0, "count", least=0) == 0
    for value in (True, 1.0, "1", None, Fraction(1)):
        with pytest.raises(ParameterError, match="whole number"):
            whole(value, "count")
    with pytest.raises(ParameterError, match="at least 1"):
        whole(0, "count")
    with pytest.raises(ParameterError, match="between 1 and 9"):
        whole(10**400, "count", most=9)


@given(st.fractions(min_value=0, max_value=10**6), st.integers(1, 10**15))
def test_units_round_outward(value, parts):
    unit = Fraction(1, parts)
    assert (ceil_units(value, unit) - 1) * unit < value <= ceil_units(value, unit) * unit
    assert floor_units(value, unit) * unit <= value < (floor_units(value, unit) + 1) * unit


@given(st.fractions(min_value=Fraction(1, 10**40), max_value=10**40))
def test_square_roots_enclose_the_root_tightly(value):
    down, up = sqrt_down(value), sqrt_up(value)
    assert down**2 <= value <= up**2
    assert up - down <= down / 2**90


@pytest.mark.parametrize("value", [Fraction(0), Fraction(25), Fraction(1, 4), Fraction(10**80)])
def test_short_roots_are_exact(value):
    assert sqrt_up(value) == sqrt_down(value)
    assert sqrt_up(value) ** 2 == value


def test_the_root_of_a_negative_number_is_refused():
    with pytest.raises(ParameterError, match="negative"):
        sqrt_up(Fraction(-1))


def test_errors_share_one_root_and_never_echo_a_long_value():
    with pytest.raises(DitherError) as caught:
        positive("-" + "9" * 300, "epsilon")
    assert "..." in str(caught.value)
    with pytest.raises(ParameterError, match="bits"):
        positive(-(2**500), "epsilon")


def test_the_range_of_magnitudes_is_exactly_as_said() -> None:
    for inside in ("1e-300", "-1e-300", "1e300", "-1e300", Fraction(1, 10**300), 10**300):
        assert exact(inside, "epsilon") == Fraction(inside)
    for outside in ("9.99e-301", "-9.99e-301", Fraction(10**300 + 1), Fraction(1, 10**300 + 1)):
        with pytest.raises(ParameterError, match="between 1e-300 and 1e300"):
            exact(outside, "epsilon")


@pytest.mark.parametrize("long", [Fraction(2**4200 + 1, 3**2500), Fraction(3**2400, 2**4200 + 1)])
def test_a_moderate_number_of_too_many_digits_is_refused(long: Fraction) -> None:
    """Numerator or denominator alone may be too long."""
    assert Fraction(1, 10**300) < long < 10**300
    assert min(long.numerator.bit_length(), long.denominator.bit_length()) < 4096
    with pytest.raises(ParameterError, match="too many digits"):
        exact(long, "epsilon")
