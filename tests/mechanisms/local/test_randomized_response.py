"""Randomised response: its law, its curve, and an estimator without bias."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dither.errors import ParameterError, RelationMismatch
from dither.mechanisms import RandomizedResponse
from dither.neighbours import Relation


def law(mechanism, value):
    return [float(low) for low, _ in mechanism.probability_bounds(value)]


@pytest.mark.parametrize("size", [2, 3, 10])
def test_truth_and_others(size):
    mechanism = RandomizedResponse(epsilon="1.5", values=range(size))
    e = math.exp(1.5)
    found = law(mechanism, 1)
    assert found[1] == pytest.approx(e / (e + size - 1), rel=1e-14)
    assert found[0] == pytest.approx(1 / (e + size - 1), rel=1e-14)
    assert sum(found) == pytest.approx(1)


def test_the_curve_of_two_values_is_tight():
    p, q = law(RandomizedResponse(epsilon=1), 1), law(RandomizedResponse(epsilon=1), 0)
    stated = RandomizedResponse(epsilon=1).guarantee
    for at in (0, 0.3, 0.9):
        reached = sum(max(0, a - math.exp(at) * b) for a, b in zip(p, q, strict=True))
        assert reached == pytest.approx((math.e - math.exp(at)) / (1 + math.e), rel=1e-12)
        assert stated.delta_at(at) == pytest.approx(reached, rel=1e-12)
    assert float(stated.zcdp().rho) == pytest.approx(math.tanh(0.5), rel=1e-12)


@pytest.mark.parametrize("size", [2, 3, 5, 6, 60])
def test_rho_holds_at_every_order_and_is_the_divergence_where_proven(size):
    mechanism = RandomizedResponse(epsilon=1, values=range(size))
    p, q = np.array(law(mechanism, 0)), np.array(law(mechanism, 1))
    rho = float(mechanism.guarantee.zcdp().rho)
    for order in (1.0001, 1.5, 3, 10, 100):
        assert np.log((p * (p / q) ** (order - 1)).sum()) / (order - 1) / order <= rho * (1 + 1e-9)
    divergence = (p * np.log(p / q)).sum()
    if size - 2 <= 2 * math.exp(0.5):
        assert rho == pytest.approx(divergence, rel=1e-12)
    else:
        assert rho == pytest.approx(math.tanh(0.5), rel=1e-12)
        worst = max(np.log((p * (p / q) ** (a - 1)).sum()) / (a - 1) / a for a in np.linspace(1.01, 20, 200))
        assert size < 60 or worst > divergence, "with many values the divergence alone is too small a rho"


@pytest.mark.parametrize("truth", [(0, 0, 1), (1, 1, 2, 0)])
def test_the_estimate_is_unbiased_and_its_variance_right(truth):
    """By enumeration of all reports."""
    values = tuple(range(max(truth) + 1))
    mechanism = RandomizedResponse(epsilon="0.7", values=values)
    mean, second, variance = np.zeros(len(values)), np.zeros(len(values)), np.zeros(len(values))
    for reports in itertools.product(values, repeat=len(truth)):
        weight = math.prod(law(mechanism, t)[r] for t, r in zip(truth, reports, strict=True))
        found = mechanism.estimate(reports)
        mean += weight * np.array(found.shares)
        second += weight * np.array(found.shares) ** 2
        variance += weight * np.array(found.variances)
    shares = np.bincount(truth, minlength=len(values)) / len(truth)
    assert mean == pytest.approx(shares, abs=1e-12)
    exact = second - mean**2
    if len(values) == 2:
        q = law(mechanism, 1)[1]
        assert exact == pytest.approx([q * (1 - q) / (len(truth) * (2 * q - 1) ** 2)] * 2, rel=1e-9)
        assert variance == pytest.approx(exact, rel=1e-9)
    else:
        assert variance == pytest.approx(exact, rel=0.35), "estimated from a clipped share"
    assert mechanism.estimate(truth)[values[0]] == mechanism.estimate(truth).shares[0]


def test_reports_keep_kind_and_number():
    mechanism = RandomizedResponse(epsilon=1000, values=["yes", "no"])
    assert mechanism.release("yes").value == "yes"
    assert mechanism.release(["yes", "no", "no"]).value == ["yes", "no", "no"]
    assert mechanism.release(np.array(["no", "yes"])).value == ["no", "yes"]
    assert mechanism.release([]).value == []
    assert RandomizedResponse(epsilon=1000).release(np.array([0, 1, 1])).value == [0, 1, 1]


def test_what_is_refused():
    with pytest.raises(RelationMismatch):
        RandomizedResponse(epsilon=1, relation=Relation.ADD_REMOVE)
    for values in ([], ["only"], ["a", "a"], "ab"):
        with pytest.raises(ParameterError):
            RandomizedResponse(epsilon=1, values=values)
    mechanism = RandomizedResponse(epsilon=1, values=["a", "b"])
    for reports in ("canary", ["a", "canary"], 7, [["a"]], None):
        with pytest.raises(ParameterError) as caught:
            mechanism.estimate(reports)
        assert "canary" not in str(caught.value)
    with pytest.raises(ParameterError):
        mechanism.estimate([])
    assert mechanism.epsilon == Fraction(1)


UNDECLARED = ["canary", None, 7, math.nan, ["a"], {}, object(), Decimal("sNaN"), pd.NA]
BATCHES = {
    "list": list,
    "tuple": tuple,
    "numpy": lambda answers: np.fromiter(answers, object, len(answers)),
    "pandas": lambda answers: pd.Series(answers, dtype=object),
}
TYPED = {
    "arrow": pa.array(["a", None, "b", "canary"]),
    "polars": pl.Series(["a", None, "b", "canary"]),
    "pandas": pd.Series(["a", None, "b", "canary"]),
}


def check_batch(mechanism, answers, declared):
    """Every answer has a report, and the declared ones are reported as they would be without the others."""
    reports = mechanism.release(answers).value
    assert len(reports) == len(declared)
    assert set(reports) <= set(mechanism.values)
    for place, answer in enumerate(declared):
        assert answer is None or reports[place] == answer


@pytest.mark.parametrize("kind", BATCHES)
@pytest.mark.parametrize("extra", UNDECLARED, ids=lambda extra: type(extra).__name__)
def test_an_undeclared_answer_stops_no_other(extra, kind):
    """At an epsilon of 1000 a declared answer is reported as it is."""
    mechanism = RandomizedResponse(epsilon=1000, values=["a", "b", "c"])
    check_batch(mechanism, BATCHES[kind](["a", extra, "b"]), ["a", None, "b"])


@pytest.mark.parametrize("kind", TYPED)
def test_columns_of_answers(kind):
    check_batch(RandomizedResponse(epsilon=1000, values=["a", "b"]), TYPED[kind], ["a", None, "b", None])


@pytest.mark.parametrize("extra", ["canary", None, 7, b"a"])
def test_a_single_undeclared_answer_has_a_single_report(extra):
    assert RandomizedResponse(epsilon=1, values=["a", "b"]).release(extra).value in ("a", "b")
    pairs = RandomizedResponse(epsilon=1, values=[("a", 1), ("b", 2)])
    assert pairs.release(("canary", 3)).value in pairs.values


def check_uniform(mechanism, size):
    """Reports of undeclared answers are uniform: off by 6.5 standard deviations once in 10^10 runs."""
    counts = Counter(mechanism.release(["canary"] * size).value)
    for value in mechanism.values:
        share = 1 / len(mechanism.values)
        assert abs(counts[value] - size * share) <= 6.5 * math.sqrt(size * share * (1 - share))


def test_undeclared_answers_are_reported_uniformly_and_keep_the_guarantee():
    mechanism = RandomizedResponse(epsilon="0.5", values=["a", "b", "c"])
    check_uniform(RandomizedResponse(epsilon=30, values=["a", "b", "c"]), 6000)
    none = mechanism.probability_bounds("canary")
    assert none == [(Fraction(1, 3), Fraction(1, 3))] * 3
    for answer in mechanism.values:
        for (low, high), (third, _) in zip(mechanism.probability_bounds(answer), none, strict=True):
            assert float(high / third) <= math.exp(0.5)
            assert float(third / low) <= math.exp(0.5)


def test_planted_answers_that_raise_or_are_reported_as_they_fall(monkeypatch):
    def positions(self, answers):
        return np.array([self.values.index(answer) for answer in answers], np.int64)

    def report(self, true):
        return true  # the place -1 of what is undeclared is the last value, always

    mechanism = RandomizedResponse(epsilon=1000, values=["a", "b", "c"])
    with monkeypatch.context() as planted:
        planted.setattr(RandomizedResponse, "_positions", positions)
        with pytest.raises(ValueError, match="not in"):
            check_batch(mechanism, ["a", "canary"], ["a", None])
    monkeypatch.setattr(RandomizedResponse, "_report", report)
    with pytest.raises(AssertionError):
        check_uniform(mechanism, 6000)
