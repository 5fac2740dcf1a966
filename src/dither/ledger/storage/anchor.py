"""The anchor: how far the ledger had come and what was spent by then, kept outside it.

A ledger behind its anchor was rolled back. Two slots of whole blocks, each a mark under a keyed MAC. A write goes to
the slot that does not hold the newest mark, so a write cut short by a crash leaves the mark before it readable. A mark
too large for its slot goes into a new file with larger ones, which takes the place of the old one at once.
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from dither.errors import LedgerCorrupt, LedgerError
from dither.ledger.chain import digest, same
from dither.ledger.storage.files import sync, write_durably

_FIRST = struct.Struct(">8sQ32s")  # a mark without totals, as older dithers wrote it
_HEAD = struct.Struct(">8sQ32sI")
_FIRST_MAGIC, _MAGIC = b"ditherA1", b"ditherA2"
_BLOCK = 4096
_MAC = 32


@dataclass(frozen=True, order=True)
class Mark:
    """A place in the chain, and what all accounts had spent there; None in the marks of older dithers."""

    sequence: int
    mac: bytes
    totals: bytes | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Anchor:
    """The anchor file. Callers hold the ledger's write lock around `advance`, so that marks only move forwards."""

    path: Path
    key: bytes

    def exists(self) -> bool:
        """Whether there is a file at all."""
        return self.path.exists()

    def create(self, mark: Mark) -> None:
        """Make the file with this mark alone, all or nothing."""
        slot = self._slot(mark)
        blocks = -(-len(slot) // _BLOCK)
        write_durably(self.path, slot.ljust(2 * _BLOCK * (1 << (blocks - 1).bit_length()), b"\0"))

    def read(self) -> Mark:
        """The newest mark; LedgerError if there is no file, LedgerCorrupt if neither slot is authentic."""
        return self._newest(self._content())[0]

    def advance(self, mark: Mark, check: Callable[[Mark], None] = lambda newest: None) -> Mark:
        """Durably record `mark` unless the anchor is there already; returns the newest mark. Never moves backwards.

        `check` is shown the mark that is there, and may refuse to go on from it.
        """
        with self._locked() as descriptor:
            content = self._content()
            newest, place = self._newest(content)
            check(newest)
            if newest.sequence >= mark.sequence:
                return newest
            slot, room = self._slot(mark), _room(content)
            if len(slot) > room or len(content) != 2 * room:
                self.create(mark)
                return mark
            try:
                if os.pwrite(descriptor, slot, (1 - place) * room) != len(slot):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))  # a mark cut short is no mark
                sync(descriptor)
            except OSError as error:
                raise LedgerError(f"the anchor {self.path} cannot be written: {error.strerror}.") from error
        return mark

    @contextmanager
    def _locked(self) -> Iterator[int]:
        """The file, for one writer at a time: copies of a ledger have write locks of their own, and share only this."""
        descriptor = self._open()
        try:
            while not os.path.samestat(os.fstat(descriptor), os.stat(self.path)):  # another took its place meanwhile
                os.close(descriptor)
                descriptor = self._open()
            yield descriptor
        finally:
            os.close(descriptor)

    def _open(self) -> int:
        try:
            descriptor = os.open(self.path, os.O_RDWR)
        except FileNotFoundError:
            self._content()  # says so
            raise
        except OSError as error:
            raise LedgerError(f"the anchor {self.path} cannot be written: {error.strerror}.") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError as error:
            os.close(descriptor)
            raise LedgerError(f"the anchor {self.path} cannot be locked: {error.strerror}.") from error
        return descriptor

    def _slot(self, mark: Mark) -> bytes:
        totals = mark.totals or b""
        text = _HEAD.pack(_MAGIC, mark.sequence, mark.mac, len(totals)) + totals
        return text + digest(self.key, b"anchor", text)

    def _mark(self, slot: bytes) -> Mark | None:
        """What a slot holds, if that is authentic."""
        if len(slot) < _HEAD.size + _MAC:
            return None
        first = slot.startswith(_FIRST_MAGIC)
        magic, sequence, mac, size = _HEAD.unpack_from(slot)
        end = _FIRST.size if first else _HEAD.size + size
        text = slot[:end]
        if magic not in (_FIRST_MAGIC, _MAGIC) or not same(slot[end : end + _MAC], digest(self.key, b"anchor", text)):
            return None
        return Mark(sequence, mac, None if first else text[_HEAD.size :])

    def _content(self) -> bytes:
        try:
            return self.path.read_bytes()
        except OSError as error:
            raise LedgerError(
                f"the anchor {self.path} cannot be read: {error.strerror}. Give the anchor this ledger was made with."
            ) from error

    def _newest(self, content: bytes) -> tuple[Mark, int]:
        room = _room(content)
        slots = [self._mark(content[place : place + room]) for place in (0, room)]
        marks = [(mark, place) for place, mark in enumerate(slots) if mark is not None]
        if not marks:
            raise LedgerCorrupt(f"the anchor {self.path} is damaged or belongs to another ledger.")
        return max(marks)


def _room(content: bytes) -> int:
    """The bytes of one slot: half of the file."""
    return max(_BLOCK, len(content) // 2 // _BLOCK * _BLOCK)
