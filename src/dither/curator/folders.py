"""A curator's folder: opened, or made where there is none yet."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from dither.errors import PolicyError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dither.engines.routing import Engines
    from dither.engines.settings import EngineSettings
    from dither.ledger import Ledger
    from dither.policy.store import PolicyFile


class FolderMade(UserWarning):
    """`Curator.open` was given a folder that did not exist, and made it: a mistyped name would be a curator of nothing.

    Said once; create=True makes a folder without a word, create=False refuses.
    """


def open_engines(policy: PolicyFile, given: Mapping[str, EngineSettings] | None = None) -> Engines:
    """DuckDB, and the engines that are given or that the folder remembers; those are connected to when needed."""
    from dither.engines.duckdb.engine import DuckDBEngine
    from dither.engines.routing import Engines

    folder = policy.folder / "snapshots"
    home = DuckDBEngine(folder, limits=lambda: policy.read().limits)
    return Engines(home, folder, lambda: policy.read().limits, given, lambda: policy.read().engines)


def open_ledger(
    path: Path, *, create: bool | None, anchor: str | Path | None, ledger: str | None, weak_anchor: bool
) -> Ledger:
    """The ledger of a folder. Without a word about `create`, a new folder is made and a warning says so."""
    from dither.ledger import Ledger

    new = not any((path / name).exists() for name in ("ledger.sqlite", "ledger.address"))
    if new and path.is_dir() and any(path.iterdir()):
        raise PolicyError(f"{path} is not empty and holds no ledger; name a new folder for the curator.")
    opened = Ledger.open(path, anchor=anchor, create=create is not False, ledger=ledger, weak_anchor=weak_anchor)
    if new and create is None:
        made = f"there was no curator in {path}, so a new one was made, with no tables; create=False refuses instead."
        warnings.warn(made, FolderMade, stacklevel=3)
    return opened
