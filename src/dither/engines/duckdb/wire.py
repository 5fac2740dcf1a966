"""What a worker process and its parent say to each other: frames of bytes with their length before them."""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Mapping
from typing import Any

LONGEST_WORDS = 2**26  # bytes of a frame of JSON: statements are text
_LENGTH = struct.Struct("!Q")


class Hangup(Exception):
    """The other side has gone, or says what it may not."""


def send(channel: socket.socket, content: Any) -> None:
    """One frame, of bytes or of whatever has a buffer."""
    size = memoryview(content).nbytes
    channel.sendall(_LENGTH.pack(size))
    if size:
        channel.sendall(content)


def send_words(channel: socket.socket, words: Mapping[str, Any]) -> None:
    """One frame of JSON."""
    send(channel, json.dumps(words).encode())


def receive_length(channel: socket.socket, most: int) -> int:
    """How long the next frame is; Hangup if it is longer than it may be."""
    head = bytearray(_LENGTH.size)
    receive_into(channel, head)
    (size,) = _LENGTH.unpack(head)
    if size > most:
        raise Hangup
    return int(size)


def receive(channel: socket.socket, most: int) -> bytearray:
    """One frame."""
    content = bytearray(receive_length(channel, most))
    receive_into(channel, content)
    return content


def receive_words(channel: socket.socket) -> dict[str, Any]:
    """One frame of JSON."""
    words = json.loads(receive(channel, LONGEST_WORDS))
    if not isinstance(words, dict):
        raise Hangup
    return words


def receive_into(channel: socket.socket, place: Any) -> None:
    """The content of a frame, into a buffer of its length."""
    left = memoryview(place).cast("B")
    while left:
        count = channel.recv_into(left)
        if not count:
            raise Hangup
        left = left[count:]


def serialised(table: Any) -> Any:
    """An Arrow table as a frame's content: Arrow's own stream format."""
    import pyarrow as pa

    stream = pa.BufferOutputStream()
    with pa.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table)
    return stream.getvalue()
