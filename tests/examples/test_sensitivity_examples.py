"""Worked examples: global, local and smooth sensitivities, and where printed formulas go wrong."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest

import dither as dt

sensitivity = dt.sensitivity


def test_count_sensitivity(example):
    assert sensitivity.count("add_remove").l1 == example.expected.add_remove
    assert sensitivity.count("replace").l1 == example.expected.replace


def test_histogram_sensitivity(example):
    """1 or 2: each is right for its own relation."""
    for relation in ("add_remove", "replace"):
        found, expected = sensitivity.histogram(relation), getattr(example.expected, relation)
        assert (found.l1, found.linf) == (expected["L1"], expected["Linf"])
        assert float(found.l2) == example.near(expected["L2"])


def test_salary_sum_sensitivity(example):
    for relation in ("add_remove", "replace"):
        assert sensitivity.sum(example.given.lo, example.given.hi, relation).l1 == getattr(example.expected, relation)


def test_k_counts_sensitivity(example):
    found = sensitivity.counts(example.given.k)
    assert (found.l1, found.l2, found.linf) == (example.expected.L1, example.expected.L2, example.expected.Linf)


def test_norm_chain(example):
    found = sensitivity.counts(example.given.k)
    assert (found.l1, found.l2) == (example.given.delta1, example.given.delta2)
    assert (found.l2 <= found.l1 <= math.isqrt(example.given.k) * found.l2) == example.expected.holds
    assert (found.l1 == math.isqrt(example.given.k) * found.l2) == example.expected.equality_right


def test_median_global(example):
    top, median = example.given.M, sensitivity.median
    assert median(0, top).l1 == example.expected.value
    assert median.value([0, 0, 0, top, top], 0, top) == example.expected.median_D
    assert median.value([0, 0, top, top, top], 0, top) == example.expected.median_D_prime


def test_max_unbounded(example):
    assert example.expected.must_refuse
    with pytest.raises(dt.ParameterError, match="infinite without a declared range"):
        sensitivity.max(example.given.lo, example.given.hi)
    with pytest.raises(dt.ParameterError):
        sensitivity.sum(0, "inf")


def test_maxdiff_d1(example):
    largest_difference(example)


def test_maxdiff_d2(example):
    """A row outside the declared range is clamped by itself, and refused where it was declared as a bound."""
    given, expected = example.given, example.expected
    statistic, bounds = sensitivity.max_difference, (given.lo, given.hi)
    assert (statistic.value(given.x, *bounds), statistic.local(given.x, *bounds)) == (expected.f, expected.LS)
    printed = [given.printed_row if x == 15000 else x for x in given.x]
    clipped = expected.if_clipped_to_100000
    assert (statistic.value(printed, *bounds), statistic.local(printed, *bounds)) == (clipped["f"], clipped["LS"])
    assert expected.printed_row_must_be_refused
    with pytest.raises(dt.ParameterError):
        dt.Laplace(epsilon=1, sensitivity=sensitivity.sum(given.printed_row, given.hi))


def test_maxdiff_d3(example):
    largest_difference(example)


def largest_difference(example):
    given, expected = example.given, example.expected
    statistic = sensitivity.max_difference
    assert statistic.value(given.x, given.lo, given.hi) == expected.f
    assert statistic.local(given.x, given.lo, given.hi) == expected.LS
    assert statistic(given.lo, given.hi, n=len(given.x)).l1 == expected.GS


def test_median_local_breach(example):
    """Same median, local sensitivities 0 and 100: noise scaled to local sensitivity tells the two apart."""
    given, expected, median = example.given, example.expected, sensitivity.median
    bounds = (given.lo, given.hi)
    assert [median.value(x, *bounds) for x in (given.D, given.D_prime)] == [expected.median_D, expected.median_D_prime]
    assert [median.local(x, *bounds) for x in (given.D, given.D_prime)] == [expected.LS_D, expected.LS_D_prime]


def test_median_local_formula(example):
    given, median = example.given, sensitivity.median
    assert median.value(given.x, given.lo, given.hi) == example.expected.median
    assert median.local(given.x, given.lo, given.hi) == example.expected.LS


def test_median_ak(example):
    given = example.given
    found = [sensitivity.median.reach(given.x, k, given.lo, given.hi) for k in range(len(example.expected.A))]
    assert found == example.expected.A


def test_median_smooth_1to9(example):
    given = example.given
    found = [float(sensitivity.median.smooth(given.x, str(beta), given.lo, given.hi)) for beta in given.betas]
    assert found == example.near(example.expected.S)


def test_median_smooth_counterexample(example):
    """The printed formulas change by e^(2 beta) between the last two tables, neighbours; this one does not."""
    given, expected = example.given, example.expected
    found = [float(sensitivity.median.smooth(x, str(given.beta), given.lo, given.hi)) for x in given.tables]
    assert found == example.near(expected.S)
    assert found[1] <= found[2] * math.exp(given.beta) * (1 + 1e-12)
    for printed in (expected.printed_S, expected.printed_Ak_version):
        assert printed[1] > printed[2] * math.exp(1.9 * given.beta)


def test_smooth_constant(example):
    """The global sensitivity is a smooth bound for every beta, 0 included, and every mechanism takes it."""
    bound = Fraction(example.given.GS)
    for beta in (0, "0.1", 3):
        smooth = sensitivity.brute_force.is_smooth(lambda x: bound, lambda x: x[0], beta, range(6), 2)
        assert smooth == example.expected.valid
    for make in (dt.SmoothCauchy, dt.SmoothStudentT, dt.SmoothLomax):
        assert make(epsilon=1, grid=1).release(100, bound).guarantee == dt.PureDP(1, "replace")


def test_triangles(example):
    given, expected = example.given, example.expected
    edges, n, triangles = [tuple(edge) for edge in given.edges], given.n, sensitivity.triangles
    assert triangles(n).l1 == expected.GS
    assert (triangles.value(edges, vertices=n), triangles.local(edges, vertices=n)) == (expected.triangles, expected.LS)
    assert dt.graph.max_degree(edges, vertices=n, epsilon=500).value == expected.max_degree
    around = [frozenset(edges) ^ {pair} for pair in itertools.combinations(range(n), 2)]
    moved = [abs(triangles.local(list(graph), vertices=n) - expected.LS) for graph in around]
    assert max(moved) == expected.GS_of_LS


def test_reciprocal(example):
    assert float(sensitivity.reciprocal.local(example.given.f)) == example.near(example.expected.LS)
    assert example.expected.GS == example.expected.smooth == "infinite"
    with pytest.raises(dt.ParameterError, match="infinite global"):
        sensitivity.reciprocal()
    with pytest.raises(dt.ParameterError, match="infinite smooth"):
        sensitivity.reciprocal.smooth(example.given.f, 1)


def test_lln(example):
    """The example adds the roots of both parts of rho, t/sigma and e^(3 sigma^2/2) s; the mechanism's parts add up."""
    given = example.given
    mechanism = dt.SmoothLaplaceLogNormal(divisor=str(given.s), beta=str(given.t), sigma=str(given.sigma))
    parts = given.t / given.sigma, math.exp(1.5 * given.sigma**2) * given.s
    assert sum(parts) == example.near(example.expected.eps)
    assert sum(parts) ** 2 / 2 == example.near(example.expected.rho)
    assert float(mechanism.guarantee.rho) == pytest.approx(math.hypot(*parts) ** 2 / 2, rel=1e-12)
    assert float(mechanism.guarantee.rho) < example.expected.rho
