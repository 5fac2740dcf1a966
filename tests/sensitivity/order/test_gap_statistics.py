"""Order statistics and trimmed means against the definitions, on every small dataset."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dither import sensitivity
from dither.errors import ParameterError
from dither.sensitivity import brute_force

DOMAIN, LOWER, UPPER = (0, 1, 4, 6), 0, 6


def by_rank(rank):
    return lambda x: x[rank - 1]


def trimmed(m):
    def mean(x):
        kept = x[m : len(x) - m]
        return sum(kept) / Fraction(len(kept))

    return mean


STATISTICS = [
    *((n, sensitivity.order_statistic(r), by_rank(r)) for n in (1, 2, 3, 4) for r in range(1, n + 1)),
    *((n, sensitivity.median, by_rank((n + 1) // 2)) for n in (1, 2, 3, 4, 5)),
    *((n, sensitivity.min, by_rank(1)) for n in (1, 3)),
    *((n, sensitivity.max, by_rank(n)) for n in (1, 3)),
    *((n, sensitivity.quantile("0.75"), by_rank(r)) for n, r in ((1, 1), (3, 3), (4, 3), (5, 4))),
    *((n, sensitivity.trimmed_mean(m), trimmed(m)) for n, m in ((1, 0), (3, 0), (3, 1), (4, 1), (5, 1), (5, 2))),
]


@pytest.mark.parametrize(("n", "statistic", "plain"), STATISTICS)
def test_every_dataset(n, statistic, plain, beta, close_to_definition):
    space = brute_force.Space(plain, DOMAIN)
    for x in brute_force.datasets(DOMAIN, n):
        assert statistic.value(x, LOWER, UPPER) == plain(x)
        assert statistic.local(x, LOWER, UPPER) == space.local(x)
        reaches = [space.reach(x, k) for k in range(n + 2)]
        assert [statistic.reach(x, k, LOWER, UPPER) for k in range(n + 2)] == reaches
        found = statistic.smooth(x, beta, LOWER, UPPER)
        assert found == space.smooth(x, beta)
        close_to_definition(found, reaches, Fraction(beta))
        assert statistic.with_smooth(x, beta, LOWER, UPPER) == (plain(x), found)


@pytest.mark.parametrize(("n", "statistic", "plain"), STATISTICS)
def test_distance_for_propose_test_release(n, statistic, plain):
    """Equal to the definition, and it moves by at most 1 between neighbours."""
    space = brute_force.Space(plain, DOMAIN)
    for bound in (0, "0.5", 1, 2, 4, 5, "5.99", 6, 7):
        distances = {x: statistic.distance(x, bound, LOWER, UPPER) for x in brute_force.datasets(DOMAIN, n)}
        for x, d in distances.items():
            assert d == space.distance_beyond(x, bound)
            assert statistic.distance(x, bound, LOWER, UPPER, most=1) == (d if d == float("inf") else min(d, 1))
            assert all(d == distances[y] or abs(d - distances[y]) <= 1 for y in space.around(x))


def test_the_whole_range_is_attained_globally():
    for n in (1, 2, 3):
        for rank in range(1, n + 1):
            truth = brute_force.global_(by_rank(rank), DOMAIN, n)
            assert sensitivity.order_statistic(rank)(LOWER, UPPER).l1 == truth.l1
    empty_is_lower = lambda x: x[(len(x) + 1) // 2 - 1] if x else 0  # noqa: E731
    truth = brute_force.global_(empty_is_lower, DOMAIN, 3, "add_remove")
    assert sensitivity.median(LOWER, UPPER, "add_remove").l1 == truth.l1


def test_ranks_that_do_not_exist():
    for make in (lambda: sensitivity.order_statistic(0), lambda: sensitivity.order_statistic("2")):
        with pytest.raises(ParameterError, match="rank"):
            make()
    with pytest.raises(ValueError, match="rank 4 of 3 records"):
        sensitivity.order_statistic(4).local([1, 2, 3], 0, 9)
    for q in (0, 1, "nan", 2):
        with pytest.raises(ValueError, match="quantile"):
            sensitivity.quantile(q)
    with pytest.raises(ValueError, match="drop fewer"):
        sensitivity.trimmed_mean(2).local([1, 2, 3, 4], 0, 9)
    for wrong in (-1, True, 1.5):
        with pytest.raises(ValueError, match="dropped at each end"):
            sensitivity.trimmed_mean(wrong)


def test_parameters_are_checked_before_the_data_are_read():
    """The same error for any column, even for one that is no column."""
    for column in ([1, 2, 3], [], "abc"):
        for beta in (0, -1, "nan", True, None):
            with pytest.raises(ValueError, match="beta"):
                sensitivity.median.smooth(column, beta, 0, 9)
        for lower, upper in ((9, 0), (1, 1), (None, 4), (0, "inf"), (0, 10**400), (0, "a")):
            with pytest.raises(ValueError, match=r"bound|range"):
                sensitivity.median.local(column, lower, upper)
        for k in (-1, 0.5, True):
            with pytest.raises(ValueError, match="k must be"):
                sensitivity.median.reach(column, k, 0, 9)
        for bound in (-1, "nan"):
            with pytest.raises(ValueError, match="proposed bound"):
                sensitivity.median.distance(column, bound, 0, 9)
