"""One participant's report: shares of every answer, each sealed so that one aggregator alone can open it."""

from __future__ import annotations

import secrets
from base64 import b64decode, b64encode
from binascii import Error
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Any

from dither.errors import ParameterError
from dither.study.errors import InvalidReport
from dither.study.prio.prio3 import NONCE
from dither.study.study import Study

INVITATION = 16  # bytes


@dataclass(frozen=True)
class Report:
    """What a participant sends: a nonce, the invitation, the public shares, and a sealed share for each aggregator."""

    nonce: bytes
    invitation: bytes
    public: tuple[bytes, ...]
    sealed: tuple[bytes, ...]

    def document(self) -> dict[str, Any]:
        return {
            "nonce": self.nonce.hex(),
            "invitation": self.invitation.hex(),
            "public": [b64encode(share).decode() for share in self.public],
            "sealed": [b64encode(share).decode() for share in self.sealed],
        }

    @classmethod
    def read(cls, document: Any) -> Report:
        """A report from outside; whatever is not one is refused."""
        try:
            nonce, invitation = bytes.fromhex(document["nonce"]), bytes.fromhex(document["invitation"])
            public, sealed = (
                tuple(b64decode(share, validate=True) for share in document[name]) for name in ("public", "sealed")
            )
        except (KeyError, TypeError, ValueError, AttributeError, Error):
            raise InvalidReport("this is no report.") from None
        if len(nonce) != NONCE or len(invitation) != INVITATION:
            raise InvalidReport("the nonce or the invitation of a report has the wrong length.")
        return cls(nonce, invitation, public, sealed)

    @property
    def public_digest(self) -> bytes:
        return sha256(b"".join(len(share).to_bytes(4, "big") + share for share in self.public)).digest()


def make_report(study: Study, invitation: bytes, answers: Mapping[str, Any]) -> Report:
    """Share and prove the answers to all questions, with randomness from the kernel."""
    names = [question.name for question in study.questions]
    if set(answers) != set(names):
        raise ParameterError(f"a report answers all questions: {', '.join(names)}.")
    nonce, public, shares = secrets.token_bytes(NONCE), [], []
    for question, function in zip(study.questions, study.functions, strict=True):
        measured = question.measurement(answers[question.name])
        told, split = function.shard(measured, nonce, secrets.token_bytes(function.randomness))
        public.append(told)
        shares.append(split)
    report = Report(nonce, invitation, tuple(public), ())
    sealed = tuple(
        seal(peer.key, _packed(pieces), bound_to(study, report, number))
        for number, (peer, pieces) in enumerate(zip(study.aggregators, zip(*shares, strict=True), strict=True))
    )
    return Report(nonce, invitation, tuple(public), sealed)


def bound_to(study: Study, report: Report, number: int) -> bytes:
    """What a sealed share is for: moved to another study, report, invitation or aggregator, it does not open."""
    return b"dither study 1" + study.id + report.nonce + report.invitation + bytes([number]) + report.public_digest


def open_share(study: Study, report: Report, number: int, sealed: bytes, key: Any) -> list[bytes]:
    """The shares of all questions for one aggregator."""
    from cryptography.exceptions import InvalidTag

    try:
        plain = _suite().decrypt(sealed, key, info=bound_to(study, report, number))
    except (InvalidTag, ValueError):
        raise InvalidReport("a sealed share does not open.") from None
    return _unpacked(plain, len(study.questions))


def seal(key: bytes, plain: bytes, info: bytes) -> bytes:
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey

    return bytes(_suite().encrypt(plain, X25519PublicKey.from_public_bytes(key), info=info))


@lru_cache(maxsize=1)
def _suite() -> Any:
    from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

    return Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_128_GCM)


def _packed(pieces: Sequence[bytes]) -> bytes:
    return b"".join(len(piece).to_bytes(4, "big") + piece for piece in pieces)


def _unpacked(plain: bytes, count: int) -> list[bytes]:
    found: list[bytes] = []
    place = 0
    while place < len(plain) and len(found) <= count:
        length = int.from_bytes(plain[place : place + 4], "big")
        found.append(plain[place + 4 : place + 4 + length])
        place += 4 + length
    if len(found) != count or place != len(plain):
        raise InvalidReport("a sealed share has the wrong form.")
    return found
