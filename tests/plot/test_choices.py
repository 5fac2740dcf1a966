"""Laws of a choice on two neighbours, as bars."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

import dither as dt
from dither.lab.museum.name_and_shame import NameAndShame

FOOD = {"Salad": 3, "BBQ": 3, "Noodle": 2, "Rice": 3, "Milk": 4}


def law(points, name):
    return {point["candidate"]: point["probability"] for point in points if point["distribution"] == name}


@pytest.mark.parametrize("kind", [dt.Exponential, dt.PermuteAndFlip, dt.NoisyMax], ids=lambda kind: kind.__name__)
def test_choices_by_scores(drawn, saved, kind):
    mechanism = kind(epsilon=1, sensitivity=1)
    chart = mechanism.plot(FOOD)
    bars = drawn(chart, "probability")
    assert law(bars, "one dataset") == mechanism.probabilities(FOOD)
    neighbour = {"Salad": 4, "BBQ": 4, "Noodle": 3, "Rice": 4, "Milk": 3}
    assert law(bars, "a neighbour") == mechanism.probabilities(neighbour)
    ratios = [point["ratio"] for point in drawn(chart, "ratio")]
    assert 1 / math.e <= min(ratios) < max(ratios) <= math.e
    assert {kind.__name__, *FOOD, "published", "their ratio"} <= set(saved(chart))


def test_a_neighbour_of_ones_own_and_of_monotone_scores(drawn):
    counts = dt.Exponential(epsilon=1, sensitivity=1, monotone=True)
    assert law(drawn(counts.plot([5, 5]), "probability"), "a neighbour")["1"] == counts.probabilities([5, 6])[1]
    given = counts.plot([5, 5], neighbour=[Fraction(6), 5])
    assert law(drawn(given, "probability"), "a neighbour")["0"] == counts.probabilities([6, 5])[0]


def test_randomised_response(drawn, saved):
    mechanism = dt.RandomizedResponse(epsilon=1, values=("yes", "no", "no answer"))
    chart = mechanism.plot("yes", "no answer")
    bars = drawn(chart, "probability")
    assert law(bars, "the true answer is yes")["yes"] == pytest.approx(math.e / (math.e + 2))
    ratios = {point["candidate"]: point["ratio"] for point in drawn(chart, "ratio")}
    assert ratios == pytest.approx({"yes": math.e, "no": 1, "no answer": 1 / math.e})
    assert "RandomizedResponse" in saved(chart)
    assert drawn(mechanism.plot(), "probability")[0]["distribution"] == "the true answer is yes"


def test_sparse_vector(drawn, saved):
    """Against a plain sum over the threshold's noise."""
    mechanism = dt.SparseVector(epsilon=1, sensitivity=1, positives=2)
    chart = mechanism.plot([-3, 0, 3])
    bars = drawn(chart, "probability")

    def tail(least, scale):
        q = math.exp(-1 / scale)
        return q**least / (1 + q) if least > 0 else 1 - q ** (1 - least) / (1 + q)

    def expected(values, said):
        one, two, total = float(mechanism.threshold_scale), float(mechanism.query_scale), 0.0
        for noise in range(-400, 401):
            q = math.exp(-1 / one)
            joint = (1 - q) / (1 + q) * q ** abs(noise)
            for value, above in zip(values, said, strict=False):
                joint *= tail(noise - value, two) if above else 1 - tail(noise - value, two)
            total += joint
        return total

    names = {
        "above ×2": (1, 1),
        "above, below, above": (1, 0, 1),
        "above, below ×2": (1, 0, 0),
        "below, above ×2": (0, 1, 1),
        "below, above, below": (0, 1, 0),
        "below ×2, above": (0, 0, 1),
        "below ×3": (0, 0, 0),
    }
    for label, values in (("one dataset", [-3, 0, 3]), ("a neighbour", [-2, 1, 4])):
        assert law(bars, label) == pytest.approx({name: expected(values, said) for name, said in names.items()})
        assert sum(law(bars, label).values()) == pytest.approx(1, abs=1e-14)
    ratios = [point["ratio"] for point in drawn(chart, "ratio")]
    assert 1 / math.e <= min(ratios) < max(ratios) <= math.e
    assert "below ×2, above" in saved(chart)
    with pytest.raises(dt.ParameterError, match="larger grid"):
        dt.SparseVector(epsilon=1, sensitivity=1, grid="1e-6").plot()
    with pytest.raises(dt.ParameterError, match="fewer values"):
        dt.SparseVector(epsilon=1, sensitivity=1, positives=99).probabilities([0] * 20)


def test_stable_release(drawn, saved):
    mechanism = dt.StableRelease(epsilon=1, delta="1e-6")
    chart = mechanism.plot(14)
    bars = drawn(chart, "probability")
    q = math.exp(-1)
    assert law(bars, "distance 14") == pytest.approx({"the value": 1 / (1 + q), "REFUSED": q / (1 + q)})
    assert law(bars, "distance 15") == pytest.approx({"the value": 1 - q * q / (1 + q), "REFUSED": q * q / (1 + q)})
    assert "REFUSED" in saved(chart)
    apart = drawn(mechanism.plot(same_value=False), "probability")
    assert law(apart, "one value")["another value"] == law(apart, "another value")["one value"] == 0
    assert law(apart, "one value")["one value"] <= 1e-6
    with pytest.raises(dt.ParameterError, match="distance is 0"):
        mechanism.plot(3, same_value=False)


def test_refusals():
    mechanism = dt.Exponential(epsilon=1, sensitivity=1)
    with pytest.raises(dt.ParameterError, match="same candidates"):
        mechanism.plot({"a": 1, "b": 2}, neighbour={"a": 1, "c": 2})
    with pytest.raises(dt.ParameterError, match="at most 60"):
        mechanism.plot(list(range(61)))


def test_name_and_shame_shows_its_infinite_ratio(drawn, saved):
    chart = NameAndShame(delta="0.1").plot("Ann", "Bob")
    bars = {(bar["candidate"], bar["distribution"]): bar["probability"] for bar in drawn(chart, "probability")}
    assert bars["Ann", "Ann"] == bars["Bob", "Bob"] == 0.1
    assert bars["Ann", "Bob"] == 0
    assert [point["candidate"] for point in drawn(chart, "ratio")] == ["nothing"]
    texts = saved(chart)
    assert {"▲ ∞", "▼ 0", "NameAndShame", "delta 0.1: what is published on two neighbours"} <= set(texts)
