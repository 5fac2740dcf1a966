"""One over a count: infinite sensitivity, unless the count is kept away from 0 by a public number."""

from __future__ import annotations

import math
from fractions import Fraction

from dither.errors import ParameterError
from dither.exact.parameters import Number, non_negative, whole
from dither.neighbours import Relation
from dither.sensitivity.norms import Sensitivity, only
from dither.sensitivity.smoothing import certify, smoothness

_INSTEAD = (
    "the reciprocal of a count has infinite {} sensitivity: some deletions lead to a count of 0. "
    "Release the count and take the reciprocal of the noisy one, or declare at_least=c for 1 / max(count, c)."
)
_ROWS = "A count is a property of rows that come and go."


class Reciprocal:
    """1 / count, or 1 / max(count, at_least), under add_remove.

    >>> Reciprocal().local(10), Reciprocal()(at_least=4).l1
    (Fraction(1, 90), Fraction(1, 20))
    """

    def __call__(self, relation: Relation | str = Relation.ADD_REMOVE, *, at_least: int | None = None) -> Sensitivity:
        """1 / (c (c + 1)) with at_least=c; refused without."""
        read = only(relation, Relation.ADD_REMOVE, _ROWS)
        return Sensitivity.scalar(_ceiling(_required(at_least, "global")), read)

    def local(self, count: int, *, at_least: int | None = None) -> Fraction | float:
        """1 / (f (f - 1)) at f >= 2; infinite at a count of 1 or 0 unless at_least is declared."""
        f = whole(count, "the count", least=0)
        if at_least is None:
            return Fraction(1, f * (f - 1)) if f >= 2 else math.inf
        return _local(f, whole(at_least, "at_least"))

    def reach(self, count: int, k: int, *, at_least: int | None = None) -> Fraction | float:
        """A^(k), the largest local sensitivity at counts within k; infinite near 0 if nothing is declared."""
        f, steps = whole(count, "the count", least=0), whole(k, "k", least=0)
        if at_least is None:
            return self.local(max(0, f - steps))
        c = whole(at_least, "at_least")
        # Local sensitivity is 0 below c, largest at c and c + 1, and falls after that.
        nearest = min(max(f - steps, c), f + steps)
        return _local(nearest, c)

    def smooth(self, count: int, beta: Number, *, at_least: int | None = None) -> Fraction:
        """The beta-smooth bound with at_least=c; refused without (it is infinite, whatever the count).

        Above c the candidates 1 / (j (j - 1)) e^(-beta (f - j)) are first falling then rising in j: an end wins.
        """
        f, rate, c = whole(count, "the count", least=0), smoothness(beta), _required(at_least, "smooth")
        to_largest = c - f if f < c else max(0, f - c - 1)
        return certify([(0, _local(f, c)), (to_largest, _ceiling(c))], rate, _ceiling(c))

    def distance(self, count: int, bound: Number, *, at_least: int | None = None) -> int | float:
        """Changes before the local sensitivity exceeds `bound`: 1-Lipschitz, as propose-test-release needs."""
        f, proposed = whole(count, "the count", least=0), non_negative(bound, "the proposed bound")
        c = 0 if at_least is None else whole(at_least, "at_least")
        if c and not proposed < _ceiling(c):
            return math.inf
        if not proposed:
            return max(0, c - f)
        # The largest count whose local sensitivity exceeds the bound: j (j - 1) < 1 / bound.
        j = math.isqrt(math.floor(1 / proposed)) + 2
        while j > 1 and not j * (j - 1) * proposed < 1:
            j -= 1
        return max(0, f - j, c - f)


def _required(at_least: int | None, kind: str) -> int:
    if at_least is None:
        raise ParameterError(_INSTEAD.format(kind))
    return whole(at_least, "at_least")


def _ceiling(c: int) -> Fraction:
    return Fraction(1, c * (c + 1))


def _local(f: int, c: int) -> Fraction:
    if f < c:
        return Fraction(0)
    return _ceiling(c) if f == c else Fraction(1, f * (f - 1))


reciprocal = Reciprocal()
