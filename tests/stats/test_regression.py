"""Linear regression: the noise of its table, its estimates and their intervals."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from scipy.stats import chi2

from dither import stats
from dither.accounting.guarantees.gaussian_curve import analytic_sigma
from dither.errors import ParameterError
from dither.exact.intervals import Interval
from dither.neighbours import Relation
from dither.stats.price import Price
from dither.stats.regression import _UNIT, _noises, _noisy_table, _scaled

BOUNDS = {"x_bounds": [(0, 10), (-5, 5)], "y_bounds": (-20, 40)}


def sample(n, rng, noise=1.0):
    x = np.stack([rng.uniform(0, 10, n), rng.uniform(-5, 5, n)], axis=1)
    return x, 3 + 2 * x[:, 0] - x[:, 1] + rng.normal(0, noise, n)


def test_the_noise_is_that_of_the_price_and_half_as_large_off_the_diagonal():
    nothing = [np.zeros(0, np.int64)] * 3
    for relation, moved in ((Relation.ADD_REMOVE, 4), (Relation.REPLACE, 4 * math.sqrt(2))):
        rho = Fraction(1, 10)
        # 4,800 entries on the diagonal, so that 1.4 times the variance is told apart by ten standard deviations.
        noise = _noises(Price(None, None, rho, relation), 4)
        draws = np.array([_noisy_table(nothing, noise) for _ in range(1200)])
        variance = moved**2 / (2 * float(rho))
        on, off = np.diagonal(draws, axis1=1, axis2=2), draws[:, *np.tril_indices(4, -1)]
        assert np.array_equal(draws, draws.transpose(0, 2, 1))
        for entries, expected in ((on, variance), (off, variance / 2)):
            statistic = (entries**2).sum() / expected
            assert 1e-10 < chi2.sf(statistic, entries.size) < 1 - 1e-10
            assert not 1e-10 < chi2.sf(statistic / 1.4, entries.size) < 1 - 1e-10


def test_one_record_moves_the_table_by_what_is_paid_for():
    """||z z^T|| <= number of columns of z = (1, x, y), each of which lies in [-1, 1] whatever the record is."""
    for value in (0, 10, -7, 10**400, math.nan, math.inf, 3.3, None, "text"):
        assert abs(int(_scaled([value], Fraction(0), Fraction(10))[0])) <= _UNIT
    assert _scaled([0.0, 5.0, 10.0, math.nan], Fraction(0), Fraction(10)).tolist() == [-_UNIT, 0, _UNIT, 0]


def test_much_data_give_the_line():
    # So many that the noise of the dearest case moves nothing by more than an eighth of what is allowed below.
    x, y = sample(400_000, np.random.default_rng(1))
    for price in ({"epsilon": 1, "delta": "1e-6"}, {"epsilon": 1}, {"rho": "0.1"}):
        for relation in ("add_remove", "replace"):
            found = stats.linear_regression(x, y, relation=relation, **BOUNDS, **price)
            assert found.value == pytest.approx((3, 2, -1), abs=0.06)
            assert found.residual**2 == pytest.approx(1, abs=0.8)
            assert found.predict([1, 1]) == pytest.approx(4, abs=0.06)
            assert found.prediction_error([1, 1]) >= found.residual
    assert found.guarantee.rho == Fraction(1, 10)


def test_the_stated_epsilon_and_delta_are_those_of_the_noise():
    x, y = sample(100, np.random.default_rng(1))
    found = stats.linear_regression(x, y, epsilon=1, delta="1e-6", **BOUNDS)
    assert (found.guarantee.epsilon, found.guarantee.delta) == (1, Fraction(1, 10**6))
    assert float(found.scale) == pytest.approx(4 * float(analytic_sigma(Fraction(1), Fraction(1, 10**6))), rel=1e-9)


def test_intervals_cover_the_true_line(covered):
    rng = np.random.default_rng(5)
    inside = np.zeros(3)
    for _ in range(400):
        x, y = sample(5000, rng)
        found = stats.linear_regression(x, y, epsilon=1, delta="1e-6", **BOUNDS)
        inside += [low <= true <= high for low, high, true in zip(*found.interval("0.9"), (3, 2, -1), strict=True)]
    # An approximation: held to a little less than it says, and not to be always true.
    assert all(covered(int(hits), 400, 0.85) for hits in inside)


@pytest.mark.parametrize("n", [0, 1, 3, 50])
def test_little_data_and_nasty_data_do_not_raise(n):
    x = np.full((n, 2), np.nan)
    for column in (x, np.full((n, 2), 1e300), np.zeros((n, 2))):
        found = stats.linear_regression(column, [10**400] * n, epsilon="0.1", delta="1e-6", **BOUNDS)
        assert all(math.isfinite(value) for value in found.value)
        assert all(low <= high for low, high in zip(*found.interval(), strict=True))


def test_wrong_parameters():
    x, y = sample(10, np.random.default_rng(1))
    for change in (
        {"x_bounds": [(0, 1)]},
        {"x_bounds": [(1, 0), (0, 1)]},
        {"y_bounds": (0, math.inf)},
        {"epsilon": 0},
    ):
        with pytest.raises(ParameterError):
            stats.linear_regression(x, y, **{"epsilon": 1, "delta": "1e-6", **BOUNDS} | change)
    with pytest.raises(ParameterError):
        stats.linear_regression(x, y[:5], epsilon=1, delta="1e-6", **BOUNDS)
    with pytest.raises(ParameterError):
        stats.linear_regression(np.zeros((2, 2, 2)), y, epsilon=1, delta="1e-6", **BOUNDS)


def test_a_replaced_record_moves_the_table_by_no_more_than_is_paid_for_and_can_move_it_so_far():
    """||z z^T - z' z'^T|| <= sqrt(2) count, attained by records at right angles."""
    corners = [np.array([1, *corner]) for corner in itertools.product((-1, -0.3, 0.5, 1), repeat=3)]
    tables = [np.outer(z, z) for z in corners]
    moved = max(np.linalg.norm(one - two) for one in tables for two in tables)
    assert moved == pytest.approx(4 * math.sqrt(2), rel=1e-12)


def test_tables_of_every_kind():
    x, y = sample(2000, np.random.default_rng(5))
    columns = {"a": x[:, 0], "b": x[:, 1]}
    frames = [pandas.DataFrame(columns), polars.DataFrame(columns), pyarrow.table(columns), list(columns.values()), x]
    for frame in frames:
        found = stats.linear_regression(frame, y, rho=10**6, **BOUNDS)
        assert found.value == pytest.approx((3, 2, -1), abs=0.3)
    with pytest.raises(ParameterError, match="one pair of x_bounds"):
        stats.linear_regression(pandas.DataFrame({"a": x[:, 0]}), y, rho=1, **BOUNDS)


@pytest.mark.parametrize(("relation", "most"), [(Relation.ADD_REMOVE, 10), (Relation.REPLACE, Fraction(75, 8))])
def test_a_pure_price_pays_for_what_half_of_the_table_moves_in_l1(relation, most):
    corners = [np.array([1, *corner]) for corner in itertools.product((-1, -0.25, 0, 0.5, 1), repeat=3)]
    halves = [np.outer(z, z)[np.tril_indices(4)] for z in corners]
    others = halves if relation is Relation.REPLACE else [np.zeros(10)]
    assert max(np.abs(one - two).sum() for one in halves for two in others) == most
    noise = _noises(Price(Fraction(1, 2), None, None, relation), 4)
    assert noise.diagonal is noise.beside
    assert (noise.diagonal.sensitivity, noise.guarantee.epsilon) == (most * _UNIT**2, Fraction(1, 2))


def test_one_column_by_itself():
    x = np.random.default_rng(3).uniform(0, 10, 2000)
    y = 1 + 2 * x
    for column in (x, x.tolist(), [x], x.reshape(-1, 1), pandas.Series(x), polars.Series(x), pyarrow.array(x)):
        for bounds in ((0, 10), [(0, 10)]):
            found = stats.linear_regression(column, y, x_bounds=bounds, y_bounds=(0, 30), epsilon=10**6)
            assert found.value == pytest.approx((1, 2), abs=0.01)
    assert found.predict(5) == found.predict([5])
    assert repr(found).startswith("linear_regression y = (1.0")
    assert repr(found).endswith(" x (95%), epsilon 1000000")
    assert isinstance(found.interval(), Interval)
