"""A filter refuses before it charges, never refunds, and holds against a fully adaptive adversary (threat 29)."""

from __future__ import annotations

import math
import random
import sys
import threading
from fractions import Fraction

import pytest

from dither.accounting import ZCDP, ApproxDP, Filter, Price, PureDP, compose
from dither.errors import BudgetExceeded, ParameterError, RelationMismatch
from dither.mechanisms import Gaussian, Laplace


def test_epsilons_add_up_to_the_cap_exactly():
    account = Filter(PureDP(1))
    for _ in range(10):
        assert account.spend(PureDP("0.1")) == Price(Fraction(1, 10))
    assert account.spent == Price(Fraction(1))
    assert account.left == Price(Fraction(0))
    with pytest.raises(BudgetExceeded, match="nothing was charged"):
        account.spend(PureDP("1e-15"))


def test_a_refusal_changes_nothing():
    account = Filter(ApproxDP(1, "1e-6"))
    account.spend(ZCDP("0.01", "1e-7"))
    assert account.left.delta == Fraction(4, 10**7)
    before = account.spent, account.left
    for too_much in (ZCDP(1), ZCDP("0.001", "5e-7"), PureDP(1)):
        with pytest.raises(BudgetExceeded):
            account.spend(too_much)
    for nonsense, error in ((PureDP(1, "replace"), RelationMismatch), (1.0, ParameterError)):
        with pytest.raises(error):
            account.spend(nonsense)
    assert (account.spent, account.left) == before
    account.spend(ZCDP("0.001"))
    assert account.spent.cost == Fraction(11, 1000)


def test_prices_are_rounded_up_to_units():
    account = Filter(PureDP(1))
    account.spend(PureDP(Fraction(1, 3)))
    assert account.spent.cost == Fraction(333333333333334, 10**15)
    account.spend(PureDP(Fraction(1, 3)))
    with pytest.raises(BudgetExceeded):
        account.spend(PureDP(Fraction(1, 3)))


def test_currencies_do_not_mix():
    with pytest.raises(ParameterError, match="pure mechanisms only"):
        Filter(PureDP(4)).spend(Gaussian(epsilon=1, delta="1e-6", sensitivity=1).guarantee)
    with pytest.raises(ParameterError):
        Filter(ApproxDP(4, "1e-6", composition="basic")).spend(ZCDP("0.1"))
    basic = Filter(ApproxDP(2, "1e-6", composition="basic"))
    basic.spend(Gaussian(epsilon=1, delta="6e-7", sensitivity=1).guarantee)
    assert basic.spent.cost == 1
    assert basic.spent.delta == Fraction(6, 10**7)
    with pytest.raises(BudgetExceeded):
        basic.spend(ApproxDP("0.1", "5e-7"))
    assert Filter(ZCDP("0.5", "1e-9")).spend(ApproxDP("0.1", "1e-9")).delta == Fraction(1, 10**9)


def test_threads_together_get_no_more_than_the_cap():
    account = Filter(PureDP(1))
    granted = []

    def spend():
        for _ in range(400):
            try:
                account.spend(PureDP("0.001"))
            except BudgetExceeded:
                continue
            granted.append(1)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # as many chances to interleave as there are
    try:
        threads = [threading.Thread(target=spend) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert len(granted) == 1000
    assert account.left.cost == 0


def test_one_charge_at_a_time():
    """While one charge is being decided every other one waits: no two can see the same balance."""
    account = Filter(PureDP(1))
    waiting = threading.Thread(target=lambda: account.spend(PureDP("0.5")))
    with account._lock:
        waiting.start()
        waiting.join(0.2)
        assert waiting.is_alive()
        assert account.spent.cost == 0
    waiting.join()
    assert account.spent.cost == Fraction(1, 2)


@pytest.mark.parametrize("seed", range(20))
def test_random_adaptive_runs_stay_within_the_budget(seed, reference):
    """An adversary that goes on until it is refused; the exact divergence of what it got is within the budget."""
    generator = random.Random(seed)
    budget = ApproxDP(generator.choice([1, 2, 4]), "0.001")
    account, pure, mu_squared, lost, got = Filter(budget), [], Fraction(0), [], []
    refusals = 0
    while refusals < 12 and len(pure) < 8:
        epsilon = Fraction(generator.randint(1, 60), 40)
        kind = generator.choice(["laplace", "gaussian", "approx"])
        if kind == "laplace":
            guarantee = Laplace(epsilon=epsilon, sensitivity=1).guarantee
        elif kind == "gaussian":
            guarantee = Gaussian(rho=epsilon / 50, sensitivity=1).guarantee
        else:
            guarantee = ApproxDP(epsilon, Fraction(1, 10**4))
        try:
            account.spend(guarantee)
        except BudgetExceeded:
            refusals += 1
            continue
        got.append(guarantee)
        if kind == "gaussian":
            mu_squared += guarantee.gaussian_mu_squared
        else:
            pure.append(epsilon)
            lost += [Fraction(1, 10**4)] if kind == "approx" else []
    assert got
    assert refusals
    spent = compose(got).zcdp()
    assert account.spent.cost >= spent.rho
    pure_sum = sum(pure, Fraction(0)) if not mu_squared else math.inf
    assert spent.rho <= account.currency.cap_cost or pure_sum <= budget.epsilon
    assert spent.delta <= account.currency.cap_delta
    assert reference.exact_delta(pure, mu_squared, budget.epsilon, lost) <= reference.number(budget.delta)


CHOICES = [Fraction(3, 10), Fraction(1, 5), Fraction(9, 20), Fraction(1, 10), Fraction(7, 10)]


class UnderCharging(Filter):
    """The planted bug: a quarter of the rho, as if every pure mechanism were an exponential mechanism."""

    def spend(self, guarantee):
        rho = guarantee.zcdp().rho / 4
        return super().spend(PureDP(guarantee.epsilon, proven_rho=rho))


def adaptive_divergence(make_filter, budget, seed, depth=9):
    """max over both orders of sum (P - e^epsilon Q)_+ over all transcripts of an adversary that asks randomised
    responses and picks each next epsilon from the answers so far; a refusal ends a transcript."""

    def explore(path, spends, p, q):
        account = make_filter(budget)
        for epsilon in spends:
            account.spend(PureDP(epsilon))
        epsilon = CHOICES[random.Random(f"{seed}/{path}").randrange(len(CHOICES))]
        try:
            account.spend(PureDP(epsilon))
        except BudgetExceeded:
            epsilon = None
        if epsilon is None or len(path) == depth:
            return [(p, q)]
        truth = 1 / (1 + math.exp(-epsilon))
        return explore(path + "1", [*spends, epsilon], p * truth, q * (1 - truth)) + explore(
            path + "0", [*spends, epsilon], p * (1 - truth), q * truth
        )

    transcripts = explore("", [], 1.0, 1.0)
    assert math.isclose(sum(p for p, _ in transcripts), 1)
    factor = math.exp(budget.epsilon)
    return max(sum(max(0.0, a[i] - factor * a[1 - i]) for a in transcripts) for i in (0, 1))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("budget", [ApproxDP(1, "0.01"), ApproxDP(2, "0.05"), PureDP(1)], ids=str)
def test_all_transcripts_of_an_adaptive_adversary_keep_the_budget(seed, budget):
    assert adaptive_divergence(Filter, budget, seed) <= float(budget.delta) + 1e-12


def test_the_same_check_catches_a_filter_that_charges_too_little():
    budget = ApproxDP(1, "0.01")
    assert max(adaptive_divergence(UnderCharging, budget, seed) for seed in range(6)) > 0.01
