"""What noisy histograms of owners certify: how many owners can have so much, and what they have beyond a limit.

Every noisy number bounds the exact one from above, except with a stated probability. The largest histogram that keeps
all these limits at once is found in one sweep from the top (docs/proofs/profile.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import Any

from dither.errors import LedgerError
from dither.mechanisms import Gaussian, Laplace
from dither.neighbours import Relation

Limit = tuple[int, int | None, int]  # from, up to below (None: or more), and how many owners have so much at most

_FOR_LAST = Fraction(7, 8)  # of what a histogram may miss: most depends on the owners of its open last bin
_OUTWARD = 1 + 2.0**-30  # more than the relative error of the float operations below


@dataclass(frozen=True)
class Histogram:
    """Noisy numbers of owners by what each has: bin j from edges[j] up to below edges[j + 1], the last one open.

    `share` is the part of all that may be missed that the limits of this histogram may miss together. It follows from
    declarations, never from which histograms turn out to be useful.
    """

    edges: tuple[int, ...]
    owners: tuple[int, ...]
    mechanism: Mapping[str, str]
    share: Fraction

    def limits(self, missed: Fraction) -> Iterator[Limit]:
        """Upper limits on every bin and on everything from each bin on; all hold except with `missed` of its share."""
        last, tag = len(self.edges) - 1, tuple(sorted(self.mechanism.items()))
        allowed = missed * self.share
        if last:
            each = allowed * (1 - _FOR_LAST) / (2 * last)
            for place in range(last):
                start, beyond = self.edges[place], self.owners[place:]
                yield start, self.edges[place + 1], max(0, beyond[0] + reach(tag, 1, each))
                yield start, None, max(0, sum(beyond) + reach(tag, len(beyond), each))
            allowed *= _FOR_LAST
        yield self.edges[last], None, max(0, self.owners[last] + reach(tag, 1, allowed))

    def document(self) -> dict[str, Any]:
        return {
            "edges": list(self.edges),
            "owners": list(self.owners),
            "mechanism": dict(self.mechanism),
            "share": str(self.share),
        }

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> Histogram:
        edges, owners = tuple(document["edges"]), tuple(document["owners"])
        return cls(edges, owners, document["mechanism"], Fraction(document["share"]))


@dataclass(frozen=True)
class Certified:
    """All histograms of owners by one number, which is at most `top` as far as it counts."""

    top: int
    histograms: tuple[Histogram, ...]

    def excess(self, limit: int, missed: Fraction) -> int:
        """The most that owners together can have beyond the limit: the sum of (min(h, top) - limit)^+."""
        heights, reached = self._largest(missed)
        found, before = 0, 0
        for height, owners in zip(heights, reached, strict=True):
            over = max(0, height - limit)
            found, before = found + owners * (over - before), over
        return found

    def above(self, limit: int, missed: Fraction) -> int:
        """The most owners who can have more than the limit."""
        heights, reached = self._largest(missed)
        return next((owners for height, owners in zip(heights, reached, strict=True) if height > limit), 0)

    def _largest(self, missed: Fraction) -> tuple[tuple[int, ...], tuple[int, ...]]:
        return _largest(self, missed)

    def document(self) -> dict[str, Any]:
        return {"top": self.top, "histograms": [histogram.document() for histogram in self.histograms]}

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> Certified:
        return cls(document["top"], tuple(map(Histogram.read, document["histograms"])))

    def __hash__(self) -> int:
        return hash((self.top, tuple((one.edges, one.owners) for one in self.histograms)))


@lru_cache(maxsize=64)  # a plan tries many limits; noisy numbers are public
def _largest(known: Certified, missed: Fraction) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return largest([limit for one in known.histograms for limit in one.limits(missed)], known.top)


def largest(limits: Sequence[Limit], top: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Between all edges: the most that an owner there has, and how many owners can have so much or more.

    Numbers S_i of owners from edge i on must fall in i and keep S_i <= s_i and S_i - S_k <= n. The pointwise largest
    such numbers exist: s_i is replaced by the least up to i, and from the top on each S_i is as large as it may be.
    """
    edges = sorted({edge for start, end, _ in limits for edge in (start, end) if edge is not None})
    place = {edge: index for index, edge in enumerate(edges)}
    most: list[int | None] = [None] * len(edges)
    for start, end, owners in limits:
        if end is None:
            known = most[place[start]]
            most[place[start]] = owners if known is None else min(known, owners)
    for index in range(1, len(edges)):
        given = [bound for bound in most[index - 1 : index + 1] if bound is not None]
        most[index] = min(given, default=None)
    runs = [(place[start], place[end], owners) for start, end, owners in limits if end is not None]
    reached: list[int] = [0] * len(edges)
    for index in reversed(range(len(edges))):
        over = [reached[end] + owners for start, end, owners in runs if start <= index < end]
        bounds = [bound for bound in (most[index], *over) if bound is not None]
        if not bounds:
            raise LedgerError("a stored histogram of owners has no limit on its last bin.")
        reached[index] = min(bounds)
    heights = (*(min(edge - 1, top) for edge in edges[1:]), top)
    return heights, tuple(reached)


@lru_cache(maxsize=1024)  # a function of public parameters
def reach(parameters: tuple[tuple[str, str], ...], several: int, missed: Fraction) -> int:
    """q with P(the sum of so many independent noises < -q) <= missed, for the noise really drawn."""
    noise = _noise(dict(parameters))
    if several == 1:
        return math.ceil(noise.error(1 - 2 * missed))  # it is symmetric
    scale, chance = float(noise.scale), float(missed)
    if isinstance(noise, Gaussian):  # each is within half a step of a Gaussian
        return math.ceil(-NormalDist().inv_cdf(chance) * scale * math.sqrt(several) * _OUTWARD) + (several + 1) // 2
    return math.ceil(_of_laplace(scale, several, chance) * _OUTWARD)


def _of_laplace(scale: float, several: int, chance: float) -> float:
    """Chernoff's bound: every u gives P(sum < -q) <= exp(-u q) M(u)^several, with M of the discrete distribution."""
    found = math.inf
    for step in range(1, 128):
        u = step / 128 / scale
        moment = 2 * math.log(-math.expm1(-1 / scale))
        moment -= math.log(-math.expm1(u - 1 / scale)) + math.log(-math.expm1(-u - 1 / scale))
        found = min(found, (several * moment - math.log(chance)) / u)
    return found


def _noise(parameters: dict[str, str]) -> Laplace | Gaussian:
    tag, sensitivity = parameters["mechanism"], parameters["sensitivity"]
    if tag == "Laplace":
        return Laplace(epsilon=parameters["epsilon"], sensitivity=sensitivity, relation=Relation.OWNER)
    if tag == "Gaussian":
        return Gaussian(rho=parameters["rho"], sensitivity=sensitivity, relation=Relation.OWNER)
    raise LedgerError(f"a stored histogram of owners has noise {tag!r}, which this dither does not read.")
