"""Errors and notices as clients of PostgreSQL read them: a SQLSTATE, a place in the text, and a hint."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from dither.errors import DitherError, LedgerError, UnsupportedQuery
from dither.escape import visible_lines
from dither.server.problems import recognised
from dither.server.wire.channel import cstring

_STATES = {
    "protocol_violation": "08P01",
    "stranger": "28000",
    "forbidden": "42501",
    "cap_missing": "42501",
    "parameter_invalid": "22023",
    "relation_mismatch": "22023",
    "error_unpriced": "22023",
    "delta_unneeded": "22023",
    "query_unsupported": "0A000",
    "policy_invalid": "42P01",
    "profile_missing": "55000",
    "people_frozen": "55000",
    "analyst_frozen": "55000",
    "account_closed": "55000",
    "budget_exceeded": "53400",
    "too_many_requests": "53300",
    "busy": "53000",
    "no_room": "53000",
    "query_failed": "XX000",
    "plan_unsafe": "XX000",
    "not_computed": "22000",
}
INTERNAL = "something went wrong here."
_STATED = re.compile(r"\b(epsilon|error|rows_per_owner|limit_rows)=(\"?)([^\s,;)\"]*[^\s,;.:)\"])\2")
_LESS = "SET dither.epsilon to a smaller one, or dither.error to a larger one."
_PRICED = "SET dither.error = '' and SET dither.epsilon = '0.5'"
_ASK = "The curator decides that."
# What is to be done, by an error's code: a setting where Python has an argument, nothing where only a curator can.
_HINTS: Mapping[str, Callable[[Any], str]] = {
    "parameter_invalid": lambda error: "It is a number, such as '0.1', '1e-6' or '1/3'." if error.hint else "",
    "budget_exceeded": lambda error: _LESS,
    "error_unpriced": lambda error: f"{_PRICED}; or have the curator make a profile." if error.by_profile else _PRICED,
    "cap_missing": lambda error: _ASK,
    "people_frozen": lambda error: _ASK,
    "analyst_frozen": lambda error: _ASK,
}


class WireError(DitherError):
    """An error of the protocol's own, which knows its SQLSTATE; `at` is a place in the statement, from 0."""

    code = "wire_refused"

    def __init__(self, state: str, what: str, *, hint: str = "", at: int | None = None) -> None:
        super().__init__(what, hint=hint)
        self.state, self.at = state, at


@dataclass(frozen=True)
class Report:
    """What is told of an error or in a notice; `position` counts characters of what was sent, from 1."""

    severity: str
    state: str
    message: str
    hint: str = ""
    position: int | None = None

    def content(self) -> bytes:
        """The fields of an ErrorResponse or a NoticeResponse."""
        fields = {"S": self.severity, "V": self.severity, "C": self.state, "M": visible_lines(self.message)}
        if self.hint:
            fields["H"] = visible_lines(self.hint)
        if self.position is not None:
            fields["P"] = str(self.position)
        return b"".join(name.encode() + cstring(value) for name, value in fields.items()) + b"\0"


def notice(message: str) -> Report:
    return Report("NOTICE", "00000", message)


def report_of(error: Exception, text: str = "", *, severity: str = "ERROR") -> Report:
    """What may be told of an error: of one that nobody foresaw nothing, of the ledger's that it is the ledger's."""
    error = recognised(error)
    if not isinstance(error, DitherError):
        return Report(severity, "XX000", INTERNAL)
    if isinstance(error, LedgerError):
        return Report(severity, "58000", "the ledger cannot be used now.")
    if isinstance(error, WireError):
        return Report(severity, error.state, error.what, error.hint, None if error.at is None else error.at + 1)
    if error.code == "stranger":
        return Report(severity, "28000", "a valid token is needed.")
    position = None
    if isinstance(error, UnsupportedQuery) and error.line is not None and error.column is not None:
        position = offset_of(text, error.line, error.column) + 1
    return Report(severity, _STATES.get(error.code, "22023"), *_words(error), position)


def in_settings(text: str) -> str:
    """A text with the settings of a connection where Python has arguments.

    >>> in_settings("With rows_per_owner=3 it fits.")
    'With dither.rows_per_owner = 3 it fits.'
    """
    return _STATED.sub(r"dither.\1 = \2\3\2", text).replace('with dialect="', 'over HTTP with dialect="')


def _words(error: DitherError) -> tuple[str, str]:
    """What is wrong, as a whole sentence, and what can be done about it here."""
    hint = _HINTS[error.code](error) if error.code in _HINTS else in_settings(error.hint)
    what = error.what or str(error)
    return (f"{what[:-1]}." if what.endswith(";") else what), hint


def offset_of(text: str, line: int, column: int) -> int:
    """The place of a line and a column, both from 1."""
    start = 0
    for _ in range(line - 1):
        start = text.find("\n", start) + 1
    return min(start + column - 1, len(text))
