"""What it takes to put tables on PostgreSQL or to ask live ones, as a curator states it and the folder remembers it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dither.engines.postgres.place import Place

if TYPE_CHECKING:
    from dither.engines.postgres.engine import PostgresEngine
    from dither.engines.postgres.live import LiveEngine
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


@dataclass(frozen=True)
class LivePostgreSQL(Place):
    """Live tables of a PostgreSQL database, which others write to and we only read: those of `schema`, by their names.

    Nothing is stored. Each statement sanitises, ranks and limits the rows that it reads.
    """

    @property
    def search_path(self) -> str:
        """The system's own functions alone: what stands beside the live tables could have the name of one of them."""
        return "pg_catalog"

    def open(self, folder: Path, limits: Callable[[], Limits]) -> LiveEngine:
        """The engine; it is connected to when it is needed."""
        from dither.engines.postgres.live import LiveEngine

        return LiveEngine(folder, self, limits=limits)

    def declaration(self) -> dict[str, str]:
        """What a folder remembers: no secret."""
        return {"kind": "live", "dsn_env": self.dsn_env, "schema": self.schema}
