"""Accounts in groups: copies are apart, digests cover every account and its place, and old entries read as before."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither.ledger.accounts import SIZE, Accounts, Group
from dither.ledger.book import Account, Book
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
