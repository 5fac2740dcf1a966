"""Filters and odometers that count at several orders, against the best adaptive adversary (threat 29)."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import pytest

from dither.accounting import GDP, PLD, RDP, ZCDP, ApproxDP, Filter, PureDP, RenyiFilter, RenyiOdometer, compose
from dither.accounting.currency.renyi import RenyiSums
from dither.errors import BudgetExceeded, ParameterError, RelationMismatch


def curve(tenths, rate):
    """Randomised response that takes place with this probability, by its Renyi curve alone."""

    def divergence(order):
        moment = (math.exp(tenths / 10 * order) + math.exp(-tenths / 10 * (order - 1))) / (1 + math.exp(tenths / 10))
        return math.log1p(rate * (moment - 1)) / (order - 1) * (1 + 1e-12)

    return RDP(divergence), tenths, rate


# A guarantee, the epsilon of the randomised response behind it in tenths, and how often that takes place.
ASKED = {
    "1/10": (PureDP("0.1"), 1, 1.0),
    "1/2": (PureDP("0.5"), 5, 1.0),
    "curve of 3/10": curve(3, 1.0),
    "curve of 7/10": curve(7, 1.0),
    "sampled 12/10": curve(12, 0.1),
}


class BestOrderOfEachStep(RenyiFilter):
    """The planted bug: a step enters only the sum of the order that is best for it."""

    def spend(self, guarantee):
        before = self._spent
        super().spend(guarantee)
        step = before.of(guarantee, self.budget.relation)
        used = [spent / cap if cap else math.inf for spent, cap in zip(step.divergences, self.caps, strict=True)]
        best = used.index(min(used))
        kept = [
            after if place == best else old
            for place, (old, after) in enumerate(zip(before.divergences, self._spent.divergences, strict=True))
        ]
        self._spent = RenyiSums(before.orders, tuple(kept), self._spent.epsilon, self._spent.delta)


def best_adversary(make, names, steps):
    """sup over adaptive adversaries of max(P - e^epsilon Q) for what the filter lets through."""
    budget = make()

    @cache
    def after(spent, name):
        budget._spent = spent
        try:
            budget.spend(ASKED[name][0])
        except BudgetExceeded:
            return None
        return budget._spent

    @cache
    def value(spent, loss, left):
        best = max(0.0, -math.expm1(float(budget.budget.epsilon) - loss / 10))
        for name in names if left else ():
            reached = after(spent, name)
            if reached is not None:
                _, tenths, rate = ASKED[name]
                truth = 1 / (1 + math.exp(-tenths / 10))
                up, down = value(reached, loss + tenths, left - 1), value(reached, loss - tenths, left - 1)
                rest = (1 - rate) * value(reached, loss, left - 1) if rate < 1 else 0.0
                best = max(best, rest + rate * (truth * up + (1 - truth) * down))
        return best

    return value(budget.spent, 0, steps)


BUDGET = ApproxDP(1, "0.05")


def account(kind=RenyiFilter, orders=(2, 4, 8, 16), budget=BUDGET):
    return lambda: kind(budget, orders=orders)


@pytest.mark.parametrize(
    "names", [["1/10", "curve of 3/10"], ["1/2", "curve of 7/10"], ["1/2", "curve of 3/10"]], ids=str
)
def test_the_best_adversary_keeps_the_budget(names):
    for orders in ((2, 4, 8, 16), (4,), (3, 6)):
        assert 0 <= best_adversary(account(orders=orders), names, 9) <= 0.05


def test_something_is_granted_and_reached():
    assert best_adversary(account(orders=(4, 8)), ["curve of 3/10"], 9) > 0.001
    assert best_adversary(account(orders=(4, 8)), ["1/2", "curve of 3/10"], 9) > 0.005


def test_the_same_check_catches_a_step_in_one_sum_only():
    """A high order is best for responses, a low one for sampled ones; each sum then sees half of the steps."""
    budget, names = ApproxDP("1.5", "0.05"), ["curve of 3/10", "sampled 12/10"]
    assert best_adversary(account(BestOrderOfEachStep, (3, 16), budget), names, 14) > 0.15
    assert 0.005 < best_adversary(account(RenyiFilter, (3, 16), budget), names, 14) <= 0.05


def test_the_caps_are_what_converts():
    one = RenyiFilter(ApproxDP(2, "1e-6"), orders=(8, "16"), additive_delta="1e-7")
    for order, cap in zip((8, 16), one.caps, strict=True):
        share = 0.9e-6 / 2
        epsilon = float(cap) + math.log1p(-1 / order) - (math.log(share) + math.log(order)) / (order - 1)
        assert epsilon == pytest.approx(2, rel=1e-12)
        assert 2 <= RDP({order: cap}).epsilon_at(share) < 2.001  # which looks for the order on a grid
    assert RenyiFilter(ApproxDP(1, "1e-6"), orders=(2,)).caps == (None,)


def granted_by(one, step, most=10**4):
    """How many equal steps are granted."""
    for count in range(most):
        try:
            one.spend(step)
        except BudgetExceeded:
            return count
    return most


def test_sampled_noise_is_granted_far_more_than_by_its_rho():
    step = PLD.subsampled_gaussian(1, "0.01") * 50
    by_order = RenyiFilter(ApproxDP(2, "1e-6"), orders=(8,))
    granted = 50 * granted_by(by_order, step)
    assert granted == 500
    assert (PLD.subsampled_gaussian(1, "0.01") * granted).epsilon_at("1e-6") <= 2
    with pytest.raises(BudgetExceeded):
        Filter(ApproxDP(2, "1e-6")).spend(PLD.subsampled_gaussian(1, "0.01"))
    left = by_order.left
    assert 0 < left.divergences[0] < Fraction(step.renyi(8))
    assert left.epsilon == 0


def test_every_step_enters_every_sum_and_a_refusal_none():
    one = RenyiFilter(ApproxDP(1, "1e-6"), orders=(16, 32), additive_delta="1e-7")
    one.spend(PureDP("0.1"))
    one.spend(ApproxDP("0.1", "6e-8"))
    assert one.spent.epsilon == Fraction(1, 5)
    assert one.spent.delta == Fraction(6, 10**8)
    assert one.spent.divergences[1] >= 2 * Fraction(PureDP("0.1").renyi(32)) * Fraction(999999, 10**6)
    assert one.left.delta == Fraction(4, 10**8)
    assert one.left.epsilon == Fraction(4, 5)
    before = one.spent
    for refused, error in (
        (ApproxDP("0.1", "6e-8"), BudgetExceeded),
        (PureDP(3), BudgetExceeded),
        (PureDP("0.1", "replace"), RelationMismatch),
        (1.0, ParameterError),
    ):
        with pytest.raises(error):
            one.spend(refused)
        assert one.spent == before
    one.spend(GDP("0.01"))
    assert one.spent.epsilon is None
    assert granted_by(one, PureDP("0.1")) < 8


def test_an_order_without_a_bound_is_closed_and_others_are_not():
    step = RDP({2: "0.1", 16: "0.2"})
    sums = RenyiSums.none([2, 16, 64]).of(step, step.relation)
    assert list(map(float, sums.divergences[:2])) == [0.1, 0.2]
    assert sums.divergences[2] is None
    one = RenyiFilter(ApproxDP(2, "1e-6"), orders=(16, 64))
    one.spend(step)
    assert one.spent.divergences[1] is None
    assert one.left.divergences[1] == 0 < one.left.divergences[0]


def test_an_epsilon_with_two_events_counts_by_its_rho():
    stated = ApproxDP(1, "1e-9", proven_rho=Fraction(1, 100))
    sums = RenyiSums.none([4]).of(stated, stated.relation)
    assert sums.epsilon is None
    assert float(sums.divergences[0]) == pytest.approx(0.04, rel=1e-12)
    plain = RenyiSums.none([4]).of(compose([ApproxDP(1, "1e-9")] * 2), stated.relation)
    assert plain.epsilon == 2
    assert plain.delta == Fraction(2, 10**9)


@pytest.mark.parametrize(
    "wrong",
    [
        {"orders": ()},
        {"orders": (1, 2)},
        {"orders": (2, 10**7)},
        {"orders": (2, "nan")},
        {"additive_delta": "1e-6"},
        {"additive_delta": -1},
    ],
    ids=str,
)
def test_what_promises_nothing_is_refused(wrong):
    with pytest.raises(ParameterError):
        RenyiFilter(ApproxDP(1, "1e-6"), **wrong)
    with pytest.raises(ParameterError):
        RenyiOdometer(delta="1e-6", **wrong)
    with pytest.raises(ParameterError, match="give ApproxDP"):
        RenyiFilter(ZCDP("0.1"))


def worst_exceedance(bound, depth=9):
    """The largest P[at some moment the loss exceeds the bound shown then] over all adaptive adversaries."""

    @cache
    def value(counts, loss, left):
        if sum(counts) and loss / 10 > bound(counts) + 1e-12:
            return 1.0
        found = 0.0
        for place, tenths in enumerate((1, 3, 8)) if left else ():
            truth = 1 / (1 + math.exp(-tenths / 10))
            more = tuple(count + (at == place) for at, count in enumerate(counts))
            found = max(
                found,
                truth * value(more, loss + tenths, left - 1) + (1 - truth) * value(more, loss - tenths, left - 1),
            )
        return found

    return value((0, 0, 0), 0, depth)


def shown(counts, orders, hide=True):
    meter = RenyiOdometer(delta="0.05", orders=orders, additive_delta=0)
    for count, tenths in zip(counts, (1, 3, 8), strict=True):
        pure = PureDP(Fraction(tenths, 10))
        if count:
            meter.spend(compose([RDP(pure.renyi) if hide else pure] * count))
    return meter.epsilon


def test_the_best_adversary_seldom_exceeds_the_odometer():
    assert worst_exceedance(cache(lambda counts: shown(counts, (2, 3, 5)))) <= 0.05


def test_the_same_check_catches_an_order_chosen_after_every_step():
    """The planted bug: the sum of curves converted anew after each step, by the best order and all of delta."""
    parts = [PureDP(Fraction(tenths, 10)).zcdp().rho for tenths in (1, 3, 8)]
    best = cache(lambda counts: ZCDP(sum(map(Fraction.__mul__, parts, map(Fraction, counts)))).epsilon_at("0.05"))
    assert worst_exceedance(best) > 0.05


def test_the_sum_of_epsilons_is_shown_while_all_is_pure():
    meter = RenyiOdometer(delta="1e-6")
    assert meter.epsilon == 0
    for _ in range(5):
        meter.spend(PureDP(1))
    assert meter.epsilon == 5
    meter.spend(ApproxDP("0.01", "1e-10"))
    assert meter.epsilon > 5.1  # the sum, 5.01, is no bound any more
    meter.spend(PureDP("0.01"))
    assert meter.epsilon > 5.1
    assert meter.delta == Fraction(1, 10**6)
    with pytest.raises(BudgetExceeded, match="nothing was counted"):
        meter.spend(ApproxDP("0.01", "1e-6"))
    sampled = RenyiOdometer(delta="1e-6", orders=(6, 8, 12))
    sampled.spend(PLD.subsampled_gaussian(1, "0.01") * 100)
    assert 1 < sampled.epsilon < 2.3
