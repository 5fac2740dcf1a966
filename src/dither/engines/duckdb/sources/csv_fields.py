"""Where the fields of CSV are: one pass with one state from the first byte to the last, so that nothing can start to
read in the middle of a quoted field.

A quotation mark at the start of a field opens it; it ends at the next one that is not doubled, and a separator must
follow. Anywhere else a quotation mark is a letter like others. A delimiter ends a field, a line feed, a carriage return
or both together end a record; between quotation marks all of them are part of a value.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

_DELIMITER, _FEED, _RETURN, _QUOTE = 1, 2, 3, 4
_Array = npt.NDArray[Any]


class Torn(Exception):
    """A quotation mark ends a field and no separator follows, so nobody can say where the record ends."""


@dataclass(frozen=True)
class Fields:
    """The fields of whole records: where each begins and ends, without its marks, and what it needs.

    `last` are the fields that end a record, `rest` is where the first record begins that is not whole.
    """

    starts: _Array
    ends: _Array
    quoted: _Array
    doubled: _Array
    last: _Array
    rest: int


@dataclass(frozen=True)
class Dialect:
    """Splits text whose fields are separated by this byte."""

    delimiter: bytes

    def __post_init__(self) -> None:
        kinds = bytearray(256)
        for mark, kind in ((self.delimiter, _DELIMITER), (b"\n", _FEED), (b"\r", _RETURN), (b'"', _QUOTE)):
            kinds[mark[0]] = kind
        mark = re.escape(self.delimiter)
        object.__setattr__(self, "_kinds", bytes(kinds))
        one = rb'(?:"[^"]*+(?:""[^"]*+)*+"|[^"%b\r\n][^%b\r\n]*+|)(?:%b|\r\n?|\n)' % (mark, mark, mark)
        object.__setattr__(self, "_field", re.compile(one))

    def split(self, text: bytes) -> Fields:
        """The whole records at the beginning of the text, which starts with one."""
        marks = np.frombuffer(text.translate(self._kinds), np.uint8)  # type: ignore[attr-defined]
        at = np.flatnonzero(marks)
        kinds = marks[at]
        quotes = kinds == _QUOTE
        seen = np.cumsum(quotes, dtype=np.int32)
        if not len(at) or not seen[-1]:
            chosen = np.arange(len(at))
        elif _paired(marks, at[quotes]):
            chosen = np.flatnonzero(~quotes & (seen % 2 == 0))
        else:
            chosen = np.searchsorted(at, self._separators(text))
        return _fields(marks, at[chosen], kinds[chosen], seen[chosen])

    def state(self, text: bytes) -> bytes:
        """A short beginning of a record that leaves the reader where this one does, of which no record is whole."""
        fields = self.split(text + b"\n")
        if not fields.rest:  # the line feed is part of a value
            return b'"'
        start = int(fields.starts[-1] - fields.quoted[-1])
        return b'""' if fields.quoted[-1] else (b"x" if start < len(text) else self.delimiter)

    def _separators(self, text: bytes) -> _Array:
        """Where fields end, found one after the other."""
        found, position = [], 0
        while match := self._field.match(text, position):  # type: ignore[attr-defined]
            position = match.end()
            found.append(position - 1)
            if text[position - 2 : position] == b"\r\n" and match.end() - match.start() > 1:
                found[-1:] = [position - 2, position - 1]
        closed = re.compile(rb'"[^"]*+(?:""[^"]*+)*+"').match(text, position)
        if closed and closed.end() < len(text):
            raise Torn
        return np.array(found, np.int64)


def _paired(marks: _Array, at: _Array) -> bool:
    """Whether every second quotation mark closes what the one before it opened, so that counting them tells the state:
    each opens a field at its start or follows one that it doubles, and closes at its end or is followed by such."""
    opened, closed = at[0::2], at[1::2]
    before = marks[opened[1:] - 1] if opened[0] == 0 else marks[opened - 1]
    after = marks[closed[closed + 1 < len(marks)] + 1]
    return bool(before.all() and after.all())


def _fields(marks: _Array, at: _Array, kinds: _Array, seen: _Array) -> Fields:
    after = at + 1
    if (kinds == _RETURN).any():  # a line feed right after a carriage return belongs to it
        second = np.zeros(len(at), bool)
        second[1:] = (kinds[1:] == _FEED) & (kinds[:-1] == _RETURN) & (at[1:] == after[:-1])
        after[:-1] += second[1:]
        at, kinds, seen, after = at[~second], kinds[~second], seen[~second], after[~second]
    last = np.flatnonzero(kinds != _DELIMITER)
    count = int(last[-1]) + 1 if len(last) else 0
    ends, starts = at[:count].copy(), np.zeros(count, at.dtype)
    starts[1:] = after[: count - 1] if count else 0
    rest = int(after[count - 1]) if count else 0
    quoted = marks[starts] == _QUOTE if count else np.zeros(0, bool)
    doubled = quoted & (np.diff(seen[:count], prepend=0) > 2)
    starts[quoted] += 1
    ends[quoted] -= 1
    return Fields(starts, ends, quoted, doubled, last, rest)
