"""`max_rows`: declared like any other bound, and more rows are refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dither as dt
from dither.engines import protocol

Make = Callable[..., dt.Curator]
REGIONS = pa.table({"code": [1, 2, 3]})


def test_it_is_kept_and_shown(make: Make, folder: Path, visits: Any) -> None:
    clinic = make(max_rows=30)
    clinic.register_public("wards", REGIONS, columns={"code": dt.Int(1, 9)}, key="code", max_rows=3)
    with dt.Curator.open(folder) as again:
        shown = {table.name: table.max_rows for table in again.tables()}
        assert shown == {"visits": 30, "wards": 3}
        assert "visits: of patients, owner patient, at most 2 rows of each owner, at most 30 rows in all" in repr(
            again.tables()
        )


def test_nothing_is_declared_without_it(clinic: dt.Curator) -> None:
    assert [table.max_rows for table in clinic.tables()] == [None]
    assert "in all" not in repr(clinic.tables())


@pytest.mark.parametrize("rows", [0, -1, "30", 1.5, True, 2**36 + 1])
def test_it_is_a_whole_number(make: Make, rows: Any) -> None:
    with pytest.raises(dt.ParameterError, match="max_rows"):
        make(max_rows=rows)


def test_a_larger_source_is_refused_and_nothing_is_left(make: Make, folder: Path, visits: Any) -> None:
    with pytest.raises(
        dt.PolicyError, match=r"max_rows=29, and the source has more rows; nothing was stored"
    ) as raised:
        make(max_rows=29)
    assert "30" not in str(raised.value)
    assert not list((folder / "snapshots").glob("*.duckdb"))
    with dt.Curator.open(folder) as clinic:
        assert not clinic.tables()
        with pytest.raises(dt.PolicyError, match="max_rows=2"):
            clinic.register_public("wards", REGIONS, columns={"code": dt.Int(1, 9)}, key="code", max_rows=2)
        assert not clinic.tables()


def test_a_larger_refresh_is_refused_and_the_old_rows_stay(make: Make, folder: Path, visits: Any) -> None:
    clinic = make(dt.PureDP(4), visits(20), max_rows=20)
    before = [path.name for path in (folder / "snapshots").glob("*.duckdb")], clinic.tables()
    with pytest.raises(dt.PolicyError, match="max_rows=20"):
        clinic.refresh("visits", visits(21))
    assert ([path.name for path in (folder / "snapshots").glob("*.duckdb")], clinic.tables()) == before
    clinic.refresh("visits", visits(20))


def test_only_rows_that_are_stored_count(make: Make) -> None:
    source = pa.table({"patient": [1, 1, 2, None], "age": [5, 5, 5, 5]})
    clinic = make(dt.PureDP(4), source, columns={"age": dt.Int(0, 9)}, key="age", max_rows=2)
    assert clinic.tables()[0].max_rows == 2


def test_an_edited_number_is_refused(make: Make, folder: Path) -> None:
    clinic = make(max_rows=30)
    path = folder / "policy.json"
    content = json.loads(path.read_text())
    content["tables"]["visits"]["max_rows"] = 10
    path.write_text(json.dumps(content))
    with pytest.raises(dt.PolicyError, match="edited after its data were loaded"):
        clinic.tables()


def test_a_folder_of_the_format_before_opens(clinic: dt.Curator, folder: Path) -> None:
    from dither.policy.store import _checksum

    path = folder / "policy.json"
    content = json.loads(path.read_text())
    content["format"] = 2
    for name, declared in content["tables"].items():
        del declared["max_rows"], declared["checksum"]
        declared["checksum"] = _checksum(name, declared)
    path.write_text(json.dumps(content))
    assert [table.max_rows for table in clinic.tables()] == [None]


def test_planted_bug_rows_that_are_not_counted(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "most_rows", lambda table: 2**36)
    with pytest.raises(pytest.fail.Exception), pytest.raises(dt.PolicyError):
        make(max_rows=29)
