"""Caps are reserved: what fits into a cap fits into the people's budget, whatever the others do, to the unit."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dither.errors import BudgetExceeded, LedgerCorrupt, PolicyError
from dither.ledger import Charge, Ledger, caps, checks, page
from dither.ledger.accounts import SIZE, Accounts
from dither.ledger.book import Account
from dither.ledger.chain import VERSION, Link, canonical_json
from dither.ledger.units import SCALE, Units, cap_units, charge_units

Reserve = Callable[..., Any]
PEOPLE = Charge(Fraction(4), Fraction(1, 10**6))
# Around whole units of the people's delta, and far below one.
PARTS = st.one_of(
    st.fractions(Fraction(1, 10**18), 1, max_denominator=10**20),
    st.builds(
        lambda units, nudge: Fraction(units, SCALE) + nudge,
        st.integers(0, 40),
        st.sampled_from([Fraction(1, 10**30), Fraction(1, 3 * SCALE), Fraction(0)]),
    ),
)


def account(opened: int, analyst: str | None, cap: Charge) -> Account:
    return Account(opened, "p", analyst, "basic", cap, {})


class Model:
    """Accounts without a disk: charges that fit the payer's own account, and whether the people's would refuse."""

    def __init__(self, shares: list[Fraction]) -> None:
        self.accounts = Accounts()
        self.put(account(1, None, PEOPLE))
        for number, share in enumerate(shares):
            cap = Charge(Fraction(1, 2), PEOPLE.delta * share)
            if caps.reserved(cap_units(cap), cap, PEOPLE).fits(self.unreserved()):
                self.put(account(number + 2, f"a{number}", cap))

    @property
    def people(self) -> Account:
        return self.accounts["p", None]

    @property
    def own(self) -> list[Account]:
        return [each for each in self.accounts.each() if each.analyst is not None]

    def put(self, account: Account) -> None:
        self.accounts[account.people, account.analyst] = account

    def unreserved(self) -> Units:
        """As it is added up, and as it is defined."""
        rest = self.people.left
        for one in self.own:
            rest = rest - caps.reserved(one.left, one.cap, PEOPLE)
        assert caps.unreserved(self.people, self.accounts) == rest
        return rest

    def pay(self, who: int | None, charge: Charge) -> None:
        own = None if who is None else self.own[who]
        each = caps.prices(self.people, own, charge)
        payer, price = each[-1]
        if not price.fits(caps.free(payer, self.accounts)):
            return
        assert (self.people.spent + each[0][1]).fits(self.people.limit), "others' spending shows"
        for paid, units in each:
            self.put(replace(paid, spent=paid.spent + units))
        rest = self.unreserved()
        assert rest.cost >= 0, "more is reserved than there is"
        assert rest.delta >= 0, "more is reserved than there is"


@settings(max_examples=100)
@given(
    st.lists(PARTS.filter(bool), min_size=1, max_size=4),
    st.lists(st.tuples(st.integers(-1, 3), PARTS, st.fractions(0, 1, max_denominator=10**17)), max_size=30),
)
def test_what_fits_a_cap_fits_the_budget(shares: list[Fraction], charges: list[tuple[int, Fraction, Fraction]]) -> None:
    model = Model(shares)
    for who, part, cost in charges:
        charge = Charge(cost / 8, PEOPLE.delta * part)
        if who < len(model.own) and (charge.cost or charge.delta):
            model.pay(None if who < 0 else who, charge)


def check_tiny_deltas() -> None:
    """bob has ten units of the people's delta and pays a tenth of one at a time; alice has all the rest."""
    model = Model([Fraction(10, SCALE), 1 - Fraction(10, SCALE)])
    assert len(model.own) == 2
    for _ in range(100):
        model.pay(0, Charge(Fraction(0), PEOPLE.delta / (10 * SCALE)))
    model.pay(1, caps.payable(model.own[1].left, model.own[1], model.people))
    assert model.own[1].left == Units(0, 0)


@given(PARTS.filter(bool), st.integers(0, SCALE), st.sampled_from([1, 10**3, 10**18]))
def test_what_is_payable_is_the_largest_price_that_fits(share: Fraction, rest: int, finer: int) -> None:
    people, own = account(1, None, PEOPLE), account(2, "a", Charge(Fraction(1), PEOPLE.delta * share))
    left = Units(SCALE, rest)
    most = caps.payable(left, own, people)
    assert caps.prices(people, own, most)[1][1].fits(left)
    more = Charge(most.cost, most.delta + PEOPLE.delta / (finer * SCALE))
    assert not caps.prices(people, own, more)[1][1].fits(left)


def test_deltas_below_a_unit() -> None:
    check_tiny_deltas()


def test_planted_units_of_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bug: a price is rounded into the analyst's units alone, which are finer than the people's."""
    monkeypatch.setattr(
        caps,
        "prices",
        lambda people, own, charge: [(one, charge_units(charge, one.cap)) for one in (people, own) if one is not None],
    )
    with pytest.raises(AssertionError, match=r"others' spending shows|more is reserved"):
        check_tiny_deltas()


def check_reserved(ledger: Ledger, reserve: Reserve) -> None:
    """Of 4, alice has 1; bob may have 3, and nobody takes it from him."""
    with pytest.raises(PolicyError, match=r"the cap of 'bob', epsilon 3\.1, .* epsilon 3 is neither spent"):
        open_cap(ledger, "bob", "3.1")
    open_cap(ledger, "bob", "3")
    with pytest.raises(BudgetExceeded, match="epsilon 0 is left and not reserved in the budget of people 'patients'"):
        reserve(ledger, None, f"1/{SCALE}")
    with pytest.raises(PolicyError, match="neither spent nor reserved"):
        open_cap(ledger, "carol", f"1/{SCALE}")
    reserve(ledger, "bob", "3")
    reserve(ledger, "alice", "1")
    assert ledger.verify() == 6


def open_cap(ledger: Ledger, analyst: str, cost: str, people: str = "patients", **terms: str) -> None:
    ledger.open_account(people, analyst, kind="pure", cap=Charge(Fraction(cost)), terms=terms)


def test_caps_are_reserved(ledger: Ledger, reserve: Reserve) -> None:
    check_reserved(ledger, reserve)


def test_the_curators_own_spending_is_not_for_caps(ledger: Ledger, reserve: Reserve) -> None:
    reserve(ledger, None, "2")
    assert ledger.balance("patients").free.cost == 1
    with pytest.raises(PolicyError, match="epsilon 1 is neither spent nor reserved"):
        open_cap(ledger, "bob", "3/2")
    open_cap(ledger, "bob", "1")
    assert ledger.fits("patients", "bob", Charge(Fraction(1)))
    assert not ledger.fits("patients", None, Charge(Fraction(1, SCALE)))


def test_delta_is_reserved_too(ledger: Ledger, reserve: Reserve) -> None:
    ledger.open_account("staff", None, kind="basic", cap=PEOPLE, terms={})
    delta = PEOPLE.delta * Fraction(2, 3)
    ledger.open_account("staff", "alice", kind="basic", cap=Charge(Fraction(1), delta), terms={})
    with pytest.raises(PolicyError, match=r"epsilon 3 and delta 3\.33333e-7 is neither"):
        ledger.open_account("staff", "bob", kind="basic", cap=Charge(Fraction(1), delta), terms={})
    with pytest.raises(BudgetExceeded, match="not reserved"):
        reserve(ledger, None, "1", people="staff", delta="1/2000000")
    reserve(ledger, None, "1", people="staff", delta="1/3000000")
    with pytest.raises(BudgetExceeded, match=r"epsilon 1 and delta 6\.66666e-7 is left in the budget of analyst"):
        reserve(ledger, "alice", "1", people="staff", delta=str(delta))  # a part of a unit too much
    reserve(ledger, "alice", "1", people="staff", delta=str(ledger.balance("staff", "alice").left.delta))
    assert ledger.balance("staff", "alice").left == Charge(Fraction(0))


def test_a_delta_that_the_people_do_not_have(ledger: Ledger) -> None:
    ledger.open_account("staff", None, kind="basic", cap=Charge(Fraction(4)), terms={})
    with pytest.raises(PolicyError, match="neither spent nor reserved"):
        ledger.open_account("staff", "alice", kind="basic", cap=Charge(Fraction(1), Fraction(1, 10**30)), terms={})


def test_people_may_be_oversubscribed(ledger: Ledger, reserve: Reserve) -> None:
    ledger.open_account("crowd", None, kind="pure", cap=Charge(Fraction(1)), terms={"oversubscribe": "true"})
    for name in ("alice", "bob"):
        open_cap(ledger, name, "1", people="crowd")
    reserve(ledger, None, "1/4", people="crowd")
    reserve(ledger, "bob", "1/2", people="crowd")
    with pytest.raises(BudgetExceeded, match=r"^the price does not fit\. Nothing was charged\.$"):
        reserve(ledger, "alice", "1/2", people="crowd")
    assert ledger.balance("crowd", "alice").spent.cost == 0
    assert ledger.balance("crowd").free.cost == Fraction(1, 4)
    assert ledger.verify() == 8


def test_planted_nothing_is_reserved(ledger: Ledger, reserve: Reserve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caps, "unreserved", lambda people, accounts: people.left)
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        check_reserved(ledger, reserve)


def check_reserves_follow(count: int) -> None:
    """What is reserved, after each charge, by accounts of several groups and of two people; copies are apart."""
    accounts = Accounts()
    people = [Account(1, "p", None, "basic", PEOPLE, {}), Account(2, "q", None, "basic", PEOPLE, {})]
    for number in range(count):
        of = "pq"[number % 2]
        accounts[of, f"a{number}"] = Account(number + 3, of, f"a{number}", "basic", Charge(Fraction(1, 9)), {})
    for number in (0, 1, count - 1):
        before = [caps.unreserved(one, accounts) for one in people]
        copy, name = accounts.copy(), ("pq"[number % 2], f"a{number}")
        copy[name] = replace(copy[name], spent=Units(5, 0))
        gained = Units(5, 0) if number % 2 == 0 else Units(0, 0)
        assert caps.unreserved(people[0], copy) == before[0] + gained
        assert [caps.unreserved(one, accounts) for one in people] == before
        larger = replace(people[0], cap=Charge(Fraction(8), PEOPLE.delta))  # another account of the same name
        assert caps.unreserved(larger, accounts) == before[0] + Units(4 * SCALE, 0)


def test_reserves_follow() -> None:
    check_reserves_follow(2 * SIZE + 3)


def test_planted_what_is_reserved_is_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bug: whoever changes an account goes on with the sums of others."""

    def changed(self: Accounts, name: Any, account: Account, real: Any = Accounts.__setitem__) -> None:
        shared = self._reserved
        real(self, name, account)
        shared.update(self._reserved)

    monkeypatch.setattr(Accounts, "__setitem__", changed)
    with pytest.raises(AssertionError):
        check_reserves_follow(3)


def looked_at(count: int, reserve: Reserve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many caps the curator's own charge looks at, beside those of so many analysts."""
    with Ledger.open(tmp_path / str(count), create=True) as ledger:
        ledger.open_account("patients", None, kind="pure", cap=Charge(Fraction(4)), terms={})
        with ledger._journal.writing() as page:  # all in one commit
            monkeypatch.setattr(ledger._journal, "writing", lambda: nullcontext(page))
            for number in range(count):
                open_cap(ledger, f"a{number}", "1/1000")
        monkeypatch.undo()
        reserve(ledger, None, "1/1000")
        seen = []
        real = caps.reserved
        monkeypatch.setattr(caps, "reserved", lambda *stated: seen.append(stated) or real(*stated))
        reserve(ledger, None, "1/1000")
        monkeypatch.undo()
    return len(seen)


def test_a_charge_looks_at_few_caps(reserve: Reserve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert looked_at(5, reserve, tmp_path, monkeypatch) == looked_at(SIZE, reserve, tmp_path, monkeypatch) == 0


def check_strangers(ledger: Ledger, reserve: Reserve) -> None:
    before = list(ledger.entries())
    with pytest.raises(PolicyError, match="'mallory' has no cap on people 'patients'"):
        reserve(ledger, "mallory")
    assert list(ledger.entries()) == before


def test_nobody_is_charged_without_an_account(ledger: Ledger, reserve: Reserve) -> None:
    check_strangers(ledger, reserve)
    ledger.open_account("staff", None, kind="pure", cap=Charge(Fraction(4)), terms={})
    with pytest.raises(PolicyError, match="'alice' has no cap on people 'staff'"):
        reserve(ledger, "alice", people="staff")


def lenient(book: Any, people: str, analyst: str | None, charge: Charge) -> Any:
    """Planted bug: whoever has no account is charged to the people alone."""
    own = None if analyst is None else book.accounts.get((people, analyst))
    return PRICES(checks.account_of(book, people, None), own, charge)


PRICES = caps.prices


def test_planted_strangers_are_charged_to_the_people(
    ledger: Ledger, reserve: Reserve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dither.ledger.ledger.prices", lenient)
    with pytest.raises(LedgerCorrupt, match="charges somebody who has no account"):  # by the book, the second line
        reserve(ledger, "mallory")
    monkeypatch.setattr(caps, "check", lambda *_: None)
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        check_strangers(ledger, reserve)


def entry(kind: str, version: int = VERSION, /, **body: Any) -> Link:
    return Link(9, version, kind, canonical_json(body), b"", b"")


def test_the_book_refuses_what_would_take_what_is_reserved(ledger: Ledger) -> None:
    """Even under a valid seal: verify() recomputes every price and every reserve."""
    with ledger._journal.reading() as page:
        book = page.book.copy()
    cap = {"people": "patients", "analyst": "bob", "kind": "pure", "cost": "4", "delta": "0", "terms": {}}
    paid = {"people": "patients", "analyst": None, "cost": "3.5", "delta": "0", "units": [[2, 35 * SCALE // 10, 0]]}
    for kind, body, words in (
        ("account", cap, "takes what is reserved"),
        ("account", cap | {"people": "nobody"}, "people without a budget"),
        ("reserve", paid, "takes what is reserved"),
        ("reserve", paid | {"analyst": "mallory"}, "charges somebody who has no account"),
        ("reserve", paid | {"cost": "3"}, "another price than it states"),
        ("reserve", paid | {"analyst": "alice"}, "another price than it states"),
    ):
        with pytest.raises(LedgerCorrupt, match=words):
            book.copy().apply(entry(kind, **body))
    book.copy().apply(entry("account", **cap | {"cost": "3"}))
    book.copy().apply(entry("account", 1, **cap))  # an older dither reserved nothing


def test_what_is_reserved_counts_in_units_of_the_people() -> None:
    third = Charge(Fraction(1), PEOPLE.delta / 3)
    assert caps.reserved(cap_units(third), third, PEOPLE) == Units(SCALE, SCALE // 3)
    assert caps.reserved(Units(7, 2), third, PEOPLE) == Units(7, 0)


def test_events_are_found_without_a_walk(ledger: Ledger, reserve: Reserve, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger.record("register", {"table": "visits", "snapshot": "1"})
    ledger.record("limits", {})
    for number in range(20):
        reserve(ledger, "alice", "1/100", request=f"r{number}")
    ledger.record("refresh", {"table": "visits", "snapshot": "2"})
    proven: list[Any] = []
    authentic = page.authentic
    monkeypatch.setattr(page, "authentic", lambda *given: proven.append(given) or authentic(*given))
    (newest,) = ledger.events(["register", "refresh"], most=1)
    assert (newest.kind, newest.body["snapshot"], len(proven)) == ("refresh", "2", 1)
    assert [entry.sequence for entry in ledger.events(["register", "limits"])] == [5, 4]
    assert ledger.events(["register"], after=4) == []


@pytest.mark.parametrize("store", ["sqlite"])
def test_an_index_of_events_that_was_emptied_is_noticed(ledger: Ledger, folder: Path, edit: Any) -> None:
    ledger.record("register", {"table": "visits", "snapshot": "1"})
    ledger.close()
    edit(
        folder,
        "DROP INDEX entries_events",
        "CREATE INDEX entries_events ON entries (sequence) WHERE kind = 'nothing'",
        "PRAGMA writable_schema = 1",
        "UPDATE sqlite_schema SET sql = replace(sql, 'nothing', 'event') WHERE name = 'entries_events'",
    )
    with Ledger.open(folder) as again, pytest.raises(LedgerCorrupt, match="inconsistent"):
        again.verify()
