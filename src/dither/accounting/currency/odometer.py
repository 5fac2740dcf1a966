"""A running bound on what has been spent, for when no budget was fixed in advance."""

from __future__ import annotations

import threading
from fractions import Fraction

from dither.accounting.currency.readings import pure_epsilon
from dither.accounting.guarantees.guarantee import Guarantee
from dither.errors import BudgetExceeded, ParameterError, RelationMismatch
from dither.exact.balls import ball, bounds, float_up
from dither.exact.parameters import Number, non_negative, positive, probability
from dither.exact.short_forms import ShortForm
from dither.neighbours import Relation


class Odometer(ShortForm):
    """At all moments together: with probability 1 - delta the privacy loss so far is at most `epsilon`.

    Valid under full adaptivity, also for deciding when to stop. rho adds up; grid points rho_0 2^j are fixed in
    advance, with delta_j = delta/((j+1)(j+2)), and `epsilon` is rho + 2 sqrt(rho ln(1/delta_j)) of the first point not
    yet passed, so it rises in steps. Converting the running sum again after every release would promise less than it
    says (Rogers, Roth, Ullman and Vadhan 2016). While all steps are pure, the sum of their epsilons bounds the loss as
    well, and the smaller is shown. Additive deltas count against `additive_delta`.

    >>> from dither.accounting import PureDP
    >>> meter = Odometer(delta="1e-6")
    >>> meter.spend(PureDP("0.1"))
    >>> meter.epsilon
    0.1
    >>> meter
    Odometer(epsilon=0.1, delta=1e-6)
    """

    SHOWN = ("epsilon", "delta")

    def __init__(
        self,
        *,
        delta: Number,
        additive_delta: Number = 0,
        first_rho: Number = "0.02",
        relation: Relation | str = Relation.ADD_REMOVE,
    ) -> None:
        self._delta = probability(delta, "delta")
        self._additive = non_negative(additive_delta, "additive_delta")
        if not self._delta + self._additive < 1:
            raise ParameterError("delta and additive_delta together must be less than 1, or nothing is promised.")
        self._first = positive(first_rho, "first_rho")
        self.relation = Relation.read(relation)
        self._lock = threading.Lock()
        self._spent = (Fraction(0), Fraction(0))
        self._pure: Fraction | None = Fraction(0)

    def spend(self, guarantee: Guarantee) -> None:
        """Count a mechanism before it runs; refused, and not counted, if its delta does not fit into additive_delta."""
        if not isinstance(guarantee, Guarantee):
            raise ParameterError(f"only guarantees are counted; got {type(guarantee).__name__}.")
        if guarantee.relation is not self.relation:
            raise RelationMismatch(
                f"the odometer runs under the relation {self.relation.value}, "
                f"the guarantee is under {guarantee.relation.value}."
            )
        price = guarantee.zcdp()
        # A delta, however small, lets losses past every epsilon: only pure steps are bounded by their sum.
        epsilon = None if price.delta else pure_epsilon(guarantee)
        with self._lock:
            rho, delta = self._spent[0] + price.rho, self._spent[1] + price.delta
            if not delta <= self._additive:
                raise BudgetExceeded(
                    f"the mechanism's delta {float(price.delta):.6g} does not fit into what is left of the odometer's "
                    f"additive_delta ({float(self._additive - self._spent[1]):.6g}); nothing was counted."
                )
            self._spent = (rho, delta)
            self._pure = None if self._pure is None or epsilon is None else self._pure + epsilon

    @property
    def rho(self) -> Fraction:
        """The sum of what was spent; on its own it is a zCDP bound only against a cap fixed in advance."""
        return self._spent[0]

    @property
    def delta(self) -> Fraction:
        """The probability, over the whole run, that the bound fails."""
        return self._delta + self._additive

    @property
    def epsilon(self) -> float:
        """The bound on the loss at this moment, rounded up."""
        spent = self._spent[0]
        if not spent:
            return 0.0
        point, number = self._first, 0
        while point < spent:
            point, number = point * 2, number + 1
        share = self._delta / ((number + 1) * (number + 2))
        _, high = bounds(lambda: ball(point) + 2 * (-ball(point) * ball(share).log()).sqrt())
        return float_up(high if self._pure is None else min(high, self._pure))
