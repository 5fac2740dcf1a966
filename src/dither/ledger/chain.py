"""The chain of entries: each is sealed by a keyed MAC over itself and the seal before it.

The sealed form is permanent. A later format changes the version and what bodies mean, never how they are sealed, so
that an older dither recognises an honest newer ledger and refuses it as such.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dither.errors import LedgerCorrupt
from dither.ledger.kinds import VERSION, check_body, check_kind

NO_SEAL = bytes(32)  # what stands before the first entry
KEY_BYTES = 32


@dataclass(frozen=True)
class Link:
    """One authentic row of the chain."""

    sequence: int
    version: int
    kind: str
    text: str
    state: bytes  # commitment to every account and open reservation after this entry
    mac: bytes

    @cached_property
    def body(self) -> Mapping[str, Any]:
        """The content; parsed only after its seal was checked."""
        body: Mapping[str, Any] = json.loads(self.text)
        return body

    def goes_on_from(self, kind: str) -> bool:
        """Whether it may follow an entry of that kind: a chain that moved goes on where it arrived only."""
        return (kind == "moved") == (self.kind == "arrived")

    def comes_after(self, sequence: int) -> bool:
        """Whether nothing is missing between that entry and this: only what a restore counts as lost leaves a gap."""
        if self.kind == "restore":
            return sequence < int(self.body["sequence"]) == self.sequence - 1
        return self.sequence == sequence + 1

    @property
    def row(self) -> tuple[int, int, str, str, bytes, bytes]:
        """As stored."""
        return self.sequence, self.version, self.kind, self.text, self.state, self.mac


def canonical_json(body: object) -> str:
    """The one text for a body: sorted keys, no spaces, ASCII."""
    return json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def digest(key: bytes, purpose: bytes, *fields: bytes) -> bytes:
    """HMAC-SHA256 of length-prefixed fields, so that no two lists of fields read the same."""
    message = b"".join(len(field).to_bytes(8, "big") + field for field in (b"dither ledger " + purpose, *fields))
    return hmac.digest(key, message, "sha256")


def same(found: object, expected: bytes) -> bool:
    """Whether a stored value is exactly those bytes, in constant time; any other type is not."""
    return isinstance(found, bytes) and hmac.compare_digest(found, expected)


def seal(
    key: bytes, previous: bytes, sequence: int, kind: str, text: str, state: bytes, version: int = VERSION
) -> Link:
    """The entry that follows the one sealed with `previous`."""
    head = f"{sequence} {version} {kind}".encode()
    return Link(sequence, version, kind, text, state, digest(key, b"entry", previous, head, text.encode(), state))


def authentic(key: bytes, previous: object, row: tuple[object, ...] | None) -> Link:
    """The row as an entry if its seal proves it and it has the form of its kind.

    LedgerCorrupt otherwise, LedgerError if a newer dither sealed it.
    """
    match row:
        case (int() as sequence, int() as version, str() as kind, str() as text, bytes() as state, mac) if isinstance(
            previous, bytes
        ):
            link = seal(key, previous, sequence, kind, text, state, version)
            if not same(mac, link.mac):
                raise LedgerCorrupt(
                    f"entry {sequence} of the ledger does not bear its seal: the file or its key changed."
                )
            check_kind(sequence, version, kind)
            check_body(sequence, version, kind, link.body)
            return link
        case _:
            raise LedgerCorrupt("an entry of the ledger is missing or unreadable.")
