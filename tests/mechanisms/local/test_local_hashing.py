"""Local hashing: hashes by the definition, estimates without bias, intervals that hold."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from dither.errors import ParameterError, RelationMismatch
from dither.mechanisms import LocalHashing, RandomizedResponse
from dither.mechanisms.local.local_hashing import LocalHashing as Hashing


def hashed(rows, place):
    return sum((bin(row & place).count("1") % 2) << i for i, row in enumerate(rows))


def every_report(mechanism, answer):
    """All reports of one respondent with their probabilities, by the definition."""
    cells, weight = 2**mechanism.rows, math.exp(mechanism.epsilon)
    hashes = list(itertools.product(range(2**mechanism.bits), repeat=mechanism.rows))
    for rows in hashes:
        true = hashed(rows, mechanism.values.index(answer))
        for cell in range(cells):
            yield (*rows, cell), (weight if cell == true else 1) / (weight + cells - 1) / len(hashes)


def check_hashes(mechanism):
    rows = np.array(list(itertools.product(range(2**mechanism.bits), repeat=mechanism.rows)))
    for place in range(len(mechanism.values)):
        found = mechanism.cells(rows, np.full(len(rows), place)).tolist()
        assert found == [hashed(row, place) for row in rows.tolist()]


def test_hashes_are_what_they_are_defined_to_be_and_collide_as_often_as_stated():
    mechanism = LocalHashing(epsilon=1, values=range(7))
    check_hashes(mechanism)
    rows = np.array(list(itertools.product(range(8), repeat=2)))
    cells = [mechanism.cells(rows, np.full(len(rows), place)) for place in range(7)]
    for one, other in itertools.combinations(cells, 2):
        assert 4 * int((one == other).sum()) == len(rows)


@pytest.mark.parametrize(("epsilon", "size"), [("0.5", 3), (1, 5), (2, 8)])
def test_the_estimate_is_unbiased_and_its_variance_right(epsilon, size):
    """One respondent, all reports; the estimate is a mean over respondents."""
    mechanism = LocalHashing(epsilon=epsilon, values=range(size))
    mean, second = np.zeros(size), np.zeros(size)
    for report, weight in every_report(mechanism, 2):
        shares = np.array(mechanism.estimate([report]).shares)
        mean += weight * shares
        second += weight * shares**2
    assert mean == pytest.approx(np.eye(size)[2], abs=1e-12)
    assert (second - mean**2)[0] == pytest.approx(mechanism.variance(1), rel=1e-9)
    e, cells = math.exp(mechanism.epsilon), 2**mechanism.rows
    truth = e / (e + cells - 1)
    assert (second - mean**2)[2] == pytest.approx(truth * (1 - truth) / (truth - 1 / cells) ** 2, rel=1e-9)


def check_supports(mechanism):
    reports = mechanism.release(list(mechanism.values) * 20).value
    by_definition = [
        sum(hashed(rows, place) == cell for *rows, cell in reports) for place in range(len(mechanism.values))
    ]
    assert list(mechanism.estimate(reports).supports) == by_definition


@pytest.mark.parametrize(("epsilon", "size"), [("0.1", 2), (1, 13), (4, 100)])
def test_one_transform_counts_what_the_definition_counts(epsilon, size):
    check_supports(LocalHashing(epsilon=epsilon, values=range(size)))


def test_planted_a_transform_that_forgets_a_sign(monkeypatch):
    real = Hashing._supports
    monkeypatch.setattr(Hashing, "_supports", lambda self, hashes, cells: real(self, hashes, cells & ~1))
    with pytest.raises(AssertionError):
        check_supports(LocalHashing(epsilon=1, values=range(13)))


def test_the_error_does_not_grow_with_the_domain_and_is_at_most_that_of_the_hadamard_response():
    for epsilon in ("0.1", "0.5", 1, 2, 4):
        few, many = (LocalHashing(epsilon=epsilon, values=range(size)) for size in (1000, 100_000))
        assert few.variance(100) == many.variance(100)
        e = math.exp(float(few.epsilon))
        assert few.variance(1) <= ((e + 1) / (e - 1)) ** 2 * (1 + 1e-12)  # one row: half of all values are supported
        assert few.variance(1) <= 1.1 * 4 * e / (e - 1) ** 2  # the best that any number of cells could do
        other = RandomizedResponse(epsilon=epsilon, values=range(1000)).estimate(range(1000))
        assert few.variance(1000) < min(other.variances)


@pytest.mark.parametrize("make", [LocalHashing, RandomizedResponse])
def test_intervals_hold_as_often_as_stated(make):
    """Exactly, over the distribution of the supports: a binomial number for each kind of respondent."""
    from scipy.stats import binom

    mechanism, size = make(epsilon=1, values=range(4)), 40
    sample = mechanism.estimate(mechanism.release([0] * size).value)
    for true in (0, 3, 20, 40):
        own = binom.pmf(np.arange(size + 1), true, sample.other + sample.gap)
        others = binom.pmf(np.arange(size + 1), size - true, sample.other)
        chances = np.convolve(own, others)
        held = 0.0
        for supports in range(size + 1):
            shares = type(sample).of(sample.values, np.full(4, supports), size, sample.other, sample.gap)
            low, high = shares.interval(0, "0.9")
            held += chances[supports] * (low <= true / size <= high)
        assert held >= 0.9


def test_reports_keep_kind_and_number_and_undeclared_answers_are_uniform():
    mechanism = LocalHashing(epsilon=1000, values=["a", "b", "c"])
    assert len(mechanism.release("a").value) == mechanism.rows + 1
    assert mechanism.release([]).value == []
    for *rows, cell in mechanism.release(["b"] * 50).value:
        assert cell == hashed(rows, 1)
    reports = mechanism.release([None, "canary", 7] * 2000).value
    cells = np.bincount([report[-1] for report in reports], minlength=2**mechanism.rows)
    share = 6000 / cells.size
    assert np.abs(cells - share).max() <= 6.5 * math.sqrt(share)
    assert mechanism.estimate(reports).reports == 6000


def test_what_is_refused():
    with pytest.raises(RelationMismatch):
        LocalHashing(epsilon=1, values=range(4), relation="add_remove")
    with pytest.raises(ParameterError):
        LocalHashing(epsilon=1, values=range(2**20 + 1))
    mechanism = LocalHashing(epsilon=1, values=range(4))
    for reports in ([], "canary", [(1, 2)], [(0, 0, 4)], [(4, 0, 0)], [(0, -1, 0)], [("canary", 0, 0)], [3], 5):
        with pytest.raises(ParameterError) as caught:
            mechanism.estimate(reports)
        assert "canary" not in str(caught.value)
