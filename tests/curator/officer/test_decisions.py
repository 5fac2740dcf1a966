"""Accounts are frozen, lowered, raised and closed in the terms of budgets; a frozen analyst keeps what was paid for."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import dither as dt
from dither.curator.officer.decisions import changed
from dither.ledger.officer.orders import make_key

COUNT = "SELECT COUNT(*) AS n FROM visits"
BUDGETS = [dt.PureDP(4), dt.ApproxDP(4, "1e-6"), dt.ApproxDP(4, "1e-6", composition="basic")]


@pytest.fixture
def key(tmp_path: Path) -> Path:
    return tmp_path / "officer.pem"


def enrolled(clinic: dt.Curator, key: Path) -> dt.Curator:
    clinic.officer.enrol(make_key(key))
    return clinic


@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
def test_a_new_years_budget(make: Any, key: Path, budget: Any) -> None:
    clinic = enrolled(make(budget), key)
    clinic.sql(COUNT, epsilon="0.5")
    before = clinic.budget("patients")
    more = changed(budget, 6)
    with pytest.raises(dt.SignatureRefused, match="needs the officer's signature"):
        clinic.officer.grant("patients", budget=more, reason="2027: epsilon 2 more", key=None)
    clinic.officer.grant("patients", budget=more, reason="2027: epsilon 2 more", key=key)
    after = clinic.budget("patients")
    assert (after.total.epsilon, after.total.delta) == (6, before.total.delta)
    assert after.spent.adding == before.spent.adding
    assert after.left.adding - before.left.adding == after.total.adding - before.total.adding > 0
    assert after.changes[0].startswith("epsilon 6")
    assert after.changes[-1].startswith("epsilon 4")
    assert "(signed): 2027: epsilon 2 more" in str(after)
    clinic.people("patients", budget=more)  # what it has now; nothing changes
    clinic.verify()


@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
def test_a_cap_lowered_and_raised(make: Any, key: Path, budget: Any) -> None:
    clinic = enrolled(make(budget), key)
    cap = changed(budget, 1)
    alice = clinic.analyst("alice", budget=cap)
    alice.sql(COUNT, epsilon="0.25")
    clinic.officer.lower("patients", "alice", budget=changed(cap, "0.5"), reason="half is enough")
    with pytest.raises(dt.BudgetExceeded):
        alice.sql(COUNT + " WHERE age > 30", epsilon="0.6")
    with pytest.raises(dt.PolicyError, match="below what is spent"):
        clinic.officer.lower("patients", "alice", budget=changed(cap, "0.01"), reason="less")
    with pytest.raises(dt.PolicyError, match="raises a cap"):
        clinic.officer.lower("patients", "alice", budget=cap, reason="less, they say")
    clinic.officer.change("patients", "alice", budget=cap, reason="back to 1", key=key)
    assert clinic.budget("patients", "alice").total.epsilon == 1
    assert [entry.kind for entry in clinic.ledger()][-2:] == ["lower", "grant"]
    clinic.verify()


def test_a_budget_keeps_its_kind(clinic: dt.Curator, key: Path) -> None:
    enrolled(clinic, key)
    with pytest.raises(dt.PolicyError, match="keeps its kind"):
        clinic.officer.grant("patients", budget=dt.ApproxDP(6, "1e-6"), reason="x", key=key)
    with pytest.raises(dt.PolicyError, match="leave delta out"):
        changed(dt.PureDP(4), 6, "1e-6")


def test_a_frozen_analyst_keeps_what_was_paid_for(clinic: dt.Curator) -> None:
    """Those answers are known to the analyst already: to refuse them would protect nobody."""
    alice, bob = (clinic.analyst(name, budget=dt.PureDP(1)) for name in ("alice", "bob"))
    paid = alice.sql(COUNT, epsilon="0.5")
    clinic.freeze("patients", analyst="alice", reason="on leave")
    assert str(alice.sql(COUNT, epsilon="0.25")).splitlines()[:4] == str(paid).splitlines()[:4]
    with pytest.raises(dt.AnalystFrozen, match="Nothing was charged"):
        alice.sql(COUNT + " WHERE age > 30", epsilon="0.25")
    assert alice.budget().spent.epsilon == Fraction(1, 2)
    assert (alice.budget().state, bob.budget().state, clinic.budget("patients").state) == ("frozen", "open", "open")
    bob.sql(COUNT, epsilon="0.25")
    clinic.thaw("patients", analyst="alice", reason="back")
    alice.sql(COUNT + " WHERE age > 30", epsilon="0.25")
    clinic.verify()


def test_why_people_were_frozen_stands_in_the_ledger(clinic: dt.Curator) -> None:
    clinic.freeze("patients", reason="a complaint")
    clinic.thaw("patients", reason="settled")
    found = [(entry.kind, entry.body["reason"], "time" in entry.body) for entry in list(clinic.ledger())[-2:]]
    assert found == [("freeze", "a complaint", True), ("thaw", "settled", True)]
    with pytest.raises(dt.PolicyError, match="say why"):
        clinic.freeze("patients", reason=" ")
    assert clinic.budget("patients").state == "open"
    clinic.verify()


def test_closed_people_answer_nothing_new(clinic: dt.Curator, key: Path) -> None:
    enrolled(clinic, key)
    alice = clinic.analyst("alice", budget=dt.PureDP(1))
    alice.sql(COUNT, epsilon="0.5")
    clinic.officer.close("patients", reason="the study has ended")
    assert not alice.sql(COUNT, epsilon="0.5").charged
    for asker in (alice, clinic):
        with pytest.raises(dt.AccountClosed):
            asker.sql(COUNT + " WHERE age > 30", epsilon="0.25")
    for again in (
        lambda: clinic.thaw("patients"),
        lambda: clinic.officer.grant("patients", budget=dt.PureDP(9), reason="x", key=key),
        lambda: clinic.analyst("bob", budget=dt.PureDP(1)),
    ):
        with pytest.raises((dt.AccountClosed, dt.PolicyError)):
            again()
    shown = str(clinic.budget("patients"))
    assert "epsilon: 4 granted = 0.5 spent + 3.5 that nobody spends any more" in shown
    assert "closed for good" in shown
    clinic.verify()


def test_an_analyst_leaves_and_another_comes(clinic: dt.Curator) -> None:
    clinic.analyst("alice", budget=dt.PureDP(3)).sql(COUNT, epsilon="1")
    with pytest.raises(dt.PolicyError, match="does not fit into the budget"):
        clinic.analyst("bob", budget=dt.PureDP(3))
    clinic.officer.close("patients", "alice", reason="alice leaves")
    assert clinic.budget("patients").free.epsilon == 3
    clinic.analyst("bob", budget=dt.PureDP(3)).sql(COUNT, epsilon="3")
    clinic.verify()


def test_an_order_signed_elsewhere(clinic: dt.Curator, key: Path) -> None:
    enrolled(clinic, key)
    order = clinic.officer.draft("patients", budget=dt.PureDP(5), reason="one more")
    with pytest.raises(dt.SignatureRefused):
        clinic.officer.carry_out(order, "00" * 64)
    clinic.officer.carry_out(order, order.signed(key))
    assert clinic.budget("patients").total.epsilon == 5
    with pytest.raises(dt.SignatureRefused, match="carried out before"):
        clinic.officer.carry_out(order, order.signed(key))


def test_an_office_changes_hands(clinic: dt.Curator, key: Path, tmp_path: Path) -> None:
    enrolled(clinic, key)
    public = make_key(tmp_path / "next.pem")
    with pytest.raises(dt.SignatureRefused):
        clinic.officer.replace_key(public, reason="coup", key=tmp_path / "next.pem")
    clinic.officer.replace_key(public, reason="a new officer", key=key)
    assert clinic.officer.key == public
    with pytest.raises(dt.SignatureRefused):
        clinic.officer.grant("patients", budget=dt.PureDP(5), reason="x", key=key)
    clinic.officer.grant("patients", budget=dt.PureDP(5), reason="x", key=tmp_path / "next.pem")


@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
def test_an_order_grants_no_more_than_the_budget_that_it_names(make: Any, key: Path, budget: Any) -> None:
    """An order that somebody else has drafted: the officer reads epsilon 6, and the ledger goes by the figures."""
    clinic = enrolled(make(budget), key)
    order = clinic.officer.draft("patients", budget=changed(budget, 6), reason="2027")
    for more in ({"cost": "1000"}, {"delta": "1/10"}, {"cost": "much"}, {"terms": {"budget": "all"}}, {"terms": 6}):
        crafted = replace(order, body={**order.body, **more})
        with pytest.raises(dt.SignatureRefused, match=r"more than the budget that it names|names no budget"):
            clinic.officer.carry_out(crafted, crafted.signed(key))
    assert clinic.budget("patients").total.epsilon == 4
    clinic.officer.carry_out(order, order.signed(key))
    assert clinic.budget("patients").total.epsilon == 6


def test_planted_orders_that_are_taken_by_their_words(make: Any, key: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dither.curator.officer.decisions.check_order", lambda order: None)
    with pytest.raises(pytest.fail.Exception):
        test_an_order_grants_no_more_than_the_budget_that_it_names(make, key, BUDGETS[0])
