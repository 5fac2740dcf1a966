"""The oracle itself, on cases small enough to do by hand."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from dither.errors import ParameterError, RelationMismatch
from dither.sensitivity import brute_force
from dither.sensitivity.brute_force import contributions, datasets


def test_neighbours_by_hand():
    assert set(brute_force.add_remove((0, 2), (0, 2))) == {(0,), (2,), (0, 0, 2), (0, 2, 2)}
    assert set(brute_force.replace((0, 2), (0, 1, 2))) == {(0, 0), (0, 1), (1, 2), (2, 2)}
    assert set(brute_force.replace((), (0, 1))) == set()
    assert set(brute_force.edge(frozenset({(0, 1)}), 3)) == {
        frozenset(),
        frozenset({(0, 1), (0, 2)}),
        frozenset({(0, 1), (1, 2)}),
    }
    assert set(brute_force.edge_weight((2, 0), (0, 1, 2))) == {(0, 0), (1, 0), (2, 1), (2, 2)}


def test_numbers_of_datasets():
    assert len(list(datasets(range(3), 4))) == 15
    assert len(list(datasets(range(3), 2, "add_remove"))) == 1 + 3 + 6
    assert len(list(datasets(4, 0, "edge"))) == 64
    assert len(list(datasets(range(3), 4, "edge_weight"))) == 81
    assert contributions("ab", 2) == [("a",), ("b",), ("a", "a"), ("a", "b"), ("b", "b")]


def test_an_owner_is_everything_it_contributes():
    """A count of rows, at most 3 per owner: one owner moves it by 3; a count of owners by 1."""
    rows = brute_force.global_(lambda x: sum(map(len, x)), contributions((0, 1), 3), 2, "owner")
    assert rows == (3, 9, 3)
    cells = brute_force.global_(
        lambda x: [sum(owner.count(cell) for owner in x) for cell in (0, 1)], contributions((0, 1), 3), 2, "owner"
    )
    assert cells == (3, 9, 3)
    assert brute_force.global_(len, contributions((0, 1), 3), 2, "owner").l1 == 1


def test_definitions_by_hand():
    def total(x):
        return sum(x)

    assert brute_force.local(total, (0, 5), (0, 5)) == 5
    assert brute_force.local(total, (0, 5), (0, 5), "add_remove") == 5
    assert brute_force.reach(max, (0, 0, 0), 1, (0, 5)) == 5
    assert brute_force.local(min, (0, 0, 0), (0, 5)) == 0
    assert brute_force.reach(min, (0, 0, 0), 1, (0, 5)) == 0
    assert brute_force.reach(min, (0, 0, 0), 2, (0, 5)) == 5
    assert float(brute_force.smooth(min, (0, 0, 0), 1, (0, 5))) == pytest.approx(5 * math.exp(-2), rel=1e-15)
    assert brute_force.smooth(lambda x: 1, (0, 0), 1, (0, 5)) == 0
    assert brute_force.distance(min, (0, 0, 0), (0, 5)) == 2
    assert brute_force.distance(lambda x: 1, (0, 0), (0, 5)) == math.inf
    assert brute_force.distance_beyond(min, (0, 0, 0), 4, (0, 5)) == 2
    assert brute_force.distance_beyond(min, (0, 0, 0), 5, (0, 5)) == math.inf


def test_own_relations():
    """Any generator of neighbours: here the value of a single number may move by 1."""

    def beside(x, domain):
        return [y for y in (x - 1, x + 1) if y in domain]

    assert brute_force.local(lambda x: x * x, 3, range(10), beside) == 7
    assert brute_force.reach(lambda x: x * x, 3, 2, range(10), beside) == 11
    assert brute_force.distance(lambda x: x >= 5, 3, range(10), beside) == 1


def test_growing_datasets_need_an_end():
    for ask in (brute_force.distance, lambda *args: brute_force.smooth(args[0], args[1], 1, *args[2:])):
        with pytest.raises(ParameterError, match="largest size"):
            ask(len, (0,), (0, 1), "add_remove")
    assert brute_force.distance(lambda x: len(x) > 2, (0,), (0, 1), "add_remove", largest=4) == 1


def test_is_smooth_at_the_edge():
    """e^beta between neighbours is allowed and not a hair more; at beta = 0 only constants are smooth."""

    def step(ratio):
        return lambda x: Fraction(1) if x == (0,) else ratio

    tight = Fraction(math.exp(0.5))
    above = tight + Fraction(1, 2**50)
    assert brute_force.is_smooth(step(tight - Fraction(1, 2**50)), lambda x: 0, "0.5", (0, 1), 1)
    assert not brute_force.is_smooth(step(above), lambda x: 0, "0.5", (0, 1), 1)
    assert brute_force.is_smooth(lambda x: Fraction(5), lambda x: x[0], 0, (0, 5), 2)
    assert not brute_force.is_smooth(step(Fraction(1001, 1000)), lambda x: 0, 0, (0, 1), 1)


def test_unknown_relation_and_empty_domain():
    with pytest.raises(RelationMismatch, match="unknown"):
        brute_force.local(sum, (0,), (0, 1), "nobody")
    with pytest.raises(ParameterError, match="domain"):
        brute_force.global_(sum, (), 2)
