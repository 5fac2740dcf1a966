"""SCRAM-SHA-256 (RFC 5802, RFC 7677) from the server's side: the client proves that it has the secret of a verifier.

Nobody learns from the exchange whether there is a token of that id: one that is not there has a salt of its own too,
always the same, and its proof is checked like any other.
"""

from __future__ import annotations

import hmac
import secrets
from base64 import b64decode, b64encode
from dataclasses import dataclass, field
from hashlib import sha256

from dither.server.wire.channel import ProtocolViolation, decoded

PLAIN, BOUND = "SCRAM-SHA-256", "SCRAM-SHA-256-PLUS"
_ITERATIONS = 4096


class WrongProof(Exception):
    """The client does not have the secret."""


@dataclass(frozen=True)
class Verifier:
    """What the server knows of a secret."""

    iterations: int
    salt: bytes
    stored_key: bytes
    server_key: bytes

    @classmethod
    def read(cls, text: str) -> Verifier:
        """As `server/verifiers.py` writes it."""
        _, counted, keys = text.split("$")
        iterations, salt = counted.split(":")
        stored, server = keys.split(":")
        return cls(int(iterations), b64decode(salt), b64decode(stored), b64decode(server))

    @classmethod
    def nobodys(cls, user: str, nonce: bytes) -> Verifier:
        """For a user who is not there: the same salt each time, and keys that no secret has."""
        salt = hmac.digest(nonce, user.encode(errors="replace"), "sha256")[:16]
        return cls(_ITERATIONS, salt, secrets.token_bytes(32), secrets.token_bytes(32))


@dataclass
class Exchange:
    """The two steps of one authentication. `binding` is the hash of the server's certificate, under TLS."""

    verifier: Verifier
    mechanism: str
    binding: bytes | None
    nonce: str = field(default_factory=lambda: secrets.token_urlsafe(18))
    _first: str = ""
    _header: bytes = b""
    _challenge: str = ""

    def challenge(self, client_first: bytes) -> bytes:
        """The server's first message: the salt, and a nonce that begins with the client's."""
        text = decoded(client_first)
        flag, _, rest = text.partition(",")
        identity, _, bare = rest.partition(",")
        bound = flag == "p=tls-server-end-point"
        if bound != (self.mechanism == BOUND) or (bound and self.binding is None) or not (bound or flag in ("n", "y")):
            raise ProtocolViolation("the channel binding is not what the mechanism says.")
        if flag == "y" and self.binding is not None:
            raise ProtocolViolation("somebody has taken channel binding off the list: this may be an attack.")
        attributes = bare.split(",")
        if identity or len(attributes) < 2 or not attributes[0].startswith("n=") or attributes[1][:2] != "r=":
            raise ProtocolViolation("this is no first message of SCRAM.")
        self._header = f"{flag},{identity},".encode() + ((self.binding or b"") if bound else b"")
        self._first = bare
        salt = b64encode(self.verifier.salt).decode()
        self._challenge = f"r={attributes[1][2:]}{self.nonce},s={salt},i={self.verifier.iterations}"
        return self._challenge.encode()

    def outcome(self, client_final: bytes) -> bytes:
        """The server's own proof, if the client's is right."""
        text = decoded(client_final)
        without, _, proof = text.rpartition(",p=")
        attributes = dict(part.split("=", 1) for part in without.split(",") if "=" in part)
        expected = self._challenge.split(",")[0][2:]
        header = b64encode(self._header).decode()
        same = hmac.compare_digest(attributes.get("r", "").encode(), expected.encode())
        if not same or attributes.get("c") != header or not without.startswith("c="):
            raise ProtocolViolation("this is no last message of the SCRAM exchange that was begun.")
        signed = f"{self._first},{self._challenge},{without}".encode()
        signature = hmac.digest(self.verifier.stored_key, signed, "sha256")
        try:
            given = b64decode(proof, validate=True)
        except ValueError:
            raise ProtocolViolation("the proof is not written in base64.") from None
        key = bytes(a ^ b for a, b in zip(given.ljust(32, b"\0")[:32], signature, strict=True))
        if not hmac.compare_digest(sha256(key).digest(), self.verifier.stored_key) or len(given) != 32:
            raise WrongProof
        return b"v=" + b64encode(hmac.digest(self.verifier.server_key, signed, "sha256"))
