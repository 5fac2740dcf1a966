"""The counter-example does what it is famous for, and only when told to."""

from __future__ import annotations

from fractions import Fraction

import pytest

import dither as dt
from dither.errors import ParameterError
from dither.lab.museum.name_and_shame import NameAndShame


def test_it_needs_to_be_told():
    for flag in (False, 1, "yes", None):
        with pytest.raises(ParameterError, match="counter-example") as caught:
            NameAndShame(delta="0.5").release(["secret"], counterexample=flag)
        assert "secret" not in str(caught.value)


def test_it_is_in_the_museum_alone():
    assert not hasattr(dt, "NameAndShame")
    assert "NameAndShame" not in dir(dt)


def test_records_or_blanks_in_their_places():
    records = [f"person {i}" for i in range(2000)]
    shown = NameAndShame(delta="0.25").release(records, counterexample=True).value
    assert len(shown) == 2000
    assert all(place is None or place == record for place, record in zip(shown, records, strict=True))
    assert 350 < sum(place is not None for place in shown) < 650
    assert NameAndShame(delta=Fraction(1, 3**80)).release(records, counterexample=True).value == [None] * 2000


def test_expectations():
    mechanism = NameAndShame(delta="0.001")
    assert mechanism.any_exposed(0) == 0
    assert mechanism.any_exposed(1) == pytest.approx(0.001)
    for bad in (-1, 1.5, True):
        with pytest.raises(ParameterError):
            mechanism.expected(bad)
