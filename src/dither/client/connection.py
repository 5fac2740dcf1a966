"""HTTP to one server: one connection a thread, kept open, and retries of what is safe to send again."""

from __future__ import annotations

import http.client
import json
import ssl
import threading
import time
import weakref
from collections.abc import Mapping
from os import PathLike
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from dither.client.remote_errors import error_from
from dither.errors import DitherError, ParameterError

_ATTEMPTS = 10
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_AGAIN = (408, 429, 502, 503, 504)  # the server is busy, starting or restarting; nothing was charged


class Unreachable(DitherError):
    """The server could not be reached, or did not answer. A question under a request id can be asked again."""

    code, fields = "unreachable", ("url",)

    def __init__(self, url: str) -> None:
        super().__init__(f"{url} does not answer; ask again under the same request id, and it is charged once.")
        self.url = url


class CertificateRefused(Unreachable):
    """The server's certificate is vouched for by nobody whom this machine trusts, so nothing was sent."""

    code = "certificate_refused"

    def __init__(self, url: str, why: str) -> None:
        DitherError.__init__(
            self,
            f"{url} shows a certificate that is not trusted ({why}), so nothing was sent; if it is yours, name its "
            "authority's file as ca.",
        )
        self.url = url


class Connection:
    """Sends requests with a token. All of them may be sent again: those that charge carry an id."""

    def __init__(
        self,
        url: str,
        token: str,
        *,
        plaintext: bool = False,
        ca: str | PathLike[str] | None = None,
        timeout: float = 900.0,
    ) -> None:
        parts, token = urlsplit(url), token.strip()
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/") or parts.query:
            raise ParameterError.of("url", 'is the address of a server, such as "https://dither.example:8443".')
        if parts.scheme == "http" and parts.hostname not in _LOOPBACK and not plaintext:
            raise ParameterError.of("url", "must begin with https: a token must not go over a network in the clear.")
        if not token.isascii() or not token.isprintable() or " " in token:
            raise ParameterError.of("token", "is what `dither token make` has shown.")
        self.url, self._token, self._timeout = url.rstrip("/"), token, timeout
        self._host, self._port = parts.hostname, parts.port
        self._tls = _trusting(ca) if parts.scheme == "https" else None
        self._local = threading.local()
        self._opened: list[http.client.HTTPConnection] = []
        weakref.finalize(self, _close, self._opened)

    def get(self, path: str, **query: str | None) -> Any:
        """The JSON at a path."""
        return json.loads(self.send("GET", path, query=query))

    def send(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | bytes | None = None,
        query: Mapping[str, str | None] | None = None,
    ) -> bytes:
        """The body of the answer; the error that the server names otherwise."""
        stated = urlencode({name: value for name, value in (query or {}).items() if value is not None})
        target = quote(f"/v1{path}") + (f"?{stated}" if stated else "")
        content = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        for attempt in range(_ATTEMPTS):
            try:
                status, found, wait = self._once(method, target, content)
            except ssl.SSLCertVerificationError as error:
                self._drop()
                raise CertificateRefused(self.url, error.verify_message) from None
            except (OSError, http.client.HTTPException):
                self._drop()
                status, found, wait = 0, b"", None
            if status and status not in _AGAIN:
                break
            if attempt + 1 < _ATTEMPTS:
                time.sleep(min(5.0, wait or 0.1 * 2**attempt))
        if not status:
            raise Unreachable(self.url)
        if status >= 400:
            raise error_from(found)
        return found

    def _once(self, method: str, target: str, content: bytes | None) -> tuple[int, bytes, float | None]:
        connection = self._open()
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        connection.request(method, target, content, headers)
        reply = connection.getresponse()
        wait = reply.getheader("retry-after")
        return reply.status, reply.read(), float(wait) if wait and wait.isdigit() else None

    def _open(self) -> http.client.HTTPConnection:
        known: http.client.HTTPConnection | None = getattr(self._local, "connection", None)
        if known is None:
            if self._tls is not None:
                known = http.client.HTTPSConnection(self._host, self._port, timeout=self._timeout, context=self._tls)
            else:
                known = http.client.HTTPConnection(self._host, self._port, timeout=self._timeout)
            self._local.connection = known
            self._opened.append(known)
        return known

    def _drop(self) -> None:
        known = getattr(self._local, "connection", None)
        if known is not None:
            known.close()
            self._opened.remove(known)
            self._local.connection = None


def _trusting(ca: str | PathLike[str] | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca)
    except OSError as error:
        raise ParameterError.of("ca", f"is a file of certificates, PEM; {ca}: {error.strerror or error}.") from None


def _close(opened: list[http.client.HTTPConnection]) -> None:
    for connection in opened:
        connection.close()
