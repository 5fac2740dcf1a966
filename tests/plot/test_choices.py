"""Laws of a choice on two neighbours, as bars."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

import dither as dt

FOOD = {"Salad": 3, "BBQ": 3, "Noodle": 2, "Rice": 3, "Milk": 4}


def law(points, name):
    return {point["candidate"]: point["probability"] for point in points if point["law"] == name}


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
    assert drawn(mechanism.plot(), "probability")[0]["law"] == "the true answer is yes"


def test_refusals():
    mechanism = dt.Exponential(epsilon=1, sensitivity=1)
    with pytest.raises(dt.ParameterError, match="same candidates"):
        mechanism.plot({"a": 1, "b": 2}, neighbour={"a": 1, "c": 2})
    with pytest.raises(dt.ParameterError, match="at most 60"):
        mechanism.plot(list(range(61)))
