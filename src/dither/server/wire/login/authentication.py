"""From a new connection to a principal: encryption, who says to be whom, and the proof of it.

A user is the analyst's name and the id of a token, `alice.0123456789abcdef`, since the salt has to be known before the
token is; the password is the token's secret. Beyond this machine nobody is asked for it without TLS.
"""

from __future__ import annotations

import ipaddress
import os
import re
import secrets
import ssl
import struct
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dither.curator.principal import Principal
from dither.errors import Stranger
from dither.server.endpoints import ASKERS
from dither.server.tokens import Token, Tokens
from dither.server.wire.channel import MOST_BEFORE_LOGIN, Channel, Content, Gone, ProtocolViolation, cstring
from dither.server.wire.login.scram import BOUND, PLAIN, Exchange, Verifier, WrongProof
from dither.server.wire.sqlstates import WireError

SECONDS = 10.0  # from connecting to the proof
_SSL, _GSS, _CANCEL, _MAJOR = 80877103, 80877104, 80877102, 3
_USER = re.compile(r"(.+)\.([0-9a-f]{16})", re.DOTALL)
_REFUSED = "the user or the password is wrong, or the token is not valid any more."
_HINT = "The user is your name, a dot and the id of your token; the password is what follows the id in the token."


@dataclass(frozen=True)
class Cancel:
    """A connection that only says which other one is to stop."""

    key: bytes


@dataclass(frozen=True)
class Login:
    """Who has connected, and what was stated with it."""

    token: Token
    user: str
    stated: Mapping[str, str]


@dataclass(frozen=True)
class Gate:
    """Lets in whoever has a token; `nonce` makes the salts of those whom nobody knows."""

    tokens: Tokens
    nonce: bytes
    tls: ssl.SSLContext | None = None
    binding: bytes | None = None

    def enter(self, channel: Channel) -> Login | Cancel:
        """The login of a connection; the channel is encrypted from here on if the client asked for it."""
        until = time.monotonic() + SECONDS
        stated = self._startup(channel, until)
        if isinstance(stated, Cancel):
            return stated
        if not isinstance(channel.socket, ssl.SSLSocket) and not _near(channel):
            raise WireError(
                "28000", "beyond this machine only TLS is spoken.", hint="Connect with sslmode=verify-full."
            )
        user = stated.get("user", "")
        return Login(self._proven(channel, user, until), user, stated)

    def _startup(self, channel: Channel, until: float) -> dict[str, str] | Cancel:
        for _ in range(3):  # encryption may be asked for in two ways
            content = channel.startup(until - time.monotonic())
            code = content.int32()
            if code == _CANCEL:
                return Cancel(content.raw(8))
            if code in (_SSL, _GSS):
                self._encrypt(channel, code, until)
                continue
            if code >> 16 != _MAJOR:
                raise WireError("0A000", "only version 3 of the protocol is spoken.")
            stated = _stated(content)
            unknown = [name for name in stated if name.startswith("_pq_.")]
            if code & 0xFFFF or unknown:
                named = b"".join(map(cstring, unknown))
                channel.put(b"v", struct.pack("!ii", _MAJOR << 16, len(unknown)), named)
            return {name: value for name, value in stated.items() if name not in unknown}
        raise ProtocolViolation("the connection does not begin.")

    def _encrypt(self, channel: Channel, code: int, until: float) -> None:
        if code == _GSS or self.tls is None or isinstance(channel.socket, ssl.SSLSocket):
            channel.put_byte(b"N")
            return
        channel.put_byte(b"S")
        try:
            channel.socket.settimeout(max(until - time.monotonic(), 0.001))
            channel.socket = self.tls.wrap_socket(channel.socket, server_side=True)
        except (OSError, ValueError):
            raise Gone from None

    def _proven(self, channel: Channel, user: str, until: float) -> Token:
        bound = self.binding if isinstance(channel.socket, ssl.SSLSocket) else None
        offered = (BOUND, PLAIN) if bound is not None else (PLAIN,)
        channel.put(b"R", struct.pack("!i", 10), *map(cstring, offered), b"\0")
        mechanism, first = _chosen(_password(channel, until), offered)
        found = self._token(user)
        verifier = Verifier.nobodys(user, self.nonce) if found is None else Verifier.read(found[1])
        exchange = Exchange(verifier, mechanism, bound)
        channel.put(b"R", struct.pack("!i", 11), exchange.challenge(first))
        try:
            proof = exchange.outcome(_password(channel, until).raw_rest())
        except WrongProof:
            raise WireError("28P01", _REFUSED, hint=_HINT) from None
        if found is None or not self.tokens.valid(found[0].id):
            raise WireError("28P01", _REFUSED, hint=_HINT)
        channel.put(b"R", struct.pack("!i", 12), proof)
        if found[0].principal.role not in ASKERS:
            raise WireError("42501", "tokens of this role ask no questions.")
        channel.put(b"R", struct.pack("!i", 0))
        return found[0]

    def _token(self, user: str) -> tuple[Token, str] | None:
        """The token that a user names, with its verifier, if it is that principal's."""
        named = _USER.fullmatch(user)
        found = None if named is None else self.tokens.with_verifier(named[2])
        if named is None or found is None:
            return None
        principal = found[0].principal
        with suppress(Stranger):
            if principal.name is None:
                return found if named[1] == principal.role else None
            return found if Principal.analyst(named[1]) == principal else None
        return None


def _stated(content: Content) -> dict[str, str]:
    stated: dict[str, str] = {}
    while name := content.text():
        stated[name] = content.text()
    content.end()
    return stated


def _password(channel: Channel, until: float) -> Content:
    channel.flush()
    kind, content = channel.message(until - time.monotonic(), MOST_BEFORE_LOGIN)
    if kind != b"p":
        raise ProtocolViolation("a proof is expected here.")
    return content


def _chosen(content: Content, offered: tuple[str, ...]) -> tuple[str, bytes]:
    mechanism, first = content.text(), content.sized()
    content.end()
    if mechanism not in offered or first is None:
        raise ProtocolViolation("this way to prove who one is was not offered.")
    return mechanism, first


def _near(channel: Channel) -> bool:
    """Whether the other side is on this machine."""
    with suppress(OSError, ValueError):
        address = ipaddress.ip_address(channel.socket.getpeername()[0].partition("%")[0])
        mapped = getattr(address, "ipv4_mapped", None)
        return bool((mapped or address).is_loopback)
    return False


def secure(certificate: str, key: str | None) -> tuple[ssl.SSLContext, bytes | None]:
    """TLS with a certificate, and the hash of it by which clients know that nobody stands between (RFC 5929)."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.load_cert_chain(certificate, key)
    own = x509.load_pem_x509_certificates(Path(certificate).read_bytes())[0]
    algorithm: Any = own.signature_hash_algorithm
    if algorithm is None:
        return context, None
    return context, own.fingerprint(hashes.SHA256() if algorithm.name in ("md5", "sha1") else algorithm)


def nonce_of(folder: Path) -> bytes:
    """A secret of the folder, the same for all processes and for good: salts that changed would tell who is unknown."""
    path = folder / "wire.nonce"
    if not path.exists():
        own = folder / f"wire.nonce.{secrets.token_hex(8)}"
        with os.fdopen(os.open(own, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(secrets.token_bytes(32))
        with suppress(FileExistsError):
            os.link(own, path)
        own.unlink()
    return path.read_bytes()
