"""Which engines there are beside DuckDB: what it takes to open one, kept in the folder as far as it is no secret."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from dither.errors import PolicyError

if TYPE_CHECKING:
    from dither.engines.protocol import Holder
    from dither.policy.limits import Limits

# By the word that a declaration begins with: the class of its settings.
KINDS = {
    "postgres": "dither.engines.postgres.settings.PostgreSQL",
    "live": "dither.engines.postgres.settings.LivePostgreSQL",
}


class EngineSettings(Protocol):
    """What it takes to open an engine."""

    def open(self, folder: Path, limits: Callable[[], Limits]) -> Holder:
        """The engine. `folder` is that of DuckDB's snapshots, with the key of ranks; nothing is connected to yet."""
        ...

    def declaration(self) -> dict[str, str] | None:
        """What the folder remembers, `kind` among it and no secret; None if the engine is handed in each time."""
        ...


def settings_from(declared: Mapping[str, str]) -> EngineSettings:
    """The settings that `declaration` described."""
    stated = dict(declared)
    place = KINDS.get(stated.pop("kind", ""))
    if place is None:
        raise PolicyError(
            f"policy.json names an engine of a kind that is not known here; known are {', '.join(KINDS)}."
        )
    module, _, name = place.rpartition(".")
    try:
        return cast(EngineSettings, getattr(import_module(module), name)(**stated))
    except TypeError:
        raise PolicyError("policy.json has settings of an engine that this dither does not know.") from None
