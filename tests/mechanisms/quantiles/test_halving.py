"""Which quantiles are left to find on either side: many runs at once against the definition, run by run."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from dither.mechanisms.quantiles.halving import alike, sides

HUGE = 1 << 62


def definition(wanted, less, equal, more):
    """A q is left to find on a side if its rank q n lies strictly within it; what is published is its share of it."""
    middle = len(wanted) // 2
    below, above = [], []
    for place, (i, q) in enumerate(wanted):
        rank = q * (less + equal + more)
        if place < middle and 0 < rank < less:
            below.append((i, rank / less))
        if place > middle and less + equal < rank < less + equal + more:
            above.append((i, (rank - less - equal) / more))
    return tuple(below), tuple(above)


def by_run(wanted, chosen, counts):
    """What `sides` says of each run; no run is named twice for a side, and those named together agree."""
    found = {}
    for above, left, runs in sides(wanted, chosen, counts):
        assert len(set(chosen[runs].tolist())) == 1
        for run in runs.tolist():
            assert (run, above) not in found
            found[run, above] = left
    return [(found.get((run, False), ()), found.get((run, True), ())) for run in range(len(counts))]


@pytest.mark.parametrize("many", [1, 2, 3, 4, 7])
def test_many_runs_go_on_as_each_of_them_would(many):
    wanted = tuple((i + 3, Fraction(i + 1, many + 1)) for i in range(many))
    counts = np.array(list(itertools.product(range(-2, 7), repeat=3)), np.int64)
    chosen = np.arange(len(counts)) % 2
    order = np.random.default_rng().permutation(len(counts))
    found = by_run(wanted, chosen[order], counts[order])
    meant = [definition(wanted, *row) for row in counts[order].tolist()]
    assert found == meant
    assert sum(bool(left) for left, _ in meant) > (100 if many > 1 else -1)
    assert sum(bool(right) for _, right in meant) > (100 if many > 2 else -1)


@pytest.mark.parametrize("kind", [np.int64, object])
def test_counts_whose_sum_needs_more_than_64_bits(kind):
    wanted = ((0, Fraction(1, 4)), (1, Fraction(1, 2)), (2, Fraction(3, 4)))
    rows = list(itertools.product([-HUGE - 1, -5, 3, 70_000, HUGE, HUGE + 7], repeat=3))
    counts = np.array(rows, kind)
    assert by_run(wanted, np.zeros(len(rows), np.intp), counts) == [definition(wanted, *row) for row in rows]


@pytest.mark.parametrize("reach", [1, 3, 65_535, 65_536, 1 << 40, 1 << 62])
def test_places_are_grouped_by_what_they_hold(reach):
    generator = np.random.default_rng()
    one = generator.integers(-reach, 1, 400)
    one[:2] = -reach, 0
    two = np.array([int(value) * 10**20 for value in generator.integers(0, 2, 400)], object)
    three = generator.integers(0, 2, 400)
    found = alike(one, two, three)
    assert sorted(np.concatenate(found).tolist()) == list(range(400))
    rows = list(zip(one.tolist(), two.tolist(), three.tolist(), strict=True))
    named = [{rows[place] for place in group.tolist()} for group in found]
    assert all(len(group) == 1 for group in named)
    assert len(set().union(*named)) == len(named) == len(set(rows))
