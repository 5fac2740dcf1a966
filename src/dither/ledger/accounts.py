"""Accounts in the order they were opened, in groups: a change makes one group anew, whatever the others hold.

So a transaction's own copy, and the digest that its entries commit to, cost next to nothing with thousands of accounts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping, Sequence, ValuesView
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING

from dither.ledger import caps
from dither.ledger.units import NOTHING, Units

if TYPE_CHECKING:
    from dither.ledger.book import Account

Name = tuple[str, str | None]  # people, analyst
SIZE = 128  # accounts of a group; entries of version 4 commit to groups of that many, so it is permanent


@dataclass(frozen=True, eq=False)
class Group:
    """Some accounts that were opened one after the other."""

    accounts: tuple[Account, ...] = ()
    rows: bytes = b""  # of these accounts, as entries commit to them

    @cached_property
    def digest(self) -> bytes:
        """Of every account's row."""
        return sha256(self.rows).digest()

    @cached_property
    def _totals(self) -> dict[bytes, tuple[bytes, frozenset[int]]]:
        """What an anchor had of these accounts under each key, and the places of those that changed since."""
        return {}

    def totals(self, key: bytes, total: Callable[[Account], bytes]) -> bytes:
        """What an anchor has of these accounts under a key; made once, of those alone that changed."""
        known = self._totals.get(key)
        if known is None or known[1]:
            content, places = known or (b"", range(len(self.accounts)))
            for place in sorted(places):
                content = _with(content, place, total(self.accounts[place]))
            known = self._totals[key] = content, frozenset()
        return known[0]

    def changed(self, place: int, account: Account) -> Group:
        """With an account in that place, which may be the next."""
        each = (*self.accounts[:place], account, *self.accounts[place + 1 :])
        made = Group(each, _with(self.rows, place, account.packed))
        made._totals.update({key: (content, places | {place}) for key, (content, places) in [*self._totals.items()]})
        return made


def _with(content: bytes, place: int, part: bytes) -> bytes:
    """Parts of one length after another, with this one in that place, which may be the next."""
    start = place * len(part)
    return content[:start] + part + content[start + len(part) :]


class _Each(ValuesView["Account"]):
    """Accounts without a look at their names."""

    _mapping: Accounts

    def __iter__(self) -> Iterator[Account]:
        return self._mapping.each()


class Accounts(MutableMapping[Name, "Account"]):
    """Accounts by name; never fewer than before."""

    def __init__(self) -> None:
        self._groups: list[Group] = []
        self._size = 0
        # Shared between copies: whether what is found in a place is what was meant is looked at there.
        self._by_name: dict[Name, int] = {}
        self._by_entry: dict[int, int] = {}
        # Shared between copies that are alike: whoever changes an account goes on with a dictionary of its own.
        self._reserved: dict[str, tuple[Account, Units]] = {}
        self._people: dict[str | None, list[str]] = {}  # by analyst; shared between copies until there is one more

    def copy(self) -> Accounts:
        """Accounts of one's own, with the groups of these."""
        made = Accounts()
        made._groups, made._size = list(self._groups), self._size
        made._by_name, made._by_entry = self._by_name, self._by_entry
        made._reserved, made._people = self._reserved, self._people
        return made

    def groups(self) -> list[Group]:
        return self._groups

    def totals(self, key: bytes, total: Callable[[Account], bytes]) -> tuple[bytes, ...]:
        """What an anchor has of all accounts under a key, group by group; the same bytes where nothing is charged."""
        return tuple([group.totals(key, total) for group in self._groups])

    def reserved(self, people: Account) -> Units:
        """What all analysts of these people may still take of their budget; added up once, then kept."""
        of, units = self._reserved.get(people.people, (None, NOTHING))
        if of is None or of.cap is not people.cap:
            units = sum((caps.reserved_by(account, people) for account in self.each()), NOTHING)
            self._reserved[people.people] = people, units
        return units

    def people_of(self, analyst: str | None) -> Sequence[str]:
        """The people with whom an analyst has an account, in the order of opening; all people for None."""
        if not self._people:
            found: dict[str | None, list[str]] = {}
            for account in self.each():
                found.setdefault(account.analyst, []).append(account.people)
            self._people.update(found)  # at once, since others look at it
        return self._people.get(analyst, ())

    def opened(self, sequence: int) -> Account | None:
        """The account that this entry opened."""
        found = self._at(self._by_entry.get(sequence))
        return found if found is not None and found.opened == sequence else None

    def _at(self, place: int | None) -> Account | None:
        if place is None or place >= self._size:
            return None
        return self._groups[place // SIZE].accounts[place % SIZE]

    def __getitem__(self, name: Name) -> Account:
        found = self._at(self._by_name.get(name))
        if found is None or (found.people, found.analyst) != name:
            raise KeyError(name)
        return found

    def __setitem__(self, name: Name, account: Account) -> None:
        before = self.get(name)
        self._reserved = dict(self._reserved)
        if account.people in self._reserved:
            people, units = self._reserved[account.people]
            less = NOTHING if before is None else caps.reserved_by(before, people)
            self._reserved[account.people] = people, units + caps.reserved_by(account, people) - less
        place = self._size if before is None else self._by_name[name]
        if place == self._size:
            self._people = {}
            self._by_name[name] = self._by_entry[account.opened] = place
            self._size += 1
            if place % SIZE == 0:
                self._groups.append(Group())
        self._groups[place // SIZE] = self._groups[place // SIZE].changed(place % SIZE, account)

    def __delitem__(self, name: Name) -> None:
        raise TypeError("an account is for good")

    def __iter__(self) -> Iterator[Name]:
        return ((account.people, account.analyst) for account in self.each())

    def __len__(self) -> int:
        return self._size

    def values(self) -> ValuesView[Account]:
        return _Each(self)

    def each(self) -> Iterator[Account]:
        """In the order they were opened."""
        return (account for group in self._groups for account in group.accounts)
