"""What an officer signs: one order for one ledger, with its number there, so that no signature serves twice.

The private key is a file that the officer keeps, never in the curator's folder; the ledger has the public one.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dither.errors import PolicyError
from dither.ledger.chain import canonical_json, digest

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

UNSIGNED = ("signature", "time")  # fields of an entry that the signature is not about
_PURPOSE = b"dither officer's order\n"
_TEXT = (str,)
_FORMS: Mapping[str, Mapping[str, tuple[type, ...]]] = {
    "grant": {
        **dict.fromkeys(("people", "reason", "cost", "delta"), _TEXT),
        "analyst": (str, type(None)),
        "terms": (dict,),
        "was": (dict,),  # orders that are older have none
        "number": (int,),
    },
    "officer": {"key": _TEXT, "reason": _TEXT, "number": (int,)},
}


def ledger_name(key: bytes) -> str:
    """By what orders name a ledger: a digest that its key alone gives."""
    return digest(key, b"officer")[:16].hex()


@dataclass(frozen=True)
class Order:
    """The entry of an officer that is to be written, and in which ledger."""

    ledger: str
    kind: str  # "grant", or "officer" for a new key
    body: Mapping[str, Any]

    @property
    def formed(self) -> bool:
        """Whether it says what orders of its kind say, and nothing else."""
        form = _FORMS.get(self.kind, {})
        said = {name: type(value) for name, value in self.body.items()}
        whole = form.keys() - {"was"} <= said.keys() <= form.keys() and bool(form)
        return whole and all(kind in form[name] for name, kind in said.items())

    @property
    def message(self) -> bytes:
        """The bytes that are signed: everything that the entry will say, but when."""
        said = {name: value for name, value in self.body.items() if name not in UNSIGNED}
        return _PURPOSE + canonical_json([self.ledger, self.kind, said]).encode()

    def document(self, signature: str | None = None) -> dict[str, Any]:
        """As a file has it, which anybody may read: it is signed, not secret."""
        return {"ledger": self.ledger, "order": self.kind, "body": dict(self.body), "signature": signature}

    @classmethod
    def read(cls, document: Any) -> Order:
        """What `document` wrote; PolicyError if it is no order."""
        match document:
            case {"ledger": str() as ledger, "order": "grant" | "officer" as kind, "body": dict() as body}:
                return cls(ledger, kind, body)
        raise PolicyError("this is no order for an officer; `dither grant --draft` writes one.")

    def signed(self, key: Path | str) -> str:
        """The signature by the private key in that file."""
        return read_key(Path(key)).sign(self.message).hex()

    def is_signed(self, public: str | None, signature: object) -> bool:
        """Whether the holder of that key has signed just this."""
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        if public is None or not isinstance(signature, str):
            return False
        try:
            Ed25519PublicKey.from_public_bytes(bytes.fromhex(public)).verify(bytes.fromhex(signature), self.message)
        except (InvalidSignature, ValueError):
            return False
        return True


def is_key(public: object) -> bool:
    """Whether a text is a public key: 32 bytes in hexadecimal digits."""
    return isinstance(public, str) and len(public) == 64 and all(digit in "0123456789abcdef" for digit in public)


def make_key(path: Path) -> str:
    """A new private key in a new file, for its owner alone; the public key."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    made = Ed25519PrivateKey.generate()
    content = made.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise PolicyError(f"{path} exists already, and a key is never written over; name another file.") from None
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    return public_of(made)


def read_key(path: Path) -> Ed25519PrivateKey:
    """The private key in a file that is its owner's alone."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    if stat.S_IMODE(path.stat().st_mode) & 0o077:
        raise PolicyError(f"the key {path} is open to others; run: chmod 600 {path}")
    try:
        found = serialization.load_pem_private_key(path.read_bytes(), password=None)
    except (ValueError, TypeError):
        found = None
    if not isinstance(found, Ed25519PrivateKey):
        raise PolicyError(f"{path} holds no Ed25519 key in PEM; make one with `dither officer make`.")
    return found


def public_of(key: Ed25519PrivateKey) -> str:
    """The public key as the ledger has it."""
    return key.public_key().public_bytes_raw().hex()
