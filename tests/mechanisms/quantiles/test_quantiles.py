"""Several quantiles: each level keeps its price by enumeration, answers are in order, shared values are found."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from dither.errors import ParameterError
from dither.mechanisms import Quantile, Quantiles, seal

THREE = {"q": ["0.25", "0.5", "0.75"], "lower": 0, "upper": 6}


def log_law(records, q, codes, rate, public):
    """From the definition: the public weight of each code, and how far its ranks are from the target."""
    t = q * len(records)
    weights = []
    for c in codes:
        below, upto = sum(x < c for x in records), sum(x <= c for x in records)
        weights.append(math.log(public(c)) - float(rate * max(Fraction(0), below - t, t - upto)))
    return np.array(weights) - np.log(np.exp(weights).sum())


@pytest.fixture
def worst(magnitude_weight):
    """The largest joint log ratio of one level: one choice below the first chosen value and one above it."""

    def largest(mechanism, chosen, targets, pairs, top=6):
        sides = zip([(0, chosen - 1), (chosen + 1, top)], targets, (Fraction(1, 4), Fraction(3, 4)), strict=True)
        parts = [
            (range(low, high + 1), q, lambda c, wanted=wanted: magnitude_weight(c, wanted, 0, top))
            for (low, high), q, wanted in sides
        ]

        def laws(records):
            return [
                log_law([x for x in records if x in codes], q, codes, mechanism._rate(q, 1), public)
                for codes, q, public in parts
            ]

        found = 0.0
        for one, two in pairs:
            gaps = [(a - b) for a, b in zip(laws(one), laws(two), strict=True)]
            found = max(found, sum(gap.max() for gap in gaps), -sum(gap.min() for gap in gaps))
        return found

    return largest


def tables(most):
    return [t for n in range(most + 1) for t in itertools.combinations_with_replacement(range(7), n)]


@pytest.mark.parametrize("targets", [(Fraction(1, 2), Fraction(1, 2)), (Fraction(1, 4), Fraction(9, 10))])
def test_a_level_costs_its_price_under_every_relation(targets, worst):
    added = [(t, (*t, x)) for t in tables(2) for x in range(7)]
    replaced = [(t, (*t[:i], x, *t[i + 1 :])) for t in tables(3) for i in range(len(t)) for x in range(7)]
    twice = [(t, (*t, x, y)) for t in tables(2) for x in range(7) for y in range(7)]
    for relation, pairs, rows in (("add_remove", added, 1), ("replace", replaced, 1), ("owner", twice, 2)):
        mechanism = Quantiles(epsilon=2, relation=relation, rows_per_owner=rows, **THREE)
        price = float(mechanism.choosing_epsilon)
        assert 0.3 * price < worst(mechanism, 3, targets, pairs) <= price * (1 + 1e-12)


def test_a_record_that_moves_between_parts_is_two_records(worst):
    """Planted bug: the rate of add_remove under replace."""
    halves = (Fraction(1, 2), Fraction(1, 2))
    wrong, right = (Quantiles(epsilon=2, relation=relation, **THREE) for relation in ("add_remove", "replace"))
    pairs = [((5, 105, 200), (0, 5, 105))]
    assert worst(wrong, 100, halves, pairs, 200) > float(wrong.choosing_epsilon) * 1.5
    assert worst(right, 100, halves, pairs, 200) <= float(right.choosing_epsilon)


def test_the_price_is_the_sum_of_its_levels():
    for count in (1, 2, 3, 4, 7, 8, 20):
        mechanism = Quantiles(epsilon=1, q=[Fraction(i + 1, count + 1) for i in range(count)], lower=0, upper=100)
        assert mechanism.levels == math.ceil(math.log2(count + 1))
        spent = mechanism.levels * mechanism.choosing_epsilon + (mechanism.levels - 1) * mechanism.counting.epsilon
        assert spent == 1
        for relation in ("add_remove", "replace", "owner"):
            by_rho = Quantiles(rho="0.01", q=mechanism.q, lower=0, upper=100, relation=relation)
            assert Fraction(8, 1000) < by_rho.guarantee.zcdp().rho <= Fraction(1, 100)


def test_one_quantile_is_that_of_the_single_mechanism():
    one = Quantiles(epsilon=1, q=["0.3"], lower=0, upper=10)
    assert one.choosing_epsilon == 1
    assert one._rate(Fraction(3, 10), 0) == Quantile(epsilon=1, q="0.3", lower=0, upper=10).rate


@pytest.mark.parametrize("relation", ["add_remove", "replace", "owner"])
def test_answers_are_in_order_on_the_grid_and_near(relation):
    wanted = [Fraction(i, 10) for i in range(1, 10)]
    mechanism = Quantiles(epsilon=4, q=wanted, lower=0, upper=1000, grid="0.5", relation=relation)
    records = np.random.default_rng(1).lognormal(4, 1, 20_000)
    reach = mechanism.rank_error("0.999999")
    for _ in range(5):
        values = mechanism.release(records).value
        assert list(values) == sorted(values)
        for q, value in zip(wanted, values, strict=True):
            below, upto = (records < float(value) - 0.26).sum(), (records <= float(value) + 0.26).sum()
            assert below - reach <= q * records.size <= upto + reach


def test_values_that_many_share_are_found():
    shared = np.concatenate([np.full(6000, 5.0), np.linspace(5, 10, 4000)])
    mechanism = Quantiles(epsilon=4, q=["0.25", "0.5", "0.75"], lower=0, upper=100, grid="0.01")
    first, second, third = mechanism.release(shared).value
    assert (first, second) == (5, 5)
    assert third == pytest.approx(6.875, abs=0.2)
    codes, counts = np.unique(np.rint(shared * 100).astype(int), return_counts=True)
    assert mechanism.release_from_counts(seal(codes), seal(counts)).value[:2] == (5, 5)


@pytest.mark.parametrize("n", [0, 1, 2, 1495, 30_000])
def test_nothing_raises(n):
    for column in (np.full(n, 3.3), np.arange(n), np.full(n, np.nan), [None] * min(n, 10), [10**400] * min(n, 10)):
        for relation, epsilon in itertools.product(("add_remove", "replace"), ("1e-6", 1, "1e9")):
            mechanism = Quantiles(epsilon=epsilon, relation=relation, **THREE)
            assert all(0 <= value <= 6 for value in mechanism.release(column).value)


@pytest.mark.parametrize("q", [[], "0.5", ["0.5", "0.5"], ["0.5", "0.2"], [0, "0.5"], ["nan"], 0.5])
def test_wrong_lists_are_refused(q):
    with pytest.raises(ParameterError):
        Quantiles(epsilon=1, q=q, lower=0, upper=10)
