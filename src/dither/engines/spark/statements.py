"""Runs statements in a session, each within what is left of its question's time; what fails says nothing of why."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from dither.engines.protocol import EngineError, StatementStopped

_PERIOD = 0.2  # seconds between two attempts to cancel a job
_Result = TypeVar("_Result")


class Turn:
    """Leave to run the statements of one question in a session, so many seconds long."""

    def __init__(self, session: Any, seconds: int) -> None:
        self._session, self.terms = session, seconds
        self.begin()

    def begin(self) -> None:
        """From here on all statements together have the time of one question."""
        self._deadline = time.monotonic() + self.terms

    def ready(self) -> bool:
        """Whether the application still runs."""
        try:
            return bool(self._session.conf.get("spark.sql.ansi.enabled"))
        except Exception:  # noqa: BLE001 - whatever it says
            return False

    def close(self) -> None:
        """The application belongs to whoever handed it in."""

    def table(self, sql: str) -> Any:
        """The result as an Arrow table; EngineError if it has no meaning, StatementStopped if it was stopped.

        A statement that has a meaning cannot fail on any row. If it fails nevertheless, time, memory, disks or
        executors were too few.
        """
        return sealed_off(lambda: self._collected(sql))

    def _collected(self, sql: str) -> Any:
        """In a thread of its own, which is waited for until the deadline: Spark may take its time to end a job."""
        from pyspark.errors import AnalysisException, ParseException

        context = self._session.sparkContext
        tag, found, ended = f"dither-{uuid.uuid4().hex}", list[Any](), threading.Event()

        def work() -> None:
            try:
                context.addJobTag(tag)  # a session's own marks are not those of the thread that collects batches
                found.append(self._session.sql(sql).toArrow())
            except (AnalysisException, ParseException):
                found.append(None)
            except Exception:  # noqa: BLE001 - nobody may read what it says
                pass
            finally:
                ended.set()

        threading.Thread(target=work, name="dither-statement", daemon=True).start()
        try:
            ended.wait(max(self._deadline - time.monotonic(), 0))
        finally:
            if not ended.is_set():
                threading.Thread(target=self._cancel, args=[tag, ended], daemon=True).start()
        if not found:
            raise StatementStopped
        if found[0] is None:
            raise EngineError
        return found[0]

    def _cancel(self, tag: str, ended: threading.Event) -> None:
        """Until it has ended: a job that has not begun yet cannot be cancelled."""
        with suppress(Exception):  # the application has ended
            while not ended.wait(_PERIOD):
                self._session.sparkContext.cancelJobsWithTag(tag)


def sealed_off(work: Callable[[], _Result]) -> _Result:
    """What it computes, or one of two errors without any words of the engine, which may quote data."""
    failed: type[EngineError] = StatementStopped
    try:
        return work()
    except StatementStopped:
        pass
    except EngineError:
        failed = EngineError
    except Exception:  # noqa: BLE001 - the engine's own text may quote data
        pass
    # Raised here and not where it failed: an exception remembers the one it was raised beside.
    raise failed
