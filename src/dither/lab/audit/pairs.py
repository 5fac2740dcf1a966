"""Neighbours on which the mechanisms of the registry are audited: at least twenty pairs for each."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product
from typing import Any

from dither.lab.registry import AnyEntry, DistributionEntry, NoiseEntry
from dither.lab.registry.worst_pairs import worst_pairs
from dither.mechanisms.keys.key_selection import KeySelection
from dither.mechanisms.local.local_hashing import LocalHashing
from dither.mechanisms.local.randomized_response import RandomizedResponse
from dither.mechanisms.stability.bounded_local_sensitivity import BoundedLocalSensitivity
from dither.mechanisms.stability.stable_release import StableRelease
from dither.neighbours import Relation

Pair = tuple[Any, Any]
LEAST = 20
MOST = 24
_CENTRES = (0, 1, -3, 17, 100, 1000, -(10**6), 10**9)


def pairs_of(entry: AnyEntry, mechanism: Any) -> list[Pair]:
    """Pairs of what `release` can be given on two neighbours: the worst ones, then those that differ most."""
    worst = worst_pairs(mechanism)
    return [*worst, *(pair for pair in _found(entry, mechanism) if pair not in worst)][:MOST]


def _found(entry: AnyEntry, mechanism: Any) -> list[Pair]:
    if isinstance(entry, NoiseEntry):
        return list(_of_noise(mechanism, entry.norm))
    if not isinstance(entry, DistributionEntry):
        return list(_of_smooth(mechanism))
    found = [pair for pair in entry.neighbours(mechanism) if pair[0] != pair[1]]
    more = next((make for kind, make in _MORE.items() if isinstance(mechanism, kind)), None)
    if more is not None:
        found += [pair for pair in more(mechanism) if pair not in found]
    return sorted(found, key=lambda pair: -_moved(*pair))


def _moved(one: Any, other: Any) -> int:
    """How many numbers differ, where they can be compared place by place."""
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)) and len(one) == len(other):
        return sum(bool(a != b) for a, b in zip(one, other, strict=True))
    return 0


def _of_noise(mechanism: Any, norm: str) -> Iterator[Pair]:
    """A number moved by the whole sensitivity either way, and vectors in which one coordinate or several share it."""
    grid, steps = mechanism.grid, math.floor(mechanism.sensitivity / mechanism.grid)
    for centre, sign in product(_CENTRES, (1, -1)):
        yield centre * grid, (centre + sign * steps) * grid
    for size in (2, 3):
        for place in range(min(size, 2)):
            start = [Fraction(3 * i) * grid for i in range(size)]
            yield start, [value + steps * grid * (i == place) for i, value in enumerate(start)]
        each = steps // size if norm == "l1" else math.isqrt(steps * steps // size)
        start = [Fraction(0)] * size
        yield start, [Fraction((-1) ** i * max(each, i == 0) * grid) for i in range(size)]


def _of_smooth(mechanism: Any) -> Iterator[Pair]:
    """Values apart by up to the smaller bound, bounds apart by a factor of up to e^beta."""
    widest = Fraction(math.exp(float(mechanism.beta)) * (1 - 1e-14))
    shares = (Fraction(1), Fraction(0), Fraction(1, 2), Fraction(-1))
    for bound, wider, move in product((1, 7), (widest, Fraction(1), 1 + (widest - 1) / 2), shares):
        if wider > 1 or move:
            yield (Fraction(0), Fraction(bound)), (move * bound, wider * bound)


def _responses(mechanism: RandomizedResponse) -> Iterator[Pair]:
    """Lists of two to four respondents, one of whom answers otherwise."""
    values = mechanism.values[:2]
    for size in (2, 3, 4):
        for answers in product(values, repeat=size):
            for place in range(size):
                if answers[place] == values[0]:
                    yield list(answers), [*answers[:place], values[1], *answers[place + 1 :]]


def _hashes(mechanism: LocalHashing) -> Iterator[Pair]:
    """Two respondents, one of whom answers otherwise: a report is several numbers, so that more would hide it."""
    for kept, one, other in product(mechanism.values[:4], repeat=3):
        if one != other:
            yield [kept, one], [kept, other]


def _stable(mechanism: StableRelease) -> Iterator[Pair]:
    """Other values at the same distances."""
    for distance in range(2 * mechanism.threshold):
        yield ("b", distance), ("b", distance + 1)


def _bounded(mechanism: BoundedLocalSensitivity) -> Iterator[Pair]:
    """The value moves by at most the smaller of the two local sensitivities, they by at most the slope."""
    slope = int(mechanism.slope)
    for local, sign in product(range(8), (1, -1)):
        yield (0, local), (sign * local, local + slope)
        yield (0, local + slope), (sign * local, local)


def _keys(mechanism: KeySelection) -> Iterator[Pair]:
    """One owner more in a key of 0, 1, 2 ... owners, beside another key of several sizes."""
    top = mechanism.even_chance
    for many, beside in product([0, 1, 2, 3, top - 1, top, top + 1], (1, top, top + 4)):
        yield (many, beside), (many + 1, beside)
        if mechanism.relation is Relation.REPLACE:
            yield (many, beside + 1), (many + 1, beside)


_MORE: dict[type, Callable[[Any], Iterator[Pair]]] = {
    LocalHashing: _hashes,
    RandomizedResponse: _responses,
    StableRelease: _stable,
    BoundedLocalSensitivity: _bounded,
    KeySelection: _keys,
}
