"""CSV whose records end in different ways, as files pasted together do: given to the reader with one kind of ending.

The reader settles on the first ending it sees, and then fails on the others or drops records beside them.
"""

from __future__ import annotations

import gzip
import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_CHUNK = 1 << 20
_QUOTE = b'"'


def one_newline(name: str, copy: Path) -> str:
    """The file itself if all its records end alike, else a copy in which they do.

    Line feed, carriage return and both together end a record; between quotation marks they are part of a value.
    """
    if not any(b"\r" in chunk for chunk in _read(name)) or len(_endings(name)) < 2:
        return name
    with os.fdopen(os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        for parts, first in _chunks(name):
            for i in range(first, len(parts), 2):
                parts[i] = parts[i].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
            file.write(_QUOTE.join(parts))
    return str(copy)


def _endings(name: str) -> set[bytes]:
    found = set()
    for parts, first in _chunks(name):
        outside = _QUOTE.join(parts[first::2])
        both, returns, feeds = (outside.count(mark) for mark in (b"\r\n", b"\r", b"\n"))
        counts = {b"\r\n": both, b"\r": returns - both, b"\n": feeds - both}
        found |= {ending for ending, count in counts.items() if count}
    return found


def _chunks(name: str) -> Iterator[tuple[list[bytes], int]]:
    """The file in pieces cut at quotation marks, and the first of each that is outside of them: every second one is."""
    inside, rest = 0, b""
    for chunk in itertools.chain(_read(name), [b""]):
        # A carriage return at the end waits for the line feed that may follow it.
        text = rest + chunk
        rest = b"\r" if chunk.endswith(b"\r") else b""
        parts = text.removesuffix(rest).split(_QUOTE)
        yield parts, inside
        inside = (inside + len(parts) - 1) % 2


def _read(name: str) -> Iterator[bytes]:
    opener: Any = gzip.open if name.endswith(".gz") else open
    with opener(name, "rb") as file:
        while chunk := file.read(_CHUNK):
            yield chunk
