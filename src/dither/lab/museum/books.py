"""Accounts that can be overdrawn. Each is attacked; found is the epsilon of all answers that the analyst has seen."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from dither.accounting import Filter, PureDP
from dither.errors import BudgetExceeded, ParameterError
from dither.lab.museum.exhibit import Finding, Reckoning

BUDGET = 1


class Refunding:
    """Charges first, and gives the charge back when the request fails."""

    def __init__(self) -> None:
        self.spent = 0.0

    def ask(self, price: str, look: Callable[[], None]) -> None:
        epsilon = float(price)
        if self.spent + epsilon > BUDGET:
            raise BudgetExceeded("the budget is spent.")
        self.spent += epsilon
        try:
            look()
        except RuntimeError:
            self.spent -= epsilon


class Keeping:
    """Charges first and keeps the charge: dither's filter."""

    def __init__(self) -> None:
        self.filter = Filter(PureDP(BUDGET))

    def ask(self, price: str, look: Callable[[], None]) -> None:
        self.filter.spend(PureDP(price))
        try:
            look()
        except RuntimeError:
            return


Account = Refunding | Keeping


def _attack(account: Account, prices: list[str], fails: bool) -> Finding:
    """Ask at these prices, one after the other; with `fails` the request breaks down once the answer was seen."""
    seen = Fraction(0)
    for price in prices:

        def look(paid: str = price) -> None:
            nonlocal seen
            seen += 0 if paid == "nan" else Fraction(paid)
            if fails:
                raise RuntimeError("the connection was lost")

        try:
            account.ask(price, look)
        except (BudgetExceeded, ParameterError):
            continue
    return Finding(claimed=BUDGET, found=float(seen))


def refund_on_error() -> Finding:
    return _attack(Refunding(), ["0.25"] * 100, fails=True)


def no_refunds() -> Finding:
    return _attack(Keeping(), ["0.25"] * 100, fails=True)


def not_a_number() -> Finding:
    return _attack(Refunding(), ["nan"] + ["0.25"] * 100, fails=False)


def refused_before_it_is_charged() -> Finding:
    return _attack(Keeping(), ["nan"] + ["0.25"] * 100, fails=False)


_TINY = ["1"] + ["1e-16"] * 100


def charges_that_vanish() -> Finding:
    return Finding(claimed=0, found=_attack(Refunding(), _TINY, fails=False).found - BUDGET)


def charges_in_whole_units() -> Finding:
    return Finding(claimed=0, found=_attack(Keeping(), _TINY, fails=False).found - BUDGET)


def checked_then_charged() -> Finding:
    spent, granted = 0, 0
    seen_by_both = [spent + 1 <= BUDGET for _ in range(2)]  # both look before either writes
    for fits in seen_by_both:
        if fits:
            spent, granted = spent + 1, granted + 1
    return Finding(claimed=BUDGET, found=granted)


def checked_and_charged_at_once() -> Finding:
    return _attack(Keeping(), ["1", "1"], fails=False)


_FIGURE = "epsilon of the answers seen"
EXHIBITS = (
    Reckoning(
        "a refund on error",
        "A request that failed was not charged. The analyst looks at the answer and then lets the connection drop.",
        "written for the museum; threats 4 and 46 of docs/evidence/threats.md",
        _FIGURE,
        refund_on_error,
        no_refunds,
    ),
    Reckoning(
        "NaN as a price",
        "spent + NaN > budget is false, so the request is granted; from then on spent is NaN and everything is "
        "granted.",
        "written for the museum; threat 26 of docs/evidence/threats.md",
        _FIGURE,
        not_a_number,
        refused_before_it_is_charged,
    ),
    Reckoning(
        "charges that vanish",
        "The account was a double. When 1.0 is spent, 1.0 + 1e-16 is 1.0 again: small questions are free for ever.",
        "written for the museum; threats 26 and 27 of docs/evidence/threats.md",
        "epsilon beyond the budget",
        charges_that_vanish,
        charges_in_whole_units,
    ),
    Reckoning(
        "checked, then charged",
        "Two requests looked at the balance, both found enough, and both were charged.",
        "written for the museum; threat 5 of docs/evidence/threats.md",
        _FIGURE,
        checked_then_charged,
        checked_and_charged_at_once,
    ),
)
