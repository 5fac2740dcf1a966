"""The demonstration replaces what it made itself and touches nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from dither.demo.folder import prepare
from dither.errors import PolicyError


def test_a_new_or_empty_folder_is_taken(tmp_path: Path) -> None:
    assert prepare(tmp_path / "new" / "demo") is False
    assert prepare(tmp_path / "new" / "demo") is True


def test_running_again_removes_only_its_own(tmp_path: Path) -> None:
    prepare(tmp_path / "demo")
    (tmp_path / "demo" / "clinic").mkdir()
    (tmp_path / "demo" / "clinic" / "ledger.sqlite").touch()
    (tmp_path / "demo" / "visits.parquet").touch()
    (tmp_path / "demo" / "mine.txt").touch()
    assert prepare(tmp_path / "demo") is True
    assert sorted(path.name for path in (tmp_path / "demo").iterdir()) == ["made-by-dither-demo.txt", "mine.txt"]


def test_a_link_left_in_its_place_is_unlinked_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").touch()
    prepare(tmp_path / "demo")
    (tmp_path / "demo" / "clinic").symlink_to(tmp_path / "precious")
    prepare(tmp_path / "demo")
    assert (tmp_path / "precious" / "file").exists()
    assert not (tmp_path / "demo" / "clinic").exists()


def test_a_foreign_folder_file_or_link_is_refused_untouched(tmp_path: Path) -> None:
    foreign = tmp_path / "foreign"
    (foreign / "clinic").mkdir(parents=True)
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(foreign)
    for path, reason in (
        (foreign, "left alone"),
        (tmp_path / "file", "plain folder"),
        (tmp_path / "link", "plain folder"),
    ):
        with pytest.raises(PolicyError, match=reason):
            prepare(path)
    assert [path.name for path in foreign.iterdir()] == ["clinic"]
