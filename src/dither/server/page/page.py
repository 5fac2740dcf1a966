"""Serves the page and keeps its session: a cookie that no script reads and no other site can use.

The cookie holds the token, so that revoking one ends its sessions at once. It counts only in requests of this page:
they carry a header that other sites cannot send without being asked for leave, which nobody gets.
"""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from urllib.parse import quote, urlsplit

from anyio import CapacityLimiter, to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from dither.errors import DitherError
from dither.server.bodies import Field, read_fields, read_json, received
from dither.server.problems import Forbidden, document_of, status_of
from dither.server.tokens import Tokens

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
_TOKEN = (Field("token", "text", "The token.", required=True),)
_MOST_BYTES = 1024  # of a body that signs in
_THIS_MACHINE = {"127.0.0.1", "localhost", "::1"}


@dataclass(frozen=True)
class Page:
    """The page of one server; `local`: it listens on this machine alone, and browsers speak to it without TLS.

    Behind a proxy they speak to that one: `origin` is where it shows the page, by TLS.
    """

    tokens: Tokens
    proofs: CapacityLimiter
    local: bool
    origin: str | None = None

    @property
    def secure(self) -> bool:
        """Whether browsers reach it over TLS."""
        return self.origin is not None or not self.local

    @property
    def cookie(self) -> str:
        """Its name; a browser takes one that begins so over TLS alone, from no other host and for no other path."""
        return "__Host-dither" if self.secure else "dither"

    def credentials(self, request: Request) -> Sequence[str]:
        """The headers that say who asks; of this page the token of its session."""
        stated = request.headers.getlist("authorization")
        token = request.cookies.get(self.cookie)
        if stated or token is None or request.headers.get("x-dither") != "page" or not self._ours(request):
            return stated
        return [f"Bearer {token}"]

    def others(self, request: Request, whose: str) -> bool:
        """Whether a request was meant in the name of somebody else than it is now: the cookie is that of all tabs."""
        stated = request.headers.get("x-dither-as")
        return stated is not None and stated != quote(whose, safe="!~*'()")

    def _ours(self, request: Request) -> bool:
        """Whether a request comes from this page, and names a host that this server may be."""
        host = request.headers.get("host", "")
        origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site", "same-origin")
        own = host if self.origin is None else urlsplit(self.origin).netloc
        return (
            len(request.headers.getlist("host")) == 1
            and self._shown_at(host)
            and site == "same-origin"
            and (origin is None or (_hostname(origin) is not None and urlsplit(origin).netloc == own))
        )

    def _shown_at(self, host: str) -> bool:
        """Whether it may be asked for under this host: no name that leads here opens it but those that are meant to."""
        if self.origin is not None and host == urlsplit(self.origin).netloc:
            return True
        return not (self.local or self.origin is not None) or _hostname(f"//{host}") in _THIS_MACHINE

    def routes(self) -> list[Route]:
        """The files, and where a session begins and ends."""
        made = [self._file(name, f"/assets/{name}") for name in ("page.js", "page.css", "icon.svg")]
        made.append(self._file("index.html", "/"))
        made.append(Route("/session", self._present, methods=["GET"], name="session"))
        made.append(Route("/session", self._begin, methods=["POST"], name="begin_session"))
        made.append(Route("/session", self._end, methods=["DELETE"], name="end_session"))
        return made

    def _file(self, name: str, path: str) -> Route:
        content = files("dither.server.page").joinpath("assets", name).read_bytes()
        small = gzip.compress(content, 9, mtime=0)
        headers = {
            "cache-control": "no-cache",
            "content-security-policy": CONTENT_SECURITY_POLICY,
            "cross-origin-opener-policy": "same-origin",
            "cross-origin-resource-policy": "same-origin",
            "etag": f'"{sha256(content).hexdigest()[:32]}"',
            "vary": "accept-encoding",
        }

        async def sent(request: Request) -> Response:
            if not self._shown_at(request.headers.get("host", "")):
                return _refused(Forbidden())
            if request.headers.get("if-none-match") == headers["etag"]:
                return Response(status_code=304, headers=headers)
            if "gzip" in request.headers.get("accept-encoding", ""):
                kind = {"content-encoding": "gzip"}
                return Response(small, 200, {**headers, **kind}, _TYPES[name.split(".")[-1]])
            return Response(content, 200, headers, _TYPES[name.split(".")[-1]])

        return Route(path, sent, methods=["GET"], name=name)

    async def _present(self, request: Request) -> Response:
        """Whose session this is; nobody's is no error."""
        try:
            text = "".join(self.credentials(request)).removeprefix("Bearer ")
            token = await to_thread.run_sync(self.tokens.holder, text, limiter=self.proofs)
        except DitherError:
            return JSONResponse({"role": None, "name": None})
        return JSONResponse({"role": token.principal.role, "name": token.principal.name})

    async def _begin(self, request: Request) -> Response:
        """Take a token for a session's cookie, if it is a valid one."""
        try:
            if request.headers.get("x-dither") != "page" or not self._ours(request):
                raise Forbidden
            body = await received(request.stream(), _MOST_BYTES)
            text = str(read_fields(read_json(body), _TOKEN)["token"])
            token = await to_thread.run_sync(self.tokens.holder, text, limiter=self.proofs)
        except DitherError as error:
            return _refused(error)
        response = JSONResponse({"role": token.principal.role, "name": token.principal.name})
        response.set_cookie(self.cookie, text, path="/", secure=self.secure, httponly=True, samesite="strict")
        return response

    async def _end(self, request: Request) -> Response:
        if request.headers.get("x-dither") != "page" or not self._ours(request):
            return _refused(Forbidden())
        response = JSONResponse({"ended": True})
        response.delete_cookie(self.cookie, path="/", secure=self.secure, httponly=True, samesite="strict")
        return response


def _hostname(address: str) -> str | None:
    """The host that an address names, if it is an address at all."""
    with suppress(ValueError):
        return urlsplit(address).hostname
    return None


def _refused(error: DitherError) -> Response:
    return JSONResponse(document_of(error), status_of(error))
