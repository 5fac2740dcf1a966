"""One connection as messages: lengths are checked before anything is read, and nobody is waited for without end.

PostgreSQL's protocol 3.0: a byte that says what a message is, its length in four bytes, its content. The first message
of a connection has no such byte.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Iterable

from dither.errors import DitherError

MOST_BEFORE_LOGIN = 10_000  # bytes of a message from somebody who is not known yet
MOST_BYTES = 512 * 1024  # of any later one, as HTTP has it
MESSAGE_SECONDS = 20.0  # from the first byte of a message to its last
WRITE_SECONDS = 60.0  # that somebody may take to read what was sent
_PIECE = 64 * 1024


class Gone(Exception):
    """The other side has gone, or took too long."""


class ProtocolViolation(DitherError):
    """A message is not what the protocol says: the connection ends."""

    code = "protocol_violation"


class Content:
    """The content of a message, read from its beginning; what is not there is a violation."""

    def __init__(self, content: bytes) -> None:
        self._content, self._place = content, 0

    def raw(self, count: int) -> bytes:
        found = self._content[self._place : self._place + count]
        if count < 0 or len(found) != count:
            raise ProtocolViolation("a message is shorter than it says.")
        self._place += count
        return found

    def int16(self) -> int:
        return int(struct.unpack("!h", self.raw(2))[0])

    def int32(self) -> int:
        return int(struct.unpack("!i", self.raw(4))[0])

    def count(self) -> int:
        """How many items follow: none of them takes less than a byte of what is left but for numbers of two."""
        found = self.int16() & 0xFFFF
        if 2 * found > len(self._content) - self._place:
            raise ProtocolViolation("a message is shorter than it says.")
        return found

    def text(self) -> str:
        """Up to the next NUL."""
        end = self._content.find(b"\0", self._place)
        if end < 0:
            raise ProtocolViolation("a text in a message has no end.")
        found, self._place = self._content[self._place : end], end + 1
        return decoded(found)

    def sized(self) -> bytes | None:
        """Bytes with their length before them; None for NULL."""
        size = self.int32()
        return None if size == -1 else self.raw(size)

    def raw_rest(self) -> bytes:
        """All that is left."""
        return self.raw(len(self._content) - self._place)

    def end(self) -> None:
        if self._place != len(self._content):
            raise ProtocolViolation("a message is longer than its content.")


def decoded(content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise ProtocolViolation("a text is not valid UTF-8.") from None


class Channel:
    """A socket with a buffer of bounded size for what is to be sent."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self._unsent = bytearray()

    def startup(self, seconds: float) -> Content:
        """The first message, which has no type."""
        until = time.monotonic() + seconds
        size = self._length(self._read(4, until), MOST_BEFORE_LOGIN)
        return Content(self._read(size, until))

    def message(self, idle: float, most: int = MOST_BYTES) -> tuple[bytes, Content]:
        """The next message, for which `idle` seconds are waited; once it has begun it has to come quickly."""
        kind = self._read(1, time.monotonic() + idle)
        until = time.monotonic() + MESSAGE_SECONDS
        size = self._length(self._read(4, until), most)
        return kind, Content(self._read(size, until))

    def put(self, kind: bytes, *parts: bytes) -> None:
        """Send a message, perhaps later."""
        self._unsent += kind + struct.pack("!i", 4 + sum(map(len, parts)))
        for part in parts:
            self._unsent += part
        if len(self._unsent) > _PIECE:
            self.flush()

    def put_all(self, messages: Iterable[bytes]) -> None:
        """Send whole messages, a piece at a time."""
        for message in messages:
            self._unsent += message
            if len(self._unsent) > _PIECE:
                self.flush()

    def put_byte(self, sign: bytes) -> None:
        """The answer to whether there is encryption, which is no message."""
        self._unsent += sign
        self.flush()

    def flush(self) -> None:
        """Send what waits; whoever does not read it in time has gone."""
        try:
            self.socket.settimeout(WRITE_SECONDS)
            self.socket.sendall(self._unsent)
        except OSError:
            raise Gone from None
        finally:
            self._unsent.clear()

    def close(self) -> None:
        self.socket.close()

    def _length(self, head: bytes, most: int) -> int:
        (size,) = struct.unpack("!i", head)
        if not 4 <= size <= most:
            raise ProtocolViolation(f"a message has 4 to {most:,} bytes.")
        return int(size) - 4

    def _read(self, count: int, until: float) -> bytes:
        """So many bytes; memory grows with what has come, not with what was announced."""
        found = bytearray()
        while len(found) < count:
            left = until - time.monotonic()
            if left <= 0:
                raise Gone
            try:
                self.socket.settimeout(left)
                part = self.socket.recv(min(count - len(found), _PIECE))
            except (OSError, ValueError):
                raise Gone from None
            if not part:
                raise Gone
            found += part
        return bytes(found)


def cstring(text: str) -> bytes:
    """A text with the NUL that ends it; one inside it would hide the rest."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode(errors="replace") + b"\0"
