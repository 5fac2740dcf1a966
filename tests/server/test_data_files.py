"""What a load over HTTP may read: plain files below one folder, and uploads, which are gone afterwards."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dither.errors import PolicyError
from dither.server import bodies, data_files
from dither.server.data_files import below
from dither.server.problems import BodyLate, BodyTooLarge

PARQUET = "application/vnd.apache.parquet"
COLUMNS = {"x": {"kind": "int", "lower": 0, "upper": 10}}
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
    return {"policy": {"tables": {"more": {**declared, "columns": {"x": {**COLUMNS["x"], **column}}}}}}


def parquet(rows: int = 3) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"pid": range(rows), "x": [1] * rows}), sink)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def upload(served: Any, content: bytes, kind: str = PARQUET, who: str = "curator") -> Any:
    return served.call(who, "POST", "/v1/uploads", raw=content, content_type=kind)


def test_an_upload_is_loaded_and_then_gone(own: Any) -> None:
    name = upload(own, parquet()).json["upload"]
    (kept,) = (own.folder / "uploads").iterdir()
    assert kept.stat().st_mode & 0o077 == 0
    loaded = own.call("curator", "POST", "/v1/tables", policy(f"upload:{name}")).json["loaded"]["more"]
    assert loaded["rows"] == 3
    assert not list((own.folder / "uploads").iterdir())
    again = own.call("curator", "POST", "/v1/tables/more/refresh", {"source": f"upload:{name}"})
    assert (again.status, again.code) == (400, "policy_invalid")


def test_sources_that_are_none_are_refused_and_nothing_is_made(served: Any) -> None:
    tables = served.call("curator", "GET", "/v1/tables").body
    for source in [*HOSTILE, "upload:", "upload:../ledger.key", "upload:" + "0" * 32 + ".parquet"]:
        reply = served.call("curator", "POST", "/v1/tables", policy(source))
        assert (reply.status, reply.code) == (400, "policy_invalid"), source
    reply = served.call("curator", "POST", "/v1/tables", policy("x.parquet", labels_file="/etc/passwd"))
    assert reply.status == 400
    assert served.call("curator", "GET", "/v1/tables").body == tables


def test_uploads_of_other_kinds_and_of_analysts_are_refused(served: Any) -> None:
    assert upload(served, parquet(), "application/x-duckdb").status == 400
    assert upload(served, parquet(), who="alice").status == 403


def test_a_damaged_upload_is_refused_without_its_content(own: Any) -> None:
    name = upload(own, b"PAR1" + b"canary" * 1000).json["upload"]
    reply = own.call("curator", "POST", "/v1/tables", policy(f"upload:{name}"))
    assert reply.status == 400
    assert b"canary" not in reply.body
    assert not list((own.folder / "uploads").iterdir())


async def _sent(size: int, parts: int) -> AsyncIterator[bytes]:
    for _ in range(parts):
        await asyncio.sleep(0)  # another upload has its turn
        yield bytes(size)


def check_quota(folder: Path) -> None:
    """Two at once, each of which would fit alone, by servers of their own."""
    several = [data_files.Uploads(folder, 100) for _ in range(2)]
    several[0].clear()
    most = 0

    async def receive(uploads: data_files.Uploads) -> str | None:
        nonlocal most
        try:
            return await uploads.receive(_sent(10, 9), ".csv")
        except BodyTooLarge:
            return None
        finally:
            most = max(most, uploads._held())

    async def both() -> list[str | None]:
        return await asyncio.gather(*map(receive, several))

    kept = [name for name in asyncio.run(both()) if name is not None]
    assert most <= 100, "all uploads together keep to the quota"
    assert [path.name for path in (folder / "uploads").iterdir()] == kept


async def check_pauses(uploads: data_files.Uploads, most: float = 60) -> None:
    async def sent() -> AsyncIterator[bytes]:
        yield b"pid"
        await asyncio.sleep(1000)
        yield b",age"

    uploads.clear()
    with pytest.raises(BodyLate, match="did not arrive in time"):
        await asyncio.wait_for(uploads.receive(sent(), ".csv"), most)
    assert uploads._held() == 0


def test_an_upload_that_pauses_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "MOST_SECONDS", 0.1)
    asyncio.run(check_pauses(data_files.Uploads(tmp_path, 100)))


def test_planted_bug_an_upload_may_take_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "MOST_SECONDS", 1000)
    with pytest.raises(TimeoutError):
        asyncio.run(check_pauses(data_files.Uploads(tmp_path, 100), 0.5))


def test_uploads_at_the_same_time_keep_to_the_quota(tmp_path: Path) -> None:
    check_quota(tmp_path)


def test_planted_bug_each_upload_counts_itself_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def alone(self: data_files.Uploads, file: Any, part: bytes) -> None:
        if file.tell() + len(part) > 100:
            raise BodyTooLarge(100)
        file.write(part)

    monkeypatch.setattr(data_files.Uploads, "_write", alone)
    with pytest.raises(AssertionError, match="keep to the quota"):
        check_quota(tmp_path)
