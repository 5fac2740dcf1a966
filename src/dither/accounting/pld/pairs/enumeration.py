"""Compositions of few atoms, one by one in balls: exact where a line cannot tell an atom from what lies beside it.

Proof: docs/proofs/pld.md, "Few atoms".
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from itertools import product

from dither.accounting.pld.distribution import ExactAtoms, LossDistribution
from dither.accounting.pld.few_steps import Bracket, outward
from dither.accounting.pld.sums import Sum, lost
from dither.accounting.pld.work import charge
from dither.exact.balls import Ball, ball, bounds, float_down, float_up, zero_to

Counted = tuple[tuple[LossDistribution, int], ...]
Parts = list[tuple[ExactAtoms, int]]
# The loss of a row is known by a key of each part; its masses under P and Q.
Row = tuple[tuple[int | Fraction, ...], Ball, Ball]

_MOST = 200_000  # products of masses at a time
_OPERATIONS = 50  # that one of them takes
_WIDE, _SMALL = 1e-3, 1e-300
_BITS = 80


def sharper_delta(counted: Counted, mu_squared: Fraction, epsilon: Fraction, bracket: Bracket) -> Bracket:
    """The bracket, or what an enumeration says where it is wide and the atoms are few."""
    low, high = bracket
    if mu_squared or not high - low > _WIDE * high or high <= _SMALL:
        return bracket
    orders = _orders(counted)
    least, most = _delta(orders, epsilon)
    return (max(low, float_down(least)), min(high, float_up(most))) if orders else bracket


def sharper_epsilon(counted: Counted, mu_squared: Fraction, delta: Fraction, bracket: Bracket) -> Bracket:
    """The same for epsilon at delta."""
    low, high = bracket
    if mu_squared or not high - low > _WIDE * high:
        return bracket
    orders = _orders(counted)
    if not orders:
        return bracket
    found = [_epsilon(parts, surely, delta) for parts, (surely, _) in orders]
    least, most = outward(max(end for end, _ in found), max(end for _, end in found))
    # Rows are sorted by rounded losses: what is found is believed once delta was computed there.
    if _delta(orders, Fraction(least))[0] >= delta:
        low = max(low, least)
    if _delta(orders, Fraction(most))[1] <= delta:
        high = min(high, most)
    return low, high


def _orders(counted: Counted) -> list[tuple[Parts, tuple[Fraction, Fraction]]]:
    """The atoms of the parts and bounds of what is lost, for each order of the pairs; none if there are too many."""
    found, orders = [], [counted]
    if not all(distribution.symmetric for distribution, _ in counted):
        orders.append(tuple((distribution.swapped(), count) for distribution, count in counted))
    for order in orders:
        parts = [(atoms, count) for distribution, count in order if (atoms := distribution.exact_atoms()) is not None]
        sizes = [atoms.size(count) * atoms.length(count) for atoms, count in parts]
        if len(parts) < len(order) or sum(size * size // 3 for size in sizes) + math.prod(sizes) > _MOST:
            return []
        losses = Sum(order, 0.0)
        found.append((parts, (lost(losses, unread=False)[0], lost(losses)[1])))
    return found


def _delta(orders: list[tuple[Parts, tuple[Fraction, Fraction]]], epsilon: Fraction) -> tuple[Fraction, Fraction]:
    least, most = Fraction(0), Fraction(0)
    for parts, (surely, perhaps) in orders:
        low, high = bounds(partial(_gains, parts, epsilon), _BITS)
        least, most = max(least, surely + low), max(most, perhaps + high)
    return least, min(most, Fraction(1))


def _gains(parts: Parts, epsilon: Fraction) -> Ball:
    """What all losses above epsilon add to delta."""
    total, grown = ball(0), ball(epsilon).exp()
    for keys, mass, other in _rows(parts):
        gain = mass - grown * other
        if gain > 0:
            total += gain
        elif not gain <= 0 and not _at_most(parts, keys, epsilon):
            total += zero_to(gain)
    return total


def _epsilon(parts: Parts, surely: Fraction, delta: Fraction) -> Bracket:
    """The largest ln((A - delta)/B), A and B the masses of the largest losses, as many as one likes."""

    def largest() -> Ball:
        best, above, below = ball(0), ball(surely) - ball(delta), ball(0)
        for _, mass, other in sorted(_rows(parts), key=lambda row: -float((row[1] / row[2]).log().mid())):
            above, below = above + mass, below + other
            if above > 0:
                best = best.max((above / below).log())
        return best

    low, high = bounds(largest, _BITS)
    return max(0.0, float_down(low)), max(0.0, float_up(high))


def _rows(parts: Parts) -> Iterator[Row]:
    sums = []
    for atoms, count in parts:
        own = atoms.repeated(count)
        sums.append([(key, mass, mass * (-atoms.loss(key)).exp()) for key, mass in own.items()])
    charge(_OPERATIONS * (sum(len(own) ** 2 // 3 for own in sums) + math.prod(map(len, sums))))
    for row in product(*sums):
        mass, other = row[0][1:]
        for _, more, less in row[1:]:
            mass, other = mass * more, other * less
        yield tuple(key for key, _, _ in row), mass, other


def _at_most(parts: Parts, keys: tuple[int | Fraction, ...], epsilon: Fraction) -> bool:
    """Whether the loss is certainly not above epsilon, which balls cannot tell where it is epsilon itself."""
    ratio, total = Fraction(1), Fraction(0)
    for (atoms, _), key in zip(parts, keys, strict=True):
        if atoms.step is None:
            ratio *= key
        else:
            total += key * atoms.step
    return ratio == 1 and total <= epsilon
