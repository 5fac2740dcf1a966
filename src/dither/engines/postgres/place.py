"""Where a PostgreSQL engine is: by the name of an environment variable, so that no secret is written anywhere."""

from __future__ import annotations

import re
from dataclasses import dataclass

from dither.errors import PolicyError

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,62}")


@dataclass(frozen=True)
class Place:
    """A database: `dsn_env` names the environment variable with its address, `schema` the schema for our tables."""

    dsn_env: str
    schema: str = "dither_data"

    def __post_init__(self) -> None:
        if not isinstance(self.dsn_env, str) or not _VARIABLE.fullmatch(self.dsn_env):
            # It may be the address itself, so it is not repeated.
            raise PolicyError("dsn_env= is the name of an environment variable, such as CLINIC_DSN, not what it holds.")
        if not isinstance(self.schema, str) or not _SCHEMA.fullmatch(self.schema) or self.schema.startswith("pg_"):
            raise PolicyError("schema= has lower case letters, digits and _, and does not begin with pg_.")

    @property
    def search_path(self) -> str:
        """Where unqualified names are looked for."""
        return f'"{self.schema}", pg_temp'
