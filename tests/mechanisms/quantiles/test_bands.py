"""The public weights of a quantile's answers: by the definition, and for every kind of bounds."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from dither.mechanisms.codes import Grid
from dither.mechanisms.quantiles.bands import Bands

QS = [Fraction(q) for q in ("0.01", "0.25", "0.26", "0.5", "0.74", "0.75", "0.999")]


def doublings(first, last, q):
    return Bands.of(Grid(Fraction(1), first, last), q).at(np.arange(first, last + 1))


def test_weights_are_those_of_the_definition(magnitude_weight):
    for first, width, q in itertools.product(range(-40, 41, 5), (0, 1, 2, 3, 7, 40, 300), QS):
        last = first + width
        defined = [magnitude_weight(code, q, first, last) for code in range(first, last + 1)]
        found = [Fraction(2) ** int(one) for one in doublings(first, last, q)]
        assert [one / min(defined) for one in defined] == found
        assert sum(found) == Bands.of(Grid(Fraction(1), first, last), q).total


@pytest.mark.parametrize("q", QS)
def test_a_mirror_image_has_the_mirrored_weights(q):
    for first, last in ((0, 1000), (-1000, 1000), (-30, 500), (7, 90)):
        assert doublings(first, last, q).tolist() == doublings(-last, -first, 1 - q)[::-1].tolist()


def test_magnitudes_decide_not_the_place_between_the_bounds():
    assert set(doublings(1900, 2100, Fraction(9, 10))) == {0}
    assert set(doublings(0, 1, Fraction(9, 10))) == {0}
    assert doublings(0, 6400, Fraction(9, 10))[[0, 100, 101, 800, 801, 3200, 3201, 6400]].tolist() == [
        *(12, 12, 10),
        *(6, 4),
        *(2, 0, 0),
    ]
    assert doublings(0, 6400, Fraction(1, 2))[[0, 100, 101, 3200, 3201]].tolist() == [6, 6, 5, 1, 0]
    assert set(doublings(0, 6400, Fraction(1, 10))) == {0}


def test_the_largest_grids_fit():
    bands = Bands.of(Grid(Fraction(1), -(1 << 61), (1 << 61) - 1), Fraction(9, 10))
    assert bands.steepest == 12
    assert bands.total < 1 << 75
    assert bands.at(np.array([-(1 << 61), -1, 0, (1 << 61) - 1])).tolist() == [12, 12, 12, 0]
