"""What is kept of a token: a SCRAM-SHA-256 verifier (RFC 5802), from which the token cannot be computed back.

It is written as PostgreSQL writes it, so that a token is also a password on PostgreSQL's wire.
"""

from __future__ import annotations

import hmac
import secrets
from base64 import b64decode, b64encode
from hashlib import pbkdf2_hmac, sha256

_ITERATIONS = 4096  # as PostgreSQL has it; a token is 256 random bits, so nobody guesses it however fast hashes are


def verifier_of(secret: str) -> str:
    """A verifier with a salt of its own."""
    salt = secrets.token_bytes(16)
    stored, server = _keys(secret, salt, _ITERATIONS)
    return f"SCRAM-SHA-256${_ITERATIONS}:{_text(salt)}${_text(stored)}:{_text(server)}"


def matches(secret: str, verifier: str) -> bool:
    """Whether a verifier was made of this secret; the time it takes tells nothing about either."""
    _, counted, keys = verifier.split("$")
    iterations, salt = counted.split(":")
    stored, _ = _keys(secret, b64decode(salt), int(iterations))
    return hmac.compare_digest(stored, b64decode(keys.split(":")[0]))


def _keys(secret: str, salt: bytes, iterations: int) -> tuple[bytes, bytes]:
    salted = pbkdf2_hmac("sha256", secret.encode(), salt, iterations)
    client, server = (hmac.digest(salted, label, "sha256") for label in (b"Client Key", b"Server Key"))
    return sha256(client).digest(), server


def _text(data: bytes) -> str:
    return b64encode(data).decode()
