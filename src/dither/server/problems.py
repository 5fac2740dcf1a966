"""Errors as HTTP: a status by the error's stable code, and its document as the body."""

from __future__ import annotations

from typing import Any

from dither.errors import DitherError, LedgerError, Stranger

_STATUS = {
    "stranger": 401,
    "forbidden": 403,
    "not_found": 404,
    "request_conflict": 409,
    "body_too_large": 413,
    "too_many_requests": 429,
    "budget_exceeded": 402,
    "people_frozen": 423,
    "busy": 503,
    "query_failed": 500,
    "column_unknown": 404,
}


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


class BodyTooLarge(DitherError):
    """The body has more bytes than are read."""

    code, fields = "body_too_large", ("most",)

    def __init__(self, most: int) -> None:
        super().__init__(f"the body has more than {most:,} bytes.")
        self.most = most


def status_of(error: DitherError) -> int:
    """The HTTP status; what the asker can mend is 400."""
    if isinstance(error, LedgerError):
        return 503
    return _STATUS.get(error.code, 400)


def document_of(error: DitherError) -> dict[str, Any]:
    """The body. What is wrong with the ledger is the curator's to know, in the log."""
    if isinstance(error, LedgerError):
        return {"error": {"code": error.code, "message": "the ledger cannot be used now.", "fields": {}}}
    if isinstance(error, Stranger):
        return {"error": {"code": error.code, "message": "a valid token is needed.", "fields": {}}}
    return {"error": error.document()}
