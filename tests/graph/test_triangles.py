"""Private triangle counts: the noise follows the smooth sensitivity or the published bound; nothing else is told."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest

import dither as dt

STAR = [(0, ray) for ray in range(1, 51)]  # no triangle, local sensitivity 1, global 49


def test_default_method_follows_public_parameters():
    def chosen(n, **price):
        return {
            dt.graph.triangles(graph, vertices=n, **price).method
            for graph in ([], [(0, 1), (1, 2), (0, 2)], list(itertools.combinations(range(n), 2)))
        }

    assert chosen(60, epsilon=1) == chosen(60, epsilon="0.1") == {"smooth"}
    assert chosen(10, epsilon="0.1") == chosen(60, epsilon="0.01") == {"global"}
    assert chosen(60, epsilon=1, delta="1e-6") == {"bounded"}
    assert chosen(40, epsilon=1, delta="1e-6") == {"global"}


def test_guarantees_and_what_is_public():
    pure = dt.graph.triangles(STAR, vertices=51, epsilon="0.5", method="smooth")
    assert (pure.guarantee.epsilon, pure.guarantee.relation) == (Fraction(1, 2), dt.Relation.EDGE)
    assert isinstance(pure.value, int)
    with pytest.raises(dt.NotPublic):
        _ = pure.scale
    with pytest.raises(dt.NotPublic):
        pure.interval("0.95")

    bounded = dt.graph.triangles(STAR, vertices=51, epsilon="0.5", delta="1e-6", method="bounded")
    assert (bounded.guarantee.epsilon, bounded.guarantee.delta) == (Fraction(1, 2), Fraction(1, 10**6))
    assert bounded.guarantee.relation is dt.Relation.EDGE
    assert 1 <= bounded.bound <= 49
    assert bounded.scale == bounded.bound / Fraction(1, 4)
    low, high = bounded.interval("0.95")
    assert low < bounded.value < high

    worst = dt.graph.triangles(STAR, vertices=51, epsilon="0.5", method="global")
    assert (worst.scale, worst.guarantee.epsilon) == (98, Fraction(1, 2))
    assert worst.guarantee.relation is dt.Relation.EDGE


def test_smooth_noise_has_the_scale_of_the_smooth_sensitivity():
    """Half of the noises are below the scale. A local sensitivity in its place would be 5 times smaller."""
    draws = 1000
    mechanism = dt.SmoothCauchy(epsilon="0.1", grid=1)
    # The centre and a ray have no common neighbour and 49 others at one of them: s edges make min(s, (49 + s) / 2).
    smooth = max(math.exp(-float(mechanism.beta) * s) * max(1, min(s, (49 + s) // 2)) for s in range(60))
    assert 5 < smooth < 6
    scale = smooth / float(mechanism.divisor)
    noises = [dt.graph.triangles(STAR, vertices=51, epsilon="0.1", method="smooth").value for _ in range(draws)]
    # |rounded noise| <= w exactly when the real noise is within w + 1/2.
    within = sum(abs(noise) <= math.floor(scale) for noise in noises) / draws
    expected = 2 / math.pi * math.atan((math.floor(scale) + 0.5) / scale)
    assert abs(within - expected) < 6.5 * math.sqrt(0.25 / draws)
    assert sum(noise > 0 for noise in noises) / draws == pytest.approx(0.5, abs=0.11)


def test_bounded_noise_follows_the_published_bound():
    """K_{2,40}: the two hubs share 40 neighbours, so the local sensitivity is 40 and nothing is a triangle."""
    hubs = [(hub, ray) for hub in (0, 1) for ray in range(2, 42)]
    draws, shift = 600, 22  # the smallest whole number with q^(m+1) / (1+q) <= 1e-5 at q = e^-1/2
    mechanism = dt.BoundedLocalSensitivity(epsilon=1, delta="1e-5", grid=1)
    assert mechanism.shift == shift
    got = [dt.graph.triangles(hubs, vertices=10_000, epsilon=1, delta="1e-5", method="bounded") for _ in range(draws)]
    bounds = [int(outcome.bound) - shift - 40 for outcome in got]
    assert abs(sum(bounds) / draws) < 6.5 * math.sqrt(8 / draws)
    assert 8 * 0.5 < sum(noise**2 for noise in bounds) / draws < 8 * 1.7
    ratios = [abs(outcome.value) / float(outcome.scale) for outcome in got]
    assert sum(ratios) / draws == pytest.approx(1, abs=6.5 / math.sqrt(draws))
    covered = sum(low <= 0 <= high for low, high in (outcome.interval("0.5") for outcome in got)) / draws
    assert covered > 0.5 - 6.5 * math.sqrt(0.25 / draws)


def test_the_laws_of_all_neighbouring_graphs_on_four_vertices():
    """The exact output laws of the smooth method, for every graph and every toggled edge."""
    mechanism = dt.SmoothCauchy(epsilon=1, grid=1, lower=0, upper=4, relation="edge")
    pairs = list(itertools.combinations(range(4), 2))
    window = range(-12, 18, 2)

    def law(graph, known={}):  # noqa: B006
        inputs = dt.sensitivity.triangles.with_smooth(list(graph), mechanism.beta, vertices=4)
        if inputs not in known:
            known[inputs] = [mechanism.pmf(out, *inputs) for out in window]
        return known[inputs]

    worst = 0.0
    for size in range(len(pairs) + 1):
        for graph in map(frozenset, itertools.combinations(pairs, size)):
            for pair in pairs:
                for (low, _), (_, high) in zip(law(graph), law(graph ^ {pair}), strict=True):
                    worst = max(worst, math.log(low / high))
    assert 0.5 < worst <= 1


@pytest.mark.parametrize("graph", [[], STAR, [(0, 0), None, "x"]], ids=["empty", "star", "mess"])
@pytest.mark.parametrize(
    ("price", "message"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"epsilon": -1}, "epsilon"),
        ({"epsilon": 1, "delta": 1}, "delta"),
        ({"epsilon": 1, "delta": 0}, "delta"),
        ({"epsilon": 1, "method": "bounded"}, "give delta"),
        ({"epsilon": 1, "delta": "1e-6", "method": "smooth"}, "spends no delta"),
        ({"epsilon": 1, "delta": "1e-6", "method": "global"}, "spends no delta"),
        ({"epsilon": 1, "method": "local"}, "method must be"),
        ({"epsilon": 1, "vertices": 2}, "at least 3"),
        ({"epsilon": Fraction(3 * 49, 2**61), "delta": "1e-6"}, "2\\^60"),
    ],
)
def test_refusals_depend_on_parameters_only(graph, price, message):
    with pytest.raises(dt.ParameterError, match=message):
        dt.graph.triangles(graph, **{"vertices": 51, **price})


def test_worked_example():
    """Two hubs that share three neighbours: no triangle, but one edge would make three."""
    edges = [[0, 2], [0, 3], [0, 4], [1, 2], [1, 3], [1, 4]]
    triangles = dt.sensitivity.triangles
    assert (triangles(5).l1, triangles.value(edges, vertices=5), triangles.local(edges, vertices=5)) == (3, 0, 3)
    assert dt.sensitivity.max_degree().l1 == 1, "the local sensitivity moves by as much"
    sure = {"vertices": 5, "epsilon": 500}
    assert dt.graph.triangles(edges, **sure).value == 0
    assert dt.graph.max_degree(edges, **sure).value == 3
    bounded = dt.graph.triangles(edges, **sure, delta="1e-6", method="bounded")
    assert (bounded.value, bounded.bound) == (0, 3)
    assert dt.graph.triangles([*edges, [0, 1]], **sure).value == 3
