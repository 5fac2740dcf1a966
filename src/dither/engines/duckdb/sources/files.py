"""Which files a path means, and how they are opened. A path is what the curator wrote; what a folder or a pattern leads
to is not."""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from dither.errors import PolicyError

_CHANGED = "{} was changed while it was read, so nothing was stored; load it again once it is written."


@dataclass(frozen=True)
class File:
    """A file as it was when it was found. Whatever takes its place later, by a link say, is not read."""

    name: str
    found: tuple[int, ...]

    @classmethod
    def at(cls, name: str) -> File:
        """The file that is there now."""
        return cls(name, _state(os.stat(name)))

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Its bytes; PolicyError if it is another one by now, or was written to before it was read to its end."""
        with open(self.name, "rb", opener=_opener) as file:
            self._check(file.fileno())
            yield file
            self._check(file.fileno())

    def _check(self, descriptor: int) -> None:
        if _state(os.fstat(descriptor)) != self.found:
            raise PolicyError(_CHANGED.format(self.name))


def expand(path: str) -> list[File]:
    """The files of a path, a folder of Parquet files, or a pattern.

    A link that is named itself is followed. One that a folder or pattern finds must stay inside of the folder.
    """
    if Path(path).is_dir():
        folder, pattern = Path(path), str(Path(glob.escape(path)) / "*.parquet")
    elif not glob.has_magic(path):
        if not Path(path).is_file():
            raise PolicyError(f"there is no file {path}; check the path.")
        return [File.at(path)]
    else:
        folder, pattern = _fixed_part(path), path
    found = sorted(glob.glob(pattern))
    if not found or not all(Path(name).is_file() for name in found):
        raise PolicyError(f"there is no file {pattern}; check the path.")
    resolved = [Path(name).resolve() for name in found]
    if not all(_inside(name, folder.resolve()) for name in resolved):
        raise PolicyError(f"{path} has links that lead out of it; name what they lead to by its own path.")
    return [File.at(str(name)) for name in resolved]


def _state(known: os.stat_result) -> tuple[int, ...]:
    """Which file it is, and what changes when somebody writes to it."""
    return stat.S_IFMT(known.st_mode), known.st_dev, known.st_ino, known.st_size, known.st_mtime_ns


def _opener(name: str, flags: int) -> int:
    """A pipe that has taken the place of a file would be waited for without end."""
    return os.open(name, flags | os.O_NONBLOCK)


def _inside(name: Path, folder: Path) -> bool:
    return name.is_relative_to(folder)


def _fixed_part(path: str) -> Path:
    """The folder above the first name that is a pattern."""
    folder = Path(path)
    while glob.has_magic(str(folder)):
        folder = folder.parent
    return folder
