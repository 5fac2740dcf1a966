"""What one question may take: stated, kept, and read back."""

from fractions import Fraction
from pathlib import Path

import pytest

import dither as dt


def test_limits_are_kept_and_recorded(tmp_path: Path) -> None:
    limits = dt.Limits(max_cells=7, answer_on_grid="0.25")
    with dt.Curator.open(tmp_path / "clinic") as curator:
        assert curator.limits() == dt.Limits()
        assert curator.limits(limits) == limits
        assert [entry.kind for entry in curator.ledger()][-1] == "limits"
    with dt.Curator.open(tmp_path / "clinic") as curator:
        assert curator.limits() == limits
        assert curator.limits().answer_on_grid == Fraction(1, 4)


@pytest.mark.parametrize("stated", [{"max_cells": 0}, {"workers": True}, {"answer_on_grid": 0}, {"max_cells": 1.5}])
def test_limits_are_whole_numbers_of_at_least_one(stated: dict[str, object]) -> None:
    with pytest.raises(dt.ParameterError):
        dt.Limits(**stated)
