"""Random bits: AES-256 in counter mode, under a key fresh from the kernel for every batch.

No state survives a call, so a forked process cannot repeat its parent's bits, and there is nothing to seed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Fills a contiguous array of unsigned integers with independent uniform bits.
Fill = Callable[[NDArray[Any]], None]
# Gives some further bits of a random number: how many, and their value.
Learn = Callable[[], tuple[int, int]]

# Below this the kernel is asked for the bits themselves: quicker than setting up a cipher.
_DIRECT_BYTES = 1024
_CHUNK_BYTES = 1 << 16
_ZEROS = bytes(_CHUNK_BYTES)


def random_bits(count: int) -> int:
    """A uniform integer below 2**count, straight from the kernel."""
    return int.from_bytes(os.urandom((count + 7) // 8), "little") >> (-count % 8)


def learn_bits() -> tuple[int, int]:
    """32 more bits of a random number: (32, a uniform integer below 2**32)."""
    return 32, random_bits(32)


def random_words(dtype: type[np.unsignedinteger[Any]], count: int) -> NDArray[Any]:
    """`count` independent uniform words of an unsigned integer type: one batch, one key."""
    words = np.empty(count, dtype)
    keystream(words.nbytes)(words)
    return words


def keystream(expected_bytes: int) -> Fill:
    """A source of random bits for one batch: keyed now, never kept. `expected_bytes` only says which way is quicker."""
    if expected_bytes <= _DIRECT_BYTES:
        return _fill_from_kernel
    # Imported here: `import dither` does not wait for it.
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    update_into = Cipher(algorithms.AES(os.urandom(32)), modes.CTR(os.urandom(16))).encryptor().update_into

    def fill(array: NDArray[Any]) -> None:
        buffer = array.view(np.uint8)
        for start in range(0, buffer.size, _CHUNK_BYTES):
            piece = buffer[start : start + _CHUNK_BYTES]
            update_into(_ZEROS if piece.size == _CHUNK_BYTES else _ZEROS[: piece.size], piece.data)

    return fill


def _fill_from_kernel(array: NDArray[Any]) -> None:
    array.view(np.uint8)[:] = np.frombuffer(os.urandom(array.nbytes), np.uint8)
