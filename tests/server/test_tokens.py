"""Tokens: kept as verifiers, shown once, valid for a while, and worth nothing once they are revoked."""

from __future__ import annotations

import hmac
from base64 import b64decode
from contextlib import suppress
from hashlib import pbkdf2_hmac, sha256
from pathlib import Path

import pytest

from dither.curator.principal import Principal
from dither.errors import ParameterError, Stranger
from dither.server import tokens as module
from dither.server import verifiers
from dither.server.store import Store
from dither.server.tokens import Tokens
from dither.server.verifiers import matches, verifier_of

ALICE = Principal.analyst("alice")


@pytest.fixture
def tokens(tmp_path: Path) -> Tokens:
    return Tokens(Store(tmp_path))


def test_a_token_is_its_principals(tokens: Tokens) -> None:
    text = tokens.make(ALICE, label="laptop")
    assert tokens.holder(text).principal == ALICE
    assert tokens.holder(text).label == "laptop"
    assert tokens.holder(tokens.make(Principal.curator())).principal == Principal.curator()


def test_the_verifier_is_the_one_of_rfc_5802() -> None:
    """Computed anew from the definition: SaltedPassword, ClientKey, StoredKey, ServerKey."""
    verifier = verifier_of("secret")
    scheme, counted, keys = verifier.split("$")
    iterations, salt = counted.split(":")
    stored, server = map(b64decode, keys.split(":"))
    salted = pbkdf2_hmac("sha256", b"secret", b64decode(salt), int(iterations))
    assert scheme == "SCRAM-SHA-256"
    assert stored == sha256(hmac.new(salted, b"Client Key", sha256).digest()).digest()
    assert server == hmac.new(salted, b"Server Key", sha256).digest()
    assert matches("secret", verifier)
    assert not matches("Secret", verifier)
    assert verifier_of("secret") != verifier


def test_what_is_kept_does_not_tell_the_token(tmp_path: Path) -> None:
    store = Store(tmp_path)
    text = Tokens(store).make(ALICE)
    store.close()
    secret = text.split("_", 2)[2].encode()
    for path in tmp_path.iterdir():
        assert secret not in path.read_bytes()
        assert path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "change", [lambda t: t[:-1], lambda t: t[:-1] + "!", lambda t: t.upper(), lambda t: "", str.title]
)
def test_what_is_no_token_is_a_stranger(tokens: Tokens, change: object) -> None:
    text = tokens.make(ALICE)
    with pytest.raises(Stranger):
        tokens.holder(change(text))  # type: ignore[operator]


def test_another_tokens_secret_does_not_prove(tokens: Tokens) -> None:
    one, other = tokens.make(ALICE), tokens.make(Principal.curator())
    tokens.holder(one)
    tokens.holder(other)  # both are remembered as proven
    mixed = "_".join([*one.split("_")[:2], other.split("_", 2)[2]])
    with pytest.raises(Stranger):
        tokens.holder(mixed)


def test_a_revoked_token_is_a_stranger_at_once_in_every_process(tmp_path: Path) -> None:
    here, there = Tokens(Store(tmp_path)), Tokens(Store(tmp_path))
    text = here.make(ALICE)
    assert there.holder(text).principal == ALICE
    here.revoke(text.split("_")[1])
    for tokens in (here, there):
        with pytest.raises(Stranger):
            tokens.holder(text)
    assert [token.state for token in there.all()] == ["revoked"]


def test_a_token_ends_by_itself(tokens: Tokens, monkeypatch: pytest.MonkeyPatch) -> None:
    text, now = tokens.make(ALICE, days=2), module.time.time()
    monkeypatch.setattr(module.time, "time", lambda: now + 86_400)
    tokens.holder(text)
    monkeypatch.setattr(module.time, "time", lambda: now + 2 * 86_400 + 1)
    with pytest.raises(Stranger):
        tokens.holder(text)
    assert [token.state for token in tokens.all()] == ["expired"]


@pytest.mark.parametrize("days", [0, -1, 3651, 1.5, "7"])
def test_days_are_bounded(tokens: Tokens, days: object) -> None:
    with pytest.raises(ParameterError, match="days"):
        tokens.make(ALICE, days=days)  # type: ignore[arg-type]


def test_revoking_nothing_is_refused(tokens: Tokens) -> None:
    with pytest.raises(ParameterError, match="no such id"):
        tokens.revoke("0" * 16)


def test_proven_tokens_are_forgotten_when_there_are_many(tokens: Tokens, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_REMEMBERED", 3)
    for text in [tokens.make(ALICE) for _ in range(5)]:
        tokens.holder(text)
    assert len(tokens._proven) == 3


def check_revoking(tokens: Tokens) -> None:
    text = tokens.make(ALICE)
    tokens.holder(text)
    tokens.revoke(text.split("_")[1])
    with pytest.raises(Stranger):
        tokens.holder(text)


def test_what_is_remembered_is_forgotten_once_it_was_found_revoked(tokens: Tokens) -> None:
    """Until then it opens nothing either: whoever answers looks."""
    text, other = tokens.make(ALICE), tokens.make(ALICE)
    token = tokens.holder(text)
    tokens.holder(other)
    tokens.revoke(token.id)
    assert tokens.remembered(text) == token
    with pytest.raises(Stranger):
        tokens.check(token.id)
    assert tokens.remembered(text) is None
    assert tokens.remembered(other) is not None
    with pytest.raises(Stranger):
        tokens.holder(text)


def test_what_has_expired_is_not_remembered(tokens: Tokens, monkeypatch: pytest.MonkeyPatch) -> None:
    text = tokens.make(ALICE, days=1)
    until = tokens.holder(text).until
    monkeypatch.setattr("time.time", lambda: until)
    assert tokens.remembered(text) is None


def test_planted_bug_a_token_that_was_proven_stays_valid(tokens: Tokens, monkeypatch: pytest.MonkeyPatch) -> None:
    check_revoking(tokens)
    monkeypatch.setattr(module.Token, "state", "valid")
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        check_revoking(tokens)


def check_equal_work(tokens: Tokens, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a token that is there, one of which nothing is true, and one whose id alone is: hashing takes the time."""
    hashed: list[int] = []

    def counted(name: str, secret: bytes, salt: bytes, iterations: int) -> bytes:
        hashed.append(iterations)
        return pbkdf2_hmac(name, secret, salt, iterations)

    monkeypatch.setattr(verifiers, "pbkdf2_hmac", counted)
    text, revoked = tokens.make(ALICE), tokens.make(ALICE)
    tokens.revoke(revoked.split("_")[1])
    work = []
    strange = f"dither_{'0' * 16}_{text.split('_', 2)[2]}"
    for asked in (text, strange, text[:-4] + "AAAA", revoked):
        hashed.clear()
        with suppress(Stranger):
            tokens.holder(asked)
        work.append(list(hashed))
    assert work == [[4096]] * 4, "each takes the same work"


def test_strangers_take_the_work_of_those_who_are_known(tokens: Tokens, monkeypatch: pytest.MonkeyPatch) -> None:
    check_equal_work(tokens, monkeypatch)


def test_planted_bug_an_unknown_id_is_refused_at_once(tokens: Tokens, monkeypatch: pytest.MonkeyPatch) -> None:
    proves = Tokens._proves
    monkeypatch.setattr(Tokens, "_proves", lambda self, row, secret: bool(row.id) and proves(self, row, secret))
    with pytest.raises(AssertionError, match="the same work"):
        check_equal_work(tokens, monkeypatch)
