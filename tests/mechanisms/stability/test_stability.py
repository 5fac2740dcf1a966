"""REFUSED, stable values, propose-test-release and private bounds on the local sensitivity."""

from __future__ import annotations

import copy
import itertools
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest

import dither as dt
from dither.errors import NotPublic, ParameterError
from dither.mechanisms import BoundedLocalSensitivity, ProposeTestRelease, StableRelease
from dither.mechanisms.refusal import REFUSED, Refused
from dither.mechanisms.stability.distance_test import smallest_tail, tail_bounds
from dither.noise.integers import tables

CANARY = 987654321


def test_refused_is_one_value_without_truth():
    assert Refused() is REFUSED is dt.REFUSED
    for again in (copy.copy(REFUSED), copy.deepcopy([REFUSED])[0], pickle.loads(pickle.dumps(REFUSED))):
        assert again is REFUSED
    assert repr(REFUSED) == str(REFUSED) == "REFUSED"
    for use in (bool, lambda value: not value, lambda value: value or 1):
        with pytest.raises(TypeError, match="truth"):
            use(REFUSED)
    assert REFUSED != 0
    assert REFUSED != "REFUSED"
    assert {REFUSED: 1}[REFUSED] == 1


@pytest.mark.parametrize("epsilon", ["0.1", 1, 5])
@pytest.mark.parametrize("delta", ["1e-12", "1e-6", "0.01", "0.5"])
@pytest.mark.parametrize("draws", [1, 3])
def test_the_threshold_is_the_smallest_that_spends_at_most_delta(epsilon, delta, draws):
    scale = 1 / Fraction(epsilon)
    m = smallest_tail(scale, Fraction(delta), draws)
    together = [1 - (1 - float(tail_bounds(scale, k)[1])) ** draws for k in (m, m - 1)]
    assert together[0] <= float(Fraction(delta)) * (1 + 1e-9)
    assert together[1] > float(Fraction(delta)) * (1 - 1e-9)
    if draws == 1:
        assert tail_bounds(scale, m)[1] <= Fraction(delta) < tail_bounds(scale, m - 1)[0]


def test_planted_bug_the_continuous_threshold_with_discrete_noise_overspends():
    """ln(1/(2 delta))/epsilon rounded up is one step short at epsilon = 1, delta = 1e-6 ... 1e-5."""
    short = 0
    for delta in (Fraction(k, 10**7) for k in range(10, 100)):
        continuous = math.ceil(math.log(1 / (2 * float(delta))))
        short += tail_bounds(Fraction(1), continuous)[0] > delta
        assert tail_bounds(Fraction(1), smallest_tail(Fraction(1), delta))[1] <= delta
    assert short > 0


MECHANISMS = [
    StableRelease(epsilon=1, delta="1e-6"),
    ProposeTestRelease(epsilon=1, delta="1e-6", bound=2),
    ProposeTestRelease(epsilon=1, delta="1e-6", bound=2, grid=1),
]
each = pytest.mark.parametrize("mechanism", MECHANISMS, ids=["stable", "fine", "whole"])


@each
def test_far_is_published_near_is_refused(mechanism):
    for far in (10**4, np.int64(10**4), math.inf, 10**400):
        assert mechanism.release(CANARY, far).value is not REFUSED
    refusals = sum(mechanism.release(CANARY, 0).value is REFUSED for _ in range(200))
    assert refusals >= 198, "each is published with probability delta at most: three of 200 never"
    assert mechanism.published(math.inf) == (1, 1)
    assert mechanism.published(0)[1] <= mechanism.delta


@each
def test_nothing_about_the_distance_is_shown(mechanism):
    """Threat 54: scale and interval of a data-dependent release are not public."""
    for distance in (0, CANARY, math.inf):
        outcome = mechanism.release(7, distance)
        with pytest.raises(NotPublic):
            _ = outcome.scale
        with pytest.raises(NotPublic):
            outcome.interval("0.95")
        assert outcome.guarantee == mechanism.guarantee
        assert str(CANARY) not in repr(outcome)


@each
@pytest.mark.parametrize("distance", [-1, math.nan, -math.inf, 1.5, 2.0, "3", None, True, [1], CANARY * 0.5])
def test_distances_are_whole_numbers_or_infinite(mechanism, distance):
    with pytest.raises(ParameterError) as caught:
        mechanism.release(1, distance)
    assert "4938" not in str(caught.value)


def votes_distance(votes):
    """Add_remove, ties to the lowest index: changes needed for another winner, less one."""
    winner = votes.index(max(votes))
    steps = [votes[winner] - count + (winner < i) for i, count in enumerate(votes) if i != winner]
    return winner, min(steps) - 1


def brute_distance(votes, most=8):
    winner = votes.index(max(votes))
    seen = {tuple(votes)}
    for step in range(1, most):
        seen = {
            tuple(v + (i == j) * s for i, v in enumerate(t)) for t in seen for j in range(len(votes)) for s in (1, -1)
        }
        seen = {t for t in seen if min(t) >= 0}
        if any(t.index(max(t)) != winner for t in seen):
            return step - 1
    raise AssertionError


def test_the_mode_keeps_epsilon_and_delta_on_every_small_ballot():
    mechanism = StableRelease(epsilon=1, delta="0.01")
    for votes in itertools.product(range(5), repeat=2):
        winner, distance = votes_distance(list(votes))
        assert distance == brute_distance(list(votes))
        p = float(mechanism.published(distance)[1])
        for i in range(2):
            other = [v + (i == j) for j, v in enumerate(votes)]
            second, far = votes_distance(other)
            q = float(mechanism.published(far)[1])
            if winner != second:
                assert distance == far == 0
            one, two = np.array([1 - p, 0, 0]), np.array([1 - q, 0, 0])
            one[1 + winner], two[1 + second] = p, q
            for a, b in ((one, two), (two, one)):
                assert np.maximum(0, a - math.e * b).sum() <= 0.01 + 1e-12
    # Splitting the proof by d = 0 would be wrong: (2, 2) and its neighbour (3, 2) share a winner, not a distance.
    assert votes_distance([2, 2]) == (0, 0)
    assert votes_distance([3, 2]) == (0, 1)


def median(x):
    return sorted(x)[len(x) // 2]


def local_sensitivity(x, domain):
    changed = (median([*x[:i], v, *x[i + 1 :]]) for i in range(len(x)) for v in domain)
    return max(abs(median(x) - m) for m in changed)


def test_propose_test_release_of_a_median_on_all_small_tables():
    """d from the largest local sensitivity within k changes = d by search; it is 1-Lipschitz; d = 0 spends <= delta."""
    domain, n, bound = (0, 1, 3), 3, 1
    tables = list(itertools.product(domain, repeat=n))
    local = {x: local_sensitivity(list(x), domain) for x in tables}

    def hamming(x, y):
        return sum(a != b for a, b in zip(x, y, strict=True))

    def reach(x, k):
        return max(local[y] for y in tables if hamming(x, y) <= k)

    distance = {x: min((hamming(x, y) for y in tables if local[y] > bound), default=math.inf) for x in tables}
    mechanism = ProposeTestRelease(epsilon=2, delta="0.01", bound=bound, grid=1, relation="replace")
    assert mechanism.guarantee.relation is dt.Relation.REPLACE
    for x in tables:
        by_reach = next((k for k in range(n + 1) if reach(x, k) > bound), math.inf)
        assert by_reach == distance[x]
        assert (distance[x] == 0) == (local[x] > bound)
        if local[x] > bound:
            assert mechanism.published(distance[x])[1] <= Fraction(1, 100)
    reachlimit = 80
    noise = np.array([float(mechanism.answer.pmf(k)[1]) for k in range(-reachlimit, reachlimit + 1)])

    def law(x):
        p = float(mechanism.published(distance[x])[1])
        return np.append(1 - p, p * np.roll(noise, median(x)))

    for x, y in itertools.permutations(tables, 2):
        if hamming(x, y) == 1:
            assert abs(distance[x] - distance[y]) <= 1
            assert np.maximum(0, law(x) - math.exp(2) * law(y)).sum() <= 0.01 + 1e-9


def test_propose_test_release_refuses_a_wrong_use():
    with pytest.raises(ParameterError):
        ProposeTestRelease(epsilon=1, delta="1e-6", bound=0)
    with pytest.raises(ParameterError):
        ProposeTestRelease(epsilon=1, delta="0.6", bound=1)
    whole = MECHANISMS[2]
    for value in (1.5, Fraction(CANARY, 2), None, True):
        for distance in (0, math.inf):
            with pytest.raises(ParameterError) as caught:
                whole.release(value, distance)
            assert "98765" not in str(caught.value)
            assert "49382" not in str(caught.value)
    fine = MECHANISMS[1]
    assert fine.grid.numerator == 1
    assert fine.release(Fraction(1, 3), math.inf).value % fine.grid == 0
    with pytest.raises(ParameterError):
        fine.release([1, 2], math.inf)
    assert whole.release([1, 2], math.inf).value.shape == (2,)


def test_the_noise_is_for_the_bound_not_for_one():
    """E17: Lap(1/epsilon) for a bound above 1 would not be private."""
    assert ProposeTestRelease(epsilon=2, delta="1e-6", bound=7, grid=1).answer.scale == 7


def test_the_private_bound_is_above_the_local_sensitivity():
    mechanism = BoundedLocalSensitivity(epsilon=2, delta="0.05", slope=1, grid=1)
    assert mechanism.shift == 2
    below = tail_bounds(mechanism.bound_scale_steps, int(mechanism.shift) + 1)
    assert below[1] <= Fraction(5, 100) < tail_bounds(mechanism.bound_scale_steps, int(mechanism.shift))[0]
    bounds = np.array([int(mechanism.release(0, 40).bound) for _ in range(4000)])
    share = (bounds < 40).mean()
    assert abs(share - float(below[1])) < 7 * math.sqrt(float(below[1]) / 4000)
    capped = BoundedLocalSensitivity(epsilon=2, delta="0.05", grid=1, ceiling=41)
    assert max(capped.release(0, 40).bound for _ in range(50)) == 41
    assert min(mechanism.release(0, 0).bound for _ in range(200)) >= 1, "noise of scale 0 is never added"


def test_scale_and_interval_follow_from_the_published_bound():
    mechanism = BoundedLocalSensitivity(epsilon=2, delta="1e-5", slope=1, grid=1)
    outcome = mechanism.release(1000, 3)
    assert outcome.scale == outcome.bound
    low, high = outcome.interval("0.95")
    assert isinstance(low, int)
    assert high - outcome.value == outcome.value - low
    covered = [o.interval("0.9") for o in (mechanism.release(1000, 3) for _ in range(500))]
    assert 0.8 < np.mean([a <= 1000 <= b for a, b in covered]) < 0.97


def test_rounding_is_paid_for():
    rounding = BoundedLocalSensitivity(epsilon=2, delta="1e-5", slope="0.3")
    assert rounding.bound_scale_steps == Fraction(3, 10) / rounding.grid + 1
    outcome = rounding.release(Fraction(1, 3), Fraction(2, 7))
    assert outcome.value % rounding.grid == 0
    assert outcome.scale == outcome.bound + rounding.grid
    with pytest.raises(ParameterError, match="multiple"):
        BoundedLocalSensitivity(epsilon=1, delta="1e-5", slope="0.3", grid=1)
    with pytest.raises(ParameterError, match="ceiling"):
        BoundedLocalSensitivity(epsilon=1, delta="1e-5", slope=1, grid=1, ceiling="0.5")


def test_huge_and_hostile_local_sensitivities():
    mechanism = BoundedLocalSensitivity(epsilon=1, delta="1e-5", grid=1)
    assert mechanism.release(0, 10**40).value is REFUSED, "decided by the published bound alone"
    for bad in (-CANARY, CANARY + 0.5, math.nan, math.inf, None, True, "7", [7], Fraction(CANARY, 2)):
        with pytest.raises(ParameterError) as caught:
            mechanism.release(0, bad)
        assert "98765" not in str(caught.value)
        assert "49382" not in str(caught.value)
    for bad in ([1, 2], 1.5, None):
        with pytest.raises(ParameterError):
            mechanism.release(bad, 7)


def test_nothing_is_remembered_under_a_data_dependent_number():
    mechanism = BoundedLocalSensitivity(epsilon=1, delta="1e-5", grid=1)
    mechanism.release(0, 7)
    caches = [found for found in vars(tables).values() if hasattr(found, "cache_info")]
    before = [cache.cache_info().currsize for cache in caches]
    for local in range(40):
        mechanism.release(0, local)
        StableRelease(epsilon=1, delta="1e-6").release(0, local)
    assert caches
    assert [cache.cache_info().currsize for cache in caches] == before
