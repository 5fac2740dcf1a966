"""A small clinic on disk, and a way to call the command line as a user does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dither.cli.main import main


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str


Call = Callable[..., Done]


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Run a command in an empty folder; usage errors, which argparse raises, count as exit codes."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Done:
        capsys.readouterr()
        try:
            code = main(arguments)
        except SystemExit as exit_:
            code = int(exit_.code or 0)
        captured = capsys.readouterr()
        return Done(code, captured.out, captured.err)

    return run


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    """Ten visits of each of 200 patients; one without owner, some ages out of bounds, one unknown region."""
    owners: list[int | None] = [number // 10 for number in range(2000)]
    ages = [20 + number % 60 for number in range(2000)]
    regions = [("north", "south")[number % 2] for number in range(2000)]
    owners.append(None)
    ages.append(50)
    regions.append("north")
    ages[:3], regions[5] = [200, -5, 130], "atlantis"
    table = pa.table({"patient_id": owners, "age": ages, "region": regions, "fee": [1.25] * 2001})
    pq.write_table(table, tmp_path / "visits.parquet")
    return tmp_path / "visits.parquet"


REGISTER = (
    *("register", "clinic", "visits", "visits.parquet", "--people", "patients", "--owner", "patient_id"),
    *("--max-rows-per-owner", "8", "--column", "age=int:0:105", "--column", "region=category:north,south"),
    *("--column", "fee=fixed:0:100:2"),
)


@pytest.fixture
def register() -> tuple[str, ...]:
    return REGISTER


@pytest.fixture
def clinic(call: Call, raw: Path) -> Call:
    """A registered clinic under an approximate budget."""
    assert call("init", "clinic", "--people", "patients", "--epsilon", "4", "--delta", "1e-6").code == 0
    assert call(*REGISTER).code == 0
    return call
