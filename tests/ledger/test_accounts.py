from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dither.errors import BudgetExceeded, ParameterError, PolicyError
from dither.ledger import Balance, Charge, Ledger, checks, page
from dither.ledger.kinds import VERSION
from dither.ledger.units import SCALE, SMALLEST_DELTA

Reserve = Callable[..., Any]


def charge(cost: str, delta: str = "0") -> Charge:
    return Charge(Fraction(cost), Fraction(delta))


def test_accounts_in_order_and_by_one_spelling(ledger: Ledger) -> None:
    assert ledger.accounts() == [("patients", None), ("patients", "alice")]
    assert ledger.terms("Patients", "ALICE") == {"epsilon": "1"}
    assert ledger.kind("PATIENTS") == "pure"
    assert ledger.balance("patients") == Balance(charge("4"), charge("0"), charge("4"), free=charge("3"))


def test_terms_cannot_be_changed_through_what_is_returned(ledger: Ledger) -> None:
    with pytest.raises(TypeError):
        ledger.terms("patients")["epsilon"] = "40"  # type: ignore[index]


def test_opening_again_under_the_same_terms_changes_nothing(ledger: Ledger, reserve: Reserve) -> None:
    reserve(ledger)
    before = list(ledger.entries()), ledger.balance("patients")
    ledger.open_account("PATIENTS", None, kind="pure", cap=charge("4"), terms={"epsilon": "4"})
    ledger.open_account("patients", "Alice", kind="pure", cap=charge("1"), terms={"epsilon": "1"})
    assert (list(ledger.entries()), ledger.balance("patients")) == before


@pytest.mark.parametrize(
    ("kind", "cap", "terms"),
    [
        ("pure", charge("5"), {"epsilon": "4"}),
        ("pure", charge("3"), {"epsilon": "4"}),
        ("pure", charge("4"), {"epsilon": "5"}),
        ("basic", charge("4"), {"epsilon": "4"}),
    ],
)
def test_a_budget_is_never_reset_or_raised(ledger: Ledger, kind: str, cap: Charge, terms: dict[str, str]) -> None:
    """Threat 25: the same people under any spelling spend the same pool."""
    with pytest.raises(PolicyError, match="already has a budget under other terms"):
        ledger.open_account("patientS", None, kind=kind, cap=cap, terms=terms)
    assert ledger.balance("patients").cap == charge("4")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"kind": "rdp"}, "kind pure, zcdp, basic; got 'rdp'"),
        ({"cap": charge("4", "1e-6")}, "a pure budget has no delta"),
        ({"cap": charge("0")}, "between 1e-15 and 9223"),
        ({"cap": charge("9300")}, "between 1e-15 and 9223"),
        ({"terms": {"epsilon": 4}}, "must be text; 'epsilon' is not"),
        ({"people": "pati\u200bents"}, "cannot name the people"),
        ({"people": "nobody", "analyst": "bob"}, "no budget for people 'nobody'; people with a budget: patients"),
        ({"people": "patients", "analyst": "bob", "kind": "basic"}, "budget of 'patients' is pure"),
    ],
)
def test_accounts_that_cannot_be_opened(ledger: Ledger, given: dict[str, Any], words: str) -> None:
    wanted = {"people": "others", "analyst": None, "kind": "pure", "cap": charge("1"), "terms": {}} | given
    people, analyst = wanted.pop("people"), wanted.pop("analyst")
    before = list(ledger.entries())
    with pytest.raises(PolicyError, match=words):
        ledger.open_account(people, analyst, **wanted)
    assert list(ledger.entries()) == before


def test_unknown_accounts(ledger: Ledger, folder: Path) -> None:
    with pytest.raises(PolicyError, match="analyst 'bob' has no cap on people 'patients'"):
        ledger.balance("patients", "bob")
    with pytest.raises(PolicyError, match="people with a budget: patients"):
        ledger.kind("nobody")
    with Ledger.open(folder.parent / "empty", create=True) as empty, pytest.raises(PolicyError, match="none yet"):
        empty.terms("patients")


def test_both_budgets_are_charged(ledger: Ledger, reserve: Reserve) -> None:
    reserve(ledger, "alice", "1/3")
    assert ledger.balance("patients").spent == charge("333333333333334/1000000000000000")
    assert ledger.balance("patients", "alice").spent == charge("333333333333334/1000000000000000")
    reserve(ledger, None, "1")
    assert ledger.balance("patients").spent.cost == Fraction(1333333333333334, 10**15)
    assert ledger.balance("patients", "alice").left.cost == 1 - Fraction(333333333333334, 10**15)


def test_both_or_neither(ledger: Ledger, reserve: Reserve) -> None:
    """The people's budget would do, the analyst's does not: neither is charged."""
    before = list(ledger.entries())
    with pytest.raises(
        BudgetExceeded,
        match=r"the price, epsilon 2, does not fit: epsilon 1 is left in the budget of analyst 'alice' on people",
    ):
        reserve(ledger, "alice", "2")
    assert ledger.balance("patients").spent == ledger.balance("patients", "alice").spent == charge("0")
    assert list(ledger.entries()) == before
    assert ledger.verify() == len(before)


def test_the_last_unit_can_be_spent_and_no_more(ledger: Ledger, reserve: Reserve) -> None:
    reserve(ledger, None, f"{3 * 10**15 - 1}/{10**15}")
    with pytest.raises(BudgetExceeded, match=r"1e-15 is left and not reserved in the budget of people 'patients'"):
        reserve(ledger, None, f"1000001/{10**21}")
    reserve(ledger, None, f"1/{10**25}")
    assert ledger.balance("patients").free == charge("0")
    reserve(ledger, "alice", "1")
    assert ledger.balance("patients").left == charge("0")
    with pytest.raises(BudgetExceeded):
        reserve(ledger, None, f"1/{10**290}")


def test_refusals_do_not_prove_again_what_others_added(
    ledger: Ledger, folder: Path, reserve: Reserve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise whoever is out of budget could keep everyone waiting: each refusal holds the write lock."""
    with Ledger.open(folder) as other:
        for _ in range(20):
            reserve(other, None, "1/20")
    proven = []
    authentic = page.authentic
    monkeypatch.setattr(page, "authentic", lambda *given: proven.append(given) or authentic(*given))
    for least in (20, 0, 0):
        proven.clear()
        with pytest.raises(BudgetExceeded):
            reserve(ledger, None, "3")
        assert least <= len(proven) <= least + 3
    reserve(ledger, None, "1")
    assert ledger.balance("patients").spent == charge("2")
    assert ledger.verify() == 3 + 21


def test_prices_beyond_every_integer(ledger: Ledger, reserve: Reserve) -> None:
    with pytest.raises(BudgetExceeded, match=r"epsilon 1e\+299"):
        reserve(ledger, None, str(10**299))


def test_collusion_stays_within_the_peoples_budget(ledger: Ledger, reserve: Reserve) -> None:
    """Threat 24: fifty analysts, each within its own cap, cannot pass the people's, even where caps exceed it."""
    ledger.open_account("staff", None, kind="pure", cap=charge("4"), terms={"oversubscribe": "true"})
    granted = 0
    for number in range(50):
        ledger.open_account("staff", f"a{number}", kind="pure", cap=charge("1"), terms={})
        try:
            reserve(ledger, f"a{number}", "3/10", people="staff")
            granted += 1
        except BudgetExceeded:
            continue
    assert granted == 13


def test_two_counters(ledger: Ledger, reserve: Reserve) -> None:
    ledger.open_account("staff", None, kind="zcdp", cap=charge("1/3", "1e-6"), terms={})
    ledger.open_account("staff", "alice", kind="zcdp", cap=charge("1/4", "1e-7"), terms={})
    reserve(ledger, "alice", "1/8", people="staff", delta="5e-8")
    assert ledger.balance("staff").cap == charge("333333333333333/1000000000000000", "1e-6")
    assert ledger.balance("staff", "alice").left == charge("1/8", "5e-8")
    with pytest.raises(BudgetExceeded, match=r"and delta 6e-8, does not fit: rho 0.125 and delta 5e-8 is left"):
        reserve(ledger, "alice", "1/8", people="staff", delta="6e-8")
    reserve(ledger, "alice", "0", people="staff", delta="5e-8")
    with pytest.raises(BudgetExceeded, match="delta 1e-30"):
        reserve(ledger, "alice", "0", people="staff", delta="1e-30")
    reserve(ledger, "alice", "1/8", people="staff")
    assert ledger.balance("staff", "alice").left == charge("0", "0")
    assert ledger.verify() == len(list(ledger.entries()))


def test_any_delta_is_refused_by_a_pure_budget(ledger: Ledger, reserve: Reserve) -> None:
    with pytest.raises(BudgetExceeded, match="delta 1e-30"):
        reserve(ledger, None, "1/8", delta="1e-30")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"cost": "0"}, "must cost something"),
        ({"question": 7}, "'question' is not"),
        ({"plan": None}, "'plan' is not"),
        ({"request": ""}, "1 to 200 characters"),
        ({"request": "x" * 201}, "1 to 200 characters"),
        ({"request": 7}, "1 to 200 characters"),
        ({"people": "nobody"}, "no budget for people 'nobody'"),
        ({"analyst": "al ice"}, "cannot name the analyst"),
    ],
)
def test_reservations_that_cannot_be_made(ledger: Ledger, reserve: Reserve, given: dict[str, Any], words: str) -> None:
    before = list(ledger.entries())
    with pytest.raises(PolicyError, match=words):
        reserve(ledger, **given)
    assert list(ledger.entries()) == before


def test_events(ledger: Ledger) -> None:
    ledger.record("register", {"table": "visits", "snapshot": "1"})
    *_, last = ledger.entries()
    assert (last.sequence, last.kind, last.body, last.version) == (
        4,
        "register",
        {"table": "visits", "snapshot": "1"},
        VERSION,
    )
    assert ledger.verify() == 4


@pytest.mark.parametrize("kind", ["reserve", "settle", "event", "", "re gister", "réfresh"])
def test_events_cannot_pose_as_the_ledgers_own(ledger: Ledger, kind: str) -> None:
    with pytest.raises(PolicyError, match="cannot name an event"):
        ledger.record(kind, {})


def test_entries_are_read_in_pages(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dither.ledger.history._PAGE_OF_ENTRIES", 2)
    for number in range(6):
        ledger.record("refresh", {"snapshot": str(number)})
    assert [entry.sequence for entry in ledger.entries()] == list(range(1, 10))
    assert [entry.kind for entry in ledger.entries()][:4] == ["create", "account", "account", "refresh"]


def test_the_clock_plays_no_part(ledger: Ledger, reserve: Reserve, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threat 45: no window opens because a clock says so."""
    reserve(ledger)
    for seconds in (-(10**9), 10**10):
        monkeypatch.setattr("time.time", lambda now=seconds: now)
        assert ledger.balance("patients").spent == charge("1/4")
    assert all("time" not in entry.body and "date" not in entry.body for entry in ledger.entries())


def check_smallest_delta(ledger: Ledger, reserve: Any, delta: Fraction) -> None:
    """All but one unit of delta are spent; what is left is a number all the same."""
    cap = Charge(Fraction(1), delta)
    ledger.open_account("few", None, kind="basic", cap=cap, terms={})
    reserve(ledger, None, "1/2", people="few", delta=str(delta * Fraction(SCALE - 1, SCALE)))
    assert ledger.balance("few").left == Charge(Fraction(1, 2), delta / SCALE)


def test_the_smallest_delta_that_is_counted(ledger: Ledger, reserve: Any) -> None:
    below = Charge(Fraction(1), SMALLEST_DELTA * Fraction(999, 1000))
    ledger.open_account("many", None, kind="basic", cap=Charge(Fraction(1), Fraction(1, 2)), terms={})
    for people, analyst in (("few", None), ("many", "bob")):
        with pytest.raises(PolicyError, match=r"must be 0 or at least 1e-285, twice that .* got 9\.99e-286"):
            ledger.open_account(people, analyst, kind="basic", cap=below, terms={})
    check_smallest_delta(ledger, reserve, SMALLEST_DELTA)
    ledger.verify()


def test_planted_bug_a_delta_that_cannot_be_counted(
    ledger: Ledger, reserve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "SMALLEST_DELTA", 0)
    with pytest.raises(ParameterError, match="magnitude between 1e-300"):
        check_smallest_delta(ledger, reserve, SMALLEST_DELTA * Fraction(999, 1000))
