"""A budget that cannot be overrun, also when each mechanism is chosen from the answers before it."""

from __future__ import annotations

import threading
from fractions import Fraction

from dither.accounting.currency.currency import DELTA_PARTS, Currency, Price
from dither.accounting.guarantees.conversion import COST_UNIT
from dither.accounting.guarantees.guarantee import Guarantee
from dither.errors import BudgetExceeded


class Filter:
    """Everything that `spend` let through, together, keeps the budget's guarantee, under full adaptivity.

    Sums of epsilon, of (epsilon, delta) and of (rho, delta) against caps fixed in advance are privacy filters (Rogers,
    Roth, Ullman and Vadhan 2016; Feldman and Zrnic 2021; Whitehouse et al. 2023). A refusal depends on prices only and
    comes before anything is charged; nothing is ever refunded. Safe to share between threads.

    >>> from dither.accounting import PureDP
    >>> account = Filter(PureDP(1))
    >>> account.spend(PureDP("0.7")).cost
    Fraction(7, 10)
    >>> account.left.cost
    Fraction(3, 10)
    """

    def __init__(self, budget: Guarantee) -> None:
        self.budget = budget
        self.currency = Currency.of(budget)
        self._lock = threading.Lock()
        self._spent = (0, 0)

    def spend(self, guarantee: Guarantee) -> Price:
        """Charge a mechanism before it runs; BudgetExceeded if it does not fit, and then nothing is charged."""
        price = self.currency.charge_of(guarantee)
        cost, delta = self.currency.units_of(price)
        with self._lock:
            total = (self._spent[0] + cost, self._spent[1] + delta)
            cap = self.currency.cap_units
            if not (total[0] <= cap[0] and total[1] <= cap[1]):
                raise BudgetExceeded(self._refusal(price))
            self._spent = total
        return price

    @property
    def spent(self) -> Price:
        """What was charged so far."""
        return self._price(self._spent)

    @property
    def left(self) -> Price:
        """What can still be charged."""
        (cost, delta), cap = self._spent, self.currency.cap_units
        return self._price((cap[0] - cost, cap[1] - delta))

    def _price(self, units: tuple[int, int]) -> Price:
        return Price(units[0] * COST_UNIT, units[1] * self.currency.cap_delta / DELTA_PARTS)

    def _refusal(self, price: Price) -> str:
        name = "rho" if self.currency.kind == "zcdp" else "epsilon"
        left = self.left
        return (
            f"the price ({name} {_show(price.cost)}, delta {_show(price.delta)}) does not fit into what is left "
            f"({name} {_show(left.cost)}, delta {_show(left.delta)}); nothing was charged. Ask for less."
        )


def _show(amount: Fraction) -> str:
    return f"{float(amount):.6g}"
