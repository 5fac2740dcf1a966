"""A filter with two ways to admit a step, against the best adaptive adversary there is (threat 29)."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import pytest

from dither.accounting import GDP, PLD, ZCDP, ApproxDP, Filter, PureDP, compose
from dither.accounting.currency.filter import Balance
from dither.accounting.currency.readings import pure_epsilon
from dither.errors import BudgetExceeded
from dither.mechanisms import Gaussian, KeySelection, Laplace

# What the adversary may ask for: the guarantee as stated, the epsilon of the randomised response behind it in tenths,
# and the probability with which all is lost.
ASKED = {
    "1/10": (PureDP("0.1"), 1, 0.0),
    "3/10": (PureDP("0.3"), 3, 0.0),
    "1/2": (PureDP("0.5"), 5, 0.0),
    "1/5 or all": (ApproxDP("0.2", "0.01"), 2, 0.01),
    "rho only": (ZCDP(PureDP("0.3").zcdp().rho), 3, 0.0),
}


def state_of(account):
    return account._spent, account._epsilon


class Switching(Filter):
    """The planted bug: a step enters the sum of the way that lets it through, and not the other."""

    def spend(self, guarantee):
        before = state_of(self)
        price = super().spend(guarantee)
        by_epsilon = self._epsilon is not None and self._epsilon <= self._epsilon_cap
        if by_epsilon:
            self._spent = (before[0][0], self._spent[1])
        else:
            self._epsilon = before[1]
        return price


class Reopening(Filter):
    """The planted bug: a step without an epsilon is left out of the sum of epsilons instead of closing it."""

    def spend(self, guarantee):
        before = self._epsilon
        price = super().spend(guarantee)
        self._epsilon = before if self._epsilon is None else self._epsilon
        return price


class TwoDeltas(Filter):
    """The planted bug: each way has a delta counter of its own, so that additive deltas are paid half."""

    def spend(self, guarantee):
        before = self._spent[1]
        price = super().spend(guarantee)
        self._spent = (self._spent[0], before + (self._spent[1] - before) // 40)
        return price


def best_adversary(make, budget, asked, steps):
    """sup over adaptive adversaries of max(P - e^epsilon Q), and the most rho that the best one is granted on a path.

    The value of having reached a state with loss l is the larger of stopping, (1 - e^(epsilon - l))_+ under P, and of
    asking on. Everything asked for is symmetric, so one order of the datasets is enough.
    """

    @cache
    def after(state, name):
        account = make(budget)
        account._spent, account._epsilon = state
        try:
            account.spend(asked[name][0])
        except BudgetExceeded:
            return None
        return state_of(account)

    @cache
    def value(state, loss, left):
        best = max(0.0, -math.expm1(float(budget.epsilon) - loss / 10)), 0.0
        for name in asked if left else ():
            reached = after(state, name)
            if reached is None:
                continue
            _, tenths, lost = asked[name]
            truth = (1 - lost) / (1 + math.exp(-tenths / 10))
            up, down = value(reached, loss + tenths, left - 1), value(reached, loss - tenths, left - 1)
            rho = asked[name][0].zcdp().rho
            found = lost + truth * up[0] + (1 - lost - truth) * down[0], float(rho) + max(up[1], down[1])
            best = max(best, found)
        return best

    return value(state_of(make(budget)), 0, steps)


CASES = [
    (ApproxDP(1, "0.05"), ["1/10", "3/10"], 11),
    (ApproxDP(1, "0.05"), ["3/10", "1/2", "rho only"], 9),
    (ApproxDP(1, "0.05"), ["1/10", "1/2", "1/5 or all"], 8),
    (ApproxDP("1.5", "0.1"), ["3/10", "1/5 or all", "rho only"], 8),
    (ApproxDP("0.5", "0.02"), ["1/10", "1/2", "rho only"], 8),
]


@pytest.mark.parametrize(("budget", "names", "steps"), CASES, ids=str)
def test_the_best_adversary_keeps_the_budget(budget, names, steps):
    reached, _ = best_adversary(Filter, budget, {name: ASKED[name] for name in names}, steps)
    assert 0 <= reached <= float(budget.delta)


def test_the_gain_is_really_used():
    """The best adversary is granted more rho than the cap, which only the second way lets through."""
    budget = ApproxDP(1, "0.05")
    reached, rho = best_adversary(Filter, budget, {name: ASKED[name] for name in ("1/2", "1/10")}, 13)
    assert rho > float(Filter(budget).currency.cap_cost)
    assert 0 < reached <= 0.05


def test_the_same_check_catches_switching_sums():
    asked = {name: ASKED[name] for name in ("1/10", "3/10", "1/2")}
    reached, _ = best_adversary(Switching, ApproxDP(1, "0.05"), asked, 9)
    assert reached > 0.08
    assert best_adversary(Filter, ApproxDP(1, "0.05"), asked, 9)[0] <= 0.05


@pytest.mark.parametrize(
    ("bug", "names"), [(Reopening, ["1/2", "rho only"]), (TwoDeltas, ["1/2", "1/5 or all"])], ids=["reopened", "deltas"]
)
def test_the_same_check_catches_other_slips(bug, names):
    asked = {name: ASKED[name] for name in names}
    assert best_adversary(bug, ApproxDP(1, "0.05"), asked, 9)[0] > 0.05
    assert best_adversary(Filter, ApproxDP(1, "0.05"), asked, 9)[0] <= 0.05


def test_adding_up_grants_ten_tenths():
    account = Filter(ApproxDP(1, "1e-6"))
    for step in range(10):
        assert account.left == Balance(account.left.cost, Fraction(5, 10**7), 1 - Fraction(step, 10))
        account.spend(PureDP("0.1"))
    assert account.spent.cost > account.currency.cap_cost
    assert account.left == Balance(Fraction(0), Fraction(5, 10**7), Fraction(0))
    with pytest.raises(BudgetExceeded, match=r"left \(rho 0, delta 5e-07, or 0 in epsilons that add\)"):
        account.spend(PureDP("1e-15"))


def test_a_step_without_an_epsilon_closes_the_second_way_for_good():
    account = Filter(ApproxDP(1, "1e-6"))
    account.spend(GDP("0.01"))
    assert account.left.epsilon is None
    for _ in range(4):
        account.spend(PureDP("0.1"))
    with pytest.raises(BudgetExceeded, match=r"delta 5e-07\)"):
        account.spend(PureDP("0.1"))
    assert account.left.epsilon is None


def test_many_small_steps_are_granted_as_by_rho_alone():
    account = Filter(ApproxDP(1, "1e-6"))
    count = int(account.currency.cap_cost / PureDP("0.01").zcdp().rho)
    assert count > 100
    for _ in range(count):
        account.spend(PureDP("0.01"))
    with pytest.raises(BudgetExceeded):
        account.spend(PureDP("0.01"))


def test_a_budget_of_rho_has_one_way_only():
    account = Filter(ZCDP("0.02"))
    for _ in range(4):
        account.spend(PureDP("0.1"))
    with pytest.raises(BudgetExceeded):
        account.spend(PureDP("0.1"))
    assert not isinstance(account.left, Balance)


def test_which_steps_have_an_epsilon_beside_their_delta():
    stated = ApproxDP("0.3", "1e-9")
    assert pure_epsilon(Laplace(epsilon="0.2", sensitivity=3).guarantee) == Fraction(1, 5)
    assert pure_epsilon(stated) == Fraction(3, 10)
    assert pure_epsilon(compose([PureDP("0.1") * 3, stated])) == Fraction(3, 5)
    assert pure_epsilon(PLD.approximate("0.3", "1e-9")) == Fraction(3, 10)
    assert pure_epsilon(PLD.pure("0.3") * 2) == Fraction(3, 5)
    # Gaussian noise by epsilon and delta: its loss exceeds that epsilon with twenty times that delta.
    assert pure_epsilon(Gaussian(epsilon=1, delta="1e-6", sensitivity=1).guarantee) is None
    # An epsilon and a smaller rho, each outside an event of its own.
    assert pure_epsilon(KeySelection(epsilon=1, delta="1e-6", method="gaussian").guarantee) is None
    for without in (ZCDP("0.1"), GDP(1), compose([PureDP("0.1"), GDP("0.1")])):
        assert pure_epsilon(without) is None
