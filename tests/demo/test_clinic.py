"""The synthetic clinic: the same every time, whatever the size, and within its own declarations."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from dither.demo.clinic import COLUMNS, MOST_VISITS, visits, write_visits
from dither.policy.columns import Category, Coded, Text


def test_a_patient_is_the_same_in_a_clinic_of_any_size() -> None:
    alone = visits(np.array([4217]))
    among = visits(np.arange(4000, 4300))
    mask = np.array(among.column("patient_id")) == 104217
    assert among.filter(mask).to_pylist() == alone.to_pylist()


def test_visits_are_the_same_on_every_machine() -> None:
    first = visits(np.array([0])).to_pylist()[0]
    assert {name: str(value) for name, value in first.items()} == {
        "patient_id": "100000",
        "age": "28",
        "region": "south",
        "postcode": "5177",
        "day": "2024-04-30",
        "department": "emergency",
        "diagnosis": "injury",
        "wait": "125",
        "fee": "193.20",
    }


def test_written_in_chunks_with_progress(tmp_path: Path) -> None:
    steps: list[float] = []
    rows = write_visits(tmp_path / "v.parquet", 12_000, lambda _, fraction: steps.append(fraction))
    table = pq.read_table(tmp_path / "v.parquet")
    assert len(table) == rows
    assert table.equals(visits(np.arange(12_000)).cast(table.schema))
    assert steps == sorted(steps)
    assert steps[-1] == 1


def test_every_value_fits_its_declaration() -> None:
    table = visits(np.arange(20_000))
    assert set(table.column_names) == {"patient_id", *COLUMNS}
    for name, column in COLUMNS.items():
        for value in set(table.column(name).to_pylist()):
            code = column.encode(value)
            assert isinstance(column, Text) or (isinstance(column, Coded) and column.low <= code <= column.high)
        if isinstance(column, Category):
            assert set(table.column(name).to_pylist()) == set(column.values)


def test_a_hundred_thousand_patients_make_about_a_million_visits() -> None:
    counts = np.unique(np.array(visits(np.arange(20_000)).column("patient_id")), return_counts=True)[1]
    assert len(counts) == 20_000
    assert 9.5 < counts.mean() < 10.5
    assert counts.max() == MOST_VISITS
