"""Laws of added noise on two neighbours: what is drawn is the exact law."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest

import dither as dt


def heights(points, law):
    return {point["answer"]: point["height"] for point in points if point["distribution"] == law}


def test_laplace(drawn, saved):
    chart = dt.Laplace(epsilon=1, sensitivity=1).plot()
    points = drawn(chart, "height")
    first, second = heights(points, "answer 0"), heights(points, "answer 1")
    assert first[0] == pytest.approx(math.tanh(0.5), rel=1e-15)
    assert all(second[at] == pytest.approx(math.tanh(0.5) * math.exp(-abs(at - 1)), rel=1e-12) for at in second)
    assert sum(first.values()) == pytest.approx(1, abs=0.01)
    ratios = [point["ratio"] for point in drawn(chart, "ratio")]
    assert max(ratios) == pytest.approx(math.e, rel=1e-12)
    assert min(ratios) == pytest.approx(1 / math.e, rel=1e-12)
    assert {point["name"]: point["at"] for point in drawn(chart, "at")} == pytest.approx(
        {"": 1, "e^ε": math.e, "e^−ε": 1 / math.e}
    )
    texts = saved(chart)
    assert {"Laplace", "epsilon 1: the distributions of the answer on two neighbours", "answer 0", "answer 1"} <= set(
        texts
    )
    assert {"probability", "their ratio", "answer", "e^ε"} <= set(texts)


def test_value_and_shift_in_the_units_of_the_answer(drawn):
    chart = dt.Laplace(epsilon="0.5", sensitivity="1.5", grid="0.25").plot(value=10, shift="-0.5")
    points = drawn(chart, "height")
    assert {point["distribution"] for point in points} == {"answer 10", "answer 9.5"}
    peaks = {
        law: max(heights(points, law), key=heights(points, law).__getitem__) for law in ("answer 10", "answer 9.5")
    }
    assert peaks == {"answer 10": 10, "answer 9.5": 9.5}
    usual = dt.Laplace(epsilon=1, sensitivity="1.6", grid="0.5").plot()
    assert {point["distribution"] for point in drawn(usual, "height")} == {"answer 0", "answer 1.5"}, "on the grid"


@pytest.mark.parametrize(("price", "bounded"), [({"epsilon": 1, "delta": "1e-6"}, True), ({"rho": "0.5"}, False)])
def test_gaussian(drawn, saved, price, bounded):
    chart = dt.Gaussian(**price, sensitivity=1).plot()
    first = heights(drawn(chart, "height"), "answer 0")
    assert sum(first.values()) == pytest.approx(1, abs=0.01)
    mechanism = dt.Gaussian(**price, sensitivity=1)
    assert first[2] == pytest.approx(float(mechanism.pmf(2)[0]), rel=1e-12)
    ratios = [point["ratio"] for point in drawn(chart, "ratio")]
    assert ratios == sorted(ratios, reverse=True)
    assert {point["name"] for point in drawn(chart, "at")} == ({"", "e^ε", "e^−ε"} if bounded else {""})
    assert "Gaussian" in saved(chart)


def test_a_fine_grid_is_thinned_out_and_keeps_the_peaks(drawn):
    chart = dt.Laplace(epsilon=1, sensitivity=1, grid=Fraction(1, 10**6)).plot()
    first = heights(drawn(chart, "height"), "answer 0")
    assert 200 < len(first) < 400
    assert max(first, key=first.__getitem__) == 0
    second = heights(drawn(chart, "height"), "answer 1")
    assert max(second, key=second.__getitem__) == 1


def test_laws_far_apart(drawn, saved):
    chart = dt.Gaussian(rho=50, sensitivity=1, grid="0.01").plot(shift=3)
    assert all(0 < point["ratio"] < math.inf for point in drawn(chart, "ratio"))
    saved(chart)


def test_refusals():
    noise = dt.Laplace(epsilon=1, sensitivity=1)
    with pytest.raises(dt.ParameterError, match="same answer"):
        noise.plot(shift=0)
    with pytest.raises(dt.ParameterError, match="multiple of the grid"):
        noise.plot(value="0.5")
    with pytest.raises(dt.ParameterError, match="value"):
        noise.plot(value=float("nan"))


@pytest.mark.parametrize(
    "mechanism",
    [
        dt.SmoothCauchy(epsilon=1),
        dt.SmoothLaplace(epsilon=1, delta="1e-6", lower=0, upper=100),
        dt.SmoothStudentT(epsilon=1),
    ],
    ids=lambda mechanism: type(mechanism).__name__,
)
def test_smooth_noise(drawn, saved, mechanism):
    chart = mechanism.plot()
    ratios = [point["ratio"] for point in drawn(chart, "ratio")]
    if isinstance(mechanism.guarantee, dt.PureDP):
        assert 1 / math.e - 1e-9 <= min(ratios) < max(ratios) <= math.e + 1e-9
    points = drawn(chart, "height")
    for law in {point["distribution"] for point in points}:
        curve = sorted(heights(points, law).items())
        area = sum((b - a) * (p + q) / 2 for (a, p), (b, q) in itertools.pairwise(curve))
        assert 0.85 < area < 1.02, "a density"
    assert "density" in saved(chart)


def test_the_gaussian_picture_shows_its_delta(drawn, saved):
    chart = dt.Gaussian(epsilon=1, delta="1e-6", sensitivity=1).plot()
    beyond = [point["excess"] for point in drawn(chart, "excess") if point["answer"] < 0]
    # What is drawn is all but the farthest tail of it.
    assert 0.97e-6 < sum(beyond) <= 1e-6
    assert max(point["ratio"] for point in drawn(chart, "ratio")) > math.e
    assert "what exceeds e^ε times the other: on each side at most δ = 1e-06 in all" in saved(chart)
    assert not drawn(dt.Laplace(epsilon=1, sensitivity=1).plot(), "excess")
    assert not drawn(dt.Gaussian(rho=1, sensitivity=1).plot(), "excess")
