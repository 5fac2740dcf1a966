"""A client that sends whatever bytes it is told to, once it has proven who it is."""

from __future__ import annotations

import hmac
import secrets
import socket
import struct
from base64 import b64decode, b64encode
from functools import lru_cache
from hashlib import pbkdf2_hmac, sha256


@lru_cache
def _salted(secret: str, salt: bytes) -> bytes:
    return pbkdf2_hmac("sha256", secret.encode(), salt, 4096)


def message(kind: bytes, content: bytes = b"") -> bytes:
    return kind + struct.pack("!i", 4 + len(content)) + content


def startup(user: str, *more: str) -> bytes:
    content = struct.pack("!i", 196608) + b"\0".join(part.encode() for part in ("user", user, *more)) + b"\0\0"
    return struct.pack("!i", 4 + len(content)) + content


class RawClient:
    """A socket, and what was read from it."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.seen = bytearray()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def read(self) -> tuple[bytes, bytes] | None:
        """The next message; None if the server has hung up."""
        head = self._bytes(5)
        if head is None:
            return None
        content = self._bytes(struct.unpack("!i", head[1:])[0] - 4)
        return None if content is None else (head[:1], content)

    def _bytes(self, count: int) -> bytes | None:
        found = b""
        while len(found) < count:
            try:
                part = self.socket.recv(count - len(found))
            except ConnectionError:
                return None
            if not part:
                return None
            found += part
        self.seen += found
        return found

    def until(self, *kinds: bytes) -> list[tuple[bytes, bytes]]:
        """Messages up to one of these kinds, or up to the end."""
        found = []
        while (one := self.read()) is not None:
            found.append(one)
            if one[0] in kinds:
                break
        return found

    def challenge(self, user: str, nonce: str = "") -> str:
        """The server's first message of SCRAM, with the salt."""
        self.send(startup(user))
        self._first = f"n=,r={nonce or secrets.token_hex(12)}"
        offered = self.read()
        assert offered is not None, "no authentication"
        assert offered[0] == b"R", offered
        first = b"n,," + self._first.encode()
        self.send(message(b"p", b"SCRAM-SHA-256\0" + struct.pack("!i", len(first)) + first))
        answered = self.read()
        assert answered is not None
        return answered[1][4:].decode()

    def login(self, user: str, secret: str) -> RawClient:
        """Prove the secret; ready when this returns."""
        self.prove(user, secret)
        self.until(b"Z")
        return self

    def prove(self, user: str, secret: str) -> None:
        challenge = self.challenge(user)
        nonce, salt = (part[2:] for part in challenge.split(",")[:2])
        final = f"c=biws,r={nonce}"
        signed = f"{self._first},{challenge},{final}".encode()
        key = hmac.digest(_salted(secret, b64decode(salt)), b"Client Key", "sha256")
        signature = hmac.digest(sha256(key).digest(), signed, "sha256")
        proof = bytes(a ^ b for a, b in zip(key, signature, strict=True))
        self.send(message(b"p", f"{final},p={b64encode(proof).decode()}".encode()))

    def fields(self, content: bytes) -> dict[str, str]:
        """The fields of an error or a notice."""
        return {part[:1].decode(): part[1:].decode() for part in content.split(b"\0") if part}

    def close(self) -> None:
        self.socket.close()

    def __enter__(self) -> RawClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
