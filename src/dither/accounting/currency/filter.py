"""A budget that cannot be overrun, also when each mechanism is chosen from the answers before it."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from fractions import Fraction

from dither.accounting.currency.currency import DELTA_PARTS, Currency, Price
from dither.accounting.currency.readings import pure_epsilon
from dither.accounting.guarantees.conversion import COST_UNIT
from dither.accounting.guarantees.guarantee import Guarantee
from dither.errors import BudgetExceeded
from dither.exact.parameters import ceil_units, floor_units
from dither.exact.short_forms import ShortForm


@dataclass(frozen=True, repr=False)
class Balance(Price):
    """A price in rho, and beside it the same in epsilons that add; None once a step had no finite epsilon."""

    epsilon: Fraction | None = None


class Filter(ShortForm):
    """Everything that `spend` let through, together, keeps the budget's guarantee, under full adaptivity.

    Sums of epsilon, of (epsilon, delta) and of (rho, delta) against caps fixed in advance are privacy filters (Rogers,
    Roth, Ullman and Vadhan 2016; Feldman and Zrnic 2021; Whitehouse et al. 2023). `ApproxDP(epsilon, delta)` grants a
    step if its rho still fits *or* all epsilons so far add up to at most epsilon; both sums count every step, whichever
    let it through, and a step without an epsilon closes the second way for good. That promises (epsilon, delta), one
    point and no curve (docs/proofs/filters.md). A refusal depends on prices only and comes before anything is charged;
    nothing is ever refunded. Safe to share between threads.

    >>> from dither.accounting import PureDP
    >>> account = Filter(PureDP(1))
    >>> account.spend(PureDP("0.7")).cost
    Fraction(7, 10)
    >>> account.left.cost
    Fraction(3, 10)
    >>> account
    Filter(budget=PureDP(epsilon=1), spent=Price(cost=0.7))
    """

    SHOWN = ("budget", "spent")

    def __init__(self, budget: Guarantee) -> None:
        self.budget = budget
        self.currency = Currency.of(budget)
        self._lock = threading.Lock()
        self._spent = (0, 0)
        # The second way is for one point (epsilon, delta): a rho that is promised itself has none.
        self._two_ways = self.currency.conversion_delta is not None
        self._epsilon_cap = floor_units(budget.basic().epsilon, COST_UNIT) if self._two_ways else 0
        self._epsilon: int | None = 0 if self._two_ways else None

    def spend(self, guarantee: Guarantee) -> Price:
        """Charge a mechanism before it runs; BudgetExceeded if it does not fit, and then nothing is charged."""
        price = self.currency.charge_of(guarantee)
        cost, delta = self.currency.units_of(price)
        stated = pure_epsilon(guarantee) if self._two_ways else None
        with self._lock:
            total = (self._spent[0] + cost, self._spent[1] + delta)
            epsilon = None
            if stated is not None and self._epsilon is not None:
                epsilon = self._epsilon + ceil_units(stated, COST_UNIT)
            if not (self._admits(total[0], epsilon) and total[1] <= self.currency.cap_units[1]):
                raise BudgetExceeded(self._refusal(price))
            # Both sums, whichever of them let the step through: docs/proofs/filters.md shows what switching costs.
            self._spent, self._epsilon = total, epsilon
        return price

    def _admits(self, cost: int, epsilon: int | None) -> bool:
        return cost <= self.currency.cap_units[0] or (epsilon is not None and epsilon <= self._epsilon_cap)

    @property
    def spent(self) -> Price:
        """What was charged so far."""
        return self._price(self._spent, self._epsilon)

    @property
    def left(self) -> Price:
        """What can still be charged: either way, where there are two."""
        (cost, delta), cap = self._spent, self.currency.cap_units
        epsilon = None if self._epsilon is None else max(0, self._epsilon_cap - self._epsilon)
        return self._price((max(0, cap[0] - cost), cap[1] - delta), epsilon)

    def _price(self, units: tuple[int, int], epsilon: int | None) -> Price:
        cost, delta = units[0] * COST_UNIT, units[1] * self.currency.cap_delta / DELTA_PARTS
        if not self._two_ways:
            return Price(cost, delta)
        return Balance(cost, delta, None if epsilon is None else epsilon * COST_UNIT)

    def _refusal(self, price: Price) -> str:
        name = "rho" if self.currency.kind == "zcdp" else "epsilon"
        left = self.left
        pure = left.epsilon if isinstance(left, Balance) else None
        also = "" if pure is None else f", or {_show(pure)} in epsilons that add"
        return (
            f"the price ({name} {_show(price.cost)}, delta {_show(price.delta)}) does not fit into what is left "
            f"({name} {_show(left.cost)}, delta {_show(left.delta)}{also}); nothing was charged. Ask for less."
        )


def _show(amount: Fraction) -> str:
    return f"{float(amount):.6g}"
