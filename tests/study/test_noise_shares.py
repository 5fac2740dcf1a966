"""Shares of noise: exact distributions, intervals that hold, and what one honest aggregator gives."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import nbinom

from dither.noise import discrete_laplace
from dither.study import noise_shares
from dither.study.noise_shares import NoiseShare, negative_binomial, reach


def pmf(scale: float, shape: float, most: int) -> list[float]:
    """Of the difference of two negative binomials, by the definition."""
    stop = -math.expm1(-1 / scale)
    one = nbinom.pmf(np.arange(4 * most), shape, stop)
    return [float(one[d : d + 3 * most] @ one[: 3 * most]) for d in range(most)]


def chi_square(drawn: list[int], parts: int, scale: Fraction) -> float:
    """Over twelve cells at most, each with about as many draws, or with all those of one number."""
    stop = -math.expm1(-1 / float(scale))
    ends = np.unique(nbinom.ppf(np.arange(1, 12) / 12, 1 / parts, stop))
    expected = len(drawn) * np.diff([0, *nbinom.cdf(ends, 1 / parts, stop), 1])
    counts = np.bincount(np.searchsorted(ends, [float(number) for number in drawn]), minlength=len(expected))
    return float(((counts - expected) ** 2 / expected).sum())


@pytest.mark.parametrize("parts", [1, 2, 5])
@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(5), Fraction(700), Fraction(10**13, 7), Fraction(1 << 60)])
def test_negative_binomials_have_their_distribution(parts: int, scale: Fraction) -> None:
    """Far below the 1e-9 point of 11 degrees of freedom, and soon, however wide the range of what is summed is."""
    assert chi_square(negative_binomial(parts, scale, 4_000), parts, scale) < 66


def test_planted_noise_under_a_hat_that_is_too_low(monkeypatch: pytest.MonkeyPatch) -> None:
    real = noise_shares._pieces
    lower = lambda parts, scale: (*real(parts, scale)[:-1], replace(real(parts, scale)[-1], height=1))  # noqa: E731
    monkeypatch.setattr(noise_shares, "_pieces", lower)
    assert chi_square(negative_binomial(2, Fraction(700), 4_000), 2, Fraction(700)) > 66


def test_parts_of_one_noise_add_up_to_it() -> None:
    """The variance of three parts together is that of one discrete Laplace number: within 8 standard errors."""
    share, size = NoiseShare(3, 3, split=True), 20_000
    total = [sum(column) for column in zip(*(share.draw(Fraction(4), size) for _ in range(3)), strict=True)]
    q = math.exp(-1 / 4)
    variance = 2 * q / (1 - q) ** 2
    found = sum(number**2 for number in total) / size
    assert abs(found - variance) < 8 * variance * math.sqrt(5 / size)


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(3), Fraction(8)])
@pytest.mark.parametrize("shape", [Fraction(1), Fraction(2), Fraction(3, 2), Fraction(5)])
@pytest.mark.parametrize("missed", [Fraction(1, 2), Fraction(1, 20), Fraction(1, 1000)])
def test_reach_is_the_smallest_that_holds(scale: Fraction, shape: Fraction, missed: Fraction) -> None:
    one_sided = pmf(float(scale), float(shape), int(60 * scale * math.ceil(shape)) + 40)

    def beyond(distance: int) -> float:
        return 2 * sum(one_sided[distance + 1 :])

    found = reach(scale, shape, missed)
    assert beyond(found) <= missed
    assert found == 0 or beyond(found - 1) > float(missed) * (1 - 1e-5)


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(3), Fraction(700)])
@pytest.mark.parametrize("share", [NoiseShare(2), NoiseShare(5), NoiseShare(5, 3, split=True), NoiseShare(3, 3, True)])
@pytest.mark.parametrize("missed", [Fraction(1, 2), Fraction(1, 1000), Fraction(1, 10**12)])
def test_the_quick_bound_is_beyond_the_reach(scale: Fraction, share: NoiseShare, missed: Fraction) -> None:
    assert share.reach(scale, 1 - missed) <= share.bound(scale, missed) <= 40 * (scale + 1) * math.ceil(share.shape)


def test_a_coarse_reach_is_hardly_wider() -> None:
    fine, coarse = (
        reach(Fraction(1000), Fraction(2), Fraction(1, 20)),
        reach(Fraction(3000), Fraction(2), Fraction(1, 20)),
    )
    assert 3 * fine * 0.999 <= coarse <= 3 * fine * 1.01


def test_two_full_noises_are_at_most_the_root_of_two_wider() -> None:
    two, one = (reach(Fraction(50), Fraction(shape), Fraction(1, 20)) for shape in (2, 1))
    assert two / one < math.sqrt(2)


def test_each_aggregator_alone_is_enough() -> None:
    """Without `split` an aggregator draws discrete Laplace noise of the full scale; chi-square over 9 cells."""
    size, q = 20_000, math.exp(-1 / 2)
    drawn = NoiseShare(2).draw(Fraction(2), size)
    expected = {k: size * (1 - q) / (1 + q) * q ** abs(k) for k in range(-4, 5)}
    assert sum((drawn.count(k) - mean) ** 2 / mean for k, mean in expected.items()) < 66


def test_planted_noise_of_one_aggregator_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """An aggregator that draws no noise of its own is caught."""
    monkeypatch.setattr("dither.study.noise_shares.discrete_laplace", lambda scale, size: [0] * size)
    with pytest.raises(AssertionError):
        test_each_aggregator_alone_is_enough()
    assert discrete_laplace(2, 3) is not None
