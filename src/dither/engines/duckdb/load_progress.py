"""A long statement with its progress reported from the calling thread, which an interrupt ends at once."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from dither.engines.protocol import Progress

if TYPE_CHECKING:
    import duckdb

_INTERVAL = 0.1  # seconds between reports


def _unseen(what: str, done: float) -> None:
    """Nobody looks."""


def watched(
    connection: duckdb.DuckDBPyConnection,
    sql: str,
    parameters: dict[str, str] | None,
    what: str,
    start: float,
    end: float,
    progress: Progress | None,
) -> None:
    """Run the statement to its end; progress moves from `start` to `end` and never back.

    It runs in a thread of its own even if nobody wants to know: inside the engine, or a source that it reads, an
    interrupt of the calling thread would look like a damaged source.
    """
    progress = progress or _unseen
    connection.execute("SET enable_progress_bar = true").fetchall()
    connection.execute("SET enable_progress_bar_print = false").fetchall()
    failed: list[BaseException] = []
    ended = threading.Event()  # an interrupted join takes its thread for ended

    def work() -> None:
        try:
            connection.execute(sql, parameters).fetchall()
        except BaseException as error:  # noqa: BLE001 - handed to the caller
            failed.append(error)
        finally:
            ended.set()

    worker = threading.Thread(target=work, name="dither-load", daemon=True)
    try:
        progress(what, start)
        worker.start()
        shown = start
        while not ended.wait(_INTERVAL):
            done = min(max(connection.query_progress(), 0.0), 100.0) / 100
            shown = max(shown, start + (end - start) * done)
            progress(what, shown)
    except BaseException:
        if worker.ident is not None:
            connection.interrupt()
            ended.wait()
        raise
    if failed:
        raise failed[0]
    progress(what, end)
