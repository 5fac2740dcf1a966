"""Look-ups by one server that learns nothing as long as learning with errors is hard.

The database is a matrix D of signed bytes, cells standing upright in its columns. A query is A s + e + 2^24 u modulo
2^32, u the unit vector of the wanted column: without the secret s it looks uniform. The answer is D times the query.
The client takes D A s off, with D A known beforehand as the hint, and rounds the noise D e away.
Henzinger, Hong, Corrigan-Gibbs, Meiklejohn and Vaikuntanathan 2023 (SimplePIR).

n = 1024, a Gaussian of deviation 6.4 and the modulus 2^32: 128 bits of security up to 2^20 columns by the paper's
estimates. A column comes out wrong only if |D e| >= 2^23 in one of its entries. |D e| is subgaussian of deviation at
most 128 * 6.4 * sqrt(columns): with at most 2^16 columns that happens with probability below 2 exp(-800) an entry.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.errors import ParameterError

SECRET = 1024  # entries of a secret: the dimension n
VARIANCE = "1024/25"  # of the error: 6.4 squared
SEED = 32
_STEP = 1 << 24  # by which the modulus exceeds the digits: 2^32 / 256
_BLOCK = 512  # columns whose products with bytes a float32 adds up exactly: 128 * 255 * 512 < 2^24
_ROWS = 128  # so many make hint and queries small together
MOST_COLUMNS = 1 << 16

Words = NDArray[np.uint32]


@dataclass(frozen=True)
class Upright:
    """How cells stand in columns: both sides know it from the public number and size of cells."""

    cells: int
    size: int

    @property
    def per_column(self) -> int:
        """A column has about 128 entries, more where there would be too many columns."""
        return max(1, _ROWS // self.size, -(-self.cells // MOST_COLUMNS))

    @property
    def rows(self) -> int:
        return self.per_column * self.size

    @property
    def columns(self) -> int:
        return -(-self.cells // self.per_column)


class LweDatabase:
    """What the server holds: the matrix, a public seed for A, and the hint."""

    def __init__(self, cells: NDArray[np.uint8], seed: bytes) -> None:
        self.layout, self.seed = Upright(*cells.shape), seed
        layout = self.layout
        padded = np.zeros((layout.columns * layout.per_column, layout.size), np.uint8)
        padded[: layout.cells] = cells
        digits = padded.reshape(layout.columns, layout.rows).view(np.int8)
        blocks = -(-layout.columns // _BLOCK)
        wide = np.zeros((blocks * _BLOCK, layout.rows), np.float32)
        wide[: layout.columns] = digits
        self._blocks = np.ascontiguousarray(wide.reshape(blocks, _BLOCK, layout.rows).transpose(0, 2, 1))

    def hint(self) -> bytes:
        """The seed and D A, which do not depend on any query: made once, and fetched once by a client."""
        found = np.zeros((self.layout.rows, SECRET), np.uint32)
        for block, part in zip(self._blocks, _rows_of_a(self.seed, self.layout.columns, _BLOCK), strict=True):
            digits = block[:, : len(part)].astype(np.float64)
            for shift in (0, 16):  # 128 * 65535 * 512 < 2^53: exact
                halves = ((part >> np.uint32(shift)) & np.uint32(0xFFFF)).astype(np.float64)
                found += (digits @ halves).astype(np.int64).astype(np.uint32) << np.uint32(shift)
        return self.seed + found.astype("<u4").tobytes()

    def answer(self, query: bytes) -> bytes:
        """D times the query, modulo 2^32."""
        if len(query) != 4 * self.layout.columns:
            raise ParameterError("a query has four bytes for each column.")
        digits = np.zeros((self._blocks.shape[0] * _BLOCK, 4), np.float32)
        digits[: self.layout.columns] = np.frombuffer(query, np.uint8).reshape(-1, 4)
        sums = np.matmul(self._blocks, digits.reshape(-1, _BLOCK, 4)).astype(np.int64).sum(axis=0)
        whole = sums @ np.array([1, 1 << 8, 1 << 16, 1 << 24], np.int64)
        return bytes((whole & 0xFFFFFFFF).astype("<u4").tobytes())


@dataclass(frozen=True)
class LweClient:
    """Asks for cells; each query has a secret of its own."""

    layout: Upright
    seed: bytes
    hint: Words

    @classmethod
    def of(cls, layout: Upright, content: bytes) -> LweClient:
        """With the hint as the server sends it."""
        if len(content) != SEED + 4 * SECRET * layout.rows:
            raise ParameterError("the hint has the wrong length.")
        return cls(layout, content[:SEED], np.frombuffer(content, "<u4", offset=SEED).reshape(layout.rows, SECRET))

    def query(self, number: int) -> tuple[bytes, Words]:
        """What is sent, and the secret that reads the answer."""
        from dither.noise import discrete_gaussian

        if not 0 <= number < self.layout.cells:
            raise ParameterError("there is no cell of that number.")
        secret = np.frombuffer(secrets.token_bytes(4 * SECRET), "<u4")
        hidden = np.concatenate([part @ secret for part in _rows_of_a(self.seed, self.layout.columns, 4096)])
        errors = np.asarray(discrete_gaussian(VARIANCE, self.layout.columns), np.int64)
        hidden += errors.astype(np.uint32)
        column = number // self.layout.per_column
        hidden[column : column + 1] += np.uint32(_STEP)  # an array's sum is modulo 2^32 without a warning
        return hidden.astype("<u4").tobytes(), secret

    def cell(self, number: int, secret: Words, answer: bytes) -> bytes:
        if len(answer) != 4 * self.layout.rows:
            raise ParameterError("the server's answer has the wrong length.")
        noisy = np.frombuffer(answer, "<u4") - self.hint @ secret
        digits = ((noisy + np.uint32(_STEP // 2)) >> np.uint32(24)).astype(np.uint8)
        start = number % self.layout.per_column * self.layout.size
        return bytes(digits[start : start + self.layout.size].tobytes())


def _rows_of_a(seed: bytes, columns: int, at_once: int) -> Iterator[Words]:
    """The public matrix A, some rows at a time: the keystream of AES in counter mode under the seed."""
    stream = _keystream(seed)
    for start in range(0, columns, at_once):
        count = min(at_once, columns - start)
        yield np.frombuffer(stream.update(bytes(4 * SECRET * count)), "<u4").reshape(count, SECRET)


def _keystream(seed: bytes) -> Any:
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    return Cipher(algorithms.AES256(seed), modes.CTR(bytes(16))).encryptor()
