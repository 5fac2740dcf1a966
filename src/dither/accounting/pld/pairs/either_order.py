"""One pair that stands for a pair of distributions in both orders."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

Pair = tuple[list[Fraction], list[Fraction]]
# On a piece of a profile that starts at some ratio: delta(ratio) = mass - ratio * other.
_Piece = tuple[Fraction, Fraction, Fraction]


def either_order(p: Sequence[Fraction], q: Sequence[Fraction]) -> Pair:
    """The pair whose profile sup_E P(E) - x Q(E) is, at every x >= 0, the larger of those of (p, q) and of (q, p).

    A largest profile of two is convex, starts at 1 and falls no faster than 1 - x, so it is the profile of a pair: the
    outcomes are its kinks, with the fall of its slope as their mass under Q. Exact, in fractions.
    """
    first: list[Fraction] = []
    second: list[Fraction] = []
    mass = other = Fraction(1)
    for _, next_mass, next_other in _larger(_profile(p, q), _profile(q, p)):
        if (next_mass, next_other) != (mass, other):
            first.append(mass - next_mass)
            second.append(other - next_other)
        mass, other = next_mass, next_other
    if mass:  # what the other never shows
        first.append(mass)
        second.append(Fraction(0))
    return first, second


def _profile(p: Sequence[Fraction], q: Sequence[Fraction]) -> list[_Piece]:
    """The pieces from 0 on: beyond a likelihood ratio its outcomes no longer count."""
    shared: dict[Fraction, tuple[Fraction, Fraction]] = {Fraction(0): (Fraction(0), Fraction(0))}
    for a, b in zip(p, q, strict=True):
        if b:
            known = shared.get(a / b, (Fraction(0), Fraction(0)))
            shared[a / b] = (known[0] + a, known[1] + b)
    mass = other = Fraction(1)
    pieces = []
    for ratio in sorted(shared):
        mass, other = mass - shared[ratio][0], other - shared[ratio][1]
        pieces.append((ratio, mass, other))
    return pieces


def _larger(one: list[_Piece], two: list[_Piece]) -> Iterator[_Piece]:
    """The pieces of the larger of two profiles: between two kinks of either, one line or two that cross."""
    starts = sorted({ratio for ratio, _, _ in one} | {ratio for ratio, _, _ in two})
    i = j = 0
    for number, start in enumerate(starts):
        i += i + 1 < len(one) and one[i + 1][0] <= start
        j += j + 1 < len(two) and two[j + 1][0] <= start
        (_, a, b), (_, c, d) = one[i], two[j]
        # Larger at the start; where both are equal there, the flatter one is larger behind it.
        ahead, behind = ((a, b), (c, d)) if (a - start * b, -b) >= (c - start * d, -d) else ((c, d), (a, b))
        yield start, *ahead
        if behind[1] < ahead[1]:
            crossing = (ahead[0] - behind[0]) / (ahead[1] - behind[1])
            if crossing > start and (number + 1 == len(starts) or crossing < starts[number + 1]):
                yield crossing, *behind
