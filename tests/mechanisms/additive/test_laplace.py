"""What is particular to Laplace: the discrete law's exact rho, whole steps, and the sensitivity object."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dither import sensitivity
from dither.errors import ParameterError, RelationMismatch
from dither.mechanisms import Laplace
from dither.neighbours import Relation


@pytest.mark.parametrize(("steps", "rho"), [(1, 0.4621), (2, 0.3935), (5, 0.3721), (10**9, 0.3679)])
def test_the_discrete_law_has_its_own_rho(steps, rho):
    guarantee = Laplace(epsilon=1, sensitivity=steps).guarantee
    assert float(guarantee.zcdp().rho) == pytest.approx(rho, abs=5e-5)
    assert guarantee.epsilon == 1


def log_moment(q, shift, order):
    """ln E_P[(p/q)^(order-1)] of discrete Laplace against itself shifted, from the definition."""
    reach = int(60 / -math.log(q)) + 10 * shift + 10
    total = 0.0
    for x in range(-reach, reach + 1):
        loss = -math.log(q) * (abs(x - shift) - abs(x))
        total += (1 - q) / (1 + q) * q ** abs(x) * math.exp((order - 1) * loss)
    return math.log(total)


@settings(deadline=None, max_examples=60)
@given(
    st.fractions(min_value=Fraction(1, 20), max_value=6),
    st.integers(1, 6),
    st.sampled_from([1.0001, 1.1, 2.0, 5.0, 20.0]),
)
def test_rho_holds_for_every_split_of_the_shift_over_coordinates(epsilon, steps, order):
    """All vectors of integer shifts with L1 norm at most `steps`: the worst is one coordinate moved by all of it."""
    rho = float(Laplace(epsilon=epsilon, sensitivity=steps).guarantee.zcdp().rho)
    q = math.exp(-float(epsilon) / steps)
    single = {d: log_moment(q, d, order) / (order - 1) for d in range(1, steps + 1)}
    splits = [s for k in range(1, steps + 1) for s in itertools.combinations_with_replacement(range(1, steps + 1), k)]
    worst = max(sum(single[d] for d in split) for split in splits if sum(split) <= steps)
    assert worst == single[steps]
    assert worst <= order * rho * (1 + 1e-7) + 1e-9


@given(st.fractions(min_value=Fraction(1, 1000), max_value=50), st.integers(1, 10**6))
def test_rho_lies_between_continuous_laplace_and_pure(epsilon, steps):
    rho = Laplace(epsilon=epsilon, sensitivity=steps, grid=1).guarantee.zcdp().rho
    e = float(epsilon)
    assert float(rho) <= e * math.tanh(e / 2) * (1 + 1e-12)
    assert float(rho) >= (e + math.expm1(-e)) * (1 - 1e-6)


def test_whole_steps_are_what_values_on_the_grid_can_differ_by():
    assert Laplace(epsilon=1, sensitivity="2.5").scale == 2
    assert Laplace(epsilon=1, sensitivity="2.5", grid="0.5").scale == Fraction(5, 2)
    assert Laplace(epsilon=1, sensitivity="2.5", rounded_coordinates=3).scale == 5
    with pytest.raises(ParameterError, match="coarser"):
        Laplace(epsilon=1, sensitivity="0.5")
    assert Laplace(epsilon=1, sensitivity="0.5", rounded_coordinates=1).scale == 1


def test_a_tiny_scale_is_refused_with_help():
    with pytest.raises(ParameterError, match="smaller grid"):
        Laplace(epsilon=10**5, sensitivity=1)


def test_an_absurd_epsilon_costs_itself():
    assert Laplace(epsilon=20000, sensitivity=10**6).guarantee.zcdp().rho == 20000


def test_a_sensitivity_brings_its_norm_and_relation():
    counts = sensitivity.counts(25, relation="replace")
    mechanism = Laplace(epsilon=1, sensitivity=counts)
    assert mechanism.scale == 25
    assert mechanism.guarantee.relation is Relation.REPLACE
    assert Laplace(epsilon=1, sensitivity=counts, relation="replace") == mechanism
    with pytest.raises(RelationMismatch, match="replace, not under add_remove"):
        Laplace(epsilon=1, sensitivity=counts, relation="add_remove")


def test_small_budgets_keep_exact_parameters():
    mechanism = Laplace(epsilon="1e-9", sensitivity=3)
    assert mechanism.scale == 3 * 10**9
    assert mechanism.guarantee.epsilon == Fraction(1, 10**9)
    assert abs(mechanism.release(0).value) < 10**12


def test_a_whole_grid_gives_whole_numbers():
    mechanism = Laplace(epsilon=1, sensitivity=1000, grid=100)
    one, many = mechanism.release(12300), mechanism.release([12300, 2**70 * 100])
    assert isinstance(one.value, int)
    assert one.value % 100 == 0
    assert many.value.dtype == object
    assert [value % 100 for value in many.value] == [0, 0]
    assert mechanism.release([0, 100]).value.dtype.kind == "i"


@pytest.mark.parametrize("kind", [{"epsilon": 1}, {"epsilon": "0.1", "grid": "1/4"}])
def test_rounding_of_less_than_nothing_gives_no_discount(kind):
    with pytest.raises(ParameterError, match="rounded_coordinates must be at least 0"):
        Laplace(sensitivity=5, rounded_coordinates=-1, **kind)


def test_noise_that_others_chose_is_described_by_its_scale():
    assert Laplace(scale=2, sensitivity=1) == Laplace(epsilon="0.5", sensitivity=1)
    assert Laplace(scale="0.3", sensitivity="0.5", grid="0.1") == Laplace(epsilon="5/3", sensitivity="0.5", grid="0.1")
    # What lies between two grid steps is no distance that values can have.
    assert Laplace(scale=10, sensitivity="1.5").guarantee.epsilon == Fraction(1, 10)
    for stated in ({}, {"epsilon": 1, "scale": 1}):
        with pytest.raises(ParameterError, match="epsilon=, or the scale="):
            Laplace(sensitivity=1, **stated)
    for scale in (0, -1, math.nan, math.inf, True):
        with pytest.raises(ParameterError):
            Laplace(scale=scale, sensitivity=1)


@pytest.mark.parametrize("value", [3.7, np.float64(3.7), [1, 3.7], np.array([3.7])])
def test_a_float_is_told_which_grid_it_needs(value):
    with pytest.raises(ParameterError, match=r'grid="0\.1" for one decimal') as refused:
        Laplace(epsilon=1, sensitivity=1).release(value)
    assert "3.7" not in str(refused.value)
    with pytest.raises(ParameterError, match="not a multiple of the grid step 1/2"):
        Laplace(epsilon=1, sensitivity=1, grid="0.5").release(Decimal("3.7"))
    assert (10 * Laplace(epsilon=1, sensitivity=1, grid="0.1").release(Decimal("3.7")).value).denominator == 1
