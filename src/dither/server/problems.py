"""Errors as HTTP: a status by the error's stable code, and its document as the body."""

from __future__ import annotations

import errno
from typing import Any

from dither.errors import DitherError, LedgerError, PolicyError, Stranger

_STATUS = {
    "stranger": 401,
    "forbidden": 403,
    "not_found": 404,
    "request_conflict": 409,
    "body_late": 408,
    "body_too_large": 413,
    "too_many_requests": 429,
    "budget_exceeded": 402,
    "people_frozen": 423,
    "analyst_frozen": 423,
    "account_closed": 423,
    "busy": 503,
    "no_room": 503,
    "query_failed": 500,
    "not_computed": 422,
    "column_unknown": 404,
}
_SCARCE = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN, errno.ENOSPC, errno.EDQUOT)


class Forbidden(DitherError):
    """The principal is known, and its role may not do this."""

    code = "forbidden"

    def __init__(self) -> None:
        super().__init__("your role may not do this.")


class NotFound(DitherError):
    """There is no such thing, or it is somebody else's."""

    code = "not_found"

    def __init__(self) -> None:
        super().__init__("there is nothing here of yours.")


class RequestConflict(DitherError):
    """A request id was used before for something else. Nothing was charged."""

    code, fields = "request_conflict", ("request",)

    def __init__(self, request: str) -> None:
        super().__init__("this request id was used for another question; nothing was charged. Use a new one.")
        self.request = request


class BodyLate(DitherError):
    """The body did not arrive in time, from a slow client or at a busy server. Nothing was charged."""

    code = "body_late"

    def __init__(self) -> None:
        super().__init__("the body did not arrive in time; nothing was charged. Send it again.")


class BodyTooLarge(DitherError):
    """The body has more bytes than are read."""

    code, fields = "body_too_large", ("most",)

    def __init__(self, most: int) -> None:
        super().__init__(f"the body has more than {most:,} bytes.")
        self.most = most


class NoRoom(DitherError):
    """The machine has no more files, processes, memory or disk for a request, which may be sent again."""

    code = "no_room"

    def __init__(self) -> None:
        again = "send it again, a question under the same request id: it is charged once"
        super().__init__(f"the server has no room for this now; {again}.")


def recognised(error: Exception) -> Exception:
    """What an error says of the machine and of nothing else; any other as it is."""
    return NoRoom() if isinstance(error, OSError) and error.errno in _SCARCE else error


def status_of(error: DitherError) -> int:
    """The HTTP status; what the asker can mend is 400."""
    if isinstance(error, LedgerError):
        return 503
    return _STATUS.get(error.code, 400)


def problem(code: str, message: str) -> dict[str, Any]:
    """The body of an error that says nothing but what it is."""
    return {"error": {"code": code, "message": message, "fields": {}, "what": message, "hint": ""}}


def document_of(error: DitherError) -> dict[str, Any]:
    """The body, with the message in parts for edges that have hints of their own.

    What is wrong with the ledger is the curator's to know, in the log.
    """
    if isinstance(error, LedgerError):
        return problem(error.code, "the ledger cannot be used now.")
    if isinstance(error, Stranger):
        return problem(error.code, "a valid token is needed.")
    unknown = {"table": error.unknown_table} if isinstance(error, PolicyError) and error.unknown_table else {}
    return {"error": {**error.document(), "what": error.what, "hint": error.hint, **unknown}}
