"""However the lines of a CSV file end, its records are the same."""

from __future__ import annotations

import gzip
import itertools
import random
from pathlib import Path
from typing import Any

import pytest

from dither.columns import Int, Text
from dither.engines import newlines
from dither.engines.newlines import one_form
from dither.errors import PolicyError

ENDINGS = [b"\n", b"\r\n", b"\r"]
LINES = [b"id,age,note", b'1,5,"a\r\nb ""c"""', b'2,6,"x\n"', b'3,7,"\r"', b"4,8,"]
COLUMNS = {"age": Int(0, 120), "note": Text()}
WANTED = [("1", 5, 'a\r\nb "c"'), ("2", 6, "x\n"), ("3", 7, "\r"), ("4", 8, None)]


def written(endings: tuple[bytes, ...]) -> bytes:
    return b"".join(line + ending for line, ending in zip(LINES, endings, strict=True))


@pytest.mark.parametrize("number", range(40))
def test_mixed_endings_are_read(load: Any, tmp_path: Path, number: int) -> None:
    """One record's ending changes nothing about the others; a reader that settles on one drops or refuses some."""
    mixtures = list(itertools.product(ENDINGS, repeat=len(LINES)))
    for k, endings in enumerate(random.Random(number).sample(mixtures, 2)):
        path = tmp_path / f"lines{k}.csv"
        path.write_bytes(written(endings))
        loaded = load(path, COLUMNS, strict=True)
        assert sorted(loaded.rows('"_owner", "age", "note"')) == WANTED


def test_packed_files_and_patterns(load: Any, tmp_path: Path) -> None:
    with gzip.open(tmp_path / "a.csv.gz", "wb") as file:
        file.write(written((b"\n", b"\r\n", b"\r", b"\n", b"\n")))
    (tmp_path / "b.csv").write_bytes(written((b"\r\n",) * 5))
    loaded = load(str(tmp_path / "*.csv*"), COLUMNS)
    assert sorted(loaded.rows('"_owner", "age", "note"')) == sorted(WANTED * 2)
    assert [path.suffix for path in loaded.folder.iterdir() if path.suffix not in (".duckdb", ".key")] == []


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1 << 20])
def test_wherever_a_chunk_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(newlines, "_CHUNK", size)
    path, copy = tmp_path / "lines.csv", tmp_path / "copy.csv"
    for endings in itertools.product(ENDINGS, repeat=len(LINES)):
        path.write_bytes(written(endings))
        found, _ = one_form(str(path), copy)
        assert (found == str(path)) == (len(set(endings)) == 1)
        if found != str(path):
            assert copy.read_bytes() == written((b"\n",) * 5)
            assert copy.stat().st_mode & 0o777 == 0o600
            copy.unlink()


def test_a_packed_file_that_breaks_off_is_refused(load: Any, tmp_path: Path) -> None:
    whole = gzip.compress(b"id,age,note\n" + b"".join(b"%d,5,canary %d\n" % (k, k * k) for k in range(50_000)))
    (tmp_path / "a.csv.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(PolicyError, match="cannot be read to its end"):
        load(tmp_path / "a.csv.gz", COLUMNS)
