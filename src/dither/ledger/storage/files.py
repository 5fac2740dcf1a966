"""The ledger's folder: private to its owner, written durably."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import stat
from hashlib import sha256
from pathlib import Path

from dither.errors import LedgerCorrupt, LedgerError, LedgerMissing
from dither.ledger.chain import KEY_BYTES, same
from dither.ledger.storage.protocol import Store
from dither.ledger.storage.store import Store as SQLiteStore

# In place and without growth, data alone need to reach the disk; not every system has the cheaper call.
_sync_data = getattr(os, "fdatasync", os.fsync)


def sync(descriptor: int) -> None:
    """Return once the file's data are on the disk."""
    _sync_data(descriptor)


def write_durably(path: Path, content: bytes, *, replace: bool = True) -> None:
    """The file has exactly that content, or is untouched, whatever happens; on the disk before this returns.

    With replace=False a file that is there already wins.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with open(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(descriptor)
            if replace:
                os.replace(temporary, path)
            else:
                with contextlib.suppress(FileExistsError):
                    os.link(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
        _sync_folder(path.parent)
    except OSError as error:
        raise LedgerError(f"{path} cannot be written: {error.strerror}.") from error


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class Folder:
    """Where a ledger lives."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.database = path / "ledger.sqlite"
        self.key = path / "ledger.key"
        self.anchor = path / "ledger.anchor"
        self.answers = path / "answers"
        self.address = path / "ledger.address"  # of a ledger that is elsewhere
        self.begun: tuple[str, ...] = (self.database.name, self.key.name, ".ledger.")

    def store(self) -> Store:
        """The SQLite file."""
        return SQLiteStore(self.database)

    def close(self) -> None:
        """Nothing is held open here."""

    def prepare(self, *, key: bool = True) -> None:
        """Make what a new ledger needs: folder, key, an empty database; leaves alone what is there.

        With key=False there must be a key.
        """
        self.make_folder()
        if self.database.exists():
            return
        self.make_key(new=key)
        try:
            # Only ever a new file: closing any descriptor of a database in use would drop its locks.
            with contextlib.suppress(FileExistsError):
                os.close(os.open(self.database, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
            _sync_folder(self.path)
            _sync_folder(self.path.absolute().parent)
        except OSError as error:
            raise LedgerError(f"the ledger's folder {self.path} cannot be made: {error.strerror}.") from error

    def prepare_beside(self) -> None:
        """Make what a ledger needs that moves into the folder."""
        self.prepare(key=False)

    def take_over(self) -> None:
        """From now on the ledger is looked for in the folder."""
        self.address.unlink(missing_ok=True)
        _sync_folder(self.path)

    def make_folder(self) -> None:
        """The folder itself, private."""
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise LedgerError(f"the ledger's folder {self.path} cannot be made: {error.strerror}.") from error
        self._check_folder()

    def make_key(self, *, new: bool) -> None:
        """A key, unless there is one; with new=False there must be."""
        if new:
            write_durably(self.key, secrets.token_bytes(KEY_BYTES), replace=False)
        else:
            self.read_key()

    def write_address(self, ledger: str) -> None:
        """Remember where the ledger is; from now on it is not looked for in the folder."""
        write_durably(self.address, json.dumps({"format": 1, "ledger": ledger}).encode())

    def check_unused(self) -> None:
        """Refuse to begin a ledger beside what only a used one has: that ledger was lost."""
        if any(not path.name.startswith(self.begun) for path in self.path.iterdir()):
            raise LedgerCorrupt(
                f"the ledger in {self.path} is empty or gone, but the folder was used: a new one would give its "
                "budgets again. Restore the newest copy of the ledger, or name an empty folder for a new one."
            )

    def make_answers(self) -> None:
        """The folder of large answers; it is made once there is a first entry, and so tells that there was one."""
        try:
            if not self.answers.is_dir():
                self.answers.mkdir(mode=0o700, exist_ok=True)
                _sync_folder(self.path)
        except OSError as error:
            raise LedgerError(f"the folder {self.answers} cannot be made: {error.strerror}.") from error

    def check(self) -> None:
        """Refuse a folder that is missing, read-only or open to others, clearly."""
        self._check_folder()
        if not self.database.exists():
            raise LedgerMissing(str(self.path), exists=True)
        _check_private(self.database, 0o600)
        # SQLite would open it all the same, and leave read-only helper files beside it that outlive the mistake.
        if not stat.S_IMODE(self.database.stat().st_mode) & stat.S_IWUSR or not os.access(self.database, os.W_OK):
            raise LedgerError(f"the ledger {self.database} is read-only; charges could not be recorded.")

    def read_key(self) -> bytes:
        """The key, if it is private and whole."""
        if not self.key.exists():
            raise LedgerError(f"the ledger's key {self.key} is missing; restore it from the curator's backup.")
        _check_private(self.key, 0o600)
        try:
            key = self.key.read_bytes()
        except OSError as error:
            raise LedgerError(f"the ledger's key {self.key} cannot be read: {error.strerror}.") from error
        if len(key) != KEY_BYTES:
            raise LedgerCorrupt(f"the ledger's key {self.key} must have {KEY_BYTES} bytes; it has {len(key)}.")
        return key

    def store_answer(self, answer: bytes) -> None:
        """A large answer becomes a durable file named by its hash."""
        write_durably(self.answers / sha256(answer).hexdigest(), answer)

    def answer_size(self, name: str) -> int:
        """The bytes of the answer of that hash; 0 if it is missing, which whoever asks for it is told."""
        path = self.answers / name
        return path.stat().st_size if path.is_file() else 0

    def load_answer(self, name: str) -> bytes:
        """The answer of that hash, exactly as stored."""
        try:
            answer = (self.answers / name).read_bytes()
        except OSError as error:
            raise LedgerCorrupt(f"the stored answer {name} cannot be read: {error.strerror}.") from error
        if not same(sha256(answer).digest(), bytes.fromhex(name)):
            raise LedgerCorrupt(f"the stored answer {name} was changed.")
        return answer

    def _check_folder(self) -> None:
        if not self.path.is_dir():
            raise LedgerMissing(str(self.path), exists=False)
        _check_private(self.path, 0o700)
        if not stat.S_IMODE(self.path.stat().st_mode) & stat.S_IWUSR or not os.access(self.path, os.W_OK):
            raise LedgerError(f"the ledger's folder {self.path} is read-only; charges could not be recorded.")


def _check_private(path: Path, mode: int) -> None:
    found = stat.S_IMODE(path.stat().st_mode)
    if found & 0o077:
        raise LedgerError(f"{path} is open to others (mode {found:o}); run: chmod {mode:o} {path}")
