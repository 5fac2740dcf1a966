"""Budgets in the terms they were declared in; spent is never understated, left never overstated."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import pytest

import dither as dt
from dither.accounting.currency.currency import Currency
from dither.curator.budgets import (
    Amount,
    budget_from,
    cap_of,
    taken_by_others,
    terms_of,
    together_within,
    too_expensive,
    view,
)
from dither.errors import PolicyError
from dither.ledger import Balance, Charge

BUDGETS = [dt.PureDP("1/3"), dt.ApproxDP(4, "1e-6"), dt.ApproxDP("0.5", "1e-9", composition="basic")]


def balance(budget: object, part: Fraction) -> Balance:
    currency = Currency.of(budget)  # type: ignore[arg-type]
    cap = Charge(currency.cap_cost, currency.cap_delta)
    spent = Charge(cap.cost * part)
    left = Charge(cap.cost - spent.cost, cap.delta)
    return Balance(cap, spent, left, left)


@pytest.mark.parametrize("budget", BUDGETS)
def test_terms_are_exact_text(budget: dt.PureDP | dt.ApproxDP) -> None:
    terms = terms_of(budget)
    assert all(isinstance(value, str) for value in terms.values())
    again = budget_from(terms)
    assert Currency.of(again).cap_cost == Currency.of(budget).cap_cost
    assert terms_of(again) == terms
    assert again.relation is dt.Relation.OWNER


def test_other_budgets_are_refused() -> None:
    with pytest.raises(dt.PolicyError, match=r"a budget is PureDP\(4\) or ApproxDP"):
        terms_of(4)  # type: ignore[arg-type]
    with pytest.raises(dt.RelationMismatch, match="added or removed"):
        terms_of(dt.PureDP(4, relation="edge"))


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("part", [Fraction(0), Fraction(1, 3), Fraction(1)])
def test_what_is_spent_and_left(budget: dt.PureDP | dt.ApproxDP, part: Fraction) -> None:
    seen = view(budget, balance(budget, part), people=budget)
    assert seen.total.epsilon == budget.epsilon
    assert repr(seen).startswith(f"<budget: {'rho' if seen.kind == 'zcdp' else 'epsilon'}: ")
    named, granted, spent, left = re.match(
        r"<budget: (\w+): (\S+) granted = (\S+) spent \+ (\S+) left", repr(seen)
    ).groups()
    assert Fraction(granted) == Fraction(spent) + Fraction(left), named
    assert str(seen) in seen._repr_html_()
    if seen.kind != "zcdp":
        assert seen.spent.epsilon == budget.epsilon * part
        assert seen.left.epsilon == budget.epsilon * (1 - part)
        assert seen.spent.rho is None
        return
    currency = Currency.of(budget)
    assert seen.spent.rho == currency.cap_cost * part
    if part == 0:
        assert (seen.spent.epsilon, seen.spent.delta) == (0, 0)
    else:
        assert seen.spent.delta == budget.delta / 2
        assert 0 < seen.spent.epsilon <= budget.epsilon
    if part < 1:
        assert currency.price_of(epsilon=seen.left.epsilon).cost <= seen.left.rho
    else:
        assert (seen.left.epsilon, seen.left.rho) == (0, 0)


def test_a_refusal_names_the_largest_price_that_fits_and_rounds_it_down() -> None:
    people = view(dt.PureDP(1), balance(dt.PureDP(1), Fraction(1, 3)), people=dt.PureDP(1))
    price = Charge(Fraction(5))
    said = str(too_expensive({"epsilon": "5"}, price, people, None))
    assert "price epsilon=5 does not fit into what is left of the people's budget: epsilon at most 0.666666." in said
    keys = Charge(price.cost, Fraction(1, 100_000))
    assert "price epsilon=5 with delta 1e-05 for keys" in str(too_expensive({"epsilon": "5"}, keys, people, None))
    lean = replace(people, free=Amount(Fraction(1, 2), None, None))
    said = str(too_expensive({"epsilon": "5"}, price, lean, "alice"))
    assert "this analyst's own cap beyond what is reserved for analysts: epsilon at most 0.5." in said
    assert str(lean).splitlines()[-1] == "  not reserved for analysts: epsilon 0.5"
    said = str(taken_by_others({"epsilon": "5"}, keys))
    assert "price epsilon=5 with delta 1e-05 for keys from the data does not fit. Nothing was charged" in said


def test_the_largest_price_that_fits_is_granted(make: object) -> None:
    clinic = make(dt.ApproxDP(1, "1e-6"))  # type: ignore[operator]
    clinic.sql("SELECT COUNT(*) FROM visits", epsilon="0.3")
    left = clinic.budget("patients").left
    clinic.sql("SELECT SUM(age) FROM visits", epsilon=left.epsilon)
    with pytest.raises(dt.BudgetExceeded):
        clinic.sql("SELECT SUM(paid) FROM visits", epsilon="0.1")


def test_a_cap_is_shown_by_itself(make: object) -> None:
    clinic = make(dt.PureDP(2), oversubscribe=True)  # type: ignore[operator]
    clinic.analyst("bob", budget=dt.PureDP(10))
    clinic.sql("SELECT COUNT(*) FROM visits", epsilon="0.5")
    seen = clinic.budget("patients", "bob")
    assert (seen.total.epsilon, seen.left.epsilon, seen.free.epsilon) == (10, 10, 10)


def test_what_is_reserved_is_left_and_not_free(make: object) -> None:
    clinic = make(dt.PureDP(2))  # type: ignore[operator]
    clinic.analyst("bob", budget=dt.PureDP("0.5")).sql("SELECT COUNT(*) FROM visits", epsilon="0.25")
    seen = clinic.budget("patients")
    assert (seen.spent.epsilon, seen.left.epsilon, seen.free.epsilon) == (
        Fraction(1, 4),
        Fraction(7, 4),
        Fraction(3, 2),
    )
    assert str(seen).endswith("\n  not reserved for analysts: epsilon 1.5")


@pytest.mark.parametrize("budget", [dt.ApproxDP(4, "1e-6"), dt.ApproxDP(4, "1e-6", composition="basic")])
def test_caps_that_share_delta_as_they_share_epsilon_fit_together(budget: dt.ApproxDP) -> None:
    shares = [cap_of(budget, epsilon) for epsilon in ("1/3", "5/3", 1, 1)]
    assert [share.delta / budget.delta for share in shares] == [Fraction(1, 12), Fraction(5, 12), *[Fraction(1, 4)] * 2]
    assert together_within(budget, shares)
    assert not together_within(budget, [*shares, cap_of(budget, 4)])
    assert not together_within(budget, [cap_of(budget, "1e-6", "1.1e-6")]), "delta alone is too much"
    assert cap_of(budget, 40).delta == budget.delta
    assert cap_of(dt.PureDP(4), 1) == dt.PureDP(1)


def test_a_budget_that_is_none_is_refused_in_words(make: object) -> None:
    clinic = make(dt.PureDP(2))  # type: ignore[operator]
    with pytest.raises(dt.PolicyError, match="a budget is PureDP"):
        clinic.people("others", budget=4)


def test_a_cap_into_which_no_epsilon_fits_is_refused(make: object) -> None:
    """Priced at the people's delta of 0.25, even epsilon 0 costs more rho than the cap has."""
    clinic = make(dt.ApproxDP(8000, "0.5"))  # type: ignore[operator]
    words = r"a cap of epsilon 1, delta 1e-6, rho 0.02293: .* costs rho 0.2031.*needs epsilon (\d\.\d+), delta 1e-6"
    with pytest.raises(PolicyError, match=words) as refused:
        clinic.analyst("alice", budget=dt.ApproxDP(1, "1e-6"))
    assert ("patients", "alice") not in clinic._ledger.accounts()
    needed = re.search(words, str(refused.value))
    assert needed is not None
    alice = clinic.analyst("alice", budget=dt.ApproxDP(needed[1], "1e-6"))
    assert len(alice.sql("SELECT COUNT(*) FROM visits", epsilon="1e-9")) == 1
    with pytest.raises(PolicyError, match="fits into a cap"):
        clinic.analyst("bob", budget=dt.ApproxDP(Fraction(needed[1]) - Fraction(1, 500), "1e-6"))
    with pytest.raises(PolicyError, match="must be too"):  # other refusals keep their words
        clinic.analyst("bob", budget=dt.PureDP(1))


def test_a_cap_that_is_there_already_stays(make: object, monkeypatch: pytest.MonkeyPatch) -> None:
    clinic = make(dt.ApproxDP(8000, "0.5"))  # type: ignore[operator]
    with monkeypatch.context() as before:
        before.setattr("dither.curator.accounts.check_usable", lambda people, cap: None)
        clinic.analyst("alice", budget=dt.ApproxDP(1, "1e-6"))
    alice = clinic.analyst("alice", budget=dt.ApproxDP(1, "1e-6"))
    assert len(alice.sql("SELECT COUNT(*) FROM visits", rho="0.001")) == 1
    with pytest.raises(dt.BudgetExceeded):
        alice.sql("SELECT SUM(age) FROM visits", epsilon="1e-9")


def test_the_people_may_be_left_out_where_there_are_no_others(make: Callable[..., dt.Curator]) -> None:
    clinic = make(dt.PureDP(4))
    assert clinic.budget() == clinic.budget("patients")
    clinic.people("staff", budget=dt.PureDP(1))
    with pytest.raises(PolicyError, match="say which people are meant with people=; known are: patients, staff"):
        clinic.budget()
