"""A Spark application as an engine: what a curator is opened with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dither.engines.spark.engine import SparkEngine
    from dither.policy.limits import Limits


@dataclass(frozen=True)
class Spark:
    """A session of the application that holds snapshots and runs statements, and the folder where they are.

    `warehouse` is seen by this process, the driver and all executors by the same path; without one, snapshots are in
    the curator's own folder, which is enough for executors on this machine.

    >>> Spark(session=None, warehouse="/lake/dither").declaration() is None
    True
    """

    session: Any
    warehouse: str | Path | None = None

    def open(self, folder: Path, limits: Callable[[], Limits]) -> SparkEngine:
        """The engine; refused if the application would show exact numbers."""
        from dither.engines.spark.engine import SparkEngine

        return SparkEngine(self.session, self.warehouse or folder / "spark", folder, limits=limits)

    def declaration(self) -> dict[str, str] | None:
        """Nothing is remembered: a session is handed in whenever the curator is opened."""
        return None
