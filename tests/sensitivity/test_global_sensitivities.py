"""Global sensitivities against their definition: the largest distance over all neighbours of all small datasets."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest

from dither import sensitivity
from dither.errors import ParameterError, RelationMismatch
from dither.neighbours import Relation
from dither.sensitivity import Sensitivity


def pairs(domain, relation, size=3):
    """All neighbouring pairs of multisets up to a size, written as sorted tuples."""
    for n in range(size + 1):
        for data in itertools.combinations_with_replacement(domain, n):
            if relation == "add_remove":
                for extra in domain:
                    yield data, (*data, extra)
            else:
                for i, other in itertools.product(range(n), domain):
                    yield data, (*data[:i], other, *data[i + 1 :])


def largest(statistic, domain, relation):
    """(L1, L2 squared, Linf) from the definition."""
    gaps = [[abs(a - b) for a, b in zip(statistic(x), statistic(y), strict=True)] for x, y in pairs(domain, relation)]
    return max(map(sum, gaps)), max(sum(g * g for g in gap) for gap in gaps), max(map(max, gaps))


def norms(found):
    return found.l1, found.l2_squared, found.linf


relations = pytest.mark.parametrize("relation", ["add_remove", "replace"])


@relations
def test_count(relation):
    assert norms(sensitivity.count(relation)) == largest(lambda data: [sum(data)], (0, 1), relation)


@relations
def test_histogram(relation):
    cells = range(3)
    truth = largest(lambda data: [data.count(cell) for cell in cells], cells, relation)
    assert norms(sensitivity.histogram(relation)) == truth


@relations
@pytest.mark.parametrize(("lower", "upper"), [(-2, 5), (3, 7), (-7, -3), (0, 4)])
def test_sum(relation, lower, upper):
    domain = (lower, (lower + upper) // 2, upper)
    assert norms(sensitivity.sum(lower, upper, relation)) == largest(lambda data: [sum(data)], domain, relation)


@relations
@pytest.mark.parametrize(("k", "at_most"), [(1, None), (3, None), (3, 1), (3, 2), (4, 1), (4, 2), (2, 9)])
def test_counts(relation, k, at_most):
    records = [bits for bits in itertools.product((0, 1), repeat=k) if sum(bits) <= (k if at_most is None else at_most)]
    truth = largest(lambda data: [sum(bits[i] for bits in data) for i in range(k)], records, relation)
    assert norms(sensitivity.counts(k, at_most, relation)) == truth


def test_l2_is_rounded_up_from_its_exact_square():
    two = sensitivity.histogram("replace")
    assert two.l2_squared == 2
    assert two.l2**2 >= 2
    assert float(two.l2) == pytest.approx(math.sqrt(2), abs=1e-15)
    assert sensitivity.counts(25).l2 == 5


def test_the_relation_is_carried_and_checked():
    assert sensitivity.count("replace").relation is Relation.REPLACE
    for relation in ("owner", "edge", "nobody"):
        for make in (sensitivity.count, sensitivity.histogram, lambda r: sensitivity.sum(0, 1, r)):
            with pytest.raises(RelationMismatch):
                make(relation)


def test_bounds_and_sizes_are_required():
    for lower, upper in ((1, 1), (2, 1), (0, "inf"), (None, 1)):
        with pytest.raises(ParameterError):
            sensitivity.sum(lower, upper)
    for k in (0, True, 1.5):
        with pytest.raises(ParameterError):
            sensitivity.counts(k)


def test_swapped_norms_are_refused():
    assert Sensitivity(2, 2, 1).l2 <= 2
    for wrong in ((1, 4, 1), (2, 1, 2), (0, 0, 0), (-1, 1, 1)):
        with pytest.raises(ParameterError):
            Sensitivity(*wrong)
    assert Sensitivity(Fraction(1, 2), "0.25", 0.5).l2 == Fraction(1, 2)
