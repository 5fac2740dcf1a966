"""What is stored of each table, as the curator sees it."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

import dither as dt


def test_what_is_stored(tmp_path: Path) -> None:
    with dt.Curator.open(tmp_path / "clinic") as curator:
        assert curator.snapshots() == []
        curator.people("patients", budget=dt.PureDP(4))
        rows = pa.table({"pid": range(50), "age": range(50)})
        for name in ("visits", "stays"):
            columns = {"age": dt.Int(0, 120)}
            curator.register(name, rows, people="patients", owner="pid", max_rows_per_owner=1, columns=columns)
        curator.register_public("ages", rows, key="pid", columns={"pid": dt.Int(0, 99)})
        curator.refresh("visits", rows)
        (folder,) = {path.parent for path in (tmp_path / "clinic").rglob("stays-*")}
        (lost,) = folder.glob("stays-*")
        lost.unlink()
        visits, stays, ages = curator.snapshots()
        (file,) = folder.glob("visits-*")
    assert (visits.table, visits.people, visits.number, visits.engine) == ("visits", "patients", 4, "duckdb")
    assert (visits.there, visits.bytes, visits.since) == (True, file.stat().st_size, int(file.stat().st_mtime))
    assert (stays.there, stays.bytes, stays.since) == (False, None, None)
    assert (ages.people, ages.there) == (None, True)
