"""Scores are exact, private, and known only by their gaps."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import dither as dt
from dither.errors import ParameterError, RelationMismatch
from dither.mechanisms import seal

MECHANISMS = [
    dt.Exponential(epsilon=1, sensitivity=1),
    dt.PermuteAndFlip(epsilon=1, sensitivity=1),
    dt.NoisyMax(epsilon=1, sensitivity=1),
    dt.NoisyMax(epsilon=1, sensitivity=1, noise="laplace"),
    dt.NoisyMax(epsilon=1, sensitivity=1, noise="gumbel"),
]
each = pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: f"{type(m).__name__}-{getattr(m, 'noise', '')}")
CANARY = 987654321
BAD = [
    [],
    {},
    np.array([], np.int64),
    [CANARY + 0.5],
    [float("nan")],
    [float("inf"), 1],
    [Decimal("nan")],
    [True, 2],
    ["1"],
    "12",
    b"12",
    CANARY,
    None,
    [None],
    {"a": CANARY + 0.5},
    np.array([CANARY + 0.5]),
    np.array([[CANARY]]),
    np.array([True]),
]


@each
@pytest.mark.parametrize("scores", BAD, ids=range(len(BAD)))
def test_what_is_not_one_exact_score_per_candidate_is_refused_unseen(mechanism, scores):
    for use in (mechanism.release, mechanism.probabilities, mechanism.probability_bounds):
        with pytest.raises(ParameterError) as caught:
            use(scores)
        assert str(CANARY) not in str(caught.value)


@each
def test_every_shape_of_scores(mechanism):
    values = [0, 10**4, 3]
    forms = [
        values,
        tuple(values),
        np.array(values, np.int16),
        np.array(values, np.uint64),
        np.array(values, object),
        [Fraction(v) for v in values],
        [Decimal(v) for v in values],
        [np.int64(v) for v in values],
    ]
    for form in forms:
        assert mechanism.release(form).value == 1
        assert mechanism.probabilities(form) == mechanism.probabilities(values)
    assert mechanism.release(seal(values)).value == 1
    assert mechanism.release(dict(zip("abc", values, strict=True))).value == "b"
    assert list(mechanism.probabilities(dict(zip("abc", values, strict=True)))) == ["a", "b", "c"]
    assert mechanism.release([7]).value == 0


@each
def test_only_differences_matter(mechanism):
    """Adding a constant, however large or fractional, changes no probability."""
    base = [0, 2, 3, 3]
    known = mechanism.probabilities(base)
    assert sum(known) == pytest.approx(1, abs=1e-15)
    for shift in (10**6, -(10**400), Fraction(1, 3), 2**63):
        assert mechanism.probabilities([u + shift for u in base]) == known


@each
def test_candidates_are_treated_alike(mechanism):
    known = mechanism.probabilities([0, 1, 5])
    assert mechanism.probabilities([5, 0, 1]) == [known[2], known[0], known[1]]
    assert mechanism.probabilities([4, 4, 4, 4]) == [0.25] * 4


@each
def test_extreme_scores(mechanism):
    for scores in ([-(2**63), 2**63 - 1], [0, 10**400], [-(10**400), Fraction(1, 10**400)]):
        assert mechanism.release(scores).value == 1
        assert mechanism.probabilities(scores) == [0.0, 1.0]


@each
def test_the_outcome_says_its_guarantee_and_no_score(mechanism):
    outcome = mechanism.release({"a": CANARY, "b": 0})
    assert outcome.guarantee == mechanism.guarantee == dt.PureDP(1)
    assert str(CANARY) not in repr(outcome)
    assert not hasattr(outcome, "interval")


def test_a_sensitivity_brings_its_largest_change_and_its_relation():
    mechanism = dt.Exponential(epsilon=1, sensitivity=dt.sensitivity.histogram("replace"))
    assert (mechanism.sensitivity, mechanism.relation) == (1, dt.Relation.REPLACE)
    with pytest.raises(RelationMismatch):
        dt.Exponential(epsilon=1, sensitivity=dt.sensitivity.histogram("replace"), relation="owner")
    with pytest.raises(RelationMismatch):
        dt.PermuteAndFlip(epsilon=1, sensitivity=dt.sensitivity.histogram("replace"), monotone=True)
    with pytest.raises(ParameterError):
        dt.Exponential(epsilon=1, sensitivity=1, monotone=1)


def test_probabilities_are_the_nearest_floats():
    for p, (low, high) in zip(
        MECHANISMS[0].probabilities([0, 1, 2]), MECHANISMS[0].probability_bounds([0, 1, 2]), strict=True
    ):
        assert p == float(low) == float(high)
        assert low < high
        assert high - low < Fraction(1, 2**64)


def test_many_candidates_are_chosen_among_quickly_but_not_enumerated_by_cubic_laws():
    scores = np.arange(100_000) % 50
    assert 0 <= dt.Exponential(epsilon=1, sensitivity=1).release(scores).value < 100_000
    assert sum(dt.Exponential(epsilon=1, sensitivity=1).probabilities(scores)) == pytest.approx(1)
    with pytest.raises(ParameterError, match="at most 300"):
        dt.PermuteAndFlip(epsilon=1, sensitivity=1).probabilities(scores)
