"""Published outcomes draw themselves: numbers with intervals, names and refusals as words."""

from __future__ import annotations

import pytest

import dither as dt


def test_a_noisy_vector(drawn, saved):
    release = dt.Laplace(epsilon=1, sensitivity=1, grid="0.5").release([3, 4, 5])
    low, high = release.interval("0.9", together=True)
    bars = drawn(release.plot("0.9"), "value")
    assert [(bar["lower"], bar["value"], bar["upper"]) for bar in bars] == [
        tuple(map(float, ends)) for ends in zip(low, release.value, high, strict=True)
    ]
    assert any("all together" in text for text in saved(release.plot()))


def test_a_noisy_number(drawn):
    release = dt.Gaussian(rho="0.1", sensitivity=1).release(30)
    (bar,) = drawn(release.plot(), "value")
    assert (bar["lower"], bar["upper"]) == release.interval()
    with pytest.raises(dt.ParameterError, match="confidence"):
        release.plot(1)


def test_numbers_without_a_public_interval(drawn):
    outcome = dt.SmoothCauchy(epsilon=1, grid=1).release(30, 1)
    (bar,) = drawn(outcome.plot(), "value")
    assert (bar["value"], bar["lower"]) == (outcome.value, None)


def test_a_value_with_its_private_bound(drawn):
    outcome = dt.BoundedLocalSensitivity(epsilon=1, delta="1e-5", grid=1).release(100, 3)
    (bar,) = drawn(outcome.plot("0.9"), "value")
    assert (bar["lower"], bar["upper"]) == outcome.interval("0.9")


def test_refusals_and_names_are_words(drawn):
    refused = dt.StableRelease(epsilon=1, delta="1e-9").release("Milk", 0)
    assert [word["said"] for word in drawn(refused.plot(), "said")] == ["REFUSED"]
    chosen = dt.Exponential(epsilon=1000, sensitivity=1).release({"Milk": 9, "BBQ": 0})
    assert [word["said"] for word in drawn(chosen.plot(), "said")] == ["Milk"]
    answer = dt.SparseVector(epsilon=1, sensitivity=1).session(0).ask(10**6)
    assert [word["said"] for word in drawn(answer.plot(), "said")] == ["True"]


def test_kept_keys(drawn):
    outcome = dt.KeySelection(epsilon=1, delta="1e-6").release([1000, 0, 2000])
    bars = drawn(outcome.plot(), "value")
    assert [(bar["row"], bar["value"]) for bar in bars] == [
        (f"key {place}", count) for place, count in zip((0, 2), outcome.counts, strict=True)
    ]
    optimal = dt.KeySelection(epsilon=1, delta="1e-6", method="optimal").release([1000, 0, 2000])
    assert [word["said"] for word in drawn(optimal.plot(), "said")] == ["1: key 0", "2: key 2"]
    nothing = dt.KeySelection(epsilon=1, delta="1e-6").release([0, 0])
    assert [word["said"] for word in drawn(nothing.plot(), "said")] == ["nothing"]


def test_too_many_words_are_refused():
    from dither.plot import words

    with pytest.raises(dt.ParameterError, match="at most 60"):
        words("a", "b", ["c"] * 61)


def test_a_statistic_is_drawn_under_its_own_name(drawn, saved):
    mean = dt.stats.mean([1, 2, 3], lower=0, upper=10, epsilon=1)
    assert {"mean", "epsilon 1; the line holds the exact number with probability 0.95"} <= set(saved(mean.plot()))
    median = dt.stats.median(range(100), lower=0, upper=100, epsilon=1, interval=True, confidence="0.9")
    (bar,) = drawn(median.plot(), "value")
    assert (bar["lower"], bar["upper"]) == median.interval()
    assert any("with probability 0.9" in text for text in saved(median.plot()))


def test_bins_between_edges_are_columns(drawn):
    cells = dt.stats.histogram(range(100), edges=[0, 20, 100], labels="intervals", epsilon=1)
    assert [bar["place"] for bar in drawn(cells.plot(), "value")] == ["[0, 20)", "[20, 100]"]
    words = dt.stats.histogram(["a"], categories=["a", "b"], epsilon=1)
    assert [bar["row"] for bar in drawn(words.plot(), "value")] == ["a", "b"]
