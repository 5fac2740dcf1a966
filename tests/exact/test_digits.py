"""Shown numbers: the printed interval always covers the exact one, and prints no digit that is noise."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from dither.exact.digits import plain, write

AMOUNTS = st.fractions(Fraction(1, 10**6), 10**12, max_denominator=10**6)


def read(text: str) -> Fraction:
    return Fraction(text.replace(",", ""))


@settings(deadline=None)
@given(units=st.integers(-(10**15), 10**15), width=AMOUNTS, decimals=st.integers(0, 6))
def test_the_shown_interval_covers_the_exact_one(units: int, width: Fraction, decimals: int) -> None:
    unit = Fraction(1, 10**decimals)
    value = units * unit
    shown, error = map(read, write(value, width, unit=unit))
    assert shown - error <= value - width
    assert value + width <= shown + error


@settings(deadline=None)
@given(value=st.fractions(-(10**6), 10**6), width=AMOUNTS)
def test_the_error_keeps_two_digits_and_little_is_added_to_it(value: Fraction, width: Fraction) -> None:
    _, error = write(value, width)
    digits = error.replace(",", "").replace(".", "").strip("0")
    assert len(digits) <= 3
    assert width < read(error) <= width * Fraction(23, 20)


def test_shown_forms() -> None:
    assert write(Fraction(45712), Fraction(1234), unit=Fraction(1)) == ("45,700", "1,300")
    assert write(Fraction(-3), Fraction(96), unit=Fraction(1)) == ("-3", "96")
    assert write(Fraction("61.2"), Fraction("0.084")) == ("61.200", "0.085")
    assert write(Fraction("12.34"), Fraction("0.001"), unit=Fraction(1, 100)) == ("12.34", "0.01")
    assert write(Fraction(5), Fraction(0), unit=Fraction(1)) == ("5", "0")
    assert write(Fraction("-0.001"), Fraction("0.5")) == ("0.00", "0.51")
    assert plain(Fraction("-1234567.5"), 2) == "-1,234,567.50"
