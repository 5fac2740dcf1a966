"""The anchor: how far the ledger had come and what was spent by then, kept outside it.

A ledger behind its anchor was rolled back. The file has a whole mark under a keyed MAC and then steps, each with the
totals that changed since the one before, under a MAC of both: what a charge writes does not depend on how many accounts
there are. Before them stand two blocks, which say in turn where the last step ends. A write goes behind the last step
and to the block that is not the newest, so one cut short by a crash leaves the mark before it readable, and none but
that. Without room the whole mark goes into a new file, which takes the place of the old one at once.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import FileIO
from pathlib import Path
from typing import ClassVar

from dither.errors import LedgerCorrupt, LedgerError
from dither.ledger.storage.files import sync, write_durably
from dither.ledger.storage.marks import (
    BLOCK,
    HEAD,
    MAC,
    WHOLE,
    End,
    ends_of,
    followed,
    newest_of_slots,
    packed,
    step_of,
    unpacked,
)
from dither.ledger.storage.protocol import Mark

_ROOM = 16 * BLOCK  # for steps, at least; and for as many bytes as the whole mark has, so that it is seldom written


@dataclass(frozen=True)
class _Seen:
    """What was proven or written of a file: while that is the same, only steps behind it are read."""

    file: tuple[int, int]  # its number and its size
    end: End | None  # None in a file of two whole marks, as older dithers wrote it, which is made anew
    mark: Mark


@dataclass(frozen=True)
class Anchor:
    """The anchor file. Callers hold the ledger's write lock around `advance`, so that marks only move forwards."""

    path: Path
    key: bytes
    lasting: ClassVar[bool] = True
    _seen: dict[str, _Seen] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def name(self) -> str:
        """As messages call it."""
        return str(self.path)

    def close(self) -> None:
        """Nothing is held open here."""

    def exists(self) -> bool:
        """Whether there is a file at all."""
        return self.path.exists()

    def create(self, mark: Mark) -> None:
        """Make the file with this mark alone, all or nothing."""
        whole = packed(self.key, mark)
        end = End(0, mark.sequence, 2 * BLOCK + len(whole), whole[-MAC:])
        size = end.place + max(len(whole), _ROOM)
        ends = end.packed(self.key).ljust(2 * BLOCK, b"\0")
        write_durably(self.path, (ends + whole).ljust(-(-size // BLOCK) * BLOCK, b"\0"))

    def read(self) -> Mark:
        """The newest mark; LedgerError if there is no file, LedgerCorrupt if it has no authentic one."""
        return self._look().mark

    def _look(self) -> _Seen:
        """The newest mark and where it ends. With thousands of accounts it is long, and mostly the one of before."""
        known = self._seen.get("")
        try:
            with self.path.open("rb", buffering=0) as file:
                stat = os.fstat(file.fileno())
                found = stat.st_ino, stat.st_size
                ends = ends_of(self.key, _part(file, 0, 2 * BLOCK))
                for end in ends:
                    if known is not None and (known.file, known.end) == (found, end):
                        return known
                    since = known if known is not None and known.file == found else None
                    mark = self._follow(file, since, end) or (self._follow(file, None, end) if since else None)
                    if mark is not None:
                        self._seen[""] = _Seen(found, end, mark)
                        return self._seen[""]
                mark = None if ends else newest_of_slots(self.key, _part(file, 0, stat.st_size))
        except OSError as error:
            raise LedgerError(
                f"the anchor {self.path} cannot be read: {error.strerror}. Give the anchor this ledger was made with."
            ) from error
        if mark is None:
            raise LedgerCorrupt(f"the anchor {self.path} is damaged or belongs to another ledger.")
        return _Seen(found, None, mark)

    def _follow(self, file: FileIO, known: _Seen | None, end: End) -> Mark | None:
        """The mark at that end, followed from the whole one, or from one that is known; None if it is not reached."""
        if known is not None and known.end is not None:
            return followed(self.key, known.mark, known.end, _part(file, known.end.place, end.place), end)
        content = _part(file, 2 * BLOCK, end.place)
        mark = unpacked(self.key, content, WHOLE)
        if mark is None:
            return None
        size = HEAD.size + len(mark.totals or b"") + MAC
        first = End(0, mark.sequence, 2 * BLOCK + size, content[size - MAC : size])
        return followed(self.key, mark, first, content[size:], end)

    def advance(self, mark: Mark, check: Callable[[Mark], None] = lambda newest: None) -> Mark:
        """Durably record `mark` unless the anchor is there already; returns the newest mark. Never moves backwards.

        `check` is shown the mark that is there, and may refuse to go on from it.
        """
        with self._locked() as descriptor:
            found = self._look()
            check(found.mark)
            if found.mark.sequence >= mark.sequence:
                return found.mark
            step = None if found.end is None else step_of(self.key, found.end.seal, found.mark, mark)
            self._seen.clear()
            if found.end is None or step is None or found.end.place + len(step) > found.file[1]:
                self.create(mark)
                return mark
            end = End(1 - found.end.block, mark.sequence, found.end.place + len(step), step[-MAC:])
            try:
                for content, place in ((step, found.end.place), (end.packed(self.key), end.block * BLOCK)):
                    if os.pwrite(descriptor, content, place) != len(content):
                        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))  # a mark cut short is no mark
                sync(descriptor)
            except OSError as error:
                raise LedgerError(f"the anchor {self.path} cannot be written: {error.strerror}.") from error
            self._seen[""] = _Seen(found.file, end, mark)
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
            self._look()  # says so
            raise
        except OSError as error:
            raise LedgerError(f"the anchor {self.path} cannot be written: {error.strerror}.") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError as error:
            os.close(descriptor)
            raise LedgerError(f"the anchor {self.path} cannot be locked: {error.strerror}.") from error
        return descriptor


def _part(file: FileIO, start: int, end: int) -> bytes:
    file.seek(start)
    return file.read(max(end - start, 0)) or b""
