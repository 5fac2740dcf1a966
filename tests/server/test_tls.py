"""TLS: who is not vouched for gets nothing, a token least of all; an authority of one's own is named by its file."""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from dither.cli.main import main
from dither.client import connect
from dither.client.connection import CertificateRefused
from dither.errors import ParameterError


def write_certificate(folder: Path, name: str) -> Path:
    """A certificate for this machine that vouches for itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=30))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = folder / f"{name}.pem"
    path.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    private = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path.with_suffix(".key").write_bytes(key.private_bytes(*private))
    return path


@pytest.fixture
def secured(unserved: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    path = write_certificate(tmp_path, "server")
    unserved.options = ("--certificate", str(path), "--key", str(path.with_suffix(".key")))
    monkeypatch.setattr(unserved, "wait", lambda: None)  # dt.connect tries until it is up
    unserved.start()
    yield unserved
    unserved.stop()


def test_only_who_is_vouched_for_is_asked(secured: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    url, token = f"https://127.0.0.1:{secured.port}", secured.tokens["alice"]
    alice = connect(url, f"{token}\n", ca=tmp_path / "server.pem")  # as read from a file
    assert alice.sql("SELECT COUNT(*) FROM visits", epsilon="0.01").charged
    with pytest.raises(CertificateRefused, match="nothing was sent"):
        connect(url, token)
    with pytest.raises(CertificateRefused):
        connect(url, token, ca=write_certificate(tmp_path, "other"))
    with pytest.raises(ParameterError, match=r"nosuch\.pem: No such file"):
        connect(url, token, ca="nosuch.pem")
    (tmp_path / "token").write_text(token)
    asked = ["--url", url, "--token-file", str(tmp_path / "token"), "tables"]
    assert main([*asked, "--ca", str(tmp_path / "server.pem")]) == 0
    assert main(asked) == 2
    assert "is not trusted" in capsys.readouterr().err
