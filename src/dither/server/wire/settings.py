"""What a connection has set: the price of its questions, and what clients of PostgreSQL set out of habit.

SET inside a block ends with a ROLLBACK of it, SET LOCAL with the block, RESET goes back to what a connection was begun
with, as in PostgreSQL.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dither.errors import DitherError, ParameterError
from dither.escape import shortened
from dither.exact.parameters import positive
from dither.server.wire.sqlstates import WireError

VERSION = "16.0"  # of PostgreSQL, whose catalog and behaviour clients may expect
ON, OFF = ("on", "true", "yes", "1", "t", "y"), ("off", "false", "no", "0", "f", "n")
OWN = {
    "dither.epsilon": "the price of a question, for all its columns and rows together",
    "dither.error": "in place of a price: how far any number may be off; the least price is paid",
    "dither.rows_per_owner": "at most so many rows of each owner count",
    "dither.limit_rows": "after_where: of those that WHERE keeps; before_where: of all, which takes less",
    "dither.session_budget": "the most epsilon that this connection may spend",
    "dither.intervals": "on: each number is followed by the ends of its interval",
}
REPORTED = {  # told to every client, which reads from them how to talk
    "server_version": VERSION,
    "server_encoding": "UTF8",
    "client_encoding": "UTF8",
    "application_name": "",
    "is_superuser": "off",
    "session_authorization": "",
    "DateStyle": "ISO, MDY",
    "IntervalStyle": "postgres",
    "TimeZone": "UTC",
    "integer_datetimes": "on",
    "standard_conforming_strings": "on",
    "default_transaction_read_only": "off",
    "in_hot_standby": "off",
}
_FIXED = {  # cannot be changed; whoever sets them to what they are is not refused
    "server_version": VERSION,
    "server_version_num": "160000",
    "server_encoding": "UTF8",
    "is_superuser": "off",
    "integer_datetimes": "on",
    "max_index_keys": "32",
    "max_identifier_length": "63",
    "block_size": "8192",
    "lc_collate": "C",
    "lc_ctype": "C",
    "standard_conforming_strings": "on",
    "client_encoding": "UTF8",
    "timezone": "UTC",
    "datestyle": "ISO, MDY",
    "intervalstyle": "postgres",
    "transaction_isolation": "read committed",
    "wal_level": "replica",
    "in_hot_standby": "off",
}
_HABITS = {  # may be set to anything: nothing here depends on them
    "application_name": "",
    "extra_float_digits": "1",
    "search_path": '"$user", public',
    "statement_timeout": "0",
    "lock_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
    "client_min_messages": "notice",
    "bytea_output": "hex",
    "default_transaction_isolation": "read committed",
    "default_transaction_read_only": "off",
    "transaction_read_only": "off",
    "escape_string_warning": "on",
    "row_security": "on",
    "jit": "off",
    "ssl_renegotiation_limit": "0",
    "backslash_quote": "safe_encoding",
    "lc_messages": "C",
    "lc_monetary": "C",
    "lc_numeric": "C",
    "lc_time": "C",
    "plan_cache_mode": "auto",
    "synchronize_seqscans": "on",
    "geqo": "on",
    "max_parallel_workers_per_gather": "0",
    "check_function_bodies": "on",
    "xmloption": "content",
    "default_tablespace": "",
    "default_table_access_method": "heap",
    "transaction_timeout": "0",
    "idle_session_timeout": "0",
}
_LONGEST = 200  # characters of a value
_UTC = ("utc", "gmt", "etc/utc", "etc/gmt", "zulu", "uct", "z", "00:00")


def _price(value: str, name: str) -> str:
    positive(value, name)
    return value


def _rows(value: str, name: str) -> str:
    if not (value.isascii() and value.isdigit() and int(value[:9])):
        raise ParameterError.of(name, "is a whole number, at least 1.")
    return value


def _order(value: str, name: str) -> str:
    if value not in ("after_where", "before_where"):
        raise ParameterError.of(name, "is after_where or before_where.")
    return value


def _switch(value: str, name: str) -> str:
    if value.lower() not in (*ON, *OFF):
        raise ParameterError.of(name, "is on or off.")
    return "on" if value.lower() in ON else "off"


_CHECKS: Mapping[str, Callable[[str, str], str]] = {
    "dither.epsilon": _price,
    "dither.error": _price,
    "dither.rows_per_owner": _rows,
    "dither.limit_rows": _order,
    "dither.session_budget": _price,
    "dither.intervals": _switch,
}


@dataclass
class Settings:
    """Values by name, in lower case; of those without a value there is none, and so of dither's own that are empty."""

    values: dict[str, str] = field(default_factory=dict)
    local: dict[str, str | None] = field(default_factory=dict)
    begun: dict[str, str] = field(default_factory=dict)  # what was stated with the connection
    _before: dict[str, str] = field(default_factory=dict)
    _marks: list[tuple[str, dict[str, str], dict[str, str | None]]] = field(default_factory=list)

    def get(self, name: str) -> str | None:
        """The value now; None if there is none."""
        found = self.local[name] if name in self.local else self.values.get(name)
        found = self.begun.get(name) if found is None else found
        return None if found == "" and name in OWN else found

    def show(self, name: str) -> str:
        name = _ALIASES.get(name, name)
        found = self.get(name)
        if found is not None:
            return found
        if name in OWN:
            return "off" if name == "dither.intervals" else ""
        for known in (_FIXED, _HABITS):
            if name in known:
                return known[name]
        raise WireError("42704", f"there is no setting {shortened(name)!r}.", hint=f"There are {', '.join(OWN)}.")

    def set(self, name: str, value: str | None, *, local: bool = False) -> str:
        """Set a value, or with None as it was at first; a notice, if there is something to say."""
        name, said = _ALIASES.get(name, name), ""
        if value is not None and len(value) > _LONGEST:
            raise WireError("22023", f"a setting has at most {_LONGEST} characters.")
        self.show(name)  # refuses what is not known
        if name in OWN:
            value = self._checked(name, value)
        elif name in _FIXED:
            if value is not None and not _fits(name, value):
                if name not in ("timezone", "datestyle", "intervalstyle", "transaction_isolation"):
                    raise WireError("22023", f"{name} is {_FIXED[name]} here.")
                said = f"{name} stays {_FIXED[name]}."
            return said
        if local:
            self.local[name] = value
        elif value is None:
            self.values.pop(name, None)
            self.local.pop(name, None)
        else:
            self.values[name] = value
            self.local.pop(name, None)
        return said

    def reset_all(self) -> None:
        self.values.clear()
        self.local.clear()

    @staticmethod
    def _checked(name: str, value: str | None) -> str | None:
        if not value:
            return value
        try:
            return _CHECKS[name](value, name)
        except DitherError as error:
            raise WireError("22023", error.what, hint=f"It is {OWN[name]}.") from None

    # -- blocks

    def keep(self) -> None:
        """What is set now is what the connection was begun with."""
        self.begun, self.values = self.values, {}

    def begin(self) -> None:
        self._before, self._marks = dict(self.values), []

    def end(self, *, undo: bool) -> None:
        if undo:
            self.values = dict(self._before)
        self.local, self._marks = {}, []

    def mark(self, name: str) -> None:
        if len(self._marks) >= 100:
            raise WireError("53400", "a block has at most 100 savepoints here.")
        self._marks.append((name, dict(self.values), dict(self.local)))

    def release(self, name: str, *, undo: bool) -> None:
        """Back to a savepoint, which then is still there, or forget it and those after it."""
        for place in range(len(self._marks) - 1, -1, -1):
            if self._marks[place][0] == name:
                if undo:
                    _, values, local = self._marks[place]
                    self.values, self.local = dict(values), dict(local)
                del self._marks[place + undo :]
                return
        raise WireError("3B001", f"there is no savepoint {shortened(name)!r}.")

    def all(self) -> list[tuple[str, str, str]]:
        """What SHOW ALL shows."""
        names = sorted({*OWN, *_FIXED, *_HABITS})
        return [(name, self.show(name), OWN.get(name, "")) for name in names]

    def stated(self) -> dict[str, Any]:
        """The price and the plan of a question; without a price it is refused, since tools ask by themselves."""
        epsilon, error = self.get("dither.epsilon"), self.get("dither.error")
        if (epsilon is None) == (error is None):
            what = "no price is set, and there is none by default." if epsilon is None else "two prices are set."
            hint = "SET dither.epsilon = '0.5' or SET dither.error = '100'; EXPLAIN shows price and error."
            raise WireError("55000", what, hint=hint if epsilon is None else "Leave one out: SET dither.error = ''.")
        found: dict[str, Any] = {"epsilon": epsilon} if epsilon is not None else {"error": error}
        rows, order = self.get("dither.rows_per_owner"), self.get("dither.limit_rows")
        found |= {} if rows is None else {"rows_per_owner": int(rows)}
        return found if order is None else {**found, "limit_rows": order}


_ALIASES = {"time zone": "timezone", "names": "client_encoding", "transaction isolation level": "transaction_isolation"}


def _fits(name: str, value: str) -> bool:
    value = value.lower()
    if name == "client_encoding":
        return value.replace("-", "").replace("_", "") in ("utf8", "unicode")
    if name == "timezone":
        return value in _UTC
    if name == "datestyle":
        return value.startswith("iso")
    return value == _FIXED[name].lower()
