"""Accounts in groups: copies are apart, digests cover every account and its place, and old entries read as before."""

from __future__ import annotations

import secrets
from contextlib import nullcontext
from dataclasses import replace
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither.ledger import Ledger, totals
from dither.ledger.accounts import SIZE, Accounts, Group
from dither.ledger.book import Account, Book
from dither.ledger.totals import SIZE as TOTAL
from dither.ledger.totals import Parts, Total, covered, parted
from dither.ledger.units import Units
from dither.ledger.values import Charge

KEY = bytes(32)


def account(number: int, spent: int = 0) -> Account:
    return Account(number + 2, "patients", f"a{number}", "pure", Charge(Fraction(1)), {}, Units(spent, 0))


def filled(count: int) -> Book:
    book = Book(KEY)
    for number in range(count):
        book.add(account(number))
    return book


def check_copies_are_apart(count: int) -> None:
    book = filled(count)
    before = book.commitment(KEY, 4), book.totals()
    other = book.copy()
    other.accounts["patients", "a0"] = account(0, 5)
    other.add(account(count))
    assert (book.commitment(KEY, 4), book.totals()) == before
    assert len(book.accounts) == count
    assert ("patients", f"a{count}") not in book.accounts
    assert book.accounts.opened(count + 2) is None
    assert other.accounts["patients", "a0"].spent.cost == 5
    again = book.copy()  # as after a transaction that was given up: another account takes the place
    again.add(replace(account(count), analyst="bob", opened=count + 9))
    assert ("patients", f"a{count}") not in again.accounts
    assert again.accounts.opened(count + 2) is None
    assert again.accounts["patients", "bob"].opened == count + 9


@pytest.mark.parametrize("count", [1, SIZE - 1, SIZE, SIZE + 1])
def test_copies_are_apart(count: int) -> None:
    check_copies_are_apart(count)


def test_planted_groups_that_are_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Accounts, "copy", lambda self: self)
    with pytest.raises(AssertionError):
        check_copies_are_apart(3)


@given(st.lists(st.tuples(st.integers(0, 300), st.integers(0, 9)), max_size=40))
def test_they_are_a_mapping_in_the_order_of_opening(changes: list[tuple[int, int]]) -> None:
    made, plain = Accounts(), {}
    for number, spent in changes:
        of = account(number, spent)
        made[of.people, of.analyst] = plain[of.people, of.analyst] = of
    assert list(made.items()) == list(plain.items())
    assert list(made.values()) == list(made.each()) == list(plain.values())
    assert all(made.opened(of.opened) == of for of in plain.values())
    for group in made.groups()[:-1]:
        assert len(group.accounts) == SIZE


def check_every_account_counts(count: int) -> None:
    book = filled(count)
    seen = {book.commitment(KEY, 4)}
    for number in range(count):
        other = book.copy()
        other.accounts["patients", f"a{number}"] = account(number, 1)
        seen.add(other.commitment(KEY, 4))
    assert len(seen) == count + 1


def test_every_account_counts() -> None:
    check_every_account_counts(SIZE + 3)


def test_planted_digest_of_the_first_account_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Group, "digest", property(lambda group: group.accounts[0].packed))
    with pytest.raises(AssertionError):
        check_every_account_counts(3)


def check_totals_follow(changes: list[tuple[int, int, bool]]) -> None:
    """What an anchor gets is that of all accounts anew, whenever it was asked for before."""
    book = filled(SIZE - 1)
    for number, spent, looked in changes:
        book = book.copy()
        if number >= len(book.accounts):
            book.add(account(len(book.accounts)))
        else:
            book.accounts["patients", f"a{number}"] = account(number, spent)
        if looked:
            plain = filled(0)
            for of in book.accounts.each():
                plain.add(of)
            assert book.totals() == plain.totals() == parted(b"".join(book.totals()))
            assert [group.digest for group in book.accounts.groups()] == [
                sha256(b"".join(of.packed for of in group.accounts)).digest() for group in book.accounts.groups()
            ]


@given(st.lists(st.tuples(st.integers(0, SIZE + 2), st.integers(0, 9), st.booleans()), max_size=20))
def test_totals_follow(changes: list[tuple[int, int, bool]]) -> None:
    check_totals_follow(changes)


def test_planted_only_the_last_change_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def changed(self: Group, place: int, account: Account, real: Any = Group.changed) -> Group:
        made: Group = real(self, place, account)
        made._totals.update({key: (content, frozenset({place})) for key, (content, _) in made._totals.items()})
        return made

    monkeypatch.setattr(Group, "changed", changed)
    with pytest.raises(AssertionError):
        check_totals_follow([(0, 0, True), (1, 1, False), (2, 1, True)])


def in_parts(totals: list[tuple[int, int]]) -> Parts:
    return parted(b"".join(Total(who + 2, Units(spent, 0), bytes([who]) * 32).packed for who, spent in totals))


SPENT = st.lists(st.integers(0, 3), max_size=5)


@given(SPENT, SPENT, st.permutations(range(5)), st.integers(1, 3))
def test_what_an_anchor_has_seen_is_covered(seen: list[int], here: list[int], order: list[int], group: int) -> None:
    """By the definition, account by account; wherever they stand."""
    before, now = list(enumerate(seen)), [(who, here[who]) for who in order if who < len(here)]
    expected = all(spent <= dict(now).get(who, 0) for who, spent in before)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dither.ledger.totals.PART", group * TOTAL)
        assert covered(in_parts(before), in_parts(now)) == expected


def totals_read(count: int, tmp_path: Path) -> int:
    """How many totals are looked at one by one when two who have the ledger open take turns."""
    with Ledger.open(tmp_path / str(count), create=True) as first:
        cap = Charge(Fraction(4))
        first.open_account("patients", None, kind="pure", cap=cap, terms={"oversubscribe": "true"})
        with first._journal.writing() as page, pytest.MonkeyPatch.context() as patch:  # all in one commit
            patch.setattr(first._journal, "writing", lambda: nullcontext(page))
            for number in range(count):
                first.open_account("patients", f"a{number}", kind="pure", cap=cap, terms={})
        with Ledger.open(tmp_path / str(count)) as second, pytest.MonkeyPatch.context() as patch:

            def take_turns(turns: int) -> None:
                for number in range(turns):
                    price, question = Charge(Fraction(1, 1000)), secrets.token_hex(8)
                    (first, second)[number % 2].reserve(
                        "patients", "a1", price, question=question, snapshot="s", plan="{}"
                    )

            take_turns(2)  # each has found the other's mark once
            read: list[int] = []
            real = totals.Total.__init__
            patch.setattr(totals.Total, "__init__", lambda *stated: read.append(1) or real(*stated))
            take_turns(4)
    return len(read)


def test_others_charges_are_held_to_totals_that_differ(tmp_path: Path) -> None:
    assert totals_read(SIZE, tmp_path) == 0


def test_the_commitment_of_version_3_is_as_it_was() -> None:
    """Written down from the code that wrote it, for 200 accounts."""
    book = filled(200)
    plain = b"".join(of.packed for of in book.accounts.each())
    from dither.ledger.book import packed
    from dither.ledger.chain import digest

    assert book.commitment(KEY, 3) == digest(KEY, b"caps and states", plain, packed([]), book.outcomes.digest())
    assert book.commitment(KEY, 3) != book.commitment(KEY, 4)


def test_an_account_stays() -> None:
    with pytest.raises(TypeError):
        del filled(1).accounts["patients", "a0"]
