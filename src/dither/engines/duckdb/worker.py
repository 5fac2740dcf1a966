"""The program of a worker process: runs the statements that its parent sends, within limits that it sets on itself.

It knows snapshots by the paths it is told, and nothing of ledgers, budgets or people. It ends with its parent. What
goes wrong is told in one of two words: `failed`, or `stopped` if memory or disk ran out, since the engine's own words
could quote data. A statement that takes too much memory or time ends the process.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import math
import os
import resource
import select
import shutil
import signal
import socket
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from dither.engines.duckdb.wire import Hangup, receive, receive_words, send, send_words, serialised

if TYPE_CHECKING:
    import duckdb

Places = tuple[tuple[str, str], ...]  # what generated SQL calls each snapshot, and its file

MOST_OPEN = 8  # sets of tables
_PERIOD = 0.01  # seconds between two looks at a running statement
_CELL = 8  # bytes that a value counts for at least, however few it is sent in: whoever reads it has it as an object
_IDLE = 1000  # milliseconds between two looks for snapshots that were dropped
_NOT_DUMPABLE = 4  # PR_SET_DUMPABLE of Linux: a crash would put memory on disk


class Databases:
    """A database for each of the sets of tables last used, which can read those snapshots and nothing else.

    The files are attached read-only, every other file, network and extension is out of reach, and the configuration is
    locked.
    """

    def __init__(self, config: dict[str, Any], spill: str, most_spilled: str) -> None:
        self._config, self._spill, self._most_spilled = config, spill, most_spilled
        self._open: dict[Places, duckdb.DuckDBPyConnection] = {}
        self._made = 0

    def cursor(self, places: Places) -> duckdb.DuckDBPyConnection:
        self.forget_dropped()
        if places not in self._open:
            while len(self._open) >= MOST_OPEN:
                del self._open[next(iter(self._open))]
            self._open[places] = self._read_only(places)
        self._open[places] = self._open.pop(places)  # the last one used
        return self._open[places].cursor()

    def forget_dropped(self) -> None:
        """Let go of snapshots whose file is gone: a copy of personal data lasts as long as somebody has it open."""
        for gone in [known for known in self._open if not all(os.path.exists(path) for _, path in known)]:
            del self._open[gone]

    def _read_only(self, places: Places) -> duckdb.DuckDBPyConnection:
        import duckdb

        self._made += 1
        connection = duckdb.connect(":memory:", config=dict(self._config))
        for sql in (
            *(f"ATTACH '{_quoted(path)}' AS \"{schema}\" (READ_ONLY)" for schema, path in places),
            f"SET temp_directory = '{_quoted(self._spill)}/{self._made}'",
            f"SET max_temp_directory_size = '{self._most_spilled}'",
            # A list of values made into a join would have every derived column above it written out again and again.
            "SET disabled_optimizers = 'in_clause'",
            "SET enable_external_access = false",
            "SET lock_configuration = true",
        ):
            connection.execute(sql).fetchall()
        return connection


class Watch:
    """Looks at a statement while it runs: at the memory it takes, and whether there is still somebody to answer."""

    def __init__(self, channel: socket.socket, parent: int, memory: int, spill: Path) -> None:
        self._parent, self._memory, self._spill = parent, memory, spill
        self._ends = select.poll()
        self._ends.register(channel, 0)  # a hangup is always reported
        self._running, self._most = threading.Event(), 0
        threading.Thread(target=self._look, name="dither-watch", daemon=True).start()

    def begin(self) -> None:
        self._most = resident() + self._memory
        self._running.set()

    def end(self) -> None:
        self._running.clear()

    def _look(self) -> None:
        while self._running.wait():
            if self._ends.poll(0) or os.getppid() != self._parent:
                leave(self._spill)
            if resident() > self._most:
                os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(_PERIOD)


class Worker:
    """Answers one statement after the other."""

    def __init__(self, channel: socket.socket, terms: dict[str, Any]) -> None:
        self._channel, self._parent = channel, terms["parent"]
        self._memory, self._seconds = terms["memory"], terms["seconds"]
        self._databases = Databases(terms["config"], terms["spill"], terms["most_spilled"])
        self._watch = Watch(channel, terms["parent"], self._memory, Path(terms["spill"]))

    def serve(self) -> None:
        """Until the parent hangs up."""
        waiting = select.poll()
        waiting.register(self._channel, select.POLLIN)
        while True:
            while not waiting.poll(_IDLE):
                self._databases.forget_dropped()
                if os.getppid() != self._parent:  # though a fork of it may still hold the other end
                    return
            asked = receive_words(self._channel)
            frames = [receive(self._channel, self._memory) for _ in asked["tables"]]
            self._watch.begin()
            said, result = self._run(asked, frames)
            self._watch.end()
            # The engine keeps what it has read, but the next statement needs room too.
            spent = said["said"] != "answered" or resident() > self._memory
            send_words(self._channel, {**said, "spent": spent})
            if result is not None:
                send(self._channel, result)

    def _run(self, asked: dict[str, Any], frames: list[bytearray]) -> tuple[dict[str, str], Any]:
        """What to say, and the result. The engine's own words are said only where no snapshot is open."""
        import duckdb
        import pyarrow as pa

        why = ""
        try:
            with contextlib.closing(self._databases.cursor(tuple((s, p) for s, p in asked["places"]))) as cursor:
                self._bound(asked["first"])
                try:
                    for name, frame in zip(asked["tables"], frames, strict=True):
                        cursor.register(name, pa.ipc.open_stream(pa.py_buffer(frame)).read_all())
                    table = cursor.sql(asked["sql"]).to_arrow_table()
                    result = serialised(table)
                    size = max(memoryview(result).nbytes, _CELL * table.num_rows * table.num_columns)
                    if asked.get("most") is not None and size > asked["most"]:
                        return {"said": "failed", "why": "it is too large"}, None
                    return {"said": "answered"}, result
                except (MemoryError, duckdb.OutOfMemoryException, duckdb.IOException):  # memory or room to spill
                    return {"said": "stopped"}, None
        except Exception as error:  # noqa: BLE001 - the engine's own text may quote data
            if not asked["places"]:
                why = str(error).partition("\n")[0][:500]
        return {"said": "failed", "why": why}, None

    def _bound(self, first: bool) -> None:
        """What this statement may take, above what the process has taken so far. The kernel holds it to that.

        Time is given to all statements of a question together, when the first one comes.
        """
        if first:
            spent = math.ceil(time.process_time())
            resource.setrlimit(resource.RLIMIT_CPU, (spent + self._seconds, resource.RLIM_INFINITY))
        # Memory that is set aside and not used counts too, so this only catches what outruns the watch.
        resource.setrlimit(resource.RLIMIT_DATA, (_data() + 2 * self._memory, resource.RLIM_INFINITY))


def resident() -> int:
    """Bytes of memory that the process uses, those of shared files left out."""
    with open("/proc/self/statm", encoding="ascii") as file:
        _, used, shared, *_ = map(int, file.read().split())
    return (used - shared) * resource.getpagesize()


def _data() -> int:
    """Bytes that RLIMIT_DATA counts now."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[5]) * resource.getpagesize()


def leave(spill: Path) -> NoReturn:
    """End at once, leaving nothing behind."""
    shutil.rmtree(spill, ignore_errors=True)
    os._exit(0)


def _quoted(path: str) -> str:
    return path.replace("'", "''")


def _keep_off_disk() -> None:
    """No core dumps, and no file that others can read."""
    os.umask(0o077)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_NOT_DUMPABLE, 0, 0, 0, 0)


def main() -> None:
    """Serve the parent at the other end of standard input."""
    _keep_off_disk()
    channel = socket.socket(fileno=os.dup(0))
    terms = receive_words(channel)
    # Nothing here needs NumPy, which Arrow and the engine would take the time to import if they found it.
    sys.modules["numpy"] = None  # type: ignore[assignment]
    gc.disable()
    import duckdb  # noqa: F401
    import pyarrow  # noqa: F401

    gc.freeze()
    gc.enable()
    worker = Worker(channel, terms)
    with contextlib.suppress(Hangup, OSError):
        send_words(channel, {"said": "ready"})
        worker.serve()
    leave(Path(terms["spill"]))


if __name__ == "__main__":
    main()
