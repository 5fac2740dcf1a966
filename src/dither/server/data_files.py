"""Files that tables are loaded from over HTTP: below one folder, and of kinds that hold data and nothing else."""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
import stat
from collections.abc import AsyncIterable, Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path

from dither.engines.duckdb.spill import UPLOADED, make_folder, remove_abandoned
from dither.errors import PolicyError
from dither.server.bodies import timely
from dither.server.problems import BodyTooLarge

KINDS = (".parquet", ".csv", ".csv.gz", ".tsv", ".arrow")
MEDIA_TYPES = {
    "application/vnd.apache.parquet": ".parquet",
    "text/csv": ".csv",
    "application/vnd.apache.arrow.stream": ".arrow",
}
_NOWHERE = "sources are Parquet, CSV or Arrow files below the server's data folder, or uploads."


@contextmanager
def room_for_uploads(folder: Path) -> Iterator[Path]:
    """A private folder for what is sent to one server, until it ends; what servers left that have ended is removed."""
    all_of_them = folder / "uploads"
    all_of_them.mkdir(mode=0o700, exist_ok=True)
    for path in all_of_them.iterdir():
        if path.is_file():  # older versions kept them here
            path.unlink(missing_ok=True)
    remove_abandoned(all_of_them)
    own, lock = make_folder(all_of_them, UPLOADED)
    try:
        yield own
    finally:
        shutil.rmtree(own, ignore_errors=True)
        os.close(lock)


class Uploads:
    """Files that were sent to this server or another one of the folder: each is deleted once it was loaded."""

    def __init__(self, own: Path, quota: int) -> None:
        self._own, self._all, self._quota = own, own.parent, quota

    async def receive(self, parts: AsyncIterable[bytes], kind: str) -> str:
        """Keep what is sent, and return its name; what would exceed the quota of all uploads together is refused."""
        name = f"{secrets.token_hex(16)}{kind}"
        descriptor = os.open(self._own / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        kept = False
        try:
            with open(descriptor, "wb", buffering=0) as file:
                async for part in timely(parts):
                    self._write(file, part)
            kept = True
        finally:
            if not kept:
                self.discard(name)
        return name

    def _write(self, file: FileIO, part: bytes) -> None:
        """Add to one file if all of them have room for it; one at a time, of all processes that serve."""
        folder = os.open(self._all, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            if self._held() + len(part) > self._quota:
                raise BodyTooLarge(self._quota)
            if file.write(part) != len(part):
                raise PolicyError("the server has no room for the upload.")
        finally:
            os.close(folder)

    def _held(self) -> int:
        """Bytes of all uploads."""
        sizes = []
        for path in self._all.glob("*/*"):
            with suppress(FileNotFoundError):  # it was loaded, or refused, meanwhile
                sizes.append(path.stat().st_size)
        return sum(sizes)

    def path(self, name: str) -> Path:
        """The file of an upload; names are of our own making, so nothing else is one."""
        stem, _, kind = name.partition(".")
        if len(stem) == 32 and stem.isalnum() and stem.isascii() and f".{kind}" in KINDS:
            for path in self._all.glob(f"*/{name}"):
                return path
        raise PolicyError("there is no such upload.")

    def discard(self, name: str) -> None:
        for path in self._all.glob(f"*/{name}"):
            path.unlink(missing_ok=True)


def below(root: Path | None, stated: str) -> Path:
    """A file below the data folder, reached through no link; anything else is refused with the same words."""
    if root is None or not stated or "\0" in stated or Path(stated).is_absolute():
        raise PolicyError(_NOWHERE)
    parts = Path(stated).parts
    if ".." in parts or any(sign in stated for sign in "*?[") or not stated.lower().endswith(KINDS):
        raise PolicyError(_NOWHERE)
    path = root
    for part in parts:
        path = path / part
        try:
            mode = path.lstat().st_mode
        except OSError:
            raise PolicyError(_NOWHERE) from None
        if stat.S_ISLNK(mode):
            raise PolicyError(_NOWHERE)
    if not stat.S_ISREG(mode):
        raise PolicyError(_NOWHERE)
    return path
