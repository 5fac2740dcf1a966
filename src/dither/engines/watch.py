"""A long statement with its progress reported from the calling thread."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from dither.engines.protocol import Progress

if TYPE_CHECKING:
    import duckdb

_INTERVAL = 0.1  # seconds between reports


def watched(
    connection: duckdb.DuckDBPyConnection,
    sql: str,
    parameters: dict[str, str] | None,
    what: str,
    start: float,
    end: float,
    progress: Progress | None,
) -> None:
    """Run the statement to its end; progress moves from `start` to `end` and never back."""
    if progress is None:
        connection.execute(sql, parameters).fetchall()
        return
    connection.execute("SET enable_progress_bar = true").fetchall()
    connection.execute("SET enable_progress_bar_print = false").fetchall()
    failed: list[BaseException] = []

    def work() -> None:
        try:
            connection.execute(sql, parameters).fetchall()
        except BaseException as error:  # noqa: BLE001 - handed to the caller
            failed.append(error)

    worker = threading.Thread(target=work, name="dither-load", daemon=True)
    progress(what, start)
    worker.start()
    try:
        shown = start
        while worker.is_alive():
            worker.join(_INTERVAL)
            done = min(max(connection.query_progress(), 0.0), 100.0) / 100
            shown = max(shown, start + (end - start) * done)
            progress(what, shown)
    except BaseException:
        connection.interrupt()
        worker.join()
        raise
    if failed:
        raise failed[0]
    progress(what, end)
