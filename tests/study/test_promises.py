"""What fewer honest aggregators than assumed do to epsilon: by the definition, and said."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import nbinom

from dither.errors import ParameterError
from dither.exact.balls import bounds
from dither.study import epsilon_with, promise
from dither.study.noise_shares import NoiseShare
from dither.study.promises import peak

Made = Callable[..., Any]


def largest_loss(shape: float, scale: float, distance: int) -> float:
    """Over all outputs: of noise on a sum and of noise on a sum that is `distance` larger, by the definition."""
    one = nbinom.pmf(np.arange(int(60 * scale) + 60), shape, -math.expm1(-1 / scale))
    reach = int(6 * scale) + distance + 6
    noise = np.array([float(one[: one.size - d] @ one[d:]) for d in range(reach + distance + 1)])
    outputs = np.arange(-reach, reach + 1)
    return float(np.max(np.log(noise[np.abs(outputs)]) - np.log(noise[np.abs(outputs - distance)])))


@pytest.mark.parametrize("shape", [Fraction(1, 2), Fraction(1, 3), Fraction(3, 4), Fraction(1)])
@pytest.mark.parametrize(("scale", "distance"), [(Fraction(1, 2), 1), (Fraction(4), 1), (Fraction(20), 15)])
def test_the_peak_is_the_largest_loss(shape: Fraction, scale: Fraction, distance: int) -> None:
    low, high = bounds(lambda: peak(shape, scale, distance))
    assert float(high) == pytest.approx(largest_loss(float(shape), float(scale), distance), rel=1e-9)
    assert low <= high
    if shape == 1:
        assert float(high) == pytest.approx(float(distance / scale), rel=1e-12)


def test_a_split_study_says_by_how_much_epsilon_breaks(made: Made) -> None:
    study = made(3, noise="split", honest=3, epsilon=2).study
    found = [epsilon_with(study, honest) for honest in (3, 2, 1, 0)]
    assert found[0] == 2
    assert found == sorted(found)
    assert found[-1] == math.inf
    by_definition = 0.0
    for question, (distance, sums) in zip(study.questions, [(1, 1), (1, 2), (110, 1), (1, 3)], strict=True):
        by_definition += sums * largest_loss(1 / 3, float(study.scale(question)), distance)
    assert found[2] == pytest.approx(by_definition, rel=1e-6)
    assert f"{found[1]:.3g} if only 2 are; {found[2]:.3g} if only 1 is; nothing if none is" in promise(study)


def test_a_study_of_full_noises_needs_one(made: Made) -> None:
    study = made(3).study
    assert [epsilon_with(study, honest) for honest in (3, 1)] == [4, 4]
    assert epsilon_with(study, 0) == math.inf
    assert "if 1 of 3 aggregators is honest; nothing if none is" in promise(study)
    with pytest.raises(ParameterError):
        epsilon_with(study, 4)


def test_planted_a_promise_that_counts_on_everybody(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    """Shares of noise taken to be enough however few there are."""
    monkeypatch.setattr("dither.study.promises.peak", lambda shape, scale, distance: peak(Fraction(1), scale, distance))
    with pytest.raises(AssertionError):
        test_a_split_study_says_by_how_much_epsilon_breaks(made)


def test_large_ranges_are_no_trouble() -> None:
    low, high = bounds(lambda: peak(Fraction(1, 2), Fraction(2**40), 2**40))
    assert 4 < low <= high < 5
    assert NoiseShare(3, 2, split=True).shape == Fraction(3, 2)
