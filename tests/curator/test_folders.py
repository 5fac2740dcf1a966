"""A curator's folder is made only where somebody means it, and a mistyped name is said."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

import dither as dt


def test_a_new_folder_is_made_and_said(tmp_path: Path) -> None:
    with pytest.warns(dt.FolderMade, match=r"no curator in .*typo, so a new one was made.*create=False refuses"):
        dt.Curator.open(tmp_path / "typo").close()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dt.Curator.open(tmp_path / "typo").close()
        dt.Curator.open(tmp_path / "meant", create=True).close()


def test_a_folder_that_is_not_there_is_refused_as_on_the_command_line(tmp_path: Path) -> None:
    with pytest.raises(dt.LedgerError, match="there is no folder"):
        dt.Curator.open(tmp_path / "typo", create=False)
    assert not (tmp_path / "typo").exists()


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("mine")
    for create in (None, True, False):
        with pytest.raises(dt.PolicyError, match="is not empty and holds no ledger"):
            dt.Curator.open(tmp_path, create=create)
