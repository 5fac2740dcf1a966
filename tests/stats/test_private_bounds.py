"""Bounds bought with part of a price: what one record moves, what they cost, and that they hold the data."""

from __future__ import annotations

import inspect
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import dither as dt
from dither.mechanisms.codes import plain_column
from dither.stats import private_bounds
from dither.stats.private_bounds import _CELLS, _LEAST, _bins, _edges

_LEAST_EDGE = Fraction(2) ** _LEAST
NASTY = [0, -0.0, 1, -1, 2.0**-40, 3e-9, 1.5, 2, 1e300, -1e300, math.inf, -math.inf, math.nan, None, "text", 10**400]
MORE = [Fraction(1, 3), Decimal("0.1"), Decimal("NaN"), 2**62, -(2**63), True, 5e-324]


def test_each_record_is_in_one_bin_whatever_it_is_and_alone_decides_which():
    together = _bins(plain_column([*NASTY, *MORE]))
    alone = [int(_bins(plain_column([record]))[0]) for record in (*NASTY, *MORE)]
    assert together.tolist() == alone
    assert all(-1 <= place < _CELLS for place in alone)
    counts = np.bincount(together[together >= 0], minlength=_CELLS)
    assert counts.size == _CELLS
    assert counts.sum() <= len(together), "so one record moves the counts by 1 in L1"


def test_a_bin_holds_what_is_put_into_it():
    for record in (0, 1, -1, 1.5, -1.5, 2, 63.999, 64, -64, 1e9, 3e-9):
        low, high = _edges(int(_bins(plain_column([record]))[0]))
        assert low <= Fraction(record) <= high


@pytest.mark.parametrize(
    ("records", "found"),
    [
        ([40.0] * 1000 + [70.0] * 1000, (32, 128)),
        ([-3] * 1000, (-4, -2)),
        ([-3] * 1000 + [9] * 1000, (-4, 16)),
        ([0] * 1000 + [5] * 1000, (-(2**-32), 8)),
    ],
)
@pytest.mark.parametrize("price", [{"epsilon": 1}, {"epsilon": 1, "delta": "1e-6"}, {"rho": 1}])
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_where_most_records_are(records, found, price, relation):
    # A bin with a thousand records stands clear, an empty one does not, but for one time in a million.
    assert dt.stats.bounds(records, relation=relation, **price).value == found


def test_nothing_to_find_raises_nothing():
    for records in ([], [math.nan], [None, "text"]):
        low, high = dt.stats.bounds(records, epsilon=1).value
        assert low < high


@pytest.mark.parametrize("statistic", ["sum", "mean", "variance", "std", "median"])
def test_their_share_is_a_named_part_of_the_price(statistic):
    made = getattr(dt.stats, statistic)([40.0] * 2000, epsilon=1, bounds_share="0.2")
    assert made.guarantee == dt.PureDP(1)
    assert dt.compose(made.parts.values()).epsilon == 1
    assert made.parts["bounds"] == dt.PureDP("0.2")
    assert made.within == (32, 64)
    assert "within [32, 64], epsilon 1 (bounds epsilon 0.2, " in repr(made)


def test_several_quantiles_and_other_currencies():
    made = dt.stats.quantiles([40.0] * 2000, [0.2, 0.8], rho=1, bounds_share="0.5", interval=True, confidence="0.9")
    assert (made.guarantee.rho, made.parts["quantiles"].rho, made.confidence) == (1, Fraction(1, 2), Fraction(9, 10))
    trimmed = dt.stats.trimmed_mean([40.0] * 2000, "0.1", epsilon=1, delta="1e-6", bounds_share="0.5")
    assert trimmed.parts["bounds"] == dt.ApproxDP("0.5", "5e-7", relation="replace")


def test_the_noise_of_the_rest_is_that_of_the_rest():
    """Planted: a share that is bought and not paid for would leave the whole price to the statistic."""
    whole = dt.stats.sum([40.0] * 2000, lower=32, upper=64, epsilon=1).scale
    assert dt.stats.sum([40.0] * 2000, epsilon=1, bounds_share="0.2").scale == whole / Fraction(8, 10)


def test_planted_a_share_without_a_price(monkeypatch):
    monkeypatch.setattr(private_bounds.Price, "part", lambda price, share: price)
    free = dt.stats.sum([40.0] * 2000, epsilon=1, bounds_share="0.2")
    assert dt.compose(free.parts.values()).epsilon > free.guarantee.epsilon, "what the test above would see"


STATISTICS = {
    "sum": {},
    "mean": {},
    "variance": {},
    "std": {},
    "median": {},
    "quantile": {"q": "0.9"},
    "quantiles": {"q": ["0.1", "0.5"]},
    "trimmed_mean": {"trim": "0.1"},
}


@pytest.mark.parametrize("statistic", STATISTICS)
def test_none_buys_and_nothing_said_is_refused(statistic):
    """None is a word of the caller's: what is left out is neither declared nor bought."""
    ask, more, records = getattr(dt.stats, statistic), STATISTICS[statistic], [40.0] * 2000
    for stated, within in (
        ({"lower": None, "upper": None}, (32, 64)),
        ({"lower": None}, (32, 64)),
        ({"lower": 0, "upper": None}, (0, 64)),
        ({"lower": None, "upper": 50}, (32, 50)),
        ({"lower": 0, "bounds_share": "0.2"}, (0, 64)),
    ):
        made = ask(records, epsilon=2, **more, **stated)
        assert (made.within, made.guarantee.epsilon) == (within, 2)
        assert made.parts["bounds"].epsilon == Fraction(2, 5)
    for stated in ({}, {"lower": 0}, {"upper": 1}):
        with pytest.raises(dt.ParameterError):
            ask(records, epsilon=2, **more, **stated)


def test_planted_bounds_that_are_bought_unasked(monkeypatch):
    """Planted bug: what is left out is taken for None."""
    real = dt.stats.mean
    monkeypatch.setattr(dt.stats, "mean", lambda x, **stated: real(x, **{"lower": None, "upper": None, **stated}))
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        test_none_buys_and_nothing_said_is_refused("mean")


FOUND = [(-_LEAST_EDGE, _LEAST_EDGE), (_LEAST_EDGE, 2 * _LEAST_EDGE), (Fraction(-1, 2), Fraction(1, 2))]
FOUND += [(Fraction(2**59), Fraction(2**60)), (Fraction(-(2**60)), Fraction(2**60)), (Fraction(-4), Fraction(-2))]


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("found", FOUND)
def test_whatever_is_found_is_answered(statistic, found, monkeypatch):
    """Noise and data decide what is found: nothing may be refused for it, the price being spent."""
    monkeypatch.setattr(private_bounds, "_bought", lambda column, price: found)
    ask, more = getattr(dt.stats, statistic), STATISTICS[statistic]
    for records in ([40.0] * 20, np.full(20, 40)):
        for grid in ({}, {"grid": 1}, {"grid": "1e-3"}, {"grid": 10**9}, {"grid": "0.3"}):
            for stated in ({"lower": None}, {"lower": 0, "upper": None}, {"lower": None, "upper": "0.5"}):
                ask(records, epsilon=2, **more, **grid, **stated)


@pytest.mark.parametrize(
    "wrong", [{"epsilon": "1e-9", "grid": 1}, {"epsilon": 1, "relation": "none"}, {"epsilon": 1, "grid": -1}]
)
def test_what_is_refused_is_refused_before_anything_is_bought(wrong, monkeypatch):
    monkeypatch.setattr(private_bounds, "_bought", lambda column, price: pytest.fail("bought"))
    with pytest.raises(dt.ParameterError):
        dt.stats.mean([40.0] * 20, lower=None, upper=None, **wrong)


def test_planted_bounds_as_they_are_found(monkeypatch):
    """Planted bug: an error would say what was found."""
    monkeypatch.setattr(private_bounds, "_fitting", lambda found, declared, step: found)
    with pytest.raises(dt.ParameterError):
        test_whatever_is_found_is_answered("mean", FOUND[0], monkeypatch)


def test_the_signature_says_that_none_is_not_nothing():
    assert "lower: 'Number | None' = undeclared" in str(inspect.signature(dt.stats.mean))


def test_wrong_parameters():
    with pytest.raises(dt.ParameterError, match="give either"):
        dt.stats.mean([1], epsilon=1, bounds_share="0.2", lower=0, upper=1)
    with pytest.raises(dt.ParameterError, match="give either"):
        dt.stats.median([1], epsilon=1, bounds_share="0.2", candidates=[1])
    for share in (0, 1, -1, math.nan):
        with pytest.raises(dt.ParameterError, match="bounds_share"):
            dt.stats.mean([1], epsilon=1, bounds_share=share)
    with pytest.raises(dt.ParameterError, match="lower=None, upper=None"):
        dt.stats.mean([1], epsilon=1)
