"""Random bits: AES-256 in counter mode under a key fresh from the kernel for every batch. Nothing is kept between calls.

No state survives a call, so a forked process cannot repeat its parent's bits, and there is nothing to seed.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Callable

# Below this the kernel is asked for the bits themselves: quicker than setting up a cipher.
_DIRECT_BYTES = 1024
_CHUNK_BYTES = 1 << 16
_ZEROS = bytes(_CHUNK_BYTES)


def random_bits(count: int) -> int:
    """A uniform integer below 2**count, straight from the kernel."""
    return int.from_bytes(os.urandom((count + 7) // 8), "little") >> (-count % 8)


def random_words(dtype: type[np.unsignedinteger[Any]], count: int) -> NDArray[Any]:
    """`count` independent uniform words of an unsigned integer type: one batch, one key."""
    words = np.empty(count, dtype)
    keystream(words.nbytes)(words)
    return words


def keystream(total_bytes: int) -> Callable[[NDArray[Any]], None]:
    """A function that fills contiguous arrays with fresh random bytes, `total_bytes` expected in all; use it for one batch only."""
    if total_bytes <= _DIRECT_BYTES:
        return _fill_from_kernel
    # Imported here: `import dither` does not wait for it.
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    update_into = Cipher(algorithms.AES(os.urandom(32)), modes.CTR(os.urandom(16))).encryptor().update_into

    def fill(array: NDArray[Any]) -> None:
        buffer = memoryview(array).cast("B") if array.size else memoryview(b"")
        for start in range(0, len(buffer), _CHUNK_BYTES):
            piece = buffer[start : start + _CHUNK_BYTES]
            update_into(_ZEROS if len(piece) == _CHUNK_BYTES else _ZEROS[: len(piece)], piece)

    return fill


def _fill_from_kernel(array: NDArray[Any]) -> None:
    if array.size:
        memoryview(array).cast("B")[:] = os.urandom(array.nbytes)
