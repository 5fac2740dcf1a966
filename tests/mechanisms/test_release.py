"""How a release reads: the value, its error, what it cost."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import dither as dt
from dither.mechanisms.release import Release

COUNT = dt.Laplace(epsilon=1, sensitivity=1)


def test_a_number_with_its_error_and_price() -> None:
    assert str(Release(40, COUNT)) == "40 ± 3 (95%), epsilon 1"
    assert str(COUNT.release(41)).endswith(" ± 3 (95%), epsilon 1")
    assert repr(Release(40, COUNT)) == "Laplace release 40 ± 3 (95%), epsilon 1"


def test_digits_below_the_error_are_not_written() -> None:
    assert str(Release(45712, dt.Laplace(epsilon="0.001", sensitivity=1))) == "45,700 ± 3,100 (95%), epsilon 0.001"


@pytest.mark.parametrize(
    ("grid", "steps", "text"),
    [
        ("0.01", 4025, "40.2 ± 3.1 (95%), epsilon 1"),
        ("1/4", 161, "40.2 ± 3.1 (95%), epsilon 1"),
        (1, -5, "-5 ± 3 (95%), epsilon 1"),
    ],
)
def test_values_are_in_the_callers_units(grid: str, steps: int, text: str) -> None:
    assert str(Release(steps, dt.Laplace(epsilon=1, sensitivity=1, grid=grid))) == text


def test_vectors_are_listed_as_far_as_they_are_short() -> None:
    assert str(Release(np.array([40, 7]), COUNT)) == "[40, 7] ± 3 (95% each), epsilon 1"
    assert str(Release(np.arange(1010), COUNT)) == (
        "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ... 1,000 more] ± 3 (95% each), epsilon 1"
    )
    assert str(Release(np.array([[1, 2]]), COUNT)).startswith("[1, 2] ± 3")
    assert str(Release(np.array([], dtype=np.int64), COUNT)).startswith("[] ± 3")


@pytest.mark.parametrize(
    ("price", "words"),
    [({"rho": "0.5"}, "rho 0.5"), ({"epsilon": 1, "delta": "1e-6"}, "epsilon 1, delta 1e-06")],
)
def test_other_currencies(price: dict[str, object], words: str) -> None:
    assert str(dt.Gaussian(sensitivity=1, **price).release(5)).endswith(f"(95%), {words}")


def test_the_interval_is_that_of_95_per_cent_unless_another_is_asked_for() -> None:
    release = Release(40, COUNT)
    assert release.interval() == release.interval("0.95") == (37, 43)
    assert release.interval("0.999") != release.interval()
    assert Release(np.array([1, 2]), COUNT).interval(together=True)[0].tolist() == [-3, -2]
    assert COUNT.error("0.95") == Fraction(3)
