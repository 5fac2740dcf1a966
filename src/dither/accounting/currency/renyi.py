"""Accounts that count Renyi divergences at orders fixed in advance: for sampled noise, which has no useful rho."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from dither.accounting.composition.composition import Composition
from dither.accounting.currency.readings import pure_epsilon, renyi_divergence
from dither.accounting.guarantees.approx import ApproxDP
from dither.accounting.guarantees.conversion import COST_UNIT
from dither.accounting.guarantees.guarantee import Guarantee
from dither.accounting.guarantees.rdp import additive_delta
from dither.errors import BudgetExceeded, ParameterError, RelationMismatch
from dither.exact.balls import ball, bounds, dyadic_up, float_up
from dither.exact.parameters import Number, ceil_units, exact, non_negative, probability
from dither.exact.short_forms import ShortForm
from dither.neighbours import Relation

Amounts = tuple[Fraction | None, ...]  # None is infinite

ORDERS: tuple[Number, ...] = (2, 3, 4, 6, 8, 12, 16, 32, 64)
_LONGEST = 1024


@dataclass(frozen=True, repr=False)
class RenyiSums(ShortForm):
    """What all steps so far add up to: divergences by order, epsilons, additive deltas. None is infinite, for good."""

    orders: tuple[Fraction, ...]
    divergences: Amounts
    epsilon: Fraction | None = Fraction(0)
    delta: Fraction = Fraction(0)

    @classmethod
    def none(cls, orders: Iterable[Number]) -> RenyiSums:
        """Nothing spent, at these orders."""
        read = tuple(sorted({exact(order, "an order") for order in orders}))
        if not read or not read[0] > 1 or not read[-1] <= 10**6:
            raise ParameterError("orders are fixed in advance: give at least one, each greater than 1 and at most 1e6.")
        return cls(read, (Fraction(0),) * len(read))

    def after(self, step: RenyiSums) -> RenyiSums:
        """Every step enters every sum."""
        found = tuple(map(_plus, self.divergences, step.divergences))
        return RenyiSums(self.orders, found, _plus(self.epsilon, step.epsilon), _short(self.delta + step.delta))

    def of(self, guarantee: Guarantee, relation: Relation) -> RenyiSums:
        """What one step counts as, at the same orders; refused under another relation."""
        if not isinstance(guarantee, Guarantee):
            raise ParameterError(f"only guarantees are counted; got {type(guarantee).__name__}.")
        if guarantee.relation is not relation:
            raise RelationMismatch(
                f"the account is held under the relation {relation.value}, "
                f"the guarantee is under {guarantee.relation.value}."
            )
        epsilon = pure_epsilon(guarantee)
        return RenyiSums(
            self.orders,
            tuple(renyi_divergence(guarantee, order) for order in self.orders),
            None if epsilon is None else ceil_units(epsilon, COST_UNIT) * COST_UNIT,
            _additive(guarantee),
        )


class RenyiFilter(ShortForm):
    """A budget of (epsilon, delta) for sampled noise and all else; as `Filter`, under full adaptivity.

    `additive_delta` of delta, a thousandth unless stated, pays what steps have of their own, as the cut tails of
    sampled noise; the rest is divided equally between the orders. A step is granted if the sum of divergences at *any*
    order stays within what converts to epsilon there, or the sum of epsilons stays within epsilon; all sums count
    every step. The result is (epsilon, delta), one point and no curve (docs/proofs/filters.md). Few orders near the
    best one grant most.

    >>> from dither.accounting import PLD
    >>> account = RenyiFilter(ApproxDP(2, "1e-6"), orders=(6, 8, 12, 16))
    >>> account.spend(PLD.subsampled_gaussian(1, "0.01") * 100)
    """

    SHOWN = ("budget", "spent")

    def __init__(
        self, budget: ApproxDP, *, orders: Iterable[Number] = ORDERS, additive_delta: Number | None = None
    ) -> None:
        if not isinstance(budget, ApproxDP):
            raise ParameterError(f"orders convert to (epsilon, delta): give ApproxDP; got {type(budget).__name__}.")
        self.budget = budget
        self._additive = _reserve(budget.delta, additive_delta)
        self._lock = threading.Lock()
        self._spent = RenyiSums.none(orders)
        self._known: tuple[Guarantee, RenyiSums] | None = None
        self.caps = self._caps()

    def _caps(self) -> Amounts:
        """The largest sum at each order, rounded down, that converts to the budget; None where even 0 does not."""
        orders = self._spent.orders
        share = (self.budget.delta - self._additive) / len(orders)

        def cap(order: Fraction) -> Fraction | None:
            low, _ = bounds(
                lambda: (
                    ball(self.budget.epsilon)
                    - (1 - 1 / ball(order)).log()
                    + (ball(share).log() + ball(order).log()) / (ball(order) - 1)
                )
            )
            return low if low >= 0 else None

        return tuple(map(cap, orders))

    def spend(self, guarantee: Guarantee) -> None:
        """Count a mechanism before it runs; BudgetExceeded if it does not fit, and then nothing is counted."""
        step = self._step(guarantee)
        with self._lock:
            total = self._spent.after(step)
            if not total.delta <= self._additive or not self._admits(total):
                raise BudgetExceeded(
                    "the step fits into none of the orders' sums, nor its additive delta "
                    f"{float(step.delta):.6g} into what is left of it; nothing was charged. Ask for less."
                )
            self._spent = total

    def _admits(self, total: RenyiSums) -> bool:
        by_order = zip(total.divergences, self.caps, strict=True)
        return any(spent is not None and cap is not None and spent <= cap for spent, cap in by_order) or (
            total.epsilon is not None and total.epsilon <= self.budget.epsilon
        )

    def _step(self, guarantee: Guarantee) -> RenyiSums:
        # Known by being the very same object: what == leaves out, such as a proven rho, counts here.
        known = self._known
        if known is None or known[0] is not guarantee:
            self._known = known = guarantee, self._spent.of(guarantee, self.budget.relation)
        return known[1]

    @property
    def spent(self) -> RenyiSums:
        """The sums so far."""
        return self._spent

    @property
    def left(self) -> RenyiSums:
        """What each way still admits, 0 where it is closed."""
        spent = self._spent
        rest = tuple(map(_minus, self.caps, spent.divergences))
        return RenyiSums(spent.orders, rest, _minus(self.budget.epsilon, spent.epsilon), self._additive - spent.delta)


class RenyiOdometer(ShortForm):
    """At all moments together: with probability 1 - delta the privacy loss so far is at most `epsilon`.

    As `Odometer`, for sampled noise too: the best order of those fixed in advance, and the sum of epsilons while all
    steps are pure. `additive_delta` is a part of delta, as for `RenyiFilter`. Valid under full adaptivity, also for
    deciding when to stop (docs/proofs/filters.md).

    >>> from dither.accounting import PLD
    >>> meter = RenyiOdometer(delta="1e-6", orders=(6, 8, 12, 16))
    >>> meter.spend(PLD.subsampled_gaussian(1, "0.01") * 100)
    >>> meter.epsilon < 2.3
    True
    """

    SHOWN = ("epsilon", "delta")

    def __init__(
        self,
        *,
        delta: Number,
        orders: Iterable[Number] = ORDERS,
        additive_delta: Number | None = None,
        relation: Relation | str = Relation.ADD_REMOVE,
    ) -> None:
        self.delta = probability(delta, "delta")
        self._additive = _reserve(self.delta, additive_delta)
        self.relation = Relation.read(relation)
        self._lock = threading.Lock()
        self._spent = RenyiSums.none(orders)
        self._pure = True

    def spend(self, guarantee: Guarantee) -> None:
        """Count a mechanism before it runs; refused, and not counted, if its delta does not fit into additive_delta."""
        step = self._spent.of(guarantee, self.relation)
        with self._lock:
            total = self._spent.after(step)
            if not total.delta <= self._additive:
                raise BudgetExceeded(
                    f"the mechanism's delta {float(step.delta):.6g} does not fit into what is left of the odometer's "
                    f"additive_delta ({float(self._additive - self._spent.delta):.6g}); nothing was counted."
                )
            self._spent, self._pure = total, self._pure and not step.delta

    @property
    def epsilon(self) -> float:
        """The bound on the loss at this moment, rounded up; infinity if no order has one."""
        spent, share = self._spent, (self.delta - self._additive) / len(self._spent.orders)
        found = [spent.epsilon] if self._pure and spent.epsilon is not None else []
        for order, divergence in zip(spent.orders, spent.divergences, strict=True):
            if divergence is not None:
                _, slack = bounds(lambda order=order: -ball(share).log() / (ball(order) - 1))  # type: ignore[misc]
                found.append(divergence + slack)
        return float_up(min(found)) if found else float("inf")


def _additive(guarantee: Guarantee) -> Fraction:
    if isinstance(guarantee, Composition):
        return sum((_additive(part) * count for part, count in guarantee.parts), Fraction(0))
    return additive_delta(guarantee)


def _reserve(delta: Fraction, stated: Number | None) -> Fraction:
    """The part of delta that is for additive deltas."""
    kept = delta / 1000 if stated is None else non_negative(stated, "additive_delta")
    if not kept < delta:
        raise ParameterError("additive_delta must be less than delta, or nothing is left to convert with.")
    return kept


def _plus(one: Fraction | None, other: Fraction | None) -> Fraction | None:
    return None if one is None or other is None else one + other


def _minus(cap: Fraction | None, spent: Fraction | None) -> Fraction:
    return Fraction(0) if cap is None or spent is None else max(Fraction(0), cap - spent)


def _short(total: Fraction) -> Fraction:
    return total if total.denominator.bit_length() <= _LONGEST else dyadic_up(total, _LONGEST)
