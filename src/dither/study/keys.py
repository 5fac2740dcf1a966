"""The key pair of an aggregator: what is sealed with the public part, this folder alone can open."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from dither.errors import ParameterError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

_FILE = "sealing.key"


def make_key(folder: Path) -> bytes:
    """A new key pair in a folder that has none; returns the public part."""
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    key = X25519PrivateKey.generate()
    try:
        handle = os.open(folder / _FILE, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise ParameterError(f"{folder} has a key already.") from None
    with os.fdopen(handle, "wb") as file:
        file.write(key.private_bytes_raw())
        file.flush()
        os.fsync(file.fileno())
    return key.public_key().public_bytes_raw()


def read_key(folder: Path) -> X25519PrivateKey:
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    try:
        return X25519PrivateKey.from_private_bytes((folder / _FILE).read_bytes())
    except (OSError, ValueError):
        raise ParameterError(f"{folder} has no key: make one with `dither study key`.") from None
