"""What the entries mean: accounts, what each has spent, and which reservations are still open.

Replaying entries in order gives the book; it is the only definition of "spent". The tables beside the entries repeat it
so that it need not be replayed at every start, and each entry commits to it, so that the tables cannot lie.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from hashlib import sha256
from itertools import chain
from typing import Any

from dither.errors import DitherError, LedgerCorrupt
from dither.ledger import caps
from dither.ledger.accounts import Accounts, Name
from dither.ledger.chain import Link, canonical_json, digest
from dither.ledger.kinds import BREAKER, WITHOUT_MEANING
from dither.ledger.officer import changes
from dither.ledger.officer.standing import NEW, Standing, check_standing
from dither.ledger.totals import Parts, Total, identity_of, parted, total_of, unpack
from dither.ledger.units import NOTHING, Units, cap_units, limit_units
from dither.ledger.values import Charge

REASONS = ("stopped", "failed", "late")  # of incidents; a late question may still be answered
COMMITTING = 3  # the version of entries from which on they commit to caps and to the outcome of every reservation
GROUPING = 4  # and from which on to a digest of each group of accounts


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
    now: Charge | None = None  # the cap since it was changed; units stay those of the one it was opened with
    terms_now: Mapping[str, str] | None = None
    closed: bool = False

    @property
    def cap_now(self) -> Charge:
        """The cap in force."""
        return self.cap if self.now is None else self.now

    @property
    def terms_in_force(self) -> Mapping[str, str]:
        """What was recorded of the cap in force."""
        return self.terms if self.terms_now is None else self.terms_now

    @cached_property
    def limit(self) -> Units:
        """The cap in force, in whole units."""
        return cap_units(self.cap) if self.now is None else limit_units(self.now, self.cap)

    @cached_property
    def row(self) -> tuple[int, int, int, int, int]:
        """As it must be tabulated."""
        return self.opened, self.limit.cost, self.limit.delta, self.spent.cost, self.spent.delta

    @cached_property
    def packed(self) -> bytes:
        """The row, as entries commit to it."""
        return packed(self.row)

    @property
    def left(self) -> Units:
        """What can still be spent of it."""
        return NOTHING if self.closed else self.limit - self.spent

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

    `incidents` are the reservations of each people that ended in one since they were last thawed. `outcomes` is a
    running digest of which entry settled which reservation. `lost` are accounts that an anchor has seen and that no
    entry here opened, by name; `unread` are entries whose meaning only a newer dither knows.
    """

    key: bytes = b""
    accounts: Accounts = field(default_factory=Accounts)
    pending: set[int] = field(default_factory=set)
    incidents: dict[str, frozenset[int]] = field(default_factory=dict)
    frozen: frozenset[str] = frozenset()
    outcomes: Any = field(default_factory=sha256)
    lost: dict[bytes, Total] = field(default_factory=dict)
    unread: tuple[int, ...] = ()
    standing: Standing = NEW
    identities: dict[Name, bytes] = field(default_factory=dict)  # of accounts that are here for good

    def copy(self) -> Book:
        """A book of its own, for a transaction that may yet be abandoned."""
        return Book(
            self.key,
            self.accounts.copy(),
            set(self.pending),
            dict(self.incidents),
            self.frozen,
            self.outcomes.copy(),
            dict(self.lost),
            self.unread,
            self.standing,
            self.identities,
        )

    def add(self, account: Account) -> None:
        """One more account; a name has only one."""
        name = account.people, account.analyst
        if name in self.accounts:
            raise LedgerCorrupt(f"the ledger opens the account of {name} twice.")
        self.accounts[name] = account

    def apply(self, link: Link) -> None:
        """Follow one authentic entry; refuses any that could not have been written by this code."""
        body = link.body
        if link.kind == "account":
            account = Account.read(link)
            spent = self.seen(account)
            if spent is None or self.standing.is_closed(account.people, None):
                raise LedgerCorrupt(f"entry {link.sequence} of the ledger opens a lost or closed account otherwise.")
            caps.check(link, self.accounts, spent)
            self.add(replace(account, spent=spent))
            self.note(link)
        elif link.kind == "reserve":
            caps.check(link, self.accounts)
            try:
                check_standing(self, body["people"], body.get("analyst"))
            except DitherError:
                why = "charges people who are frozen, or an account that is frozen or closed."
                raise LedgerCorrupt(f"entry {link.sequence} of the ledger {why}") from None
            self._charge(link)
            self.pending.add(link.sequence)
        elif link.kind in ("settle", "fail"):
            if body["reservation"] not in self.pending:
                raise LedgerCorrupt(f"entry {link.sequence} of the ledger settles what is not open.")
            self.pending.remove(body["reservation"])
            self.outcomes.update(packed((link.sequence, body["reservation"])))
        elif link.kind == "restore":
            self._charge(link)
            self.note(link)
        elif changes.concerns(link):
            changes.note(self, link, figures=True)
            changes.catch_up(self, link)
        elif link.kind in (*BREAKER, *WITHOUT_MEANING, *changes.KINDS):
            self.note(link)

    def _charge(self, link: Link) -> None:
        for opened, cost, delta in link.body["units"]:
            account, more = self.accounts.opened(opened), Units(cost, delta)
            if account is None:
                raise LedgerCorrupt(f"entry {link.sequence} of the ledger charges somebody who has no account.")
            spent = account.spent + more
            if not (more.fits(account.limit) and spent.fits(account.limit)):
                raise LedgerCorrupt(f"entry {link.sequence} of the ledger passes the cap of an account.")
            self.accounts[account.people, account.analyst] = replace(account, spent=spent)

    def note(self, link: Link) -> None:
        """Follow what an entry says of anything but what accounts have and what reservations cost."""
        if link.kind == "account":
            # Incidents may be lost with the account: nothing is answered until the curator thaws the people.
            account = Account.read(link)
            if account.analyst is None and self.lost and self.identity(account)[:16] in self.lost:
                self.frozen |= {account.people}
        elif changes.concerns(link):
            changes.note(self, link)
        elif link.kind in BREAKER:
            self.interrupt(link)
        elif link.kind == "restore":
            found = [Total.read(fields) for fields in link.body["lost"]]
            self.lost.update({total.name: total for total in found})
            self.standing = replace(self.standing, blind=self.standing.blind or "unknown" in link.body)
        else:
            self.unread += (link.sequence,)

    def seen(self, account: Account) -> Units | None:
        """What a lost account of this name had spent, if there was one; None if that had other terms."""
        if self.standing.blind and account.analyst is None:
            return None
        if not self.lost:
            return NOTHING
        identity = self.identity(account)
        total = self.lost.get(identity[:16])
        return NOTHING if total is None else total.spent if total.identity == identity else None

    def identity(self, account: Account) -> bytes:
        """By what an anchor knows an account, without saying its name."""
        known = self.identities.get((account.people, account.analyst))
        if known is None:
            stated = [account.kind, str(account.cap.cost), str(account.cap.delta), dict(account.terms)]
            known = identity_of(self.key, [account.people, account.analyst], stated)
        return known

    def totals(self) -> Parts:
        """What every account has spent, those that are lost included, for an anchor."""

        def total(account: Account) -> bytes:
            identity = self.identities[account.people, account.analyst] = self.identity(account)
            if account.closed:  # whatever copy of the ledger comes back, nothing is left of it
                return Total(account.opened, account.limit, identity).packed
            return total_of(account.packed, identity)

        if not self.lost:
            return self.accounts.totals(self.key, total)
        here = [*unpack(b"".join(map(total, self.accounts.each())))]
        known = {total.name for total in here}
        found = [one.at_least(self.lost.get(one.name)) for one in here]
        others = [one for one in self.lost.values() if one.name not in known]
        return parted(b"".join(one.packed for one in (*found, *others)))

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
        elif (people, None) in self.standing.closed:
            raise LedgerCorrupt(f"entry {link.sequence} of the ledger thaws people who are closed for good.")
        else:
            self.incidents.pop(people, None)
            self.frozen -= {people}

    def commitment(self, key: bytes, version: int) -> bytes:
        """A keyed digest of everything above that can change, as entries of that version commit to it."""
        incidents = {people: sorted(counted) for people, counted in self.incidents.items()}
        accounts, broken = self.accounts.each(), [incidents, sorted(self.frozen)]
        if version < COMMITTING:
            spent = packed(*((account.opened, account.spent.cost, account.spent.delta) for account in accounts))
            fields = [spent, packed(sorted(self.pending))]
            if self.incidents or self.frozen:  # without any, the state is sealed as it was before there could be some
                fields.append(canonical_json(broken).encode())
            return digest(key, b"state", *fields)
        if version < GROUPING:
            rows = b"".join([account.packed for account in accounts])
        else:
            rows = packed([len(self.accounts)]) + b"".join([group.digest for group in self.accounts.groups()])
        fields = [rows, packed(sorted(self.pending)), self.outcomes.digest()]
        if self.incidents or self.frozen or self.lost or self.unread or self.standing != NEW:
            rest = [*broken, [total.fields for total in self.lost.values()], self.unread]
            rest += [] if self.standing == NEW else [self.standing.document]
            fields.append(canonical_json(rest).encode())
        return digest(key, b"caps and states" if version < GROUPING else b"groups and states", *fields)


def packed(*numbers: Iterable[int]) -> bytes:
    """Whole numbers as bytes."""
    flat = list(chain.from_iterable(numbers))
    return struct.pack(f">{len(flat)}q", *flat)
