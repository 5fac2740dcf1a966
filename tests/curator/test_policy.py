"""Declarations on disk: whole or refused, private, replaced at once."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import dither as dt
from dither.errors import DitherError, PolicyError
from dither.policy.catalog import Table
from dither.policy.store import Policy, PolicyFile

COLUMNS = {
    "a": dt.Int(-5, 5),
    "b": dt.Fixed("-1.5", "2.25", decimals=2, nullable=False, default="0.5"),
    "c": dt.Category(["ä", "b"], nullable=False, default="b"),
    "d": dt.Date("2024-01-01", "2024-02-01"),
    "e": dt.Timestamp("2024-01-01", "2024-02-01T12:00:00+02:00"),
    "f": dt.Bool(),
    "g": dt.Text(max_length=7),
}
TABLE = Table("t", "people", "owner", 3, COLUMNS, snapshot=4)


@pytest.fixture
def file(tmp_path: Path) -> PolicyFile:
    return PolicyFile(tmp_path)


def test_what_is_written_is_read(file: PolicyFile, tmp_path: Path) -> None:
    assert file.read() == Policy({})
    file.write(Policy({"t": TABLE}, last_snapshot=4))
    assert PolicyFile(tmp_path).read() == Policy({"t": TABLE}, 4)
    assert PolicyFile(tmp_path).catalog().table("T") == TABLE
    assert (tmp_path / "policy.json").stat().st_mode & 0o777 == 0o600


def test_another_processs_change_is_seen(file: PolicyFile, tmp_path: Path) -> None:
    file.write(Policy({"t": TABLE}, 4))
    assert file.read().tables
    other = PolicyFile(tmp_path)
    with other.locked():
        other.write(other.read().without_table("t"))
    assert file.read() == Policy({}, 4)


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "{}", '{"format": 1}', '{"format": 1, "tables": 3, "last_snapshot": 1}']
)
def test_a_damaged_file_is_refused(file: PolicyFile, tmp_path: Path, content: str) -> None:
    (tmp_path / "policy.json").write_text(content)
    with pytest.raises(PolicyError, match="damaged"):
        file.read()


def test_another_format_is_refused(file: PolicyFile, tmp_path: Path) -> None:
    (tmp_path / "policy.json").write_text(json.dumps({"format": 6, "tables": {}, "last_snapshot": 0}))
    with pytest.raises(PolicyError, match="format 6; this dither reads formats up to 5"):
        file.read()


@pytest.mark.parametrize(
    ("old", "new"), [('"upper": 5', '"upper": 4'), ('"owner": "owner"', '"owner": "a"'), ("7", "8")]
)
def test_an_edited_declaration_is_refused(file: PolicyFile, tmp_path: Path, old: str, new: str) -> None:
    file.write(Policy({"t": TABLE}, 4))
    path = tmp_path / "policy.json"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(PolicyError, match="edited after its data were loaded"):
        file.read()


def test_layout_may_change(file: PolicyFile, tmp_path: Path) -> None:
    file.write(Policy({"t": TABLE}, 4))
    path = tmp_path / "policy.json"
    path.write_text(json.dumps(json.loads(path.read_text()), indent=7, sort_keys=True))
    assert file.read() == Policy({"t": TABLE}, 4)


def test_a_write_that_fails_changes_nothing(file: PolicyFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write(Policy({"t": TABLE}, 4))

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DitherError, match="No space"):
        file.write(Policy({}, 5))
    assert PolicyFile(tmp_path).read() == Policy({"t": TABLE}, 4)
