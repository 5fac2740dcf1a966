"""The definitions, by enumeration: slow, obviously right, and the oracle of every fast algorithm beside it.

>>> median = lambda x: x[len(x) // 2]
>>> local(median, (0, 0, 1), range(7)), global_(median, range(7), 3).l1
(Fraction(1, 1), Fraction(6, 1))
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

from dither.errors import ParameterError
from dither.exact.balls import ball, sign
from dither.exact.parameters import Number, non_negative
from dither.neighbours import Relation
from dither.sensitivity.neighbours import (
    Data,
    Domain,
    Neighbours,
    add_remove,
    contributions,
    datasets,
    edge,
    edge_weight,
    generator,
    grows,
    replace,
)
from dither.sensitivity.smoothing import certify, smoothness

__all__ = [
    "Norms",
    "Space",
    "add_remove",
    "contributions",
    "datasets",
    "distance",
    "distance_beyond",
    "edge",
    "edge_weight",
    "global_",
    "is_smooth",
    "local",
    "reach",
    "replace",
    "smooth",
]

Statistic = Callable[[Data], Any]  # a number, or a sequence of numbers
Kind = Relation | str | Neighbours


class Norms(NamedTuple):
    """Largest distances over all neighbours; 0 where nothing changes."""

    l1: Fraction
    l2_squared: Fraction
    linf: Fraction


@dataclass
class Space:
    """A statistic on every dataset that steps between neighbours lead to; remembers what it has computed."""

    statistic: Statistic
    domain: Domain
    neighbours: Kind = Relation.REPLACE
    largest: int | None = None  # under add_remove: the size at which the search ends
    _values: dict[Data, Any] = field(default_factory=dict, repr=False)
    _local: dict[Data, Fraction] = field(default_factory=dict, repr=False)

    def value(self, x: Data) -> Any:
        if x not in self._values:
            self._values[x] = self.statistic(x)
        return self._values[x]

    def around(self, x: Data) -> set[Data]:
        """The neighbours of x."""
        return set(generator(self.neighbours)(x, self.domain)) - {x}

    def local(self, x: Data) -> Fraction:
        """The largest L1 distance between f(x) and f of a neighbour."""
        if x not in self._local:
            here = self.value(x)
            gaps = (_gaps(here, self.value(y)) for y in self.around(x))
            self._local[x] = max((sum(gap, Fraction(0)) for gap in gaps), default=Fraction(0))
        return self._local[x]

    def rings(self, x: Data) -> Iterator[set[Data]]:
        """Datasets at distance 0, 1, 2, ... of x, until there are no more."""
        seen, ring = {x}, {x}
        while ring:
            yield ring
            ring = {y for z in ring for y in self.around(z) if self.largest is None or len(y) <= self.largest} - seen
            seen |= ring

    def reach(self, x: Data, k: int) -> Fraction:
        """A^(k): the largest local sensitivity within distance k."""
        return max(max(map(self.local, ring)) for _, ring in zip(range(k + 1), self.rings(x), strict=False))

    def smooth(self, x: Data, beta: Number) -> Fraction:
        """The largest LS(y) e^(-beta d(x, y)) over all y, as `smoothing` rounds it."""
        steps = [(k, max(map(self.local, ring))) for k, ring in enumerate(self._all_rings(x))]
        return certify(steps, smoothness(beta), max(reached for _, reached in steps))

    def distance(self, x: Data) -> int | float:
        """Steps to the nearest dataset with another value, less one."""
        here = self.value(x)
        return self._first(x, lambda y: bool(self.value(y) != here)) - 1

    def distance_beyond(self, x: Data, bound: Number) -> int | float:
        """Steps to the nearest dataset whose local sensitivity exceeds the bound."""
        proposed = non_negative(bound, "the proposed bound")
        return self._first(x, lambda y: self.local(y) > proposed)

    def _first(self, x: Data, holds: Callable[[Data], bool]) -> int | float:
        return next((k for k, ring in enumerate(self._all_rings(x)) if any(map(holds, ring))), math.inf)

    def _all_rings(self, x: Data) -> Iterator[set[Data]]:
        if self.largest is None and grows(self.neighbours):
            raise ParameterError("datasets grow without end under this relation; give the largest size to search.")
        return self.rings(x)


def global_(f: Statistic, domain: Domain, size: int = 0, neighbours: Relation | str = Relation.REPLACE) -> Norms:
    """The largest distance between neighbours, over all datasets of a size (up to it, when records come and go)."""
    space = Space(f, domain, neighbours)
    largest = Norms(Fraction(0), Fraction(0), Fraction(0))
    for x in datasets(domain, size, neighbours):
        for y in space.around(x):
            gaps = _gaps(space.value(x), space.value(y))
            found = sum(gaps, Fraction(0)), sum((gap**2 for gap in gaps), Fraction(0)), max(gaps)
            largest = Norms(*map(max, largest, found))
    return largest


def local(f: Statistic, x: Data, domain: Domain, neighbours: Kind = Relation.REPLACE) -> Fraction:
    """The largest L1 distance between f(x) and f of a neighbour of x."""
    return Space(f, domain, neighbours).local(x)


def reach(f: Statistic, x: Data, k: int, domain: Domain, neighbours: Kind = Relation.REPLACE) -> Fraction:
    """A^(k): the largest local sensitivity within k steps of x."""
    return Space(f, domain, neighbours).reach(x, k)


def smooth(
    f: Statistic,
    x: Data,
    beta: Number,
    domain: Domain,
    neighbours: Kind = Relation.REPLACE,
    *,
    largest: int | None = None,
) -> Fraction:
    """The smallest beta-smooth bound of local sensitivity: max over all y of LS(y) e^(-beta d(x, y)), rounded up."""
    return Space(f, domain, neighbours, largest).smooth(x, beta)


def distance(
    f: Statistic, x: Data, domain: Domain, neighbours: Kind = Relation.REPLACE, *, largest: int | None = None
) -> int | float:
    """Distance to instability: steps to the nearest dataset with another f, less one; infinite if there is none."""
    return Space(f, domain, neighbours, largest).distance(x)


def distance_beyond(
    f: Statistic,
    x: Data,
    bound: Number,
    domain: Domain,
    neighbours: Kind = Relation.REPLACE,
    *,
    largest: int | None = None,
) -> int | float:
    """Steps to the nearest dataset whose local sensitivity exceeds the bound; infinite if there is none."""
    return Space(f, domain, neighbours, largest).distance_beyond(x, bound)


def is_smooth(
    bound: Callable[[Data], Fraction],
    f: Statistic,
    beta: Number,
    domain: Domain,
    size: int = 0,
    neighbours: Relation | str = Relation.REPLACE,
) -> bool:
    """Whether `bound` is a beta-smooth upper bound of local sensitivity, beta >= 0, over all datasets of a size.

    Both conditions: bound(D) >= LS(D), and bound(D) <= e^beta bound(D') for all neighbours that are enumerated.
    """
    rate, space = non_negative(beta, "beta"), Space(f, domain, neighbours)
    bounds = {x: bound(x) for x in datasets(domain, size, neighbours)}
    ratios = {(bounds[x], bounds[y]) for x in bounds for y in space.around(x) if y in bounds and bounds[x] > bounds[y]}
    return all(bounds[x] >= space.local(x) for x in bounds) and all(_within(a, b, rate) for a, b in ratios)


def _within(larger: Fraction, smaller: Fraction, beta: Fraction) -> bool:
    """larger <= e^beta smaller, for larger > smaller. Equality is impossible: e^beta is irrational or 1."""
    return bool(smaller and beta) and sign(lambda: ball(smaller) * ball(beta).exp() - ball(larger), undecided=-1) > 0


def _gaps(here: Any, there: Any) -> list[Fraction]:
    pairs = zip(here, there, strict=True) if isinstance(here, (tuple, list)) else [(here, there)]
    return [abs(Fraction(a) - Fraction(b)) for a, b in pairs]
