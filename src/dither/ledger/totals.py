"""What an anchor has seen spent, account by account, so that a lost ledger can be counted as spent.

An account is known by keyed digests of its name and of its terms: an anchor may lie where names should not be read.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import astuple, dataclass, replace
from itertools import zip_longest

from dither.ledger.accounts import SIZE as GROUP
from dither.ledger.chain import canonical_json, digest
from dither.ledger.units import NOTHING, Units

_RECORD = struct.Struct(">qqq32s")
SIZE = _RECORD.size  # bytes of a total
PART = GROUP * SIZE  # and of the totals of a group

Parts = tuple[bytes, ...]  # all totals one after the other, cut every so many bytes: most are those of before


@dataclass(frozen=True)
class Total:
    """How much an account had spent, in its own units."""

    opened: int
    spent: Units
    identity: bytes

    @property
    def name(self) -> bytes:
        """Whose it is."""
        return self.identity[:16]

    def at_least(self, other: Total | None) -> Total:
        """With what another has seen, where that is more."""
        if other is None:
            return self
        return replace(self, spent=Units(*map(max, astuple(self.spent), astuple(other.spent))))

    @property
    def packed(self) -> bytes:
        """As an anchor holds it."""
        return _RECORD.pack(self.opened, self.spent.cost, self.spent.delta, self.identity)

    @property
    def fields(self) -> list[int | str]:
        """As an entry holds it."""
        return [self.opened, self.spent.cost, self.spent.delta, self.identity.hex()]

    @classmethod
    def read(cls, fields: list[int | str]) -> Total:
        """What `fields` wrote."""
        opened, cost, delta, identity = fields
        return cls(int(opened), Units(int(cost), int(delta)), bytes.fromhex(str(identity)))


def identity_of(key: bytes, name: object, terms: object) -> bytes:
    """Digests of who has an account, and of what it was opened with."""
    who, what = (digest(key, b"account", canonical_json(part).encode())[:16] for part in (name, [name, terms]))
    return who + what


def total_of(row: bytes, identity: bytes) -> bytes:
    """The total of an account with that row (opened, cap, cap of delta, spent, spent of delta), as an anchor has it."""
    return row[:8] + row[24:] + identity


def unpack(content: bytes) -> Iterator[Total]:
    """The totals that an anchor has."""
    for opened, cost, delta, identity in _RECORD.iter_unpack(content):
        yield Total(opened, Units(cost, delta), identity)


def parted(content: bytes) -> Parts:
    """Totals in their parts."""
    return tuple(content[start : start + PART] for start in range(0, len(content), PART))


def covered(seen: Parts, here: Parts) -> bool:
    """Whether no account has spent more in the first than in the second; what is the same needs no look."""
    differing = [(before, now) for before, now in zip_longest(seen, here, fillvalue=b"") if before != now]
    spent = {total.name: total.spent for _, now in differing for total in unpack(now)}
    return all(total.spent.fits(spent.get(total.name, NOTHING)) for before, _ in differing for total in unpack(before))
