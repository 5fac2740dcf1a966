"""Global sensitivities of bounded statistics and of graphs against their definition; what is refused, and why."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dither import sensitivity
from dither.errors import ParameterError, RelationMismatch
from dither.neighbours import Relation
from dither.sensitivity import brute_force

RANGES = [(0, 4), (-2, 5), (3, 7), ("-0.5", "0.25")]


def values(lower, upper):
    low, high = Fraction(lower), Fraction(upper)
    return (low, (2 * low + high) / 3, high)


def norms(found):
    return brute_force.Norms(found.l1, found.l2_squared, found.linf)


@pytest.mark.parametrize(("lower", "upper"), RANGES)
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_centred_sum(lower, upper, relation):
    middle = (Fraction(lower) + Fraction(upper)) / 2
    truth = brute_force.global_(lambda x: sum(v - middle for v in x), values(lower, upper), 3, relation)
    assert norms(sensitivity.centred_sum(lower, upper, relation)) == truth


@pytest.mark.parametrize(("lower", "upper"), RANGES)
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_means(lower, upper, n):
    domain = values(lower, upper)
    truth = brute_force.global_(lambda x: sum(x) / Fraction(n), domain, n)
    assert norms(sensitivity.mean(n, lower, upper)) == truth == norms(sensitivity.trimmed_mean(0)(n, lower, upper))
    if n > 2:
        truth = brute_force.global_(lambda x: sum(x[1:-1]) / Fraction(n - 2), domain, n)
        assert norms(sensitivity.trimmed_mean(1)(n, lower, upper)) == truth


@pytest.mark.parametrize(("lower", "upper"), RANGES)
@pytest.mark.parametrize("n", [2, 3, 4, 5])
@pytest.mark.parametrize("unbiased", [False, True])
def test_variance(lower, upper, n, unbiased):
    def variance(x):
        mean = sum(x) / Fraction(n)
        return sum((v - mean) ** 2 for v in x) / (n - unbiased)

    truth = brute_force.global_(variance, values(lower, upper), n)
    assert norms(sensitivity.variance(n, lower, upper, unbiased=unbiased)) == truth


@pytest.mark.parametrize(("lower", "upper"), RANGES)
def test_range_statistics(lower, upper):
    domain = values(lower, upper)
    for n in (2, 3):
        truth = brute_force.global_(lambda x: x[-1] - x[0], domain, n)
        assert norms(sensitivity.max_difference(lower, upper, n=n)) == truth
        assert norms(sensitivity.min(lower, upper)) == brute_force.global_(lambda x: x[0], domain, n)
        assert norms(sensitivity.max(lower, upper)) == brute_force.global_(lambda x: x[-1], domain, n)
    truth = brute_force.global_(lambda x: x[-1] - x[0] if x else 0, domain, 3, "add_remove")
    assert norms(sensitivity.max_difference(lower, upper, "add_remove")) == truth
    first = brute_force.global_(lambda x: x[0] if x else domain[0], domain, 3, "add_remove")
    assert norms(sensitivity.min(lower, upper, "add_remove")) == first


def test_graph_statistics(count_triangles, kruskal):
    for n in (3, 4, 5):
        truth = brute_force.global_(count_triangles(n), n, neighbours="edge")
        assert norms(sensitivity.triangles(n)) == truth

        def largest_degree(graph, n=n):
            return sorted(sum(v in pair for pair in graph) for v in range(n))[-1]

        if n < 5:
            assert norms(sensitivity.max_degree()) == brute_force.global_(largest_degree, n, neighbours="edge")
            assert norms(sensitivity.edges()) == brute_force.global_(len, n, neighbours="edge")
    for ends in ([(0, 1), (1, 2), (0, 2)], [(0, 1), (1, 2)]):
        truth = brute_force.global_(kruskal(ends, 3), (0, 1, 3), len(ends), "edge_weight")
        assert norms(sensitivity.mst_cost(3)) == truth


def test_relations_are_carried():
    assert sensitivity.mean(5, 0, 1).relation is Relation.REPLACE
    assert sensitivity.median(0, 1).relation is Relation.REPLACE
    assert sensitivity.median(0, 1, "add_remove").relation is Relation.ADD_REMOVE
    assert sensitivity.triangles(4).relation is Relation.EDGE
    assert sensitivity.mst_cost(4).relation is Relation.EDGE_WEIGHT
    assert sensitivity.reciprocal(at_least=2).relation is Relation.ADD_REMOVE


@pytest.mark.parametrize(
    ("statistic", "relation"),
    [
        (lambda r: sensitivity.mean(5, 0, 1, r), "add_remove"),
        (lambda r: sensitivity.variance(5, 0, 1, r), "add_remove"),
        (lambda r: sensitivity.trimmed_mean(1)(5, 0, 1, r), "add_remove"),
        (lambda r: sensitivity.median(0, 1, r), "owner"),
        (lambda r: sensitivity.centred_sum(0, 1, r), "edge"),
        (lambda r: sensitivity.triangles(5, r), "replace"),
        (lambda r: sensitivity.edges(r), "edge_weight"),
        (lambda r: sensitivity.max_degree(r), "add_remove"),
        (lambda r: sensitivity.mst_cost(5, r), "edge"),
        (lambda r: sensitivity.reciprocal(r, at_least=3), "replace"),
        (lambda r: sensitivity.ratio(r), "edge"),
    ],
)
def test_another_relation_is_refused(statistic, relation):
    with pytest.raises(RelationMismatch, match=relation):
        statistic(relation)


@pytest.mark.parametrize(
    "statistic",
    [
        sensitivity.sum,
        sensitivity.centred_sum,
        lambda *bounds: sensitivity.mean(3, *bounds),
        lambda *bounds: sensitivity.variance(3, *bounds),
        lambda *bounds: sensitivity.trimmed_mean(1)(3, *bounds),
        sensitivity.min,
        sensitivity.max,
        sensitivity.median,
        sensitivity.quantile("0.9"),
        sensitivity.max_difference,
    ],
)
def test_without_a_range_the_message_says_what_to_declare(statistic):
    for bounds in ((), (0,), (None, 5)):
        with pytest.raises(ParameterError, match="give lower and upper"):
            statistic(*bounds)
    for bounds in ((5, 0), (1, 1), (0, "inf"), ("nan", 1), (0, 10**400)):
        with pytest.raises(ParameterError, match="bound"):
            statistic(*bounds)


def test_what_has_no_useful_sensitivity_is_refused_with_a_way_out():
    with pytest.raises(ParameterError, match="numerator and the denominator"):
        sensitivity.ratio()
    with pytest.raises(ParameterError, match=r"infinite global sensitivity.*noisy"):
        sensitivity.reciprocal()
    with pytest.raises(ParameterError, match="single record"):
        sensitivity.max_difference(0, 1, n=1)
    for n in (0, 1, 2):
        with pytest.raises(ParameterError, match="vertices"):
            sensitivity.triangles(n)
    for n in (0, -1, True, 2.5):
        with pytest.raises(ParameterError, match="number of records"):
            sensitivity.mean(n, 0, 1)
    with pytest.raises(ParameterError, match="number of records"):
        sensitivity.variance(1, 0, 1)
    for weight in (0, -1, "inf"):
        with pytest.raises(ParameterError, match="largest weight"):
            sensitivity.mst_cost(weight)
