"""What the entries mean: accounts, what each has spent, and which reservations are still open.

Replaying entries in order gives the book; it is the only definition of "spent". The tables beside the entries repeat it
so that it need not be replayed at every start, and each entry commits to it, so that the tables cannot lie.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import chain

from dither.errors import LedgerCorrupt
from dither.ledger import caps
from dither.ledger.chain import BREAKER, Link, canonical_json, digest
from dither.ledger.units import NOTHING, Units, cap_units
from dither.ledger.values import Charge

Name = tuple[str, str | None]  # people, analyst
REASONS = ("stopped", "failed", "late")  # of incidents; a late question may still be answered


@dataclass(frozen=True)
class Account:
    """A budget: of people, or of one analyst within a people."""

    opened: int  # sequence of the entry that opened it
    people: str
    analyst: str | None
    kind: str
    cap: Charge
    terms: Mapping[str, str]
    spent: Units = NOTHING

    @property
    def limit(self) -> Units:
        """The cap in whole units."""
        return cap_units(self.cap)

    @property
    def left(self) -> Units:
        """What was not spent of it."""
        return self.limit - self.spent

    @property
    def oversubscribed(self) -> bool:
        """Of people: whether the curator allowed caps that together exceed the budget."""
        return self.terms.get("oversubscribe") == "true"

    @classmethod
    def read(cls, link: Link) -> Account:
        """The account as its entry opened it."""
        if link.kind != "account":
            raise LedgerCorrupt(f"entry {link.sequence} of the ledger opens no account.")
        body = link.body
        cap = Charge(Fraction(body["cost"]), Fraction(body["delta"]))
        return cls(link.sequence, body["people"], body["analyst"], body["kind"], cap, body["terms"])


@dataclass
class Book:
    """Accounts by name, in the order they were opened, and the reservations not yet settled.

    `incidents` are the reservations of each people that ended in one since they were last thawed.
    """

    accounts: dict[Name, Account] = field(default_factory=dict)
    pending: set[int] = field(default_factory=set)
    incidents: dict[str, frozenset[int]] = field(default_factory=dict)
    frozen: frozenset[str] = frozenset()

    def copy(self) -> Book:
        """A book of its own, for a transaction that may yet be abandoned."""
        return Book(dict(self.accounts), set(self.pending), dict(self.incidents), self.frozen)

    def add(self, account: Account) -> None:
        """One more account; a name has only one."""
        name = account.people, account.analyst
        if name in self.accounts:
            raise LedgerCorrupt(f"the ledger opens the account of {name} twice.")
        self.accounts[name] = account

    def apply(self, link: Link) -> None:
        """Follow one authentic entry; refuses any that could not have been written by this code."""
        body = link.body
        caps.check(link, self.accounts)
        if link.kind == "account":
            self.add(Account.read(link))
        elif link.kind == "reserve":
            if body["people"] in self.frozen:
                raise LedgerCorrupt(f"entry {link.sequence} of the ledger charges people who are frozen.")
            by_sequence = {account.opened: account for account in self.accounts.values()}
            for opened, cost, delta in body["units"]:
                account = by_sequence[opened]
                spent = account.spent + Units(cost, delta)
                if not spent.fits(account.limit):
                    raise LedgerCorrupt(f"entry {link.sequence} of the ledger passes the cap of an account.")
                self.accounts[account.people, account.analyst] = replace(account, spent=spent)
            self.pending.add(link.sequence)
        elif link.kind in ("settle", "fail"):
            if body["reservation"] not in self.pending:
                raise LedgerCorrupt(f"entry {link.sequence} of the ledger settles what is not open.")
            self.pending.remove(body["reservation"])
        elif link.kind in BREAKER:
            self.interrupt(link)

    def interrupt(self, link: Link) -> None:
        """Follow an entry of the circuit breaker."""
        people, counted = link.body["people"], self.incidents.get(link.body["people"], frozenset())
        if link.kind == "incident":
            number = link.body["reservation"]
            if number in counted or (link.body["reason"] != "late" and number in self.pending):
                raise LedgerCorrupt(f"entry {link.sequence} of the ledger counts an incident that cannot be.")
            self.incidents[people] = counted | {number}
        elif link.kind == "freeze":
            if people in self.frozen or link.body["incidents"] != len(counted):
                raise LedgerCorrupt(f"entry {link.sequence} of the ledger freezes people without a cause.")
            self.frozen |= {people}
        else:
            self.incidents.pop(people, None)
            self.frozen -= {people}

    def commitment(self, key: bytes) -> bytes:
        """A keyed digest of everything above that can change."""
        accounts = [(account.opened, account.spent.cost, account.spent.delta) for account in self.accounts.values()]
        fields = [_packed(*accounts), _packed(sorted(self.pending))]
        if self.incidents or self.frozen:  # without any, the state is sealed as it was before there could be some
            incidents = {people: sorted(counted) for people, counted in self.incidents.items()}
            fields.append(canonical_json([incidents, sorted(self.frozen)]).encode())
        return digest(key, b"state", *fields)


def _packed(*numbers: Iterable[int]) -> bytes:
    return b"".join(number.to_bytes(8, "big", signed=True) for number in chain.from_iterable(numbers))
