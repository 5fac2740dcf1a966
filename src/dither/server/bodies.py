"""Bodies: JSON is read strictly (bounded size, time and depth, no name twice, numbers as they are written).

What is answered is sent in parts, each of which has so long to be taken.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterable, AsyncIterator, Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from anyio import current_time, fail_after, move_on_after, to_thread
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from dither.errors import DitherError, ParameterError
from dither.server.problems import BodyLate, BodyTooLarge

DEPTH = 16
MOST_SECONDS = 20  # until the whole of a body is there, or the next part of an upload or of an answer has passed
_LOOK = 0.5  # seconds between two looks at whether whoever takes an answer still may
_PART = 2**16  # bytes of an answer that are sent at once
_KINDS: Mapping[str, tuple[tuple[type, ...], str]] = {
    "text": ((str,), "a text"),
    "number": ((str, int), "a number, or a text of one"),
    "integer": ((int,), "a whole number"),
    "flag": ((bool,), "true or false"),
    "texts": ((list,), "a list of texts"),
    "object": ((dict,), "an object"),
}
_SCHEMAS: Mapping[str, dict[str, Any]] = {
    "text": {"type": "string"},
    "number": {"anyOf": [{"type": "number"}, {"type": "string"}]},
    "integer": {"type": "integer"},
    "flag": {"type": "boolean"},
    "texts": {"type": "array", "items": {"type": "string"}},
    "object": {"type": "object"},
}


@dataclass(frozen=True)
class Field:
    """One member of a body: what kind of value it has, and what it says."""

    name: str
    kind: str
    about: str
    required: bool = False

    def schema(self) -> dict[str, Any]:
        return {**_SCHEMAS[self.kind], "description": self.about}


async def received(parts: AsyncIterable[bytes], most: int) -> bytes:
    """A whole body: of so many bytes at most, and there within so many seconds."""
    found = bytearray()
    try:
        with fail_after(MOST_SECONDS):
            async for part in parts:
                found += part
                if len(found) > most:
                    raise BodyTooLarge(most)
    except (TimeoutError, ClientDisconnect):
        raise BodyLate from None
    return bytes(found)


async def timely(parts: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    """The parts of a body that may be long: each there within so many seconds."""
    coming = aiter(parts)
    while True:
        try:
            with fail_after(MOST_SECONDS):
                part = await anext(coming, None)
        except (TimeoutError, ClientDisconnect):
            raise BodyLate from None
        if part is None:
            return
        yield part


class Sent(Response):
    """A response that holds what is held for its request until the asker has taken it, or takes too long.

    What nobody takes stays in memory: so it counts among the requests under way. A token that is revoked meanwhile
    ends it: `stays` raises then.
    """

    held = ExitStack()
    stays: Callable[[], None] = staticmethod(lambda: None)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        with self.held:
            head = {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
            await send(head)
            content, end, looked = memoryview(self.body), len(self.body), current_time()
            for place in range(0, max(end, 1), _PART):
                if current_time() - looked > _LOOK:
                    looked = current_time()
                    try:
                        await to_thread.run_sync(self.stays)
                    except DitherError:
                        return  # less than was announced: the connection ends
                part = {"body": bytes(content[place : place + _PART]), "more_body": place + _PART < end}
                with move_on_after(MOST_SECONDS) as waiting:
                    await send({"type": "http.response.body", **part})
                if waiting.cancelled_caught:
                    return  # less than was announced: the connection ends


def read_json(data: bytes) -> Any:
    """The value; a number with a fraction or an exponent stays a text, exact as written."""
    try:
        text = data.decode()
        _check_depth(text)
        found = json.loads(text, object_pairs_hook=_object, parse_float=str, parse_constant=_no_constant)
        if "\\u" in text:
            json.dumps(found, ensure_ascii=False).encode()  # half of a character cannot be written down
        return found
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        if isinstance(error, ParameterError):
            raise
        raise ParameterError("the body is no JSON text in UTF-8.") from None


def read_fields(value: Any, fields: tuple[Field, ...]) -> dict[str, Any]:
    """The members of an object, each of the kind that it has; null is as if it were not there."""
    if not isinstance(value, dict):
        raise ParameterError("the body must be a JSON object.")
    known = {field.name: field for field in fields}
    for name in value:
        if name not in known:
            raise ParameterError.of(name[:60], f"is not known here; known are: {', '.join(known) or 'none'}.")
    found = {name: member for name, member in value.items() if member is not None}
    for field in fields:
        if field.name in found:
            _check(found[field.name], field)
        elif field.required:
            raise ParameterError.of(field.name, "is missing.")
    return found


def _check(value: Any, field: Field) -> None:
    types, said = _KINDS[field.kind]
    fits = isinstance(value, types) and (field.kind == "flag" or not isinstance(value, bool))
    if field.kind == "texts" and fits:
        fits = all(isinstance(item, str) for item in value)
    if not fits:
        raise ParameterError.of(field.name, f"must be {said}.")


def _check_depth(text: str) -> None:
    """Refuse deep nesting before it is parsed."""
    depth, inside, escaped = 0, False, False
    for sign in text:
        if inside:
            inside = escaped or sign != '"'
            escaped = not escaped and sign == "\\"
        elif sign == '"':
            inside = True
        elif sign in "[{":
            depth += 1
            if depth > DEPTH:
                raise ParameterError(f"the body is nested more than {DEPTH} deep.")
        elif sign in "]}":
            depth -= 1


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ParameterError("the body names a member twice.")
    return found


def _no_constant(name: str) -> Any:
    raise ParameterError(f"the body holds {name}, which is no number.")
