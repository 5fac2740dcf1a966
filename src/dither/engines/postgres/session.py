"""One connection to a PostgreSQL server that may hold personal data: checked, pinned, and able to change nothing."""

from __future__ import annotations

import os
import select
import socket
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import psycopg

from dither.engines.postgres.binary_rows import arrow_table
from dither.engines.postgres.place import Place
from dither.engines.protocol import EngineError, StatementStopped
from dither.errors import LedgerError, PolicyError
from dither.ledger.storage.postgres.schema import DURABLE
from dither.ledger.storage.postgres.store import WHY, named

_OLDEST = 140000
_CONNECT_SECONDS = 10
_WALL = 10  # times the seconds of computing: so long may a statement take while others keep the machine busy
_GRACE = 5  # seconds that the server has to stop a statement by itself
_KEEP: dict[str, Any] = {
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
# With these a role reaches files and programs of the server, whatever its transactions may change.
_AS_GOOD_AS_SUPERUSERS = ("pg_read_server_files", "pg_write_server_files", "pg_execute_server_program")
_FACTS = ", ".join(
    [
        "pg_backend_pid()",
        "pg_is_in_recovery()",
        "current_setting('is_superuser') = 'on'",
        " OR ".join(f"pg_has_role('{role}', 'MEMBER')" for role in _AS_GOOD_AS_SUPERUSERS),
        "has_database_privilege('public', current_database(), 'CONNECT')",
        "coalesce(current_setting('auto_explain.log_analyze', true), 'off') <> 'off'",
        "current_setting('server_encoding')",
        *(f"current_setting('{name}')" for name in DURABLE),
    ]
)
# All that a statement's result could depend on, beside the rows; and nothing that is slow to make ready.
_PINNED = {
    "client_encoding": "'UTF8'",
    "timezone": "'UTC'",
    "datestyle": "'ISO, YMD'",
    "intervalstyle": "'postgres'",
    "standard_conforming_strings": "on",
    "bytea_output": "'hex'",
    "extra_float_digits": "1",  # a double is its shortest decimal form
    "transform_null_equals": "off",
    "array_nulls": "on",
    "row_security": "off",  # a row that a policy would hide is an error, never left out
    "jit": "off",
    "lock_timeout": "'60s'",
    "idle_in_transaction_session_timeout": "'5min'",
    "client_connection_check_interval": "'1s'",
}


@dataclass(frozen=True)
class Terms:
    """Where a session is, and what one question may take there."""

    settings: Place
    seconds: int
    memory: int


def connect(settings: Place) -> psycopg.Connection[Any]:
    """A checked connection. PolicyError says what is wrong, never the address: it may have a password."""
    address = os.environ.get(settings.dsn_env, "")
    if not address:
        raise PolicyError(
            f"the environment variable {settings.dsn_env} is not set; it has the address of the PostgreSQL database, "
            "postgresql://USER@HOST/DATABASE."
        )
    try:
        raw = psycopg.connect(
            address, autocommit=True, connect_timeout=_CONNECT_SECONDS, application_name="dither", **_KEEP
        )
        try:
            _check(raw)
            pinned = {**_PINNED, "search_path": settings.search_path}
            raw.execute("; ".join(f"SET {name} = {value}" for name, value in pinned.items()))
        except BaseException:
            raw.close()
            raise
    except psycopg.Error as error:
        raise away(error, settings) from None
    return raw


def away(error: psycopg.Error, settings: Place) -> PolicyError:
    """What went wrong with a server, in words of ours: its own may quote rows."""
    code = error.sqlstate or "08000"
    why = WHY.get(code) or WHY.get(code[:2]) or f"reports an error ({code})"
    try:
        name = named(os.environ.get(settings.dsn_env, ""))
    except LedgerError:
        return PolicyError(f"{settings.dsn_env} holds no address of PostgreSQL, such as postgresql://HOST/DATABASE.")
    return PolicyError(f"PostgreSQL, {name}, {why}; nothing was changed.")


def _check(raw: psycopg.Connection[Any]) -> None:
    if raw.info.server_version < _OLDEST:
        raise PolicyError("tables can be put on PostgreSQL 14 or newer.")
    facts: list[Any] = list(raw.execute(f"SELECT {_FACTS}").fetchone() or ())
    process, standby, superuser, more, open_to_all, explained, encoding, *durable = facts
    if process != raw.info.backend_pid:
        raise PolicyError("there is a connection pooler before PostgreSQL; give the address of the server itself.")
    if superuser or more:
        raise PolicyError(
            "the role that PostgreSQL is asked as is a superuser, or may read or run files of the server; take one "
            "that may do nothing but own its schema."
        )
    if open_to_all:
        raise PolicyError(
            "everybody may connect to this PostgreSQL database, and its catalog tells them how many rows each table "
            f"has. Close it: REVOKE CONNECT ON DATABASE {raw.info.dbname} FROM PUBLIC."
        )
    if explained:
        raise PolicyError("PostgreSQL logs how many rows statements read; set auto_explain.log_analyze = off.")
    if standby:
        raise PolicyError("this PostgreSQL server is a standby; name the primary.")
    if encoding != "UTF8":
        raise PolicyError(f"the PostgreSQL database is encoded in {encoding}; take one in UTF8.")
    for (name, accepted), value in zip(DURABLE.items(), durable, strict=True):
        if value not in accepted:
            raise PolicyError(
                f"PostgreSQL has {name} = {value}: a snapshot could be lost or torn in a crash. Set {name} = "
                f"{accepted[0]}."
            )


class Session:
    """A connection that runs statements, each in a transaction of its own that can change nothing."""

    def __init__(self, terms: Terms) -> None:
        self.terms, self._process, self.raw = terms, os.getpid(), connect(terms.settings)
        try:
            self.raw.execute("SET default_transaction_read_only = on")
            self.raw.execute("SET default_transaction_isolation = 'repeatable read'")
            self._bound()
        except psycopg.Error as error:
            self.raw.close()
            raise away(error, terms.settings) from None
        self.begin()

    def _bound(self) -> None:
        """Memory of each sort and hash table; and, where the role may set it, the room for what goes to disk."""
        self.raw.execute(f"SET work_mem = '{max(4096, self.terms.memory // 2**14)}kB'")
        if self.raw.info.server_version >= 150000:
            allowed = self.raw.execute("SELECT has_parameter_privilege('temp_file_limit', 'SET')").fetchone()
            if allowed == (True,):
                self.raw.execute(f"SET temp_file_limit = '{2 * self.terms.memory // 1024}kB'")

    def begin(self) -> None:
        """From here on all statements together have the time of one question."""
        self._deadline = time.monotonic() + _WALL * self.terms.seconds

    def ready(self) -> bool:
        """Whether it waits for a statement, and its server has not hung up."""
        if self.raw.closed or self.raw.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
            return False
        says = select.poll()
        says.register(self.raw.pgconn.socket, select.POLLIN)  # it says nothing unless it is asked
        return not says.poll(0)

    def ask(self, sql: str) -> Any:
        """The result as an Arrow table. StatementStopped if it took too much, or if the server or its process died."""
        left = self._deadline - time.monotonic()
        done = stopped = False
        guard = threading.Timer(max(left, 0) + _GRACE, self._sever)
        guard.daemon = True
        try:
            guard.start()
            with self.raw.transaction(), self.raw.cursor() as cursor:
                cursor.execute(f"SET LOCAL statement_timeout = {max(int(1000 * left), 1)}")
                found = arrow_table(cursor, sql, self.terms.memory)
            done = True
            return found
        except (psycopg.OperationalError, MemoryError, StatementStopped):  # cancelled, out of room, shut down or lost
            stopped = True
        except Exception:  # noqa: BLE001 - the engine's own text may quote data
            pass
        finally:
            guard.cancel()
            if not done:
                self.close()
        # Raised here and not where it failed: an exception remembers the one it was raised beside.
        raise StatementStopped if stopped else EngineError

    def one(self, sql: str, values: tuple[Any, ...] = ()) -> Any:
        """The one value of a query about the catalog; PolicyError if the server is away."""
        try:
            (found,) = self.raw.execute(sql, values).fetchone() or (None,)
        except psycopg.Error as error:
            self.close()
            raise away(error, self.terms.settings) from None
        return found

    def _sever(self) -> None:
        """A server that does not even stop is hung up on."""
        with suppress(Exception), socket.socket(fileno=os.dup(self.raw.pgconn.socket)) as shared:
            shared.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        if os.getpid() == self._process:  # a fork would hang up for its parent
            self.raw.close()

    def __del__(self) -> None:
        if hasattr(self, "raw"):
            self.close()
