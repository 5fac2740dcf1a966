"""Threat 57: one record of a CSV file, whatever it holds, changes the rows of its own owner and nobody else's.

Files span many pieces of the reader; the record stands in the middle, and holds lines that look like other records.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from dither.engines.duckdb.snapshots import loading
from dither.engines.duckdb.sources import csv_files, sources
from dither.engines.duckdb.sources.files import File
from dither.engines.duckdb.sources.sources import Source
from dither.engines.duckdb.sources.tally import Tally
from dither.policy.columns import Int, Text

COLUMNS = {"age": Int(0, 120), "note": Text()}
HOSTILE = b"zz"
FORGED = [b"%d,7,forged" % k for k in range(900_000, 1_000_000)]


def people(count: int) -> list[bytes]:
    return [b'%d,%d,"note, %d"' % (k, k % 120, k) if k % 3 else b"%d,%d,n" % (k, k % 120) for k in range(count)]


def different(first: Any, second: Any) -> tuple[int, int]:
    """How many rows of others the one snapshot has and the other has not."""
    for loaded in (first, second):
        loaded.engine.close()
    with duckdb.connect() as connection:
        for name, loaded in (("a", first), ("b", second)):
            connection.execute(f"ATTACH '{loaded.path}' AS {name} (READ_ONLY)").fetchall()
        counts = [
            connection.execute(
                f"SELECT COUNT(*) FROM (FROM {one}.rows WHERE _owner <> 'zz' EXCEPT ALL FROM {other}.rows)"
            ).fetchall()[0][0]
            for one, other in (("a", "b"), ("b", "a"))
        ]
        return counts[0], counts[1]


def check_one_record(load: Any, folder: Path, lines: list[bytes], record: bytes, ending: bytes = b"\n") -> Any:
    """The others' rows are the same with the record and without it."""
    path, middle, loads = folder / "people.csv", len(lines) // 2, []
    for taken in ([*lines[:middle], record, *lines[middle:]], lines):
        path.write_bytes(ending.join([b"id,age,note", *taken]) + ending)
        loads.append(load(path, COLUMNS, threads=4))
    assert different(*loads) == (0, 0), "others have other rows"
    assert loads[1].report.rows == len(lines)
    return loads[0]


RECORDS: dict[str, tuple[bytes, int]] = {  # and the number of rows that it gives to its owner
    "forged lines": (b'zz,1,"' + b"\n".join(FORGED[:5000]) + b'"', 1),
    "forged lines that end otherwise": (b'zz,1,"' + b"\r\n\r".join(FORGED[:5000]) + b'"', 1),
    "forged lines with quotation marks": (b'zz,1,"' + b'\n""9"",""7"",""x""\n'.join(FORGED[:5000]) + b'"', 1),
    "nothing but quotation marks": (b'zz,1,"' + b'""' * 200_000 + b'"', 1),
    "nothing but line feeds": (b'zz,1,"' + b"\n" * 200_000 + b'"', 1),
    "quoted fields that look empty": (b'zz,1,"' + b'"",' * 70_000 + b'"', 1),
    "too many fields": (b"zz,1," + b"x," * 100_000, 0),
    "too few fields": (b"zz,1", 0),
    "longer than a record may be": (b'zz,1,"' + b"\n".join(FORGED[:60_000]) + b'"', 0),
    "quotation marks inside": (b'zz,1,5" pipe, not "closed', 0),
    "a quotation mark at the end": (b'zz,1,x"', 1),
    "NUL": (b"zz,1,\x00\x00", 1),
    "NUL around the owner": (b"zz\x00,1,x", 1),
    "a byte order mark": (b"\xef\xbb\xbfzz,1,x", 1),
    "not UTF-8": (b"zz,\xff,\xe2\x82", 1),
    "the end of a letter is missing": (b"zz,1,\xf0\x9f\x98", 1),
    "other line separators": ("zz,1,a\u2028b\u2029c\x0bd\x0ce\x1cf\x1dg\x1eh\x85i".encode(), 1),
    "the mark itself": ("zz,1,\ufdd0".encode(), 1),
    "no owner": (b',1,"x\n1,2,3"', 0),
    "empty lines": (b"\n" * 10_000, 0),
}


@pytest.mark.parametrize(
    ("name", "ending"), [*((name, b"\n") for name in RECORDS), *((name, b"\r\n") for name in list(RECORDS)[:3])]
)
def test_a_hostile_record_changes_its_own_rows_only(
    load: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, ending: bytes
) -> None:
    monkeypatch.setattr(csv_files, "_CHUNK", 1 << 15)
    monkeypatch.setattr(csv_files, "LONGEST", 1 << 19)
    record, rows = RECORDS[name]
    loaded = check_one_record(load, tmp_path, people(6000), record, ending)
    others = [row for row in loaded.rows('"_owner"') if not row[0].isdigit()]
    assert len(others) == rows


def big(load: Any, folder: Path) -> Any:
    """A field of some 2 MB in a file of 700,000 records: a reader that starts in its middle finds records there."""
    return check_one_record(load, folder, people(700_000), b'zz,1,"' + b"\n".join(FORGED) + b'"')


def test_a_quoted_field_of_two_megabytes(load: Any, tmp_path: Path) -> None:
    assert big(load, tmp_path).report.owners == 700_001


def starting_anywhere(connection: Any, found: list[File], wanted: Any, delimiter: str | None = None) -> Source:
    """The planted reader, which splits a file into parts that it reads at the same time."""
    names = sources._header(found, delimiter)
    columns = ", ".join(f"'{name}': 'VARCHAR'" for name in names)
    dialect = "header=true, auto_detect=false, delim=',', quote='\"', escape='\"', nullstr='', store_rejects=true"
    paths = [file.name for file in found]
    connection.execute(
        f"CREATE TEMP TABLE readahead AS FROM read_csv({paths}, columns={{{columns}}}, {dialect})"
    ).fetchall()
    records = csv_files.Records(found, names, ",")
    for _ in records.reader([0]):  # our own count of records, quotation marks tracked
        pass
    return Source("readahead", dict.fromkeys(names, "VARCHAR"), {n: n for n in names}, records.tally, frozenset(names))


def test_planted_bug_a_reader_that_starts_in_the_middle_is_seen_by_the_count(
    load: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "_csv", starting_anywhere)
    with pytest.raises(Exception, match="not every record of the source arrived"):
        big(load, tmp_path)


def test_planted_bug_the_count_is_not_compared(load: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def believing(*args: Any) -> Source:
        source = starting_anywhere(*args)
        (count,) = args[0].execute("SELECT COUNT(*) FROM readahead").fetchall()[0]
        object.__setattr__(source, "tally", Tally(records=count, complete=True))
        return source

    monkeypatch.setattr(sources, "_csv", believing)
    with pytest.raises(AssertionError, match="others have other rows"):
        big(load, tmp_path)


def test_planted_bug_records_that_do_not_arrive(load: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that loses a record is refused, whatever the source."""
    sanitised: Callable[..., str] = loading.Loading.sanitised
    monkeypatch.setattr(
        loading.Loading, "sanitised", lambda self, source, owner="": f"{sanitised(self, source, owner)} LIMIT 5999"
    )
    with pytest.raises(Exception, match="not every record of the source arrived"):
        check_one_record(load, tmp_path, people(6000), b"zz,1,x")
