"""Every state that a power cut may leave: the recorded changes, of which those not yet synced may be lost or torn.

The model is no kinder than POSIX: writes and cuts of a file are safe only once that file was synced, in any order
before; names are safe only once their folder was synced, in order before.
"""

from __future__ import annotations

import os
import random
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

SECTOR = 512
HEAD = struct.Struct("=4Q")


@dataclass(frozen=True)
class Change:
    """One record of the failing disk."""

    kind: str
    file: int
    number: int
    content: bytes

    @property
    def names(self) -> tuple[str, str]:
        first, _, second = self.content.decode().partition("\0")
        return first, second


def changes(record: Path) -> list[Change]:
    """The recorded history."""
    content, place, found = record.read_bytes(), 0, []
    while place < len(content):
        kind, file, number, length = HEAD.unpack_from(content, place)
        place += HEAD.size
        found.append(Change(chr(kind), file, number, content[place : place + length]))
        place += length
    return found


@dataclass
class Platter:
    """Files and names that are safe, and what still waits to be."""

    files: dict[int, bytearray] = field(default_factory=dict)
    names: dict[str, int] = field(default_factory=dict)
    folders: dict[int, str] = field(default_factory=dict)
    waiting: list[Change] = field(default_factory=list)
    renaming: list[Change] = field(default_factory=list)
    reused: dict[int, int] = field(default_factory=dict)  # a number may be given again, to a new and empty file

    @classmethod
    def of(cls, folder: Path) -> Platter:
        """All that is in a folder now is safe."""
        found = cls()
        for place, folders, files in os.walk(folder):
            for name in [".", *folders]:
                path = os.path.normpath(os.path.join(place, name))
                found.folders[os.stat(path).st_ino] = path
            for name in files:
                if not name.endswith("-shm"):
                    path = os.path.join(place, name)
                    found.names[path] = number = os.stat(path).st_ino
                    found.files[number] = bytearray(Path(path).read_bytes())
        return found

    def see(self, change: Change) -> None:
        """Take one change into account."""
        if change.kind == "c":
            self.reused[change.file] = fresh = -1 - len(self.files)
            self.files[fresh] = bytearray()
        change = replace(change, file=self.reused.get(change.file, change.file))
        if change.kind in "wt":
            self.waiting.append(change)
        elif change.kind in "crlu":
            self.renaming.append(change)
        elif change.kind == "s" and change.file in self.folders:
            folder = self.folders[change.file]
            self._name([one for one in self.renaming if os.path.dirname(one.names[0]) == folder], self.names)
            self.renaming = [one for one in self.renaming if os.path.dirname(one.names[0]) != folder]
        elif change.kind == "s":
            for one in self.waiting:
                if one.file == change.file:
                    self._write(self.files[one.file], one)
            self.waiting = [one for one in self.waiting if one.file != change.file]

    def cut(self, how: str, draw: random.Random) -> dict[str, bytes]:
        """The names and contents after a power cut: of what waits, `all`, `none`, `some` or `torn` parts were kept."""
        files = {number: bytearray(content) for number, content in self.files.items()}
        names = dict(self.names)
        kept = {"all": 1.0, "none": 0.0}.get(how, 0.5)
        for one in self.waiting:
            if how == "torn" and one.kind == "w":
                for part in _sectors(one):
                    if draw.random() < kept:
                        self._write(files[one.file], part)
            elif draw.random() < kept:
                self._write(files[one.file], one)
        known = len(self.renaming) if how == "all" else 0 if how == "none" else draw.randint(0, len(self.renaming))
        self._name(self.renaming[:known], names)
        return {name: bytes(files[number]) for name, number in names.items()}

    @staticmethod
    def _write(content: bytearray, change: Change) -> None:
        if change.kind == "t":
            content[:] = content[: change.number].ljust(change.number, b"\0")
            return
        if len(content) < change.number:
            content.extend(bytes(change.number - len(content)))
        content[change.number : change.number + len(change.content)] = change.content

    @staticmethod
    def _name(renaming: list[Change], names: dict[str, int]) -> None:
        for one in renaming:
            first, second = one.names
            if one.kind == "c":
                names[first] = one.file
            elif one.kind == "u":
                names.pop(first, None)
            elif first in names:
                names[second] = names[first] if one.kind == "l" else names.pop(first)


def _sectors(change: Change) -> Iterator[Change]:
    place = 0
    while place < len(change.content):
        length = min(SECTOR - (change.number + place) % SECTOR, len(change.content) - place)
        yield Change("w", change.file, change.number + place, change.content[place : place + length])
        place += length


def restore(image: dict[str, bytes], origin: Path, folder: Path) -> None:
    """Put an image of `origin` into another folder."""
    for name, content in image.items():
        path = folder / Path(name).relative_to(origin)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600)
        path.write_bytes(content)
