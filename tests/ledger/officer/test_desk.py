"""Freezes, lower caps and closings hold at once; nothing but the officer's signature for this very change raises."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dither.errors import BudgetExceeded, LedgerCorrupt, PolicyError
from dither.ledger import Charge, Ledger
from dither.ledger.officer import changes, desk, orders
from dither.ledger.officer.orders import Order, make_key, public_of, read_key
from dither.ledger.officer.refusals import AccountClosed, AnalystFrozen, SignatureRefused

FIVE = {"cap": Charge(Fraction(5)), "terms": {"epsilon": "5"}, "reason": "2027: epsilon 1 more"}


@pytest.fixture
def key(tmp_path: Path, ledger: Ledger) -> Path:
    """The private key of the officer whom the ledger knows."""
    path = tmp_path / "officer.pem"
    ledger.desk.enrol(make_key(path), reason="first officer")
    return path


def drafted(ledger: Ledger, people: str = "patients", analyst: str | None = None, **stated: Any) -> Order:
    return ledger.desk.draft(people, analyst, **FIVE | stated)


def grant(ledger: Ledger, key: Path, *whose: Any, **stated: Any) -> Order:
    order = drafted(ledger, *whose, **stated)
    ledger.desk.carry_out(order, order.signed(key), time=1_800_000_000)
    return order


def cap(ledger: Ledger, *whose: Any) -> Fraction:
    return ledger.balance(*whose or ("patients",)).cap.cost


def proven(ledger: Ledger, folder: Path) -> None:
    ledger.verify()
    with Ledger.open(folder) as again:
        assert [again.balance(*one) for one in again.accounts()] == [ledger.balance(*one) for one in ledger.accounts()]
        assert again.desk.standing() == ledger.desk.standing()
        again.verify()


def test_a_signed_grant_raises_a_budget(ledger: Ledger, folder: Path, key: Path, reserve: Any) -> None:
    with pytest.raises(BudgetExceeded):
        reserve(ledger, None, "7/2")
    grant(ledger, key)
    assert (cap(ledger), ledger.terms("patients")) == (5, {"epsilon": "5"})
    assert reserve(ledger, None, "7/2").state == "reserved"
    grant(ledger, key, "patients", "alice", cap=Charge(Fraction(3, 2)), terms={"epsilon": "3/2"})
    assert ledger.balance("patients").free.cost == 0
    ledger.open_account("patients", None, kind="pure", cap=Charge(Fraction(5)), terms={"epsilon": "5"})
    with pytest.raises(PolicyError, match="other terms"):
        ledger.open_account("patients", None, kind="pure", cap=Charge(Fraction(4)), terms={"epsilon": "4"})
    proven(ledger, folder)
    found = ledger.desk.decisions("grant")
    assert [entry.body["reason"] for entry in found] == [FIVE["reason"]] * 2


def test_a_cap_raised_takes_no_more_than_its_people_have(ledger: Ledger, key: Path, reserve: Any) -> None:
    reserve(ledger, None, "3")
    with pytest.raises(PolicyError, match="reserved for analysts"):
        grant(ledger, key, "patients", "alice", cap=Charge(Fraction(2)), terms={})
    assert ledger.balance("patients", "alice").cap.cost == 1


def check_not_raised(ledger: Ledger, order: Order, signature: str) -> None:
    before, standing = cap(ledger), ledger.desk.standing()
    with pytest.raises(SignatureRefused):
        ledger.desk.carry_out(order, signature)
    assert (cap(ledger), ledger.desk.standing()) == (before, standing)
    ledger.verify()


Forgery = Callable[[Ledger, Path, Path], tuple[Order, str]]


def _unsigned(ledger: Ledger, key: Path, tmp: Path) -> tuple[Order, str]:
    return drafted(ledger), ""


def _of_another_key(ledger: Ledger, key: Path, tmp: Path) -> tuple[Order, str]:
    make_key(tmp / "other.pem")
    return (order := drafted(ledger)), order.signed(tmp / "other.pem")


def _for_more(ledger: Ledger, key: Path, tmp: Path) -> tuple[Order, str]:
    order = drafted(ledger)
    return Order(order.ledger, "grant", {**order.body, "cost": "9"}), order.signed(key)


def _for_other_people(ledger: Ledger, key: Path, tmp: Path) -> tuple[Order, str]:
    ledger.open_account("staff", None, kind="pure", cap=Charge(Fraction(4)), terms={})
    order = drafted(ledger)
    return Order(order.ledger, "grant", {**order.body, "people": "staff"}), order.signed(key)


def _for_an_analyst(ledger: Ledger, key: Path, tmp: Path) -> tuple[Order, str]:
    order, raised = drafted(ledger, cap=Charge(Fraction(4, 3))), drafted(ledger, "patients", "alice")
    body = {**order.body, "analyst": "alice", "was": raised.body["was"]}
    return Order(order.ledger, "grant", body), order.signed(key)


def _for_another_ledger(ledger: Ledger, key: Path, tmp: Path) -> tuple[Order, str]:
    with Ledger.open(tmp / "other", create=True) as other:
        other.open_account("patients", None, kind="pure", cap=Charge(Fraction(4)), terms={"epsilon": "4"})
        other.desk.enrol(public_of(read_key(key)), reason="the same officer")
        order = drafted(other)
    return order, order.signed(key)


def _as_if_for_this_ledger(ledger: Ledger, key: Path, tmp: Path) -> tuple[Order, str]:
    order, signature = _for_another_ledger(ledger, key, tmp)
    return Order(drafted(ledger).ledger, "grant", order.body), signature


def _twice(ledger: Ledger, key: Path, tmp: Path) -> tuple[Order, str]:
    order = grant(ledger, key)
    ledger.desk.lower("patients", None, cap=Charge(Fraction(4)), terms={"epsilon": "4"}, reason="taken back")
    return order, order.signed(key)


FORGERIES: dict[str, Forgery] = {
    "unsigned": _unsigned,
    "of another key": _of_another_key,
    "for more": _for_more,
    "for other people": _for_other_people,
    "for an analyst": _for_an_analyst,
    "for another ledger": _for_another_ledger,
    "as if for this ledger": _as_if_for_this_ledger,
    "twice": _twice,
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_only_a_signature_for_just_this_raises(ledger: Ledger, key: Path, tmp_path: Path, forgery: str) -> None:
    check_not_raised(ledger, *FORGERIES[forgery](ledger, key, tmp_path))


def _signature_is_not_looked_at(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Order, "is_signed", lambda *_: True)


def _people_are_not_signed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(orders, "UNSIGNED", (*orders.UNSIGNED, "people", "analyst", "was"))


def _number_is_not_counted(patch: pytest.MonkeyPatch) -> None:
    def signed(book: Any, kind: str, body: Any) -> bool:
        order = Order(orders.ledger_name(book.key), kind, body)
        return order.is_signed(book.standing.officer, body.get("signature"))

    for module in (changes, desk):
        patch.setattr(module, "is_signed", signed)


def _ledger_is_not_signed(patch: pytest.MonkeyPatch) -> None:
    for module in (orders, changes, desk):
        patch.setattr(module, "ledger_name", lambda key: "ledger")


@pytest.mark.parametrize("store", ["sqlite"])
@pytest.mark.parametrize(
    ("forgery", "plant"),
    [
        ("unsigned", _signature_is_not_looked_at),
        ("for other people", _people_are_not_signed),
        ("for an analyst", _people_are_not_signed),
        ("twice", _number_is_not_counted),
        ("for another ledger", _ledger_is_not_signed),
    ],
)
def test_planted_signatures_that_serve_elsewhere(
    ledger: Ledger, key: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forgery: str, plant: Any
) -> None:
    """Planted bugs: an unsigned raise is accepted; a signature serves for other people, twice, or in another ledger."""
    plant(monkeypatch)
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        test_only_a_signature_for_just_this_raises(ledger, key, tmp_path, forgery)


def check_forged_entry(ledger: Ledger, folder: Path, kind: str, body: dict[str, Any]) -> None:
    """Whoever holds the ledger's key, and not the officer's, writes an entry as if all were well."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(changes, "objection", lambda *_, **__: None)
        with ledger._journal.writing() as page:
            page.append(kind, body)
            desk._tabulate(page, {"analyst": None, **body})
    ledger.close()
    with pytest.raises(LedgerCorrupt):
        Ledger.open(folder)


RAISED = {"people": "patients", "analyst": None, "terms": {}, "cost": "9", "delta": "0", "reason": "x"}


@pytest.mark.parametrize("store", ["sqlite"])
@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("grant", {**RAISED, "number": 1, "signature": "00"}),
        ("lower", RAISED),
    ],
)
def test_a_raise_by_who_holds_the_ledgers_key_is_found_at_opening(
    ledger: Ledger, folder: Path, key: Path, kind: str, body: dict[str, Any]
) -> None:
    check_forged_entry(ledger, folder, kind, body)


@pytest.mark.parametrize("store", ["sqlite"])
def test_planted_nobody_looks_at_signatures_at_opening(
    ledger: Ledger, folder: Path, key: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Order, "is_signed", lambda *_: True)
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        check_forged_entry(ledger, folder, "grant", {**RAISED, "number": 1, "signature": "00"})


class AnyCap:
    """Equal to every cap."""

    def __eq__(self, other: object) -> bool:
        return True

    def __ne__(self, other: object) -> bool:
        return False

    __hash__ = None  # type: ignore[assignment]


def check_an_older_order(ledger: Ledger, folder: Path, key: Path) -> None:
    """What the officer has lowered stays so, whatever was signed before and not carried out."""
    order = drafted(ledger)
    ledger.desk.lower("patients", None, cap=Charge(Fraction(3)), terms={"epsilon": "3"}, reason="misuse")
    with pytest.raises(PolicyError, match="another cap than the one in force"):
        ledger.desk.carry_out(order, order.signed(key))
    assert cap(ledger) == 3
    grant(ledger, key)
    assert cap(ledger) == 5
    proven(ledger, folder)


def test_a_lowered_cap_voids_older_orders(ledger: Ledger, folder: Path, key: Path) -> None:
    check_an_older_order(ledger, folder, key)


def test_planted_orders_for_any_cap(ledger: Ledger, folder: Path, key: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bug: what an order says of the cap that it raises is not looked at."""
    monkeypatch.setattr(changes, "figures_of", lambda cap: AnyCap())
    with pytest.raises(pytest.fail.Exception):
        check_an_older_order(ledger, folder, key)


def test_an_order_of_before_states_no_cap(ledger: Ledger, folder: Path, key: Path) -> None:
    """As those that are in ledgers already."""
    order = drafted(ledger)
    older = Order(order.ledger, order.kind, {name: said for name, said in order.body.items() if name != "was"})
    ledger.desk.carry_out(older, older.signed(key))
    assert cap(ledger) == 5
    proven(ledger, folder)


@pytest.mark.parametrize(
    "changed",
    [
        {"people": ["patients"]},
        {"analyst": 5},
        {"cost": 6},
        {"number": True},
        {"terms": [["epsilon", "5"]]},
        {"terms": {"epsilon": 5}},
        {"reason": 5},
        {"reason": "r" * 10_000},
        {"was": None},
        {"more": "x"},
    ],
)
def test_an_order_that_nobody_drafted_so_is_refused(ledger: Ledger, key: Path, changed: dict[str, Any]) -> None:
    """However well it is signed: what stands in the ledger is read for ever."""
    order = drafted(ledger)
    crafted = Order(order.ledger, order.kind, {**order.body, **changed})
    before = cap(ledger)
    with pytest.raises(PolicyError):
        ledger.desk.carry_out(crafted, crafted.signed(key))
    for kind, body in (("officer", {"reason": "r", "number": 1}), ("lower", dict(order.body)), ("grant", {})):
        other = Order(order.ledger, kind, body)
        with pytest.raises(SignatureRefused, match="does not say"):
            ledger.desk.carry_out(other, other.signed(key))
    assert cap(ledger) == before
    ledger.verify()


def test_without_an_officer_nothing_is_raised(ledger: Ledger, tmp_path: Path) -> None:
    make_key(tmp_path / "self-made.pem")
    order = drafted(ledger)
    check_not_raised(ledger, order, order.signed(tmp_path / "self-made.pem"))


def test_only_the_officer_hands_over(ledger: Ledger, folder: Path, key: Path, tmp_path: Path) -> None:
    new = make_key(tmp_path / "new.pem")
    with pytest.raises(SignatureRefused, match="already"):
        ledger.desk.enrol(new, reason="coup")
    order = ledger.desk.draft_key(new, reason="the office changes hands")
    check_not_raised(ledger, order, order.signed(tmp_path / "new.pem"))
    ledger.desk.carry_out(order, order.signed(key))
    stale = drafted(ledger)
    check_not_raised(ledger, stale, stale.signed(key))
    grant(ledger, tmp_path / "new.pem")
    proven(ledger, folder)


def test_a_cap_is_lowered_at_once(ledger: Ledger, folder: Path, reserve: Any) -> None:
    reserve(ledger, "alice", "1/4")
    half = {"cap": Charge(Fraction(1, 2)), "terms": {"epsilon": "1/2"}, "reason": "half is enough"}
    for _ in range(2):
        ledger.desk.lower("patients", "alice", **half)
    assert len(ledger.desk.decisions("lower")) == 1
    assert ledger.balance("patients").free.cost == Fraction(7, 2), "what alice cannot spend is free again"
    with pytest.raises(BudgetExceeded):
        reserve(ledger, "alice", "1/2")
    for less, words in ((Fraction(1, 8), "below what is spent"), (Fraction(2), "raises a cap")):
        with pytest.raises(PolicyError, match=words):
            ledger.desk.lower("patients", "alice", cap=Charge(less), terms={}, reason="x")
    with pytest.raises(PolicyError, match="reserved for analysts"):
        ledger.desk.lower("patients", None, cap=Charge(Fraction(3, 8)), terms={}, reason="x")
    ledger.desk.lower("patients", None, cap=Charge(Fraction(1, 2)), terms={}, reason="x")
    assert ledger.balance("patients").free.cost == 0
    proven(ledger, folder)


def check_frozen_analyst(ledger: Ledger, ask: Any, reserve: Any) -> None:
    paid = ask(ledger, "alice", question="paid", request="paid")
    reserve(ledger, "alice", question="open", request="open")
    spent = ledger.balance("patients", "alice").spent
    ledger.desk.freeze("patients", "alice", reason="on leave")
    for request in (None, "open"):
        with pytest.raises(AnalystFrozen):
            reserve(ledger, "alice", question="open", request=request)
    assert ledger.find("patients", "alice", "paid", "1", Charge(Fraction(1, 4))) == paid, "it was paid for"
    assert reserve(ledger, "alice", question="paid", request="paid").answer == paid
    assert ledger.balance("patients", "alice").spent == spent
    reserve(ledger, None, question="others go on")
    ledger.desk.thaw("patients", "alice", reason="back")
    assert reserve(ledger, "alice", question="open", request="open").state == "reserved"
    ledger.verify()


def test_a_frozen_analyst_is_charged_nothing(ledger: Ledger, folder: Path, ask: Any, reserve: Any) -> None:
    check_frozen_analyst(ledger, ask, reserve)
    ledger.desk.freeze("patients", "alice", reason="again")
    proven(ledger, folder)


@pytest.mark.parametrize("store", ["sqlite"])
def test_planted_a_frozen_analyst_asks(ledger: Ledger, ask: Any, reserve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bug: the charge looks at frozen people alone."""
    for module in ("ledger", "book"):
        monkeypatch.setattr(f"dither.ledger.{module}.check_standing", lambda *_: None)
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        check_frozen_analyst(ledger, ask, reserve)


def check_closed(ledger: Ledger, folder: Path, key: Path, ask: Any, reserve: Any) -> None:
    paid = ask(ledger, "alice", question="paid")
    ledger.desk.close("patients", reason="the study has ended")
    for analyst in ("alice", None):
        with pytest.raises(AccountClosed):
            reserve(ledger, analyst, question="new")
    for change in (
        lambda: ledger.breaker.thaw("patients"),
        lambda: (
            ledger.desk.thaw("patients", "alice", reason="x") or ledger.desk.freeze("patients", "alice", reason="x")
        ),
        lambda: grant(ledger, key),
        lambda: ledger.desk.lower("patients", None, cap=Charge(Fraction(3)), terms={}, reason="x"),
        lambda: ledger.open_account("patients", "bob", kind="pure", cap=Charge(Fraction(1)), terms={}),
    ):
        with pytest.raises((AccountClosed, PolicyError)):
            change()
    assert ledger.find("patients", "alice", "paid", "1", Charge(Fraction(1, 4))) == paid
    assert ledger.balance("patients").left == Charge(Fraction(0))
    proven(ledger, folder)


def test_closed_people_stay_closed(ledger: Ledger, folder: Path, key: Path, ask: Any, reserve: Any) -> None:
    check_closed(ledger, folder, key, ask, reserve)
    ledger.desk.close("patients", reason="twice changes nothing")
    assert len(ledger.desk.decisions("close")) == 1


@pytest.mark.parametrize("store", ["sqlite"])
def test_planted_thaw_of_closed_people(
    ledger: Ledger, folder: Path, key: Path, ask: Any, reserve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: a thaw forgets that people were closed."""
    monkeypatch.setattr("dither.ledger.officer.standing.Standing.is_closed", lambda *_: False)
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        check_closed(ledger, folder, key, ask, reserve)


@pytest.mark.parametrize("store", ["sqlite"])
def test_a_thaw_of_closed_people_is_damage(ledger: Ledger, folder: Path) -> None:
    """Whoever holds the ledger's key cannot have written it by this code."""
    ledger.breaker.freeze("patients")
    ledger.desk.close("patients", reason="x")
    with ledger._journal.writing() as page, pytest.raises(LedgerCorrupt, match="closed for good"):
        page.append("thaw", {"people": "patients"})


def test_an_analyst_who_leaves_gives_back_what_was_reserved(ledger: Ledger, folder: Path, reserve: Any) -> None:
    reserve(ledger, "alice", "1/4")
    ledger.desk.close("patients", "alice", reason="alice leaves")
    with pytest.raises(AccountClosed, match="analyst 'alice'"):
        reserve(ledger, "alice", "1/4", question="new")
    assert ledger.balance("patients").free.cost == Fraction(15, 4)
    proven(ledger, folder)


def copy_of(folder: Path, to: Path) -> Path:
    shutil.copytree(folder, to)
    (to / "ledger.anchor").unlink()
    return to


def go_back(folder: Path, copy: Path) -> None:
    """The disk is lost but for the anchor; an older copy comes back."""
    anchor = (folder / "ledger.anchor").read_bytes()
    shutil.rmtree(folder)
    shutil.copytree(copy, folder)
    (folder / "ledger.anchor").write_bytes(anchor)
    (folder / "ledger.anchor").chmod(0o600)
    Ledger.restore(folder)


def check_a_lost_grant(ledger: Ledger, folder: Path, key: Path, tmp_path: Path, reserve: Any) -> None:
    """The copy knows nothing of the grant; what was spent of it is spent once it is given again."""
    reserve(ledger, None, "3", question="before")
    copy = copy_of(folder, tmp_path / "copy")
    order = grant(ledger, key, cap=Charge(Fraction(6)), terms={"epsilon": "6"})
    reserve(ledger, None, "3/2", question="lost")
    ledger.close()
    go_back(folder, copy)
    with Ledger.open(folder) as again:
        assert again.balance("patients").left.cost == 0
        again.desk.carry_out(order, order.signed(key))
        assert again.balance("patients").spent.cost == Fraction(9, 2), "as much as before the loss"
        proven(again, folder)
    with Ledger.open(folder) as again:
        again.breaker.thaw("patients")
        with pytest.raises(BudgetExceeded):
            reserve(again, None, "1", question="new")
        reserve(again, None, "1/2", question="new")


@pytest.mark.parametrize("store", ["sqlite"])
def test_what_was_spent_of_a_lost_grant_is_spent(
    ledger: Ledger, folder: Path, key: Path, tmp_path: Path, reserve: Any
) -> None:
    check_a_lost_grant(ledger, folder, key, tmp_path, reserve)


@pytest.mark.parametrize("store", ["sqlite"])
def test_planted_a_lost_grant_is_fresh(
    ledger: Ledger, folder: Path, key: Path, tmp_path: Path, reserve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: what the anchor has seen beyond the older cap is forgotten."""
    monkeypatch.setattr("dither.ledger.officer.changes.catch_up", lambda *_: None)
    with pytest.raises((AssertionError, LedgerCorrupt)):
        check_a_lost_grant(ledger, folder, key, tmp_path, reserve)


@pytest.mark.parametrize("store", ["sqlite"])
def test_a_closing_that_is_lost_leaves_nothing(ledger: Ledger, folder: Path, tmp_path: Path, reserve: Any) -> None:
    """An anchor says of a closed account that all of it is spent."""
    copy = copy_of(folder, tmp_path / "copy")
    ledger.desk.close("patients", reason="for good")
    ledger.close()
    go_back(folder, copy)
    with Ledger.open(folder) as again:
        again.breaker.thaw("patients")
        for analyst in ("alice", None):
            with pytest.raises(BudgetExceeded):
                reserve(again, analyst)


def test_a_delta_keeps_its_units(ledger: Ledger, folder: Path, key: Path, reserve: Any) -> None:
    opening = Charge(Fraction(2), Fraction("1e-6"))
    ledger.open_account("staff", None, kind="basic", cap=opening, terms={})
    reserve(ledger, None, "1", people="staff", delta="1/1000000")
    more = Charge(Fraction(2), Fraction("3e-6"))
    grant(ledger, key, "staff", None, cap=more, terms={})
    assert ledger.balance("staff").left == Charge(Fraction(1), Fraction("2e-6"))
    reserve(ledger, None, "1", people="staff", delta="2/1000000")
    assert ledger.balance("staff").left == Charge(Fraction(0))
    with pytest.raises(PolicyError, match="opened without one"):
        grant(ledger, key, "patients", None, cap=Charge(Fraction(4), Fraction("1e-6")), terms={})
    proven(ledger, folder)


@pytest.mark.parametrize("store", ["sqlite"])
def test_a_key_is_kept_outside_the_folder(ledger: Ledger, folder: Path, key: Path) -> None:
    inside = folder / "officer.pem"
    shutil.copy2(key, inside)
    order = drafted(ledger)
    with pytest.raises(PolicyError, match="keep it outside"):
        ledger.desk.signed(order, inside)
    assert ledger.desk.signed(order, key) == order.signed(key)


def test_a_key_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "officer.pem"
    make_key(path)
    with pytest.raises(PolicyError, match="never written over"):
        make_key(path)
    path.chmod(0o640)
    with pytest.raises(PolicyError, match="open to others"):
        read_key(path)
    (tmp_path / "text").write_text("no key")
    (tmp_path / "text").chmod(0o600)
    with pytest.raises(PolicyError, match="no Ed25519 key"):
        read_key(tmp_path / "text")


@pytest.mark.parametrize("reason", ["", "  ", "x" * 1001, None])
def test_a_reason_is_needed(ledger: Ledger, reason: Any) -> None:
    with pytest.raises(PolicyError, match="say why"):
        ledger.desk.close("patients", reason=reason)
