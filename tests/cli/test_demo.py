"""The demonstration, on a small clinic: its story is told in order, and it can be run again."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest


def test_the_story(call: Any, tmp_path: Path) -> None:
    done = call("demo", "--patients", "20000")
    assert (done.code, done.err) == (0, "")
    found = [
        line for line in done.out.splitlines() if re.match(r"What exact|The same clinic|Question|The budget|Try", line)
    ]
    assert [line.split(":")[0] for line in found] == [
        "What exact answers give away",
        "The same clinic behind dither",
        *(f"Question {number}" for number in range(1, 6)),
        "The budget",
        "Try next",
    ]
    assert "They differ by 1" in done.out
    assert done.out.count("price: epsilon") == 5
    assert done.out.count("±") > 15
    assert "one question may state at most epsilon" in done.out
    assert sorted(path.name for path in (tmp_path / "dither-demo").iterdir()) == [
        "clinic",
        "made-by-dither-demo.txt",
        "visits.parquet",
    ]
    # What it says to try next works from where it was run.
    commands = [line for line in done.out.splitlines() if re.match(r"  \S*dither ", line)]
    assert len(commands) == 4
    assert call("ledger", "verify", "dither-demo/clinic").code == 0

    again = call("demo", "--patients", "20000", "--progress")
    assert again.code == 0
    assert "replacing what an earlier demonstration left there" in again.out
    assert "making the clinic" in again.err


def test_a_foreign_folder_is_refused(call: Any, tmp_path: Path) -> None:
    (tmp_path / "dither-demo").mkdir()
    (tmp_path / "dither-demo" / "mine.txt").touch()
    done = call("demo")
    assert done.code == 2
    assert "--folder" in done.err
    assert [path.name for path in (tmp_path / "dither-demo").iterdir()] == ["mine.txt"]


@pytest.mark.parametrize("patients", ["0", "4999", "1000001"])
def test_sizes_without_a_story_are_refused(call: Any, patients: str, tmp_path: Path) -> None:
    done = call("demo", "--patients", patients)
    assert (done.code, "--patients" in done.err) == (2, True)
    assert list(tmp_path.iterdir()) == []
