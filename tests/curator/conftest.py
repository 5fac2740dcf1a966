from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dither as dt

COLUMNS = {
    "age": dt.Int(0, 120),
    "paid": dt.Fixed(0, 100, decimals=2),
    "region": dt.Category(["north", "south"]),
    "ward": dt.Int(1, 3, nullable=False, default=1),
    "seen": dt.Date("2024-01-01", "2024-01-03"),
    "urgent": dt.Bool(),
    "remark": dt.Text(),
}


def make_visits(patients: int = 30, *, older: int = 0) -> pa.Table:
    rows = [
        {
            "patient": patient,
            "age": 20 + patient + older,
            "paid": patient + 0.25,
            "region": ["north", "south", None][patient % 3],
            "ward": patient % 3 + 1,
            "seen": "2024-01-02",
            "urgent": patient % 2 == 0,
            "remark": f"remark {patient}",
        }
        for patient in range(patients)
    ]
    return pa.Table.from_pylist(rows)


@pytest.fixture
def visits() -> Callable[..., pa.Table]:
    return make_visits


@pytest.fixture
def declared() -> dict[str, Any]:
    """What the table of visits declares."""
    return {"owner": "patient", "max_rows_per_owner": 2, "columns": dict(COLUMNS)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "clinic"


@pytest.fixture
def make(folder: Path, declared: dict[str, Any]) -> Iterator[Callable[..., dt.Curator]]:
    """A clinic with people, a budget and the table `visits`."""
    opened: list[dt.Curator] = []

    def make(budget: Any = None, source: Any = None, *, oversubscribe: bool = False, **changed: Any) -> dt.Curator:
        curator = dt.Curator.open(folder)
        opened.append(curator)
        curator.people("patients", budget=budget or dt.PureDP(4), oversubscribe=oversubscribe)
        data = make_visits() if source is None else source
        curator.register("visits", data, people="patients", **declared | changed)
        return curator

    yield make
    for curator in opened:
        curator.close()


@pytest.fixture
def clinic(make: Callable[..., dt.Curator]) -> dt.Curator:
    return make()


@pytest.fixture
def killed() -> Callable[[Callable[[], object]], None]:
    """Run a function in a process of its own that must end by kill -9."""

    def run(function: Callable[[], object]) -> None:
        child = os.fork()
        if not child:
            try:
                function()
            finally:
                os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL

    return run
