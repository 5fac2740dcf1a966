"""The curator's declarations on disk: which tables exist, whose they are, and what their columns may hold.

Budgets are not here: they live in the ledger, so no edit of this file can touch them. Every load of data takes a new
snapshot number from one counter that only grows.

What a table declares was proven of its snapshot when the data were loaded, so it is fixed from then on: each
declaration carries a checksum, and one that was edited afterwards, which could promise too little noise, is refused.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dither.errors import PolicyError
from dither.policy.catalog import HOME, PUBLIC, Catalog, ForeignKey, PublicTable, Table
from dither.policy.columns import Column, column_from
from dither.policy.limits import Limits, limits_from
from dither.policy.names import schema_name
from dither.policy.shape import shape_from
from dither.policy.structure import Structure

# The first format knew neither keys nor foreign keys nor public tables, the second no max_rows. The fourth is the third
# with structure, or with labels of public tables, the fifth has tables on other engines; each is written only if there
# are some: older readers read the third.
_PLAIN, _STRUCTURED, _FORMAT = 3, 4, 5
_READABLE = (1, 2, _PLAIN, _STRUCTURED, _FORMAT)


@dataclass(frozen=True)
class Policy:
    """Everything declared, and the last snapshot number given out.

    `engines` are the settings of those that tables are on beside DuckDB, as far as they can be kept: never a secret.
    """

    tables: Mapping[str, Table]
    last_snapshot: int = 0
    public: Mapping[str, PublicTable] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    schema: str = PUBLIC
    engines: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def catalog(self) -> Catalog:
        return Catalog(self.tables, self.public, self.schema)

    def named(self, name: str) -> Table | PublicTable | None:
        return self.tables.get(name) or self.public.get(name)

    def with_table(self, table: Table | PublicTable) -> Policy:
        if isinstance(table, PublicTable):
            return replace(self, public={**self.public, table.name: table})
        return replace(self, tables={**self.tables, table.name: table})

    def without_table(self, name: str) -> Policy:
        return replace(
            self,
            tables={known: table for known, table in self.tables.items() if known != name},
            public={known: table for known, table in self.public.items() if known != name},
        )


class PolicyFile:
    """policy.json: read whenever it changed, replaced atomically under a lock."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._path = folder, folder / "policy.json"
        self._lock, self._snapshots_lock = folder / "policy.lock", folder / "steady.lock"
        self._turnstile = folder / "turnstile.lock"
        self._seen: tuple[int, int, int] | None = None
        self._policy = Policy({})

    def read(self) -> Policy:
        try:
            status = self._path.stat()
        except FileNotFoundError:
            return Policy({})
        seen = (status.st_mtime_ns, status.st_ino, status.st_size)
        if seen != self._seen:
            self._policy, self._seen = _parse(self._path), seen
        return self._policy

    def catalog(self) -> Catalog:
        return self.read().catalog()

    def locked(self) -> AbstractContextManager[None]:
        """One process at a time registers or loads."""
        return _held(self._lock, fcntl.LOCK_EX)

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Declarations and snapshots stay as they are inside: what a question was priced on is what it runs on.

        Never inside another: behind a change that waits, the inner one would wait for the outer one to end.
        """
        with _held(self._turnstile, fcntl.LOCK_EX):
            pass  # one at a time, and nobody while a change waits: questions that overlap for ever cannot starve it
        with _held(self._snapshots_lock, fcntl.LOCK_SH):
            yield

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Hold new questions back, and wait until none is under way."""
        with _held(self._turnstile, fcntl.LOCK_EX), _held(self._snapshots_lock, fcntl.LOCK_EX):
            yield

    def write(self, policy: Policy) -> None:
        from dither.ledger.storage.files import write_durably

        content = {
            "format": _format(policy),
            "last_snapshot": policy.last_snapshot,
            "tables": {name: _declare(table) for name, table in policy.tables.items()},
            "public": {name: _declare_public(table) for name, table in policy.public.items()},
            "limits": policy.limits.declaration(),
            **({"schema": policy.schema} if policy.schema != PUBLIC else {}),
            **({"engines": {name: dict(stated) for name, stated in policy.engines.items()}} if policy.engines else {}),
        }
        write_durably(self._path, json.dumps(content, indent=1).encode())


def _format(policy: Policy) -> int:
    if policy.engines or any(table.engine != HOME for table in policy.tables.values()):
        return _FORMAT
    newer = any(table.structure for table in policy.tables.values()) or any(t.labels for t in policy.public.values())
    return _STRUCTURED if newer else _PLAIN


@contextmanager
def _held(path: Path, how: int) -> Iterator[None]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    _locked.add(descriptor)
    try:
        fcntl.flock(descriptor, how)
        yield
    finally:
        if descriptor in _locked:  # else this is a fork, and the lock is its parent's
            _locked.remove(descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)


# A lock belongs to all copies of its descriptor: a fork that kept one would hold it for as long as it lives.
_locked: set[int] = set()


def _let_go() -> None:
    """After a fork, in the child."""
    while _locked:
        os.close(_locked.pop())


os.register_at_fork(after_in_child=_let_go)


def _declare(table: Table) -> dict[str, Any]:
    declared: dict[str, Any] = {
        "people": table.people,
        "owner": table.owner,
        "via": None if table.via is None else [table.via.column, table.via.table, table.via.key],
        "owner_type": table.owner_type,
        "parent_snapshot": table.parent_snapshot,
        "key": list(table.key),
        "max_rows_per_owner": table.max_rows_per_owner,
        "max_rows": table.max_rows,
        "snapshot": table.snapshot,
        "columns": {name: column.declaration() for name, column in table.columns.items()},
    }
    if table.structure:
        declared["structure"] = {"rows_in": dict(table.structure.rows_in), "values": dict(table.structure.values)}
    if table.engine != HOME:
        declared["engine"] = table.engine
    return {**declared, "checksum": _checksum(table.name, declared)}


def _declare_public(table: PublicTable) -> dict[str, Any]:
    declared: dict[str, Any] = {
        "key": list(table.key),
        "max_rows": table.max_rows,
        "snapshot": table.snapshot,
        "columns": {name: column.declaration() for name, column in table.columns.items()},
    }
    if table.labels:
        declared["labels"] = {name: list(labels) for name, labels in table.labels.items()}
    if table.shape.rows:
        declared["shape"] = table.shape.declaration()
    return {**declared, "checksum": _checksum(table.name, declared)}


def declaration(table: Table | PublicTable) -> dict[str, Any]:
    """A declaration for those who may ask about the table; `table_from` reads it."""
    declared = _declare(table) if isinstance(table, Table) else _declare_public(table)
    return {"name": table.name, **declared}


def table_from(declared: Mapping[str, Any]) -> Table | PublicTable:
    """The table that `declaration` described."""
    stated = {name: value for name, value in declared.items() if name != "name"}
    return (_table if "people" in stated else _public_table)(declared["name"], stated)


def _checksum(name: str, declared: Mapping[str, Any]) -> str:
    """The same for equal declarations only, whatever the layout of the file."""
    content = {key: value for key, value in declared.items() if key != "checksum"}
    return hashlib.sha256(json.dumps([name, content], sort_keys=True).encode()).hexdigest()


def _parse(path: Path) -> Policy:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["format"] not in _READABLE:
            raise PolicyError(f"{path.name} has format {content['format']}; this dither reads formats up to {_FORMAT}.")
        public = content["public"] if content["format"] > 1 else {}
        return Policy(
            {name: _table(name, declared) for name, declared in content["tables"].items()},
            content["last_snapshot"],
            {name: _public_table(name, declared) for name, declared in public.items()},
            limits_from(content.get("limits", {})),
            schema_name(content.get("schema", PUBLIC)),
            {name: dict(stated) for name, stated in content.get("engines", {}).items()},
        )
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        raise PolicyError(f"{path.name} is damaged; restore it from a backup. Budgets are not affected.") from None


def _table(name: str, declared: Mapping[str, Any]) -> Table:
    _check(name, declared)
    via = declared.get("via")
    return Table(
        name,
        declared["people"],
        declared["owner"],
        declared["max_rows_per_owner"],
        _columns(declared),
        declared["snapshot"],
        key=tuple(declared.get("key", ())),
        via=None if via is None else ForeignKey(*via),
        owner_type=declared.get("owner_type", ""),
        parent_snapshot=declared.get("parent_snapshot", 0),
        max_rows=declared.get("max_rows"),
        structure=Structure(**declared.get("structure", {})),
        engine=declared.get("engine", HOME),
    )


def _public_table(name: str, declared: Mapping[str, Any]) -> PublicTable:
    _check(name, declared)
    key, rows = tuple(declared["key"]), declared.get("max_rows")
    labels = {column: tuple(values) for column, values in declared.get("labels", {}).items()}
    shape = shape_from(declared.get("shape", {}))
    return PublicTable(name, _columns(declared), key, declared["snapshot"], rows, labels, shape)


def _columns(declared: Mapping[str, Any]) -> dict[str, Column]:
    return {column: column_from(declaration) for column, declaration in declared["columns"].items()}


def _check(name: str, declared: Mapping[str, Any]) -> None:
    if declared["checksum"] != _checksum(name, declared):
        raise PolicyError(
            f"the declaration of table {name!r} was edited after its data were loaded; undo the edit, or restore "
            "policy.json from a backup. To declare a table differently, drop it and register it again."
        )
