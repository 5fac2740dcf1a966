"""SCRAM from the server's side, against the exchange of RFC 7677 and against clients that lie."""

from __future__ import annotations

from base64 import b64decode
from hashlib import pbkdf2_hmac, sha256
from hmac import digest

import pytest

from dither.server.verifiers import verifier_of
from dither.server.wire.channel import ProtocolViolation
from dither.server.wire.login.scram import BOUND, PLAIN, Exchange, Verifier, WrongProof

SALT = "W22ZaJ0SNY7soEsUEjb6gQ=="
FIRST = b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
NONCE = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
FINAL = b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="


def pencil() -> Verifier:
    salted = pbkdf2_hmac("sha256", b"pencil", b64decode(SALT), 4096)
    client, server = (digest(salted, label, "sha256") for label in (b"Client Key", b"Server Key"))
    return Verifier(4096, b64decode(SALT), sha256(client).digest(), server)


def exchange() -> Exchange:
    begun = Exchange(pencil(), PLAIN, None, nonce=NONCE)
    begun.challenge(FIRST)
    return begun


def test_the_exchange_of_the_standard() -> None:
    begun = Exchange(pencil(), PLAIN, None, nonce=NONCE)
    assert begun.challenge(FIRST).decode() == f"r=rOprNGfwEbeRWgbNEkqO{NONCE},s={SALT},i=4096"
    assert begun.outcome(FINAL) == b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


@pytest.mark.parametrize(
    ("old", "new"),
    [(b"dHzb", b"dHzc"), (b"ndVQ=", b"ndWQ="), (b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=", b"p=")],
)
def test_a_wrong_proof_is_refused(old: bytes, new: bytes) -> None:
    with pytest.raises((WrongProof, ProtocolViolation)):
        exchange().outcome(FINAL.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [(b"r=rOpr", b"r=xOpr"), (b"c=biws", b"c=eSws"), (b"k0,", b"k1,"), (b"c=biws,", b""), (b"p=dHzb", b"p=!!!!")],
)
def test_another_exchange_is_no_proof(old: bytes, new: bytes) -> None:
    with pytest.raises(ProtocolViolation):
        exchange().outcome(FINAL.replace(old, new))


@pytest.mark.parametrize(
    "first", [b"", b"n", b"x,,n=,r=a", b"p=tls-unique,,n=,r=a", b"n,a=bob,n=,r=a", b"n,,r=a", b"\xff"]
)
def test_what_is_no_first_message(first: bytes) -> None:
    with pytest.raises(ProtocolViolation):
        Exchange(pencil(), PLAIN, None).challenge(first)


def test_channel_binding_is_not_talked_away() -> None:
    """Somebody between who hides SCRAM-SHA-256-PLUS is noticed, and so is a certificate that is not the server's."""
    with pytest.raises(ProtocolViolation, match="attack"):
        Exchange(pencil(), PLAIN, b"certificate").challenge(b"y,,n=,r=a")
    with pytest.raises(ProtocolViolation):
        Exchange(pencil(), BOUND, None).challenge(b"p=tls-server-end-point,,n=,r=a")
    begun = Exchange(pencil(), BOUND, b"certificate", nonce=NONCE)
    begun.challenge(b"p=tls-server-end-point,,n=,r=a")
    with pytest.raises(ProtocolViolation):
        begun.outcome(f"c=biws,r=a{NONCE},p=AAAA".encode())


def test_verifiers_of_tokens_are_read() -> None:
    found = Verifier.read(verifier_of("secret"))
    assert (found.iterations, len(found.salt), len(found.stored_key), len(found.server_key)) == (4096, 16, 32, 32)


def test_nobody_has_one_salt_and_no_secret() -> None:
    first, second = Verifier.nobodys("mallory.0", b"nonce"), Verifier.nobodys("mallory.0", b"nonce")
    assert first.salt == second.salt
    assert first.stored_key != second.stored_key
    assert first.salt != Verifier.nobodys("mallory.1", b"nonce").salt
    assert first.iterations == Verifier.read(verifier_of("secret")).iterations
