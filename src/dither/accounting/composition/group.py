"""Group privacy: what a guarantee about one record says about several."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import overload

from dither.accounting.guarantees.approx import ApproxDP
from dither.accounting.guarantees.gdp import GDP
from dither.accounting.guarantees.guarantee import Guarantee, read_delta
from dither.accounting.guarantees.pure import PureDP
from dither.accounting.guarantees.zcdp import ZCDP
from dither.errors import ParameterError
from dither.exact.balls import ball, bounds, dyadic_up, float_up
from dither.exact.parameters import Number, non_negative, whole
from dither.neighbours import Relation

_FURTHEST = 1e4


@overload
def group(guarantee: PureDP, size: int) -> PureDP: ...
@overload
def group(guarantee: GDP, size: int) -> GDP: ...
@overload
def group(guarantee: ZCDP, size: int) -> ZCDP: ...
@overload
def group(guarantee: Guarantee, size: int) -> Guarantee: ...
def group(guarantee: Guarantee, size: int) -> Guarantee:
    """The same mechanism for datasets that differ in `size` records.

    epsilon grows k-fold, rho k^2-fold, mu k-fold, and (epsilon, delta) becomes (k epsilon,
    delta (e^(k epsilon) - 1)/(e^epsilon - 1)); for Gaussian noise the far better mu is used. Of what has a curve only,
    as sampled noise and compositions, every point of it is converted (`GroupCurve`): compose first, then group.

    >>> group(PureDP("0.1"), 5).epsilon
    Fraction(1, 2)
    """
    many = whole(size, "the size of the group")
    if isinstance(guarantee, PureDP):
        return PureDP(guarantee.epsilon * many, guarantee.relation)
    if guarantee.gaussian_mu_squared is not None:
        return GDP(mu_squared=guarantee.gaussian_mu_squared * many**2, relation=guarantee.relation)
    if isinstance(guarantee, ZCDP):
        if guarantee.delta and many > 1:
            raise ParameterError("approximate zCDP (with a delta) has no group bound here; state it as ApproxDP.")
        return ZCDP(guarantee.rho * many**2, guarantee.delta, guarantee.relation)
    if isinstance(guarantee, ApproxDP):
        delta = _grown(guarantee.epsilon, guarantee.delta, many)
        if not delta < 1:
            raise ParameterError(
                f"for a group of {many} delta grows past 1, which promises nothing; take a smaller group or delta."
            )
        return ApproxDP(guarantee.epsilon * many, delta, relation=guarantee.relation)
    return GroupCurve(guarantee, many, guarantee.relation)


def replace_from_add_remove(guarantee: Guarantee) -> Guarantee:
    """The guarantee under replace, a deletion and an insertion: (2 epsilon, (1 + e^epsilon) delta), 4 rho, 2 mu."""
    if guarantee.relation is not Relation.ADD_REMOVE:
        raise ParameterError(
            f"only a guarantee under add_remove implies one under replace; got {guarantee.relation.value}."
        )
    pair = group(guarantee, 2)
    if isinstance(pair, PureDP):
        return PureDP(pair.epsilon, Relation.REPLACE)
    if isinstance(pair, GDP):
        return GDP(mu_squared=pair.mu_squared, relation=Relation.REPLACE)
    if isinstance(pair, ZCDP):
        return ZCDP(pair.rho, pair.delta, Relation.REPLACE)
    if isinstance(pair, GroupCurve):
        return GroupCurve(guarantee, 2, Relation.REPLACE)
    stated = pair.basic()
    return ApproxDP(stated.epsilon, stated.delta, relation=Relation.REPLACE)


@dataclass(frozen=True, repr=False)
class GroupCurve(Guarantee):
    """What the curve of a guarantee about one record says about `size` of them, point by point.

    (epsilon, delta(epsilon)) becomes (k epsilon, delta(epsilon) (e^(k epsilon) - 1)/(e^epsilon - 1)), and a rho
    without additive delta k^2 rho; the smaller is read.
    """

    each: Guarantee
    size: int
    relation: Relation

    def _delta_at(self, epsilon: Number) -> float:
        target = non_negative(epsilon, "epsilon")
        each = target / self.size
        found = _grown(each, Fraction(self.each.delta_at(each)), self.size)
        square = self._square()
        return min(1.0, float_up(found), 1.0 if square is None else square.delta_at(target))

    def _epsilon_at(self, delta: Number) -> float:
        target = read_delta(delta)
        square = self._square()
        known = math.inf if square is None else square.epsilon_at(target)
        low, high = 0.0, self.each.epsilon_at(target)
        while not self._point(high) <= target:
            low, high = high, 2 * high + 0.01
            if not high < _FURTHEST:
                return known
        # Between an epsilon that may not do and one that does; the latter is what is returned.
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (low, middle) if self._point(middle) <= target else (middle, high)
        return min(known, float_up(Fraction(high) * self.size))

    def _point(self, epsilon: float) -> Fraction:
        if not epsilon < _FURTHEST:
            return Fraction(1)
        each = Fraction(epsilon)
        return _grown(each, Fraction(self.each.delta_at(each)), self.size)

    def _square(self) -> ZCDP | None:
        try:
            found = self.each.zcdp()
        except ParameterError:
            return None
        return None if found.delta else ZCDP(found.rho * self.size**2, relation=self.relation)

    def zcdp(self) -> ZCDP:
        square = self._square()
        if square is None:
            raise ParameterError("no rho without an additive delta is proven for one record, so none for a group.")
        return square

    def basic(self) -> PureDP | ApproxDP:
        stated = group(self.each.basic(), self.size).basic()
        if stated.delta:
            return ApproxDP(stated.epsilon, stated.delta, relation=self.relation)
        return PureDP(stated.epsilon, self.relation)


def _grown(epsilon: Fraction, delta: Fraction, many: int) -> Fraction:
    if not delta or epsilon == 0 or many == 1:
        return delta * many
    if epsilon * (many - 1) > 10**4:  # far past 1 for every delta that can be stated
        return Fraction(1)
    _, high = bounds(lambda: ball(delta) * (ball(epsilon) * many).expm1() / ball(epsilon).expm1())
    return dyadic_up(high)
