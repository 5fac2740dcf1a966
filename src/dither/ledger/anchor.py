"""The anchor: how far the ledger had come, kept outside it. A ledger behind its anchor was rolled back.

Two slots, each (sequence, seal of that entry) under a keyed MAC, in blocks of their own. A write goes to the slot that
does not hold the newest mark, so a write cut short by a crash leaves the mark before it readable.
"""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from pathlib import Path

from dither.errors import LedgerCorrupt, LedgerError
from dither.ledger.chain import digest, same
from dither.ledger.files import sync, write_durably

_MAGIC = b"ditherA1"
_BLOCK = 4096
_MARK_BYTES = len(_MAGIC) + 8 + 32
_SLOT_BYTES = _MARK_BYTES + 32


@dataclass(frozen=True, order=True)
class Mark:
    """A place in the chain."""

    sequence: int
    mac: bytes


@dataclass(frozen=True)
class Anchor:
    """The anchor file. Callers hold the ledger's write lock around `advance`, so that marks only move forwards."""

    path: Path
    key: bytes

    def exists(self) -> bool:
        """Whether there is a file at all."""
        return self.path.exists()

    def create(self, mark: Mark) -> None:
        """Make the file with its first mark, all or nothing."""
        write_durably(self.path, self._slot(mark).ljust(2 * _BLOCK, b"\0"))

    def read(self) -> Mark:
        """The newest mark; LedgerError if there is no file, LedgerCorrupt if neither slot is authentic."""
        return self._newest(self._read_slots())[0]

    def advance(self, mark: Mark) -> Mark:
        """Durably record `mark` unless the anchor is there already; returns the newest mark. Never moves backwards."""
        newest, slot = self._newest(self._read_slots())
        if newest.sequence >= mark.sequence:
            return newest
        try:
            descriptor = os.open(self.path, os.O_WRONLY)
            try:
                if os.pwrite(descriptor, self._slot(mark), (1 - slot) * _BLOCK) != _SLOT_BYTES:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))  # a mark cut short is no mark
                sync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise LedgerError(f"the anchor {self.path} cannot be written: {error.strerror}.") from error
        return mark

    def _slot(self, mark: Mark) -> bytes:
        text = _MAGIC + mark.sequence.to_bytes(8, "big") + mark.mac
        return text + digest(self.key, b"anchor", text)

    def _read_slots(self) -> list[bytes]:
        try:
            content = self.path.read_bytes()
        except OSError as error:
            raise LedgerError(
                f"the anchor {self.path} cannot be read: {error.strerror}. Give the anchor this ledger was made with."
            ) from error
        return [content[place : place + _SLOT_BYTES] for place in (0, _BLOCK)]

    def _newest(self, slots: list[bytes]) -> tuple[Mark, int]:
        marks = []
        for number, slot in enumerate(slots):
            text = slot[:_MARK_BYTES]
            if same(slot[_MARK_BYTES:], digest(self.key, b"anchor", text)):
                sequence = int.from_bytes(text[len(_MAGIC) : len(_MAGIC) + 8], "big")
                marks.append((Mark(sequence, text[len(_MAGIC) + 8 :]), number))
        if not marks:
            raise LedgerCorrupt(f"the anchor {self.path} is damaged or belongs to another ledger.")
        return max(marks)
