"""Opening the curator's folder: made once, also if that was cut short, and never begun a second time."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import dither as dt
from dither.errors import LedgerCorrupt


@pytest.mark.parametrize("left", ["policy.json", "snapshots"])
def test_a_folder_whose_ledger_is_emptied_gives_no_budget_again(
    tmp_path: Path, visits: Any, declared: Any, left: str
) -> None:
    """Also where its anchor is elsewhere and not named: a policy or snapshots tell that there was one."""
    folder, anchor = tmp_path / "used", tmp_path / "anchor"
    with dt.Curator.open(folder, anchor=anchor) as curator:
        curator.people("patients", budget=dt.PureDP(1))
        curator.register("visits", visits(), people="patients", **declared)
        curator.sql("SELECT COUNT(*) FROM visits", epsilon="0.9")
    for path in folder.iterdir():
        if path.name not in (left, "ledger.key"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    (folder / "ledger.sqlite").touch(0o600)
    with pytest.raises(LedgerCorrupt, match="but the folder was used"):
        dt.Curator.open(folder)


def test_a_curator_whose_making_was_cut_short_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def power_cut(*_: object) -> None:
        raise OSError("power")

    for step in ("_begin", "open"):
        with monkeypatch.context() as patch:
            patch.setattr(f"dither.ledger.journal.Journal.{step}", power_cut)
            with pytest.raises(OSError, match="power"):
                dt.Curator.open(tmp_path / "clinic")
    with dt.Curator.open(tmp_path / "clinic") as curator:
        curator.people("patients", budget=dt.PureDP(1))
