"""What a load over HTTP may read: plain files below one folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from dither.errors import PolicyError
from dither.server import data_files
from dither.server.data_files import below

HOSTILE = [
    "",
    ".",
    "..",
    "../secret.parquet",
    "inner/../../secret.parquet",
    "/etc/passwd",
    "*.parquet",
    "data?.parquet",
    "[d]ata.parquet",
    "link.parquet",
    "folder/data.parquet",
    "inner",
    "data.duckdb",
    "data.txt",
    "data.parquet\0.csv",
    "nosuch.parquet",
]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A data folder with a file, a folder, a link to a file outside and a link to the folder outside."""
    root = tmp_path / "root"
    (root / "inner").mkdir(parents=True)
    for path in (
        root / "data.parquet",
        root / "inner" / "data.csv",
        tmp_path / "secret.parquet",
        tmp_path / "data.parquet",
    ):
        path.write_bytes(b"x")
    for name in ("data.duckdb", "data.txt"):
        (root / name).write_bytes(b"x")
    (root / "link.parquet").symlink_to(tmp_path / "secret.parquet")
    (root / "folder").symlink_to(tmp_path)
    return root


def refuses_all(root: Path) -> None:
    for stated in HOSTILE:
        with pytest.raises(PolicyError, match="sources are Parquet"):
            below(root, stated)


def test_only_plain_files_below_the_folder_are_read(root: Path) -> None:
    assert below(root, "data.parquet") == root / "data.parquet"
    assert below(root, "inner/data.csv") == root / "inner" / "data.csv"
    refuses_all(root)
    with pytest.raises(PolicyError, match="sources are Parquet"):
        below(None, "data.parquet")


def test_planted_bug_links_are_followed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_files.Path, "lstat", lambda self: os.stat(self))
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        refuses_all(root)


def policy(source: str, **column: Any) -> dict[str, Any]:
    declared = {"source": source, "people": "patients", "owner": "pid", "max_rows_per_owner": 1}
    return {
        "policy": {
            "tables": {"more": {**declared, "columns": {"x": {"kind": "int", "lower": 0, "upper": 10, **column}}}}
        }
    }


def test_sources_that_are_none_are_refused_and_nothing_is_made(served: Any) -> None:
    tables = served.call("curator", "GET", "/v1/tables").body
    for source in [*HOSTILE, "upload:", "upload:../ledger.key", "upload:" + "0" * 32 + ".parquet"]:
        reply = served.call("curator", "POST", "/v1/tables", policy(source))
        assert (reply.status, reply.code) == (400, "policy_invalid"), source
    reply = served.call("curator", "POST", "/v1/tables", policy("x.parquet", labels_file="/etc/passwd"))
    assert reply.status == 400
    assert served.call("curator", "GET", "/v1/tables").body == tables
