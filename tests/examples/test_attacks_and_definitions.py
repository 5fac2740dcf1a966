"""Worked examples: what exact answers give away, who is a neighbour of whom, definitions and divergences."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import dither as dt
from dither.lab.museum.name_and_shame import NameAndShame


def test_differencing_attack(example):
    """Two counts so good that they are exact give Bob's bit; at an honest price every difference is possible."""
    bits = example.given.with_bob
    rest = [bit for name, bit in bits.items() if name != example.given.target]
    near_exact = [dt.stats.count([bit == 1 for bit in rows], epsilon=500).value for rows in (bits.values(), rest)]
    assert near_exact == [example.expected.count_with, example.expected.count_without]
    assert near_exact[0] - near_exact[1] == example.expected.difference
    assert near_exact[0] - near_exact[1] == example.expected.inferred_bit == bits[example.given.target]
    count = dt.Laplace(epsilon="0.1", sensitivity=dt.sensitivity.count())
    differences = {count.release(3).value - count.release(2).value for _ in range(300)}
    assert min(differences) < 0 < 1 < max(differences)


def test_ratio_attack(example):
    """A ratio so good that it is exact leaves one possible Alice: 2/3 proves that she smokes and has cancer."""
    known = list(example.given.known.values())
    found = {}
    for alice in itertools.product((0, 1), repeat=2):
        smokes, cancer = zip(*known, alice, strict=True)
        found[alice] = dt.stats.ratio(cancer, smokes, epsilon=500).value
    expected = {tuple(map(int, key[1:-1].split(","))): Fraction(y) for key, y in example.expected.y_by_alice.items()}
    assert found == {alice: float(y) for alice, y in expected.items()}
    published = float(Fraction(example.given.published))
    assert [list(alice) for alice, y in found.items() if y == published] == [example.expected.alice]


def test_neighbours_histogram_distance(example):
    """As datasets: one record removed, so neighbours under add_remove; sizes differ, so not under replace."""
    ours, theirs = (
        tuple(value for value, many in enumerate(cells) for _ in range(many))
        for cells in (example.given.D, example.given.D_prime)
    )
    sizes = [len(ours), len(theirs)]
    assert sizes == [example.expected.size_D, example.expected.size_D_prime]
    reachable = {
        relation: dt.sensitivity.brute_force.distance(
            lambda data: sorted(data) == sorted(theirs), ours, range(5), neighbours=relation, largest=4
        )
        for relation in ("add_remove", "replace")
    }
    # The distance to instability is the number of steps to another answer less one.
    assert reachable["add_remove"] + 1 == example.expected.distance
    assert (reachable["add_remove"] == 0) == example.expected.add_remove_neighbours
    assert math.isfinite(reachable["replace"]) == example.expected.replace_neighbours


def test_name_and_shame(example):
    mechanism = NameAndShame(delta=str(example.given.delta))
    stated = mechanism.guarantee
    assert (float(stated.epsilon), float(stated.delta)) == (example.expected.eps, example.expected.delta)
    assert mechanism.expected(example.given.n) == example.expected.expected
    assert mechanism.any_exposed(example.given.n) == example.near(example.expected.any)
    assert NameAndShame(delta=Fraction(20, 1000)).expected(1000) == 20


def test_approx_vs_pure_linearisation(example):
    """e^1 = 2.718 against 1 + 1 = 2: a ratio of e is pure DP with epsilon 1, and not DP with ln 2."""
    guarantee = dt.PureDP(example.given.eps)
    response = dt.RandomizedResponse(epsilon=example.given.eps)
    (yes, _), (no, _) = response.probability_bounds(response.values[0])
    assert float(yes / no) == example.near(example.expected.e_eps)
    assert 1 + float(guarantee.epsilon) == example.expected.linear
    assert guarantee.delta_at(Fraction(math.log(example.expected.linear))) > 0.1
    assert guarantee.delta_at(1) == 0


def test_max_divergence_subsets(example):
    """Over sets: ln 9. No single point has more than delta."""
    ours, theirs, delta = map(exactly, (example.given.Y, example.given.Z, [example.given.delta]))
    found = dt.divergence.approximate_max(ours, theirs, delta[0])
    assert found.upper == example.near(example.expected.over_sets)
    assert found.lower == example.near(example.expected.over_sets)
    assert all(mass <= delta[0] for mass in ours), "no point has mass above delta"


def test_renyi_triangle(example):
    """By way of a third law; the coefficient is attained by three Gaussians in a row, so it is exact."""
    one, two = dt.ZCDP(str(example.given.a)), dt.ZCDP(str(example.given.b))
    through = dt.accounting.triangle(one, two)
    assert float(through.rho) == example.near(example.expected.coefficient)
    assert through.rho < Fraction(str(example.expected.weaker)) == 2 * (one.rho + two.rho)
    assert dt.accounting.triangle(one, one).rho == dt.accounting.group(one, 2).rho
    noise = dt.Gaussian(rho=one.rho, sensitivity=1, grid="0.001")
    ratio = Fraction(math.sqrt(two.rho / one.rho)).limit_denominator(10**6)
    far = dt.Gaussian(rho=one.rho * (1 + ratio) ** 2, sensitivity=1 + ratio, grid="0.001")
    assert float(far.scale) == float(noise.scale)
    assert float(far.guarantee.rho) <= float(through.rho) * (1 + 1e-5)


def exactly(numbers):
    return [Fraction(str(number)) for number in numbers]
