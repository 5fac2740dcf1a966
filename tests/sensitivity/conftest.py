"""Small statistics on sorted tuples, and the printed formulas of the median that are not smooth."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest

BETAS = ("0.05", "0.3", 2)


@pytest.fixture(params=BETAS, ids=str)
def beta(request):
    return request.param


@pytest.fixture
def close_to_definition():
    """Compare a certified bound with max over k of A^(k) e^(-beta k) in plain floats, independent of its rounding."""

    def check(found, reaches, beta):
        plain = max(float(reached) * math.exp(-float(beta) * k) for k, reached in enumerate(reaches))
        assert float(found) == pytest.approx(plain, rel=1e-13)

    return check


@pytest.fixture
def printed_median():
    """Two widely printed forms of the median's bound, with a single-gap term: t = 0..k, and (extra) t = 0..k+1."""

    def bound(x, lower, upper, beta, extra):
        n, m = len(x), (len(x) + 1) // 2
        at = {i: lower if i < 1 else upper if i > n else x[i - 1] for i in range(-2 * n - 4, 3 * n + 6)}
        terms = []
        for k in range(n + 1):
            for t in range(k + 1 + extra):
                widest = max(at[m + t] - at[m + t - k - 1], at[m + t + 1] - at[m + t])
                terms.append(widest * math.exp(-float(beta) * k))
        return Fraction(max(terms))

    return bound


@pytest.fixture
def count_triangles():
    def count(vertices):
        return lambda graph: sum(
            {(a, b), (a, c), (b, c)} <= graph for a, b, c in itertools.combinations(range(vertices), 3)
        )

    return count


@pytest.fixture
def kruskal():
    def cost(ends, vertices):
        def of(weights):
            label, total = list(range(vertices)), 0
            for weight, (u, v) in sorted(zip(weights, ends, strict=True)):
                if label[u] != label[v]:
                    total += weight
                    label = [label[v] if one == label[u] else one for one in label]
            return total

        return of

    return cost
