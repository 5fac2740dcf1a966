"""Worked examples: what exact answers give away, and who is a neighbour of whom."""

from __future__ import annotations

import itertools
from fractions import Fraction

from dither import sensitivity
from dither.accounting import ApproxDP
from dither.mechanisms import Laplace

FLU = {"Hunter": 1, "Alice": 0, "Bob": 1, "Eric": 0, "Frank": 1}


def test_differencing_attack():
    """Two exact counts, one of them without Bob, give Bob's bit: 3 - 2 = 1."""
    without = sum(bit for name, bit in FLU.items() if name != "Bob")
    assert (sum(FLU.values()), without, sum(FLU.values()) - without) == (3, 2, FLU["Bob"])
    # The same two counts released: every difference is possible, whatever Bob's bit.
    mechanism = Laplace(epsilon="0.1", sensitivity=sensitivity.count())
    differences = {mechanism.release(3).value - mechanism.release(2).value for _ in range(300)}
    assert len(differences) > 20
    assert min(differences) < 0 < max(differences)


def test_ratio_attack():
    """Three colluding participants and the exact fraction 2/3 leave one possible Alice: smoker with cancer."""
    known = {"Bob": (1, 1), "Charlie": (0, 1), "Daisy": (1, 0)}
    fraction = {}
    for alice in itertools.product((0, 1), repeat=2):
        people = [*known.values(), alice]
        fraction[alice] = Fraction(sum(s and c for s, c in people), sum(s for s, _ in people))
    assert fraction == {(0, 0): Fraction(1, 2), (0, 1): Fraction(1, 2), (1, 0): Fraction(1, 3), (1, 1): Fraction(2, 3)}
    assert [alice for alice, y in fraction.items() if y == Fraction(2, 3)] == [(1, 1)]


def test_histogram_distance():
    ours, theirs = (1, 0, 1, 0, 2), (1, 0, 1, 0, 1)
    distance = sum(abs(a - b) for a, b in zip(ours, theirs, strict=True))
    assert (sum(ours), sum(theirs), distance) == (4, 3, 1)
    assert distance == sensitivity.histogram("add_remove").l1, "neighbours under add_remove"
    assert sum(ours) != sum(theirs), "not under replace, which keeps the public size"


def test_name_and_shame_states_delta_not_zero_epsilon_for_free():
    """Each of n records in clear with probability delta: (0, delta)-DP under replace, and one leaks on average."""
    n, guarantee = 1000, ApproxDP(0, "0.001", relation="replace")
    assert guarantee.epsilon_at("0.001") == 0
    assert guarantee.delta_at(0) == 0.001
    assert n * guarantee.delta == 1
    assert abs(1 - (1 - float(guarantee.delta)) ** n - 0.6323045752290363) < 1e-12
