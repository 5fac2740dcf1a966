"""Quantiles among listed candidates against their definition: law, privacy by enumeration, records of every kind."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import stats

from dither.errors import ParameterError
from dither.mechanisms import ListedQuantile, ListedQuantiles
from dither.mechanisms.quantiles.candidates import MOST_CANDIDATES, read_candidates, standing

FALSE_ALARM = 1e-12


def distances(records, q, candidates):
    t = Fraction(q) * len(records)
    return [
        max(Fraction(0), sum(x < c for x in records) - t, t - sum(x <= c for x in records))
        for c in map(Fraction, candidates)
    ]


def flip_law(weights):
    """From the definition: every order of visit, each candidate taken with its weight when it is visited."""
    found = [0.0] * len(weights)
    for order in itertools.permutations(range(len(weights))):
        left = 1.0
        for one in order:
            found[one] += left * weights[one] / math.factorial(len(weights))
            left *= 1 - weights[one]
    return found


def law(records, q, candidates, rate):
    far = distances(records, q, candidates)
    return flip_law([math.exp(-float(rate * (d - min(far)))) for d in far])


def datasets(values, most):
    return [t for n in range(most + 1) for t in itertools.combinations_with_replacement(values, n)]


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("q", ["0.5", "0.9", "1/3"])
def test_the_law_is_that_of_the_definition(q, relation):
    candidates = [2, "0.5", 4, -1]
    mechanism = ListedQuantile(epsilon="0.7", q=q, candidates=candidates, relation=relation)
    assert mechanism.rate == Fraction(7, 10) / (2 * (1 if relation == "replace" else max(Fraction(q), 1 - Fraction(q))))
    for records in datasets((-2, 0, 2, 3, 9), 4):
        expected = law(records, q, mechanism.candidates, mechanism.rate)
        assert mechanism.probabilities(list(records)) == pytest.approx(expected, abs=1e-13)


def worst(mechanism, pairs):
    known = {}
    for pair in pairs:
        for records in pair:
            if records not in known:
                known[records] = np.log(mechanism.probabilities(list(records)))
    return max(float(np.abs(known[one] - known[two]).max()) for one, two in pairs)


@pytest.mark.parametrize("q", ["0.5", "0.2"])
def test_every_pair_of_neighbours_keeps_epsilon(q):
    values, tables = range(-1, 6), datasets(range(-1, 6), 4)
    grown = [(t, tuple(sorted((*t, x)))) for t in tables for x in values]
    swapped = [(t, tuple(sorted((*t[:i], x, *t[i + 1 :])))) for t in tables for i in range(len(t)) for x in values]
    candidates = [0, 1, 2, "2.5", 3, 4]
    for relation, pairs in (("add_remove", grown), ("replace", swapped)):
        mechanism = ListedQuantile(epsilon=1, q=q, candidates=candidates, relation=relation)
        assert 0.5 < worst(mechanism, pairs) <= 1 + 1e-12
    # Planted bug: the sensitivity of add_remove where a record is replaced.
    even = ListedQuantile(epsilon=1, q="0.5", candidates=range(60))
    assert worst(even, [((58, 58, 70), (-5, 58, 58))]) > 1.5


def p_value(draws, expected_law):
    expected = np.array(expected_law) * len(draws)
    seen = np.bincount(draws, minlength=expected.size)
    kept = expected >= 20
    seen, expected = np.append(seen[kept], seen[~kept].sum()), np.append(expected[kept], expected[~kept].sum() + 1e-9)
    return float(stats.chi2.sf(((seen - expected) ** 2 / expected).sum(), kept.sum()))


def test_draws_have_the_exact_law():
    records, candidates = [1, 2, 2, 5, 6, 8, 8, 9, 12], [0, 2, 4, 6, 8, 10]
    mechanism = ListedQuantile(epsilon="0.6", q="0.4", candidates=candidates)
    draws = [candidates.index(mechanism.release(records).value) for _ in range(4000)]
    assert p_value(draws, law(records, "0.4", candidates, mechanism.rate)) > FALSE_ALARM
    assert p_value(draws, law(records, "0.4", candidates, mechanism.rate * Fraction(3, 2))) < FALSE_ALARM
    weights = np.exp([-float(mechanism.rate * d) for d in distances(records, "0.4", candidates)])
    by_rho = ListedQuantile(rho=mechanism.epsilon**2 / 8, q="0.4", candidates=candidates)
    assert by_rho.probabilities(records) == pytest.approx(weights / weights.sum(), abs=1e-13)
    draws = [candidates.index(by_rho.release(records).value) for _ in range(4000)]
    assert p_value(draws, weights / weights.sum()) > FALSE_ALARM
    assert p_value(draws, weights**1.5 / (weights**1.5).sum()) < FALSE_ALARM


def test_the_price_in_rho_is_kept():
    assert ListedQuantile(rho="0.125", q="0.5", candidates=[1, 2]).guarantee.zcdp().rho == Fraction(1, 8)
    assert ListedQuantile(rho="0.125", q="0.5", candidates=[1, 2]).rule == "exponential"
    assert ListedQuantile(epsilon=1, q="0.5", candidates=[1, 2]).guarantee.zcdp().rho > Fraction(4, 10)
    for count in (1, 2, 3, 7):
        wanted = [Fraction(i + 1, count + 1) for i in range(count)]
        for relation in ("add_remove", "replace"):
            several = ListedQuantiles(rho="0.01", q=wanted, candidates=[1, 2, 3], relation=relation)
            assert Fraction(8, 1000) < several.guarantee.zcdp().rho <= Fraction(1, 100)
            pure = ListedQuantiles(epsilon=1, q=wanted, candidates=[1, 2, 3], relation=relation)
            spent = pure.levels * pure.choosing_epsilon + (pure.levels - 1) * pure.counting.epsilon
            assert spent == pure.guarantee.epsilon == 1


KINDS = {
    "float64": np.array([0.1, 2.5, 2.5, math.inf, -math.inf, 1e300, 3.0, math.nan]),
    "float32": np.array([0.1, 2.5, 2.5, math.inf, 3.0, math.nan], np.float32),
    "int64": np.array([-(2**63), 2**63 - 1, 0, 2, 3, 3, 5]),
    "uint8": np.array([0, 2, 3, 3, 255], np.uint8),
    "uint64": np.array([0, 3, 2**64 - 1], np.uint64),
    "bool": np.array([True, False, True]),
    "objects": [10**400, -(10**400), Fraction(1, 10), Decimal("0.1"), 0.1, None, "text", math.nan, 3, 2**70, True],
    "arrow": pa.array([0.1, None, 3.0]),
    "arrow ints": pa.array([1, None, 3]),
    "pandas": pd.Series([1, None, 3], dtype="Int64"),
    "polars": pl.Series([0.1, 3.0, None]),
    "empty": [],
}
LISTS = {
    "floats": [0.1, 2.5, 3.0, 1e17],
    "wholes": [-3, 0, 3, 2**63, 2**64, 10**30],
    "texts": ["0.1", "2.5", 3, "1e18"],
    "beyond": [-1e200, 1e200],
    "large floats": [float(2**63), float(2**53)],
}


def compared(record, candidate, kind):
    """-1, 0 or 1, from the definition: floats with the nearest float of the column's type, others exactly."""
    exactly = Fraction(repr(candidate)) if isinstance(candidate, float) else Fraction(candidate)
    if isinstance(record, float):
        with np.errstate(over="ignore"):
            near = float(np.float32(float(exactly))) if kind == "float32" else float(exactly)
        return (record > near) - (record < near)
    return (Fraction(record) > exactly) - (Fraction(record) < exactly)


@pytest.mark.parametrize("listed", LISTS)
@pytest.mark.parametrize("kind", KINDS)
def test_records_of_every_kind_stand_where_they_should(kind, listed):
    column, candidates = KINDS[kind], read_candidates(LISTS[listed])
    items = column.tolist() if isinstance(column, np.ndarray | pd.Series) else list(column)
    items = [item.as_py() if hasattr(item, "as_py") else item for item in items]
    present = [x for x in items if isinstance(x, int | float | Fraction | Decimal) and x == x]
    missing = len(items) - len(present)
    for kept in (False, True):
        found = standing(column, candidates, keep_missing=kept)
        more = missing if kept else 0
        assert found.size == len(present) + more
        below = [sum(compared(x, c, kind) < 0 for x in present) for c in candidates]
        upto = [sum(compared(x, c, kind) <= 0 for x in present) for c in candidates]
        assert found.below.tolist() == [b + more * (i > 0) for i, b in enumerate(below)]
        assert found.upto.tolist() == [u + more for u in upto]
        assert found.places.sum() == found.size
        assert (found.places >= 0).all()


@pytest.mark.parametrize("n", [0, 1, 2, 5000])
def test_nothing_raises_whatever_the_records(n):
    columns = [np.full(n, 7.25), np.full(n, np.nan), np.full(n, -np.inf), np.arange(n), [10**400] * min(n, 5)]
    for relation, epsilon, q in itertools.product(
        ("add_remove", "replace"), ("1e-9", 1, 10**6), ("0.01", "0.5", "0.123456789123456789")
    ):
        candidates = [-(10**9), 1, 2.5, 7.25, 1e17]
        one = ListedQuantile(epsilon=epsilon, q=q, candidates=candidates, relation=relation)
        two = ListedQuantiles(epsilon=epsilon, q=[q, "0.9"], candidates=candidates, relation=relation)
        for column in columns:
            assert float(one.release(column).value) in candidates
            found = two.release(column).value
            assert list(found) == sorted(found)
            assert {float(value) for value in found} <= set(candidates)


def test_a_single_candidate_is_the_answer():
    mechanism = ListedQuantile(epsilon=1, q="0.5", candidates=[4])
    assert mechanism.release([1, 2, 3]).value == 4
    assert mechanism.probabilities([]) == [1.0]
    assert mechanism.rank_error("0.95") == 0
    assert ListedQuantiles(epsilon=1, q=["0.2", "0.5", "0.8"], candidates=[4]).release([9]).value == (4, 4, 4)


@pytest.mark.parametrize("confidence", ["0.5", "0.9", "0.99"])
@pytest.mark.parametrize("price", [{"epsilon": 1}, {"rho": "0.125"}])
def test_the_rank_error_holds_for_every_dataset(price, confidence):
    mechanism = ListedQuantile(q="0.4", candidates=[0, 1, 3, 6], **price)
    reach = mechanism.rank_error(confidence)
    for records in [*datasets(range(7), 3), (0,) * 30, (0,) * 15 + (6,) * 15, tuple(range(7)) * 6]:
        far = distances(records, "0.4", mechanism.candidates)
        worse = [d > min(far) + Fraction(reach) for d in far]
        assert sum(np.array(mechanism.probabilities(list(records)))[worse]) <= 1 - float(confidence)


@pytest.mark.parametrize("relation", ["add_remove", "replace", "owner"])
def test_several_are_in_order_and_near(relation):
    wanted = [Fraction(i, 10) for i in range(1, 10)]
    candidates = np.arange(0, 1000, 0.5)
    mechanism = ListedQuantiles(epsilon=8, q=wanted, candidates=candidates, relation=relation)
    records = np.random.default_rng(1).lognormal(4, 1, 20_000)
    for _ in range(3):
        values = mechanism.release(records).value
        assert list(values) == sorted(values)
        for q, value in zip(wanted, values, strict=True):
            assert abs((records <= float(value)).sum() - float(q) * records.size) < 400
    shared = np.concatenate([np.full(6000, 5.0), np.linspace(5, 10, 4000)])
    assert ListedQuantiles(epsilon=8, q=["0.25", "0.5"], candidates=candidates).release(shared).value == (5, 5)


@pytest.mark.parametrize(
    "wrong",
    [
        [],
        np.array([]),
        [1, 1],
        [1, 1.0],
        [0.0, -0.0],
        ["0.5", 0.5],
        [1, math.nan],
        [math.nan],
        [1.0, math.inf],
        np.array([1.0, -np.inf]),
        [10**400],
        [1e301, 1.0],
        [1e-301, 1.0],
        [True, False],
        np.array([True]),
        pd.Series([True]),
        pa.array([True]),
        [None],
        ["a"],
        "12",
        5,
        None,
        {1: 2},
        [[1, 2]],
        np.zeros((2, 2)),
        np.array(["1"]),
        np.array([1j]),
        range(MOST_CANDIDATES + 1),
    ],
    ids=lambda given: str(given)[:20],
)
def test_wrong_lists_are_refused_before_records_are_seen(wrong):
    for make, q in ((ListedQuantile, "0.5"), (ListedQuantiles, ["0.5"])):
        with pytest.raises(ParameterError):
            make(epsilon=1, q=q, candidates=wrong)


def test_candidates_come_in_any_order_and_kind():
    assert read_candidates([3, 1, 2]) == (1, 2, 3)
    assert read_candidates(np.array([3.5, -1.0])) == (-1.0, 3.5)
    assert read_candidates(("0.1", Decimal("0.05"), Fraction(1, 3), 7)) == (
        Fraction(1, 20),
        Fraction(1, 10),
        Fraction(1, 3),
        7,
    )
    assert read_candidates(pl.Series([2, 1])) == read_candidates(pa.array([1, 2])) == (1, 2)
    found = ListedQuantile(epsilon=10**6, q="0.5", candidates=[0.1, 0.3]).release([0.1, 0.1]).value
    assert found == Fraction(1, 10)


def test_a_hundred_thousand_candidates_are_sharp():
    """Exactly one candidate is at the records, the others have 5,000 records on one side."""
    mechanism = ListedQuantile(epsilon=1, q="0.5", candidates=np.linspace(0, 1, 100_001))
    assert {mechanism.release(np.full(10_000, 0.25)).value for _ in range(5)} == {Fraction(1, 4)}


@pytest.mark.parametrize(
    "wrong", [{"rho": 1}, {"epsilon": None}, {"relation": "edge"}, {"rows_per_owner": 2}, {"q": 1}]
)
def test_wrong_parameters_are_refused(wrong):
    with pytest.raises(ParameterError):
        ListedQuantile(**{"epsilon": 1, "q": "0.5", "candidates": [1, 2]} | wrong)
