"""The private cost of a spanning tree: public edges, private weights."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import networkx
import pytest
from scipy.sparse import coo_array, coo_matrix, csc_array, csc_matrix, csr_array, csr_matrix

import dither as dt

CYCLE = [(i, (i + 1) % 20, 1) for i in range(20)]
COMPLETE = [(u, v, 1) for u, v in itertools.combinations(range(12), 2)]


@pytest.mark.parametrize("method", ["global", "smooth"])
def test_every_form(weighted, method):
    for most, cost in ((10, 10.5), (3, 6.5)):
        found = dt.graph.mst_cost(weighted, epsilon=10**5, max_weight=most, method=method).value
        assert found == pytest.approx(cost, abs=0.02)


def test_guarantee_scale_and_interval():
    release = dt.graph.mst_cost(CYCLE, epsilon="0.5", max_weight=10)
    assert (release.guarantee.epsilon, release.guarantee.relation) == (Fraction(1, 2), dt.Relation.EDGE_WEIGHT)
    assert 20 <= release.scale < Fraction("20.001")
    low, high = release.interval("0.95")
    assert low < release.value < high
    hidden = dt.graph.mst_cost(CYCLE, epsilon="0.5", max_weight=10, method="smooth")
    assert hidden.guarantee.relation is dt.Relation.EDGE_WEIGHT
    with pytest.raises(dt.NotPublic):
        hidden.interval("0.95")
    # The grid comes from the parameters alone: 8 / 2^20, the power of two below 10 less twenty more.
    for answer in (release, hidden):
        assert (answer.exact * 2**17).denominator == 1
        assert answer.value == float(answer.exact)


def test_laplace_noise_of_the_largest_weight():
    draws = 1500
    noises = [dt.graph.mst_cost(CYCLE, epsilon=1, max_weight=10).value - 19 for _ in range(draws)]
    assert abs(sum(noises) / draws) < 6.5 * math.sqrt(200 / draws)
    assert sum(map(abs, noises)) / draws == pytest.approx(10, rel=0.17)


def test_smooth_noise_is_small_where_there_are_many_detours():
    """All weights are 1 of at most 10: near this graph no weight matters much, and the global noise is far larger."""
    draws = 200
    mechanism = dt.SmoothCauchy(epsilon=1)
    smooth = dt.sensitivity.mst_cost.smooth(COMPLETE, mechanism.beta, 10)
    scale = float(smooth / mechanism.divisor)
    assert smooth < 2
    answers = [dt.graph.mst_cost(COMPLETE, epsilon=1, max_weight=10, method="smooth").value for _ in range(draws)]
    within = sum(abs(answer - 11) <= scale for answer in answers) / draws
    assert abs(within - 0.5) < 6.5 * math.sqrt(0.25 / draws)


def test_weights_are_private_records_and_edges_are_not():
    strange = [(0, 1, float("nan")), (1, 2, None), (2, 3, 10**400), (3, 0, "5"), (0, 2, -3)]
    assert dt.graph.mst_cost(strange, epsilon=10**5, max_weight=10).value == pytest.approx(0, abs=0.02)
    for wrong in ([], [(0, 0, 1)], [(0, 1, 1), (1, 0, 2)], [(0, 1, 1), (2, 3, 1)], networkx.empty_graph(3)):
        with pytest.raises(dt.ParameterError, match=r"connected|twice"):
            dt.graph.mst_cost(wrong, epsilon=1, max_weight=10)


@pytest.mark.parametrize("form", [coo_array, csr_array, csc_array, coo_matrix, csr_matrix, csc_matrix])
def test_a_stored_zero_of_a_sparse_matrix_is_an_edge(form):
    """Without the edges of weight 0 the path would not be connected, and an error would tell a private weight."""
    rows, columns = [0, 1, 2, 1, 2, 3], [1, 2, 3, 0, 1, 2]
    for weights in ([5, 0, 2], [0, 0, 0], [0.0, 7.0, 0.0]):
        matrix = form((weights * 2, (rows, columns)), shape=(4, 4))
        found = dt.graph.mst_cost(matrix, epsilon=10**5, max_weight=10).value
        assert found == pytest.approx(sum(weights), abs=0.02)


@pytest.mark.parametrize("form", ["lil", "dok", "dia", "bsr"])
def test_sparse_matrices_that_lose_zeros_are_refused_whatever_they_hold(form):
    for weights in ([5, 3, 2], [5, 0, 2], [0, 0, 0]):
        matrix = csr_array((weights * 2, ([0, 1, 2, 1, 2, 3], [1, 2, 3, 0, 1, 2])), shape=(4, 4)).asformat(form)
        with pytest.raises(dt.ParameterError, match="lose edges of weight 0"):
            dt.graph.mst_cost(matrix, epsilon=1, max_weight=10)


@pytest.mark.parametrize(
    ("price", "message"),
    [
        ({"epsilon": 0, "max_weight": 1}, "epsilon"),
        ({"epsilon": 1, "max_weight": 0}, "max_weight"),
        ({"epsilon": 1, "max_weight": float("inf")}, "max_weight"),
        ({"epsilon": 1, "max_weight": 1, "method": "bounded"}, "method must be"),
    ],
)
def test_refused_parameters(price, message):
    with pytest.raises(dt.ParameterError, match=message):
        dt.graph.mst_cost(CYCLE, **price)
