"""Accounts in the order they were opened, in groups: a change makes one group anew, whatever the others hold.

So a transaction's own copy, and the digest that its entries commit to, cost next to nothing with thousands of accounts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping, ValuesView
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from operator import is_
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dither.ledger.book import Account

Name = tuple[str, str | None]  # people, analyst
SIZE = 128  # accounts of a group; entries of version 4 commit to groups of that many, so it is permanent


@dataclass(frozen=True, eq=False)
class Group:
    """Some accounts that were opened one after the other."""

    accounts: tuple[Account, ...] = ()

    @cached_property
    def digest(self) -> bytes:
        """Of every account's row."""
        return sha256(b"".join([account.packed for account in self.accounts])).digest()

    @cached_property
    def _totals(self) -> dict[bytes, bytes]:
        return {}

    def totals(self, key: bytes, total: Callable[[Account], bytes]) -> bytes:
        """What an anchor has of these accounts under a key; made once."""
        if key not in self._totals:
            self._totals[key] = b"".join([total(account) for account in self.accounts])
        return self._totals[key]

    def changed(self, place: int, account: Account) -> Group:
        """With an account in that place, which may be the next."""
        return Group((*self.accounts[:place], account, *self.accounts[place + 1 :]))


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
        self._joined: dict[bytes, tuple[list[Group], bytes]] = {}

    def copy(self) -> Accounts:
        """Accounts of one's own, with the groups of these."""
        made = Accounts()
        made._groups, made._size = list(self._groups), self._size
        made._by_name, made._by_entry, made._joined = self._by_name, self._by_entry, self._joined
        return made

    def groups(self) -> list[Group]:
        return self._groups

    def totals(self, key: bytes, total: Callable[[Account], bytes]) -> bytes:
        """What an anchor has of all accounts under a key; the same bytes as long as nothing is charged."""
        groups, joined = self._joined.get(key, ([], b""))
        if not (len(groups) == len(self._groups) and all(map(is_, groups, self._groups))):
            groups, joined = list(self._groups), b"".join([group.totals(key, total) for group in self._groups])
            self._joined[key] = groups, joined
        return joined

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
        place = self._by_name[name] if name in self else self._size
        if place == self._size:
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
