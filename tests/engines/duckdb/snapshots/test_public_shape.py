"""The shape of a public snapshot is what its rows have, counted by brute force."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dither as dt
from dither.engines.duckdb.engine import DuckDBEngine
from dither.engines.duckdb.snapshots import public_shape
from dither.policy.catalog import PublicTable
from dither.policy.shape import Shape, shape_from

COLUMNS: dict[str, Any] = {
    "key": dt.Int(0, 99),
    "low": dt.Int(0, 12),
    "high": dt.Int(0, 12),
    "price": dt.Fixed(0, 9, decimals=1),
    "kind": dt.Category(["a", "b"]),
}
TABLE = PublicTable("ranges", COLUMNS, ("key",), 1)


def drawn(seed: int) -> list[dict[str, Any]]:
    draw = random.Random(seed)
    numbers = [None, *range(13)]
    return [
        {"key": key, "low": draw.choice(numbers), "high": draw.choice(numbers), "price": 1.5, "kind": draw.choice("ab")}
        for key in range(draw.randint(1, 25))
    ]


def shape(folder: Path, rows: list[dict[str, Any]]) -> Shape:
    engine = DuckDBEngine(folder)
    try:
        engine.load(TABLE, pa.Table.from_pylist(rows))
        return engine.shape(TABLE)
    finally:
        engine.close()


def check_shape(found: Shape, rows: list[dict[str, Any]]) -> None:
    assert found.rows == len(rows)
    for name in COLUMNS:
        assert found.alike[name] == max(Counter(row[name] for row in rows).values())
    whole = ("key", "low", "high")
    assert set(found.around) == {(a, b) for a in whole for b in whole if a != b}, "numbers in the same units alone"
    for (a, b), (closed, open_) in found.around.items():
        ranges = [(row[a], row[b]) for row in rows if row[a] is not None and row[b] is not None]
        points = range(-1, 101)
        assert closed == max(sum(low <= p <= high for low, high in ranges) for p in points)
        assert open_ == max(sum(low <= p < high for low, high in ranges) for p in points)
        assert open_ == max(sum(low < p <= high for low, high in ranges) for p in points)


@pytest.mark.parametrize("seed", range(4))
def test_shapes(tmp_path: Path, seed: int) -> None:
    rows = drawn(seed)
    found = shape(tmp_path, rows)
    check_shape(found, rows)
    assert shape_from(found.declaration()) == found


def test_planted_ranges_that_touch_are_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sound = public_shape._swept
    monkeypatch.setattr(public_shape, "_swept", lambda a, b, *, closed: sound(a, b, closed=False))
    rows: list[dict[str, Any]] = [
        {"key": low, "low": low, "high": low + 1, "price": 1.5, "kind": "a"} for low in (1, 2)
    ]
    with pytest.raises(AssertionError):
        check_shape(shape(tmp_path, rows), rows)


def test_what_was_never_counted_is_not_known() -> None:
    assert shape_from({}) == Shape()
