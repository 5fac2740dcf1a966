"""Who gets in: holders of valid tokens, under their own name, over TLS beyond this machine."""

from __future__ import annotations

import socket
import struct
from pathlib import Path
from typing import Any

import psycopg
import pytest
import wire_places as places
from wire_raw_client import RawClient, message, startup

from dither.curator.principal import Principal
from dither.server.wire.login import authentication
from dither.server.wire.login.authentication import nonce_of, secure


def refusal(clinic: places.Wired, user: str, password: str, **options: Any) -> str:
    with pytest.raises(psycopg.OperationalError) as refused:
        clinic.connect(user=user, password=password, **options)
    return str(refused.value).split("FATAL:")[-1].strip()


def test_a_token_is_a_password(shared: places.Wired) -> None:
    for who in ("alice", "bob", "curator"):
        with shared.connect(who) as connection:
            assert connection.execute("SELECT current_user").fetchone() == (shared.user(who)[0],)


def test_everybody_else_hears_the_same(shared: places.Wired) -> None:
    (alice, secret), (bob, _) = shared.user("alice"), shared.user("bob")
    revoked = shared.tokens.make(Principal.analyst("alice"))
    _, identity, old = revoked.split("_", 2)
    shared.tokens.revoke(identity)
    words = {
        refusal(shared, user, password)
        for user, password in (
            (alice, "wrong"),
            (alice, f"{secret}x"),
            (bob, secret),
            (f"bob.{alice.split('.')[1]}", secret),  # alice's token under bob's name
            ("alice", secret),
            ("alice.0123456789abcdef", secret),
            ("mallory.0123456789abcdef", secret),
            ("'; DROP TABLE x; --", secret),
            (f"alice.{identity}", old),
        )
    }
    assert len(words) == 1, words
    assert "the user or the password is wrong" in words.pop()


def test_roles_that_ask_nothing_are_turned_away(shared: places.Wired) -> None:
    for who in ("auditor", "monitor"):
        assert refusal(shared, *shared.user(who)).startswith("tokens of this role ask no questions")


def salt_of(clinic: places.Wired, user: str) -> str:
    with RawClient(clinic.listener.port) as client:
        return client.challenge(user).split(",", 1)[1]


def test_unknown_users_have_salts_like_known_ones(shared: places.Wired) -> None:
    """Always the same one, of the same form, with the same number of rounds."""
    known = shared.user("alice")[0]
    for user in (known, "alice.0000000000000000", "mallory", ""):
        salts = {salt_of(shared, user) for _ in range(3)}
        assert len(salts) == 1, user
        (salt,) = salts
        assert len(salt) == len(salt_of(shared, known)), user
        assert salt.endswith(",i=4096"), user


def test_planted_salts_that_change(shared: places.Wired, monkeypatch: pytest.MonkeyPatch) -> None:
    def drawn(user: str, nonce: bytes) -> Any:
        import secrets

        return authentication.Verifier(4096, secrets.token_bytes(16), bytes(32), bytes(32))

    monkeypatch.setattr(authentication.Verifier, "nobodys", drawn)
    assert len({salt_of(shared, "mallory") for _ in range(3)}) > 1


def test_the_nonce_is_the_folders(tmp_path: Path) -> None:
    first = nonce_of(tmp_path)
    assert nonce_of(tmp_path) == first
    assert len(first) == 32
    (path,) = tmp_path.iterdir()
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_revoked_token_ends_its_connections(shared: places.Wired) -> None:
    made = shared.tokens.make(Principal.analyst("alice"))
    _, identity, secret = made.split("_", 2)
    with shared.connect(user=f"alice.{identity}", password=secret) as connection:
        connection.execute("SELECT 1")
        shared.tokens.revoke(identity)
        with pytest.raises(psycopg.OperationalError, match="a valid token is needed"):
            connection.execute("SELECT 1")
        assert connection.closed


def test_beyond_this_machine_there_is_no_authentication_without_tls(
    shared: places.Wired, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(authentication, "_near", lambda channel: False)
    assert "only TLS is spoken" in refusal(shared, *shared.user("alice"))
    with RawClient(shared.listener.port) as client:
        client.send(startup("alice"))
        found = client.until()
    assert [kind for kind, _ in found] == [b"E"]  # not even a salt


@pytest.mark.parametrize(
    ("address", "near"),
    [("127.0.0.1", True), ("127.8.8.8", True), ("::1", True), ("::ffff:127.0.0.1", True), ("10.0.0.1", False),
     ("::ffff:10.0.0.1", False), ("fe80::1%eth0", False), ("nonsense", False)],
)  # fmt: skip
def test_what_is_this_machine(address: str, near: bool) -> None:
    class Socket:
        def getpeername(self) -> tuple[str, int]:
            return address, 5432

    assert authentication._near(type("", (), {"socket": Socket()})()) is near


def test_strangers_send_little(shared: places.Wired) -> None:
    """A message of more than 10,000 bytes is not read before somebody is known, whatever its kind."""
    for sent in (struct.pack("!i", 10_001), struct.pack("!i", 2**31 - 1), struct.pack("!i", 3), struct.pack("!i", -1)):
        with RawClient(shared.listener.port) as client:
            client.send(sent + b"\0" * 100)
            found = client.until()
            assert [client.fields(content)["C"] for _, content in found] == ["08P01"], sent
    with RawClient(shared.listener.port) as client:
        client.send(startup("alice") + b"p" + struct.pack("!i", 2**30))
        assert client.fields(client.until()[-1][1])["C"] == "08P01"


def test_other_versions_and_ways(shared: places.Wired) -> None:
    with RawClient(shared.listener.port) as client:  # version 2
        client.send(struct.pack("!ii", 8, 2 << 16))
        assert client.fields(client.until()[-1][1])["C"] == "0A000"
    with RawClient(shared.listener.port) as client:  # neither kind of encryption is here
        for code in (80877103, 80877104):
            client.send(struct.pack("!ii", 8, code))
            assert client.socket.recv(1) == b"N"
        client.send(startup("alice"))
        assert client.read()[0] == b"R"
    with RawClient(shared.listener.port) as client:  # version 3.2 with an option of the protocol
        content = struct.pack("!i", (3 << 16) | 2) + b"user\0alice\0_pq_.new\0on\0\0"
        client.send(struct.pack("!i", 4 + len(content)) + content)
        kind, told = client.read()
        assert (kind, told) == (b"v", struct.pack("!ii", 3 << 16, 1) + b"_pq_.new\0")
    with RawClient(shared.listener.port) as client:
        client.send(startup("alice") + message(b"p", b"MD5\0\xff\xff\xff\xff"))
        assert client.fields(client.until()[-1][1])["C"] == "08P01"


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    import importlib.util

    spec = importlib.util.spec_from_file_location("wire_tls", Path(__file__).parents[2] / "test_tls.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.write_certificate(tmp_path, "server")  # type: ignore[no-any-return]


def test_tls_and_channel_binding(tmp_path: Path, certificate: Path) -> None:
    context, binding = secure(str(certificate), str(certificate.with_suffix(".key")))
    with places.wired(tmp_path, gate={"tls": context, "binding": binding}) as clinic:
        whole: dict[str, Any] = {"sslmode": "verify-ca", "sslrootcert": str(certificate), "channel_binding": "require"}
        with clinic.connect(**whole) as connection:
            assert connection.pgconn.ssl_in_use
            assert connection.execute("SELECT 1").fetchone() == (1,)
        with RawClient(clinic.listener.port) as client:  # what comes in the clear after the request is no TLS
            client.send(struct.pack("!ii", 8, 80877103) + startup("alice"))
            assert client.socket.recv(1) == b"S"
            assert client.until() == []
        clinic.listener._gate.__dict__["binding"] = bytes(32)  # that of another server
        with pytest.raises(psycopg.OperationalError):
            clinic.connect(**whole)


def test_a_server_listens_beyond_this_machine_with_tls_only(tmp_path: Path) -> None:
    from dither.errors import ParameterError
    from dither.server.serve import Settings

    for plaintext in (False, True):
        with pytest.raises(ParameterError, match=r"TLS|clear"):
            Settings(str(tmp_path), host="0.0.0.0", plaintext=plaintext, pg_port=5432).check()
    Settings(str(tmp_path), host="0.0.0.0", certificate="c", key="k", pg_port=5432).check()
    Settings(str(tmp_path), pg_port=5432).check()


def test_there_is_room_for_so_many(shared: places.Wired, monkeypatch: pytest.MonkeyPatch) -> None:
    from dither.server.wire import listener

    monkeypatch.setattr(listener, "MOST_OF_ONE", 1)
    with shared.connect(), pytest.raises(psycopg.OperationalError, match="at most 1 connections"):
        shared.connect()
    with shared.connect("bob"):
        pass
    monkeypatch.setattr(listener, "MOST_STRANGERS", 0)
    with socket.create_connection(("127.0.0.1", shared.listener.port), timeout=60) as refused:
        assert refused.recv(1) == b""
