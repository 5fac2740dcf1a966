"""Look-ups by two servers that do not talk to each other: neither learns anything, whatever it can compute.

Cells lie in rows of a square. One server gets a random set of rows, the other the same set with the wanted row flipped;
each answers the exclusive or of its rows, and the two answers differ by the wanted row. Either set alone is uniform.
Chor, Goldreich, Kushilevitz and Sudan 1995.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from math import ceil, sqrt

import numpy as np
from numpy.typing import NDArray

from dither.errors import ParameterError

_AT_ONCE = 512  # rows


@dataclass(frozen=True)
class Square:
    """How cells lie in rows: both sides know it from the public number and size of cells."""

    cells: int
    size: int

    @property
    def per_row(self) -> int:
        """About as many bytes of a row as bits of a query."""
        return max(1, round(sqrt(self.cells / (8 * self.size))))

    @property
    def rows(self) -> int:
        return ceil(self.cells / self.per_row)

    def queries(self, number: int) -> tuple[bytes, bytes]:
        """One for each server."""
        if not 0 <= number < self.cells:
            raise ParameterError("there is no cell of that number.")
        first = bytearray(secrets.token_bytes(-(-self.rows // 8)))
        second, row = bytearray(first), number // self.per_row
        second[row // 8] ^= 1 << row % 8
        return bytes(first), bytes(second)

    def cell(self, number: int, answers: tuple[bytes, bytes]) -> bytes:
        width = self.per_row * self.size
        if any(len(answer) != width for answer in answers):
            raise ParameterError("a server's answer has the wrong length.")
        first, second = (int.from_bytes(answer, "little") for answer in answers)
        row = (first ^ second).to_bytes(width, "little")
        start = number % self.per_row * self.size
        return row[start : start + self.size]


class XorDatabase:
    """What each of the two servers holds."""

    def __init__(self, cells: NDArray[np.uint8]) -> None:
        self.square = Square(*cells.shape)
        width = self.square.per_row * self.square.size
        padded = np.zeros(self.square.rows * width, np.uint8)
        padded[: cells.size] = cells.ravel()
        self._rows = padded.reshape(self.square.rows, width)

    def answer(self, query: bytes) -> bytes:
        """The exclusive or of the rows that the query names."""
        if len(query) != -(-self.square.rows // 8):
            raise ParameterError("a query has one bit for each row.")
        chosen = np.unpackbits(np.frombuffer(query, np.uint8), bitorder="little")[: self.square.rows].astype(bool)
        found = np.zeros(self._rows.shape[1], np.uint8)
        for start in range(0, self.square.rows, _AT_ONCE):  # half of all rows is what strangers could have copied often
            part = slice(start, start + _AT_ONCE)
            found ^= np.bitwise_xor.reduce(self._rows[part][chosen[part]], axis=0, initial=0)
        return found.tobytes()
