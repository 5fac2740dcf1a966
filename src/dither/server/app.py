"""The HTTP application: every request is bounded, known by its token and counted before its body is read."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from dither.errors import DitherError, ParameterError, Stranger
from dither.escape import json_text
from dither.server.bodies import Sent, read_fields, read_json, received
from dither.server.data_files import MEDIA_TYPES, Uploads
from dither.server.endpoints import ADMINISTRATOR, CURATOR, Asked, Endpoint, Reply
from dither.server.listening import not_for_ever
from dither.server.metrics import Metrics
from dither.server.openapi import openapi
from dither.server.page.page import Page
from dither.server.problems import Forbidden, NoRoom, document_of, problem, recognised, status_of
from dither.server.questions import key_of
from dither.server.throttle import Throttle, TooMany, Turns
from dither.server.tokens import Token, Tokens

log = logging.getLogger("dither.server")

MOST_BYTES = 512 * 1024  # of a body: the longest question that is read, with room for its escapes
HEADERS = {
    "server": "dither",
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "strict-transport-security": "max-age=31536000",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


@dataclass(frozen=True)
class Door:
    """Lets requests in: those who have a token, as often as they may, for what their role may do."""

    tokens: Tokens
    throttle: Throttle
    turns: Mapping[str, Turns]
    proofs: CapacityLimiter
    metrics: Metrics
    page: Page | None = None

    async def __call__(self, endpoint: Endpoint, request: Request) -> Response:
        return await self.let_in(request, endpoint.name, endpoint.roles, partial(self._ask, endpoint, request))

    async def let_in(
        self, request: Request, name: str, roles: Sequence[str], answer: Callable[[Token], Awaitable[Any]]
    ) -> Response:
        """Whoever has a token of one of these roles, as often as they may; each request is counted and logged."""
        role = "none"
        try:
            headers = (self.page.credentials if self.page else _authorization)(request)
            text = _bearer(headers)
            # Strangers' tokens take computing: however many there are, those who are known do not wait for them. That a
            # known one still stands is looked up by whoever answers it, in the thread that it takes anyway.
            token = self.tokens.remembered(text)
            if token is None:
                token = await to_thread.run_sync(self.tokens.holder, text, limiter=self.proofs)
            if self.page is not None and self.page.others(request, key_of(token.principal)):
                raise Stranger
            role = token.principal.role
            with ExitStack() as held:
                held.enter_context(self.throttle.request(key_of(token.principal)))
                if role not in roles:
                    await to_thread.run_sync(self.tokens.check, token.id)
                    raise Forbidden
                made = await answer(token)
                reply = made if isinstance(made, Reply) else Reply(json_text(made, allow_nan=False).encode())
                response = Sent(reply.content, reply.status, dict(reply.headers), reply.media_type)
                response.held, response.stays = held.pop_all(), partial(self.tokens.check, token.id)
        except DitherError as error:
            return self._counted(name, role, _problem(error))
        except Exception as error:  # noqa: BLE001 - nothing of an error that nobody foresaw leaves
            return self._counted(name, role, await _internal(request, error))
        return self._counted(name, role, response)

    def _counted(self, name: str, role: str, response: Response) -> Response:
        """Which endpoint, which role, which status: neither log nor counts have anything else of a request."""
        self.metrics.count("dither_requests_total", endpoint=name, role=role, status=str(response.status_code))
        log.info('{"endpoint": "%s", "role": "%s", "status": %d}', name, role, response.status_code)
        return response

    async def _ask(self, endpoint: Endpoint, request: Request, token: Token) -> Any:
        body = await received(request.stream(), MOST_BYTES) if endpoint.fields else b""
        turns = self.turns[endpoint.threads]
        return await turns.run(key_of(token.principal), self._answer, endpoint, request, token, body)

    def _answer(self, endpoint: Endpoint, request: Request, token: Token, body: bytes) -> Any:
        self.tokens.check(token.id)
        empty = not body and not any(field.required for field in endpoint.fields)
        members = {} if empty else read_fields(read_json(body), endpoint.fields)
        query = read_fields(_query(request), endpoint.query)
        made = endpoint.answer(Asked(token.principal, token.id, request.path_params, query, members))
        self.tokens.check(token.id)  # revoked while it waited, say: what was charged stays the principal's
        return made


def _bearer(headers: Sequence[str]) -> str:
    scheme, _, token = "".join(headers).partition(" ")
    if len(headers) != 1 or scheme.casefold() != "bearer":  # of two headers a proxy may have seen the other one
        raise Stranger
    return token.strip()


def _authorization(request: Request) -> Sequence[str]:
    return request.headers.getlist("authorization")


def _query(request: Request) -> dict[str, Any]:
    pairs = request.query_params.multi_items()
    if len(dict(pairs)) != len(pairs):
        raise ParameterError("the address names a parameter twice.")
    return dict(pairs)


def _problem(error: DitherError) -> Response:
    headers = {"retry-after": str(error.retry_after)} if isinstance(error, TooMany) else {}
    if isinstance(error, NoRoom):
        headers["retry-after"] = "1"
    if isinstance(error, Stranger):
        headers["www-authenticate"] = "Bearer"
    return JSONResponse(document_of(error), status_of(error), headers)


def application(
    endpoints: Sequence[Endpoint],
    door: Door,
    uploads: Uploads | None,
    life: tuple[Callable[[], None], Callable[[], None]] = (lambda: None, lambda: None),
) -> Any:
    """The ASGI application over a table of endpoints; `life` is what begins and ends with it."""

    @asynccontextmanager
    async def lifespan(_: Any) -> AsyncIterator[None]:
        begin, end = life
        await to_thread.run_sync(begin)
        yield
        await to_thread.run_sync(end)

    def route(endpoint: Endpoint) -> Route:
        async def handle(request: Request) -> Response:
            return await door(endpoint, request)

        return Route(f"/v1{endpoint.path}", handle, methods=[endpoint.method], name=endpoint.name)

    async def upload(held: Uploads, request: Request) -> Response:
        async def receive(token: Token) -> Any:
            await to_thread.run_sync(door.tokens.check, token.id)
            kind = MEDIA_TYPES.get(request.headers.get("content-type", ""))
            if kind is None:
                raise ParameterError(f"an upload has the content type {', '.join(MEDIA_TYPES)}.")
            return {"upload": await held.receive(request.stream(), kind)}

        return await door.let_in(request, "upload", (CURATOR, ADMINISTRATOR), receive)

    async def ready(_: Request) -> Response:
        try:
            await to_thread.run_sync(door.tokens.valid, "")
        except DitherError as error:
            return _problem(error)
        return JSONResponse({"status": "ready"})

    description = JSONResponse(openapi(endpoints, uploads=uploads is not None))
    plain = [
        Route("/v1/openapi.json", lambda _: description, name="openapi"),
        Route("/ready", ready, name="ready"),
        Route("/health", lambda _: JSONResponse({"status": "up"}), name="health"),
    ]
    if uploads is not None:
        plain.append(Route("/v1/uploads", partial(upload, uploads), methods=["POST"], name="upload"))
    if door.page is not None:
        plain += door.page.routes()
    made = Starlette(
        routes=[*map(route, endpoints), *plain],
        lifespan=lifespan,
        exception_handlers={Exception: _internal, 404: _missing, 405: _missing},
    )
    made.router.redirect_slashes = False  # a redirect would repeat whatever host the request names
    return not_for_ever(_with_headers(made))


async def _internal(request: Request, error: Exception) -> Response:
    """Nothing of an error that nobody foresaw leaves; the log has its type alone, since its text may hold anything."""
    log.error("internal error: %s", type(error).__name__)
    if isinstance(known := recognised(error), NoRoom):
        return _problem(known)
    return JSONResponse(problem("internal", "something went wrong here."), 500)


async def _missing(request: Request, error: Exception) -> Response:
    status = getattr(error, "status_code", 404)
    headers = getattr(error, "headers", None)
    return JSONResponse(problem("not_found", "there is nothing here of that name."), status, headers)


def _with_headers(made: Any) -> Any:
    """Every response has the headers that make a browser careful."""
    fixed = [(name.encode(), value.encode()) for name, value in HEADERS.items()]

    async def wrapped(scope: Any, receive: Any, send: Any) -> None:
        async def sending(message: Any) -> None:
            if message["type"] == "http.response.start":
                present = {name for name, _ in message["headers"]}
                message["headers"] = [*message["headers"], *(item for item in fixed if item[0] not in present)]
            await send(message)

        await made(scope, receive, sending)

    return wrapped
