"""Smoothness of the numbers returned, over all neighbours of all small datasets; the printed slips are rejected."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from dither.sensitivity import brute_force, max, median, min, mst_cost, reciprocal, triangles, trimmed_mean

DOMAIN = (0, 1, 6)


def middle(x):
    return x[(len(x) + 1) // 2 - 1]


def test_median(beta):
    def smooth(x):
        return median.smooth(x, beta, 0, 6)

    for n in (1, 2, 5, 6):
        assert brute_force.is_smooth(smooth, middle, beta, DOMAIN, n)


def test_extremes_and_trimmed_means(beta):
    for statistic, plain in ((min, lambda x: x[0]), (max, lambda x: x[-1])):
        assert brute_force.is_smooth(lambda x, s=statistic: s.smooth(x, beta, 0, 6), plain, beta, DOMAIN, 4)
    inner = lambda x: Fraction(x[1] + x[2], 2)  # noqa: E731
    assert brute_force.is_smooth(lambda x: trimmed_mean(1).smooth(x, beta, 0, 6), inner, beta, DOMAIN, 4)


def test_triangles(beta, count_triangles):
    def smooth(graph):
        return triangles.smooth(list(graph), beta, vertices=4)

    assert brute_force.is_smooth(smooth, count_triangles(4), beta, 4, neighbours="edge")


def test_mst_cost(beta, kruskal):
    ends = [(0, 1), (1, 2), (0, 2), (2, 3)]

    def smooth(weights):
        return mst_cost.smooth([(*pair, weight) for pair, weight in zip(ends, weights, strict=True)], beta, 6)

    assert brute_force.is_smooth(smooth, kruskal(ends, 4), beta, DOMAIN, len(ends), "edge_weight")


def test_reciprocal_away_from_zero(beta):
    def smooth(x):
        return reciprocal.smooth(len(x), beta, at_least=3)

    inverse = lambda x: Fraction(1, len(x) if len(x) > 3 else 3)  # noqa: E731
    assert brute_force.is_smooth(smooth, inverse, beta, (0,), 40, "add_remove")


@pytest.mark.parametrize("extra", [0, 1])
def test_the_printed_reach_of_the_median_is_rejected(extra, printed_median):
    """One misses a reachable gap, the other counts an unreachable one: both change by e^0.2 between neighbours."""

    def printed(x):
        return printed_median(x, 0, 6, "0.1", extra)

    assert not brute_force.is_smooth(printed, middle, "0.1", DOMAIN, 5)
    a, b = (0, 0, 0, 0, 6), (0, 0, 0, 0, 1)
    assert float(printed(a) / printed(b)) == pytest.approx(math.exp(0.2))
    assert float(median.smooth(a, "0.1", 0, 6) / median.smooth(b, "0.1", 0, 6)) < math.exp(0.1) + 1e-15


def test_the_printed_condition_is_not_smoothness():
    """S(D) <= e^b LS(D) accepts local sensitivity itself, which is not smooth, and refuses the right bound."""

    def printed_condition(bound, x):
        local = median.local(x, 0, 6)
        return local <= bound(x) <= Fraction(math.exp(0.1)) * local

    def local(x):
        return median.local(x, 0, 6)

    def smooth(x):
        return median.smooth(x, "0.1", 0, 6)

    everything = list(brute_force.datasets(DOMAIN, 5))
    assert all(printed_condition(local, x) for x in everything)
    assert not brute_force.is_smooth(local, middle, "0.1", DOMAIN, 5)
    assert not all(printed_condition(smooth, x) for x in everything)
    assert brute_force.is_smooth(smooth, middle, "0.1", DOMAIN, 5)


def test_a_bound_below_local_sensitivity_is_rejected():
    assert not brute_force.is_smooth(lambda x: Fraction(1), middle, "0.1", DOMAIN, 3)
    assert not brute_force.is_smooth(lambda x: Fraction(0), middle, "0.1", DOMAIN, 3)


def test_a_scan_cut_short_is_rejected():
    """Reading only the nearest ranks and returning the best of them is not smooth; with the rest's bound it is."""

    def cut(x, rest):
        found = [median.reach(x, k, 0, 6) * Fraction(math.exp(-0.3 * k)) for k in range(2)]
        return sorted([*found, Fraction(6 * math.exp(-0.3 * 2)) * rest])[-1]

    assert not brute_force.is_smooth(lambda x: cut(x, 0), middle, "0.3", DOMAIN, 5)
    assert brute_force.is_smooth(lambda x: cut(x, 1), middle, "0.3000000001", DOMAIN, 5)
