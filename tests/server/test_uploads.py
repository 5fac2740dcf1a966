"""Uploads: kept for the load that they are for, whatever other servers do, and gone afterwards."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import signal
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dither.server import bodies, data_files
from dither.server.data_files import room_for_uploads
from dither.server.problems import BodyLate, BodyTooLarge

PARQUET = "application/vnd.apache.parquet"
COLUMNS = {"x": {"kind": "int", "lower": 0, "upper": 10}}


def policy(source: str) -> dict[str, Any]:
    declared = {"source": source, "people": "patients", "owner": "pid", "max_rows_per_owner": 1}
    return {"policy": {"tables": {"more": {**declared, "columns": COLUMNS}}}}


def parquet(rows: int = 3) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"pid": range(rows), "x": [1] * rows}), sink)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def upload(served: Any, content: bytes, kind: str = PARQUET, who: str = "curator") -> Any:
    return served.call(who, "POST", "/v1/uploads", raw=content, content_type=kind)


def sent(served: Any) -> list[Path]:
    """All that is kept of what was sent."""
    return [path for path in (served.folder / "uploads").glob("*/*") if path.name != "lock"]


def place(folder: Path) -> Path:
    """A folder as each server has one."""
    return Path(tempfile.mkdtemp(dir=folder))


def test_an_upload_is_loaded_and_then_gone(own: Any) -> None:
    name = upload(own, parquet()).json["upload"]
    (kept,) = sent(own)
    assert kept.stat().st_mode & 0o077 == kept.parent.stat().st_mode & 0o077 == 0
    loaded = own.call("curator", "POST", "/v1/tables", policy(f"upload:{name}")).json["loaded"]["more"]
    assert loaded["rows"] == 3
    assert not sent(own)
    again = own.call("curator", "POST", "/v1/tables/more/refresh", {"source": f"upload:{name}"})
    assert (again.status, again.code) == (400, "policy_invalid")


def test_uploads_of_other_kinds_and_of_analysts_are_refused(served: Any) -> None:
    assert upload(served, parquet(), "application/x-duckdb").status == 400
    assert upload(served, parquet(), who="alice").status == 403


def test_a_damaged_upload_is_refused_without_its_content(own: Any) -> None:
    name = upload(own, b"PAR1" + b"canary" * 1000).json["upload"]
    reply = own.call("curator", "POST", "/v1/tables", policy(f"upload:{name}"))
    assert reply.status == 400
    assert b"canary" not in reply.body
    assert not sent(own)


async def _sent(size: int, parts: int) -> AsyncIterator[bytes]:
    for _ in range(parts):
        await asyncio.sleep(0)  # another upload has its turn
        yield bytes(size)


def check_quota(folder: Path) -> None:
    """Two at once, each of which would fit alone, by servers of their own."""
    several = [data_files.Uploads(place(folder), 100) for _ in range(2)]
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
    assert [path.name for path in folder.glob("*/*")] == kept


async def check_pauses(uploads: data_files.Uploads, most: float = 60) -> None:
    async def sent() -> AsyncIterator[bytes]:
        yield b"pid"
        await asyncio.sleep(1000)
        yield b",age"

    with pytest.raises(BodyLate, match="did not arrive in time"):
        await asyncio.wait_for(uploads.receive(sent(), ".csv"), most)
    assert uploads._held() == 0


def test_an_upload_that_pauses_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "MOST_SECONDS", 0.1)
    asyncio.run(check_pauses(data_files.Uploads(place(tmp_path), 100)))


def test_planted_bug_an_upload_may_take_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "MOST_SECONDS", 1000)
    with pytest.raises(TimeoutError):
        asyncio.run(check_pauses(data_files.Uploads(place(tmp_path), 100), 0.5))


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


def check_survival(folder: Path) -> None:
    """What one server was sent outlives the start and the end of another one."""
    with room_for_uploads(folder) as first:
        name = asyncio.run(data_files.Uploads(first, 100).receive(_sent(10, 2), ".csv"))
        with room_for_uploads(folder) as second:
            assert data_files.Uploads(second, 100).path(name).stat().st_size == 20
        assert (first / name).exists()
    assert not [*(folder / "uploads").iterdir()]


def test_another_server_leaves_what_was_sent(tmp_path: Path) -> None:
    check_survival(tmp_path)


def test_planted_bug_each_server_begins_with_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def remove_all(folder: Path) -> None:
        for path in folder.glob("*/*"):
            path.unlink()

    monkeypatch.setattr(data_files, "remove_abandoned", remove_all)
    with pytest.raises(data_files.PolicyError, match="no such upload"):
        check_survival(tmp_path)


def test_what_an_older_version_left_goes(tmp_path: Path) -> None:
    (tmp_path / "uploads").mkdir()
    (tmp_path / "uploads" / f"{'0' * 32}.csv").write_text("pid")
    with room_for_uploads(tmp_path) as room:
        assert [*(tmp_path / "uploads").iterdir()] == [room]


@contextmanager
def half_sent(served: Any, content: bytes) -> Any:
    """An upload of which one half is there; the other half comes at the end."""
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=120)
    connection.putrequest("POST", "/v1/uploads")
    for name, value in (
        ("Authorization", f"Bearer {served.tokens['curator']}"),
        ("Content-Type", PARQUET),
        ("Content-Length", str(len(content))),
    ):
        connection.putheader(name, value)
    connection.endheaders(content[: len(content) // 2])
    found: dict[str, Any] = {}
    yield found
    connection.send(content[len(content) // 2 :])
    reply = connection.getresponse()
    found["status"], found["body"] = reply.status, reply.read()
    connection.close()


def test_a_second_server_on_the_folder_and_one_that_was_killed(own: Any) -> None:
    """Uploads of the first are loaded by the second; what it leaves when it is killed goes with the next start."""
    whole, second = upload(own, parquet()).json["upload"], replace(own, port=0)
    try:
        with half_sent(own, parquet(5)) as found:
            second.start()
        assert found["status"] == 200
        for name, rows in ((whole, 3), (json_of(found)["upload"], 5)):
            loaded = second.call("curator", "POST", "/v1/tables", policy(f"upload:{name}"))
            assert loaded.json["loaded"]["more"]["rows"] == rows
            assert second.call("curator", "DELETE", "/v1/tables/more").status == 200
        upload(own, parquet())
        kill(own)
        assert len(sent(own)) == 1
    finally:
        second.stop()
    own.start()
    assert not sent(own)


def json_of(found: dict[str, Any]) -> Any:
    return json.loads(found["body"])


def kill(served: Any) -> None:
    """The server with all of its processes, at once."""
    process = served.process.pid
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    for one in (process, *map(int, children)):
        os.kill(one, signal.SIGKILL)
    served.process.communicate()
    for one in children:
        while Path(f"/proc/{one}").exists() and "Z" not in Path(f"/proc/{one}/stat").read_text().split()[2]:
            time.sleep(0.01)
