"""One connection to a PostgreSQL server that keeps what it confirms, and is spoken to directly."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import psycopg

from dither.errors import LedgerCorrupt, LedgerError
from dither.ledger.storage.postgres import schema
from dither.ledger.storage.protocol import Cursor

_OLDEST = 140000
_CONNECT_SECONDS, _WAIT_SECONDS = 10, 60
_HINT = re.compile(r" INDEXED BY \w+")
_PLACED, _NAMED = re.compile(r"\?"), re.compile(r":(\w+)")
_STATE = ", ".join(f"current_setting('{name}')" for name in schema.DURABLE)
_FACTS = f"SELECT pg_backend_pid(), pg_is_in_recovery(), {_STATE}"
_WRITING = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
_BEGINNINGS = {
    "read": f"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {_FACTS}",
    "add": f"{_WRITING}; {_FACTS}",
    "write": f"{_WRITING}; {_FACTS} FROM turn FOR UPDATE",
    # The lock leaves a trace that need not reach the disk; so that nothing else is lost with it, nothing is written.
    "turn": f"{_WRITING}; {_FACTS} FROM turn FOR UPDATE; SET LOCAL synchronous_commit = off; SET TRANSACTION READ ONLY",
}
_SETTINGS = {
    "lock_timeout": f"'{_WAIT_SECONDS}s'",
    "statement_timeout": "0",
    "idle_in_transaction_session_timeout": "'5min'",  # one that stands still must not hold all others up for good
    "client_connection_check_interval": "'1s'",
    "timezone": "'UTC'",
}


@cache
def translated(statement: str) -> str:
    """A statement that SQLite reads, for PostgreSQL."""
    return _NAMED.sub(r"%(\1)s", _PLACED.sub("%s", _HINT.sub("", statement)))


class Session:
    """A connection that may be used: it leads to the primary server itself, which makes commits durable."""

    def __init__(self, address: str, space: str) -> None:
        self.space = space
        keep: dict[str, Any] = {
            "keepalives_idle": 10,
            "keepalives_interval": 5,
            "keepalives_count": 3,
            "tcp_user_timeout": 30_000,
        }
        self.raw = psycopg.connect(
            address, autocommit=True, connect_timeout=_CONNECT_SECONDS, application_name="dither", **keep
        )
        try:
            if self.raw.info.server_version < _OLDEST:
                raise LedgerError("the ledger needs PostgreSQL 14 or newer.")
            self._check(self.raw.execute(_FACTS).fetchone())
            settings = {**_SETTINGS, "search_path": f"{space}, pg_temp"}
            self.raw.execute("; ".join(f"SET {name} = {value}" for name, value in settings.items()))
        except BaseException:
            self.raw.close()
            raise

    def begin(self, how: str) -> None:
        """A transaction that reads, adds, or waits for its turn to write."""
        done = self.raw.execute(_BEGINNINGS[how])
        done.nextset()
        self._check(done.fetchone())

    def _check(self, facts: tuple[Any, ...] | None) -> None:
        if facts is None:
            raise LedgerCorrupt("the ledger's row of whose turn it is was taken out.")
        process, standby, *found = facts
        if process != self.raw.info.backend_pid:
            raise LedgerError(
                "there is a connection pooler before the ledger's server: settings and locks of one transaction would "
                "be another's. Give the address of the server itself."
            )
        if standby:
            raise LedgerError("the ledger's server is a standby: charges cannot be recorded there. Name the primary.")
        for (name, accepted), value in zip(schema.DURABLE.items(), found, strict=True):
            if value not in accepted:
                raise LedgerError(
                    f"the ledger's server has {name} = {value}: a charge that it confirms could be lost in a crash. "
                    f"Set {name} = {accepted[0]}."
                )

    def execute(self, statement: str, values: Any = (), /) -> Cursor:
        """A statement, as SQLite reads it."""
        return self.raw.execute(translated(statement), values)

    def cluster(self) -> int:
        """The number that a cluster was given when it was made; copies of it have the same."""
        (found,) = self.raw.execute("SELECT system_identifier FROM pg_control_system()").fetchone() or (0,)
        return int(found)

    # -- the ledger's tables

    def has_tables(self) -> bool:
        """Whether a ledger was begun here."""
        return self.has("entries")

    def has(self, table: str) -> bool:
        """Whether there is such a table."""
        found = self.raw.execute("SELECT to_regclass(%s) IS NOT NULL", (f"{self.space}.{table}",)).fetchone()
        return found == (True,)

    def make_tables(self) -> None:
        """All tables, within the caller's transaction."""
        for statement in schema.STATEMENTS:
            self.raw.execute(statement)

    def older_layout(self) -> int:
        """The number of an older layout if these are its tables; 0 otherwise. The first one here is SQLite's third."""
        return 3 if self.description() == schema.third() else 0

    def change_tables(self, layout: int) -> None:
        """From that layout to ours, within the caller's transaction."""
        for statement in schema.STEPS[layout]:
            self.raw.execute(statement)

    def check_tables(self) -> None:
        """Refuse any table, index, constraint, trigger or function that differs from ours."""
        if self.description() != schema.expected():
            raise LedgerCorrupt("the tables of the ledger were changed.")

    def description(self) -> list[str]:
        """What there is in the schema, in words."""
        found = self.raw.execute(schema.DESCRIPTION, {"schema": self.space}).fetchall()
        return sorted(line for (line,) in found)

    def check_whole(self) -> None:
        """PostgreSQL has checks of its own, which need rights of their own; the walk reads every row all the same."""
