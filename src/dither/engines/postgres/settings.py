"""What it takes to put tables on PostgreSQL, as a curator states it and the folder remembers it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dither.engines.postgres.place import Place

if TYPE_CHECKING:
    from dither.engines.postgres.engine import PostgresEngine
    from dither.policy.limits import Limits


@dataclass(frozen=True)
class PostgreSQL(Place):
    """A PostgreSQL database: `dsn_env` names the environment variable with its address, `schema` our schema in it."""

    def open(self, folder: Path, limits: Callable[[], Limits]) -> PostgresEngine:
        """The engine; it is connected to when it is needed."""
        from dither.engines.postgres.engine import PostgresEngine

        return PostgresEngine(folder, self, limits=limits)

    def declaration(self) -> dict[str, str]:
        """What a folder remembers: no secret."""
        return {"kind": "postgres", "dsn_env": self.dsn_env, "schema": self.schema}
