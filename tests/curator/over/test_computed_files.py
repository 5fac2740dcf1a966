"""What was computed from answers, as it is kept."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from dither.curator.over.computed_files import Computed, ComputedFiles, computed_key
from dither.sql.over.over_columns import OverColumn

OLD = Path(__file__).parents[2] / "records" / "fixtures" / "computed1.bin"
TABLE = pa.table({"k": ["a", None], "n": [1, -2], "terms": [[{"cell": 0, "factor": 1.0}], None]})
MADE = Computed(TABLE, (OverColumn("k", False), OverColumn("n", True, True)), False, 0)


def same(one: Computed | None, other: Computed) -> bool:
    return one is not None and one.table.equals(other.table) and vars(one) | {"table": 0} == vars(other) | {"table": 0}


def test_the_first_that_is_kept_stays(tmp_path: Path) -> None:
    files = ComputedFiles(tmp_path / "computed", "alice", 10**6)
    assert files.find("key") is None
    assert same(files.keep("key", MADE), MADE)
    later = Computed(TABLE.slice(1), MADE.columns, True, None)
    assert same(files.keep("key", later), MADE)
    assert ComputedFiles(tmp_path / "computed", None, 10**6).find("key") is None


def test_without_room_nothing_is_kept(tmp_path: Path) -> None:
    files = ComputedFiles(tmp_path / "computed", None, len(MADE.to_bytes()) - 1)
    assert same(files.keep("key", MADE), MADE)
    assert files.find("key") is None


def test_keys_differ_by_all_that_was_seen() -> None:
    given = [("a", [b"1"], {"x": "1"}), ("b", [b"1"], {"x": "1"}), ("a", [b"2"], {"x": "1"}), ("a", [b"1"], {"x": "2"})]
    assert len({computed_key(*one) for one in given}) == len(given)
    assert computed_key("a", [b"1"], {"x": "1"}) == "d4787f5face9af3730d7bf01472c46bc02b69488533c08afd849a438a7e40c56"


def test_a_file_of_the_first_version_is_read() -> None:
    assert same(Computed.from_bytes(OLD.read_bytes()), MADE)
