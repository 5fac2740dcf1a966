"""Worked examples: local and smooth sensitivity, where printed formulas go wrong, graphs, and one over a count."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest

from dither import sensitivity
from dither.errors import ParameterError
from dither.sensitivity import brute_force

LOW, HIGH = 10_000, 100_000


def test_median_global():
    """The whole range, witnessed by (0,0,0,M,M) and (0,0,M,M,M)."""
    median = sensitivity.median
    assert median(0, 1).l1 == 1
    assert (median.value([0, 0, 0, 1, 1], 0, 1), median.value([0, 0, 1, 1, 1], 0, 1)) == (0, 1)


def test_max_without_a_range_is_refused():
    with pytest.raises(ParameterError, match="infinite without a declared range"):
        sensitivity.max(None, None)


@pytest.mark.parametrize(
    ("x", "f", "local"),
    [
        ([50000, 50000, 20000, 10000, 60000], 50000, 40000),
        ([80000, 50000, 70000, 15000, 60000], 65000, 35000),
        ([80000, 60000, 75000, 100000, 60000], 40000, 50000),
    ],
)
def test_largest_salary_difference(x, f, local):
    assert sensitivity.max_difference.value(x, LOW, HIGH) == f
    assert sensitivity.max_difference.local(x, LOW, HIGH) == local
    assert sensitivity.max_difference(LOW, HIGH, n=5).l1 == 90000


def test_a_salary_outside_the_range_is_clamped():
    x = [80000, 50000, 70000, 150000, 60000]
    assert (sensitivity.max_difference.value(x, LOW, HIGH), sensitivity.max_difference.local(x, LOW, HIGH)) == (
        50000,
        40000,
    )


def test_median_local_breach():
    """Same median, local sensitivities 0 and 100: noise scaled to local sensitivity tells the two apart."""
    ours, theirs = [0, 0, 0, 0, 0, 100, 100], [0, 0, 0, 0, 100, 100, 100]
    median = sensitivity.median
    assert median.value(ours, 0, 100) == median.value(theirs, 0, 100) == 0
    assert (median.local(ours, 0, 100), median.local(theirs, 0, 100)) == (0, 100)


def test_median_local_and_reach():
    x = list(range(1, 10))
    assert (sensitivity.median.value(x, 0, 10), sensitivity.median.local(x, 0, 10)) == (5, 1)
    assert [sensitivity.median.reach(x, k, 0, 10) for k in range(10)] == list(range(1, 11))


def test_median_smooth():
    expected = {"0.05": 6.376281516217733, "0.1": 4.065696597405991, "0.5": 1.2130613194252668, "1": 1.0}
    for beta, bound in expected.items():
        found = sensitivity.median.smooth(range(1, 10), beta, 0, 10)
        assert float(found) == pytest.approx(bound, abs=1e-12)


def test_median_smooth_where_printed_formulas_go_wrong():
    """Printed: 6.0 for the second table, 4.912 and 4.445 for others; these three are right."""
    tables = [[0, 0, 0, 1, 6], [0, 0, 0, 0, 6], [0, 0, 0, 0, 1]]
    found = [float(sensitivity.median.smooth(x, "0.1", 0, 6)) for x in tables]
    assert found == pytest.approx([5.4290245082157575, 5.4290245082157575, 4.912384518467891], abs=1e-12)


def test_a_constant_is_smooth():
    """The global sensitivity, for every beta including 0."""
    for beta in (0, "0.1", 3):
        assert brute_force.is_smooth(lambda x: Fraction(5), lambda x: x[0], beta, range(6), 2)


def test_triangles():
    edges = [(0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (1, 4)]
    triangles = sensitivity.triangles
    assert triangles(5).l1 == 3
    assert (triangles.value(edges, vertices=5), triangles.local(edges, vertices=5)) == (0, 3)
    degrees = [sum(v in pair for pair in edges) for v in range(5)]
    assert max(degrees) == 3
    # Local sensitivity moves by at most 1 per edge: here around this graph.
    around = [frozenset(edges) ^ {pair} for pair in itertools.combinations(range(5), 2)]
    moved = [abs(triangles.local(list(graph), vertices=5) - 3) for graph in around]
    assert max(moved) == 1


def test_reciprocal():
    reciprocal = sensitivity.reciprocal
    assert float(reciprocal.local(10)) == pytest.approx(0.011111111111111112, abs=1e-12)
    with pytest.raises(ParameterError, match="infinite global"):
        reciprocal()
    with pytest.raises(ParameterError, match="infinite smooth"):
        reciprocal.smooth(10, 1)
