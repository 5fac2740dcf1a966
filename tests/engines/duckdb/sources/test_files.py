"""Threat 69: the files that a load found are those that it reads, from their beginning to their end as they were."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dither.engines.duckdb.sources import csv_files, parquet, sources
from dither.engines.duckdb.sources.files import File, expand
from dither.errors import PolicyError
from dither.policy.columns import Int, Text

COLUMNS = {"x": Int(0, 9)}
MINE, THEIRS = pa.table({"id": range(4), "x": [1] * 4}), pa.table({"id": range(4), "x": [9] * 4})


def write(path: Path, table: Any) -> None:
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    else:
        path.write_text("id,x\n" + "".join(f"{row['id']},{row['x']}\n" for row in table.to_pylist()))


def by_link(path: Path) -> None:
    """Somebody puts a link in its place, which leads out of the folder."""
    write(path.parent.parent / path.name, THEIRS)
    path.unlink()
    os.symlink(path.parent.parent / path.name, path)


def by_file(path: Path) -> None:
    write(path.with_name("new" + path.suffix), THEIRS)
    os.replace(path.with_name("new" + path.suffix), path)


def by_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def by_growth(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"7,9\n")


def by_cutting(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 4)


CHANGES: dict[str, Callable[[Path], None]] = {
    "a link": by_link, "another file": by_file, "a pipe": by_pipe, "growth": by_growth, "a cut": by_cutting,
}  # fmt: skip


def check_change(load: Any, folder: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, change: str) -> None:
    """It happens after the files were listed, and their columns were seen."""
    data = folder / "data"
    data.mkdir()
    path = data / f"a{suffix}"
    write(path, MINE)
    seen = {".csv": (sources, "_header"), ".parquet": (sources, "parts")}[suffix]
    known = getattr(*seen)

    def then(*given: Any) -> Any:
        found = known(*given)
        CHANGES[change](path)
        return found

    monkeypatch.setattr(*seen, then)
    with pytest.raises(PolicyError, match="was changed while it was read"):
        load(str(data / f"*{suffix}"), COLUMNS)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("change", CHANGES)
def test_what_takes_the_place_of_a_file_is_not_read(
    load: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, change: str
) -> None:
    check_change(load, tmp_path, monkeypatch, suffix, change)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_planted_bug_whatever_is_there_is_read(
    load: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    monkeypatch.setattr(File, "_check", lambda self, descriptor: None)
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        check_change(load, tmp_path, monkeypatch, suffix, "a link")


def check_growth(load: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is written to between two pieces of it."""
    path = folder / "a.csv"
    path.write_text("id,x\n" + "".join(f"{k},1\n" for k in range(1000)))
    read = csv_files.read
    monkeypatch.setattr(csv_files, "_CHUNK", 1 << 10)

    def grown(file: File) -> Iterator[bytes]:
        for place, piece in enumerate(read(file)):
            if place == 3:
                by_growth(path)
            yield piece

    monkeypatch.setattr(csv_files, "read", grown)
    with pytest.raises(PolicyError, match="was changed while it was read"):
        load(path, COLUMNS)


def test_a_file_that_grows_while_it_is_read(load: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_growth(load, tmp_path, monkeypatch)


def test_planted_bug_no_look_at_the_end(load: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(File, "_check", lambda self, descriptor: None)
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        check_growth(load, tmp_path, monkeypatch)


def test_pipes_loops_and_broken_links_are_no_files(load: Any, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    os.symlink("loop.csv", tmp_path / "loop.csv")
    os.symlink("nowhere.csv", tmp_path / "broken.csv")
    for name in ("pipe.csv", "loop.csv", "broken.csv", "p*.csv", "l*.csv", "b*.csv"):
        with pytest.raises(PolicyError, match="there is no file"):
            load(str(tmp_path / name), COLUMNS)


def test_a_folder_that_links_to_itself(tmp_path: Path) -> None:
    """A file is found once, however many ways lead to it, unless the curator's pattern names several of them."""
    write(tmp_path / "a.parquet", MINE)
    os.symlink(tmp_path, tmp_path / "again")
    assert [file.name for file in expand(str(tmp_path))] == [str((tmp_path / "a.parquet").resolve())]


def test_damage_in_one_row_group(load: Any, tmp_path: Path) -> None:
    """The file is refused as a whole; a byte that no value depends on may differ."""
    path = tmp_path / "a.parquet"
    table = pa.table({"id": range(40), "x": [5] * 40})
    pq.write_table(table, path, row_group_size=10, write_page_checksum=True, use_dictionary=False)
    expected = sorted(load(path, COLUMNS).rows())
    whole, refused = path.read_bytes(), 0
    group = pq.read_metadata(path).row_group(3).column(0)
    for place in range(group.data_page_offset, group.data_page_offset + group.total_compressed_size, 5):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        try:
            assert sorted(load(path, COLUMNS).rows()) == expected
        except PolicyError:
            refused += 1
    assert refused >= 8, "the values of ten records take that many steps"


def test_columns_and_statistics_of_a_footer(load: Any, tmp_path: Path) -> None:
    """The stored Arrow schema alone is passed over: columns may have its name, values and statistics may hold it."""
    name = parquet._ARROW.decode()
    path = tmp_path / "a.parquet"
    texts = [name, name + parquet._VALUE.decode(), "a", "b"]
    pq.write_table(pa.table({"id": range(4), name: pa.array(texts).dictionary_encode()}), path)
    loaded = load(path, {"t": Text(source=name)})
    assert sorted(loaded.rows("t")) == sorted((text,) for text in texts)


def test_statistics_that_lie_change_nothing(load: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"id": range(40), "x": [5] * 40}), path, row_group_size=10, compression="none")
    expected = sorted(load(path, COLUMNS).rows())
    whole = path.read_bytes()
    start = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    five, nine = (number.to_bytes(8, "little") for number in (5, 9))
    assert whole[start:].count(five) >= 8, "the least and the most of each row group"
    path.write_bytes(whole[:start] + whole[start:].replace(five, nine))
    assert sorted(load(path, COLUMNS).rows()) == expected
