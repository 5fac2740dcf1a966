"""CSV as its reader can take it: with one kind of line ending, as files pasted together do not have, and all UTF-8.

The reader settles on the first ending it sees, and then fails on the others or drops records beside them. A line with
bytes that are not UTF-8 it would drop whole; with a mark in their place only the value that has them is lost.
"""

from __future__ import annotations

import codecs
import gzip
import itertools
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dither.engines.sanitise import NOT_TEXT

_CHUNK = 1 << 20
_QUOTE = b'"'
_ESCAPED = re.compile("[\udc80-\udcff]+")  # what Python decodes other bytes to, and no text is decoded to


def one_form(name: str, copy: Path) -> tuple[str, bool]:
    """The file itself if all its records end alike and are UTF-8, else a copy in which they do; and if it is UTF-8.

    Line feed, carriage return and both together end a record; between quotation marks they are part of a value.
    """
    alike = not any(b"\r" in chunk for chunk in _read(name)) or len(_endings(name)) < 2
    utf8 = _is_utf8(name)
    if alike and utf8:
        return name, True
    content = _read(name) if alike else _one_newline(name)
    with os.fdopen(os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        for chunk in content if utf8 else _marked(content):
            file.write(chunk)
    return str(copy), utf8


def _is_utf8(name: str) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for chunk in _read(name):
            decoder.decode(chunk)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _marked(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """With a mark in place of bytes that are not UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    for chunk in chunks:
        yield _ESCAPED.sub(NOT_TEXT, decoder.decode(chunk)).encode()
    yield _ESCAPED.sub(NOT_TEXT, decoder.decode(b"", final=True)).encode()


def _one_newline(name: str) -> Iterator[bytes]:
    for parts, first in _chunks(name):
        for i in range(first, len(parts), 2):
            parts[i] = parts[i].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        yield _QUOTE.join(parts)


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
