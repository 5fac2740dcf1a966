"""Mechanisms that answer or do not: the curve, and what stands beside it, are the exact law."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest

import dither as dt


def heights(points, law):
    return {point["answer"]: point["height"] for point in points if point["distribution"] == law and "answer" in point}


def beside(points, outcome):
    return [point["height"] for point in points if point.get("outcome") == outcome]


def discrete_laplace(steps, scale):
    q = math.exp(-1 / scale)
    return (1 - q) / (1 + q) * q ** abs(steps)


def above(least, scale):
    """P[X >= least]."""
    q = math.exp(-1 / scale)
    return q**least / (1 + q) if least > 0 else 1 - q ** (1 - least) / (1 + q)


def test_propose_test_release(drawn, saved):
    mechanism = dt.ProposeTestRelease(epsilon=1, delta="1e-3", bound=2, grid=1)
    near = mechanism.threshold - 1
    chart = mechanism.plot(value=10, distance=near)
    points = drawn(chart, "height")
    passing = [above(mechanism.threshold - at, 2) for at in (near, near + 1)]
    for law, centre, p in (
        (f"answer 10, distance {near}", 10, passing[0]),
        (f"answer 12, distance {near + 1}", 12, passing[1]),
    ):
        found = heights(points, law)
        assert found == pytest.approx({at: p * discrete_laplace(at - centre, 4) for at in found}, rel=1e-12)
        assert sum(found.values()) == pytest.approx(p, abs=0.01)
    assert beside(points, "REFUSED") == pytest.approx([1 - p for p in passing], rel=1e-12)
    ratios = [point["ratio"] for point in drawn(chart, "ratio")]
    assert 1 / math.e <= min(ratios) < max(ratios) <= math.e
    assert {"ProposeTestRelease", "REFUSED", "probability", "their ratio", "e^ε"} <= set(saved(chart))


def test_a_fine_grid_is_drawn_as_a_density(drawn):
    mechanism = dt.ProposeTestRelease(epsilon=1, delta="1e-3", bound=2)
    points = drawn(mechanism.plot(), "height")
    passing = above(0, 2)
    found = heights(points, f"answer 0, distance {mechanism.threshold}")
    assert found[0] == pytest.approx(passing / 8, rel=1e-4), "1/(2b) at its peak, b = 4"


def test_bounded_local_sensitivity(drawn, saved):
    mechanism = dt.BoundedLocalSensitivity(epsilon=1, delta="1e-5", slope=1, grid=1)
    chart = mechanism.plot(value=100, local_sensitivity=3)
    points = drawn(chart, "height")
    for local in (3, 4):
        found = heights(points, f"local sensitivity {local}")
        assert found == pytest.approx({at: discrete_laplace(at - local - 22, 2) for at in found}, rel=1e-12)
        assert sum(found.values()) == pytest.approx(1, abs=0.01)
    for value in (100, 103):
        found = heights(points, f"answer {value}")
        assert found == pytest.approx({at: discrete_laplace(at - value, 50) for at in found}, rel=1e-12)
    assert {"published bound", "answer, if the bound is 25"} <= set(saved(chart))


def test_a_ceiling_stands_beside_the_bounds_below_it(drawn, saved):
    mechanism = dt.BoundedLocalSensitivity(epsilon=1, delta="1e-5", slope=1, grid=1, ceiling=25)
    chart = mechanism.plot()
    points = drawn(chart, "height")
    assert max(heights(points, "local sensitivity 3")) == 24
    assert beside(points, "25 (ceiling)") == pytest.approx([above(0, 2), above(-1, 2)], rel=1e-12)
    assert "25 (ceiling)" in saved(chart)


@pytest.mark.parametrize("ceiling", [None, 1, 9, 25])
def test_the_law_of_the_bound_is_a_law(ceiling):
    mechanism = dt.BoundedLocalSensitivity(epsilon=2, delta="1e-3", slope=1, grid=1, ceiling=ceiling)
    total = sum(mechanism.bound_pmf(step, 2)[0] for step in range(-3, 200))
    assert float(total) == pytest.approx(1, abs=1e-12)
    published = [int(mechanism.release(0, 2).bound) for _ in range(3000)]
    for step in range(8, 13):
        chance = float(mechanism.bound_pmf(step, 2)[1])
        assert published.count(step) == pytest.approx(3000 * chance, abs=1 + 8 * math.sqrt(3000 * chance))


def test_key_selection(drawn, saved):
    mechanism = dt.KeySelection(epsilon=1, delta="1e-6")
    chart = mechanism.plot(14)
    points = drawn(chart, "height")
    for owners in (14, 15):
        found = heights(points, f"a key of {owners} owners")
        expected = {at: discrete_laplace(at - owners, 1) if at >= 15 else 0 for at in found}
        assert found == pytest.approx(expected, rel=1e-12)
    assert beside(points, "not shown") == pytest.approx([1 - above(1, 1), 1 - above(0, 1)], rel=1e-12)
    ratios = [point["ratio"] for point in drawn(chart, "ratio")]
    assert 1 / math.e - 1e-12 <= min(ratios) < max(ratios) <= math.e + 1e-12
    assert {"not shown", "noisy count shown", "a key of 14 owners"} <= set(saved(chart))


def test_a_key_that_nobody_has_is_never_shown(drawn):
    points = drawn(dt.KeySelection(epsilon=1, delta="0.01").plot(0), "height")
    assert set(heights(points, "a key of 0 owners").values()) == {0}
    assert sum(heights(points, "a key of 1 owner").values()) <= 0.01
    assert beside(points, "not shown")[0] == 1


@pytest.mark.parametrize("method", ["gaussian", "optimal"])
def test_other_methods_of_key_selection(drawn, saved, method):
    mechanism = dt.KeySelection(epsilon=1, delta="1e-6", method=method)
    chart = mechanism.plot()
    kept = [float(mechanism.keep_probability(mechanism.even_chance + more)[1]) for more in (0, 1)]
    if method == "optimal":
        bars = [point["probability"] for point in drawn(chart, "probability") if point["candidate"] == "shown"]
        assert bars == kept
    else:
        assert beside(drawn(chart, "height"), "not shown") == pytest.approx([1 - p for p in kept])
    assert 0.2 < kept[0] < 0.8
    assert "not shown" in saved(chart)


def test_quantile(drawn, saved):
    mechanism = dt.Quantile(epsilon=1, q="0.5", lower=0, upper=1000)
    records = [200, 200, 300, 400]
    chart = mechanism.plot(records)
    points = drawn(chart, "height")
    for law, given in (("one dataset", records), ("a neighbour", [*records, 1000])):
        found, exact = heights(points, law), mechanism.probabilities(given)
        assert found == pytest.approx({at: exact[int(at)] for at in found}, rel=1e-12)
        drawn_at = sorted(found)
        between = [(low, high) for low, high in itertools.pairwise(drawn_at) if high - low > 1]
        assert all(exact[int(low)] == exact[int(high)] for low, high in between), "nothing is left out"
    ratios = [point["ratio"] for point in drawn(chart, "ratio")]
    assert 1 / math.e <= min(ratios) < max(ratios) <= math.e
    assert {"Quantile", "one dataset", "a neighbour"} <= set(saved(chart))
    swapped = dt.Quantile(epsilon=1, q="0.5", lower=0, upper=1000, relation="replace")
    found = heights(drawn(swapped.plot(records), "height"), "a neighbour")
    exact = swapped.probabilities([200, 300, 400, 1000])
    assert found == pytest.approx({at: exact[int(at)] for at in found}, rel=1e-12)


def test_several_quantiles_show_their_first_choice(drawn):
    mechanism = dt.Quantiles(epsilon=3, q=["0.25", "0.5", "0.75"], lower=0, upper=100)
    assert mechanism.first_choice.rate == mechanism._rate(Fraction(1, 2), 0)
    found = heights(drawn(mechanism.plot([50, 60]), "height"), "one dataset")
    exact = mechanism.first_choice.probabilities([50, 60])
    assert found == pytest.approx({at: exact[int(at)] for at in found}, rel=1e-12)
