"""CSV is read one record at a time, wherever a piece of the file ends; the oracle is Python's own reader."""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import random
from pathlib import Path
from typing import Any

import pytest

from dither.engines.duckdb.snapshots.sanitising import NOT_TEXT
from dither.engines.duckdb.sources import csv_fields as fields
from dither.engines.duckdb.sources import csv_files
from dither.engines.duckdb.sources.csv_files import Records, header
from dither.engines.duckdb.sources.files import File
from dither.errors import PolicyError
from dither.policy.columns import Int, Text

NAMES = ["x", "y", "z"]
PIECES = [b'"', b'""', b",", b"\n", b"\r", b"\r\n", b"a", b"bc", b"\xff", b"\x00", "é".encode(), "€".encode()[:2]]
ENDINGS = [b"\n", b"\r\n", b"\r"]
LINES = [b"id,age,note", b'1,5,"a\r\nb ""c"""', b'2,6,"x\n"', b'3,7,"\r"', b"4,8,"]
COLUMNS = {"age": Int(0, 120), "note": Text()}
WANTED = [("1", 5, 'a\r\nb "c"'), ("2", 6, "x\n"), ("3", 7, "\r"), ("4", 8, None)]


def found(path: Path) -> tuple[Any, ...]:
    """What our reader makes of it: whether quotation marks pair, and if so the records and how many lines are none."""
    records = Records([File.at(str(path))], NAMES, ",")
    rows = [tuple(row.values()) for row in records.reader([0, 1, 2]).read_all().to_pylist()]
    tally = records.tally
    assert tally.records == len(rows)
    assert tally.complete
    return ("torn",) if tally.torn else ("read", rows, tally.unreadable)


def expected(content: bytes) -> tuple[Any, ...]:
    """The same by Python's reader, on text in which each byte that is not UTF-8 has become a mark."""
    text = content.decode("utf-8", "surrogateescape")
    marked = "".join(NOT_TEXT if "\udc80" <= letter <= "\udcff" else letter for letter in text)
    try:
        rows = list(csv.reader(io.StringIO(marked, newline=""), strict=True))[1:]
    except csv.Error:
        return ("torn",)
    records = [tuple(value or None for value in row) for row in rows if len(row) == len(NAMES)]
    return "read", records, sum(len(row) not in (0, len(NAMES)) for row in rows)


def written(random_: random.Random) -> bytes:
    """Any bytes, or what a proper writer makes of any values."""
    if random_.random() < 0.6:
        return b"".join(random_.choices(PIECES, k=random_.randrange(25)))
    rows = [
        ["".join(random_.choices('",\n\raé', k=random_.randrange(5))) for _ in range(random_.choice([2, 3, 3, 3, 3]))]
        for _ in range(random_.randrange(6))
    ]
    file = io.StringIO()
    quoting = random_.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
    csv.writer(file, quoting=quoting, lineterminator=random_.choice(["\n", "\r", "\r\n"])).writerows(rows)
    return file.getvalue().encode()


def check_against_python(path: Path, count: int, seed: int) -> None:
    random_, kinds = random.Random(seed), set()
    for _ in range(count):
        content = b"x,y,z" + random_.choice(ENDINGS) + written(random_)
        path.write_bytes(content)
        wanted = expected(content)
        assert found(path) == wanted, content
        kinds.add(wanted[0])
    assert kinds == {"torn", "read"}


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1 << 22])
def test_any_bytes_are_read_as_python_reads_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(csv_files, "_CHUNK", size)
    check_against_python(tmp_path / "any.csv", 500, size)


def test_planted_bug_every_quotation_mark_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fields, "_paired", lambda marks, at: True)
    with pytest.raises(AssertionError):
        check_against_python(tmp_path / "any.csv", 500, 1)


def test_planted_bug_a_carriage_return_at_the_end_of_a_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a file of one column, the line feed after it would be a record."""
    monkeypatch.setattr(csv_files, "_CHUNK", 4)
    (tmp_path / "a.csv").write_bytes(b"x\r\n12\r\n3\r\n")
    records = Records([File.at(str(tmp_path / "a.csv"))], ["x"], ",")
    assert records.reader([0]).read_all().to_pydict() == {"c0": ["12", "3"]}
    monkeypatch.setattr(csv_files, "_until_last", lambda chunks: ((chunk, True) for chunk in chunks))
    records = Records([File.at(str(tmp_path / "a.csv"))], ["x"], ",")
    assert records.reader([0]).read_all().num_rows > 2


@pytest.mark.parametrize("number", range(8))
def test_mixed_endings_are_read(load: Any, tmp_path: Path, number: int) -> None:
    """One record's ending changes nothing about the others."""
    mixtures = list(itertools.product(ENDINGS, repeat=len(LINES)))
    endings = random.Random(number).choice(mixtures)
    path = tmp_path / "lines.csv"
    path.write_bytes(b"".join(line + ending for line, ending in zip(LINES, endings, strict=True)))
    assert sorted(load(path, COLUMNS, strict=True).rows('"_owner", "age", "note"')) == WANTED


def test_packed_files_and_patterns(load: Any, tmp_path: Path) -> None:
    with gzip.open(tmp_path / "a.csv.gz", "wb") as file:
        file.write(b"\xef\xbb\xbf" + b"\r".join(LINES))
    (tmp_path / "b.csv").write_bytes(b"\r\n".join(LINES))
    loaded = load(str(tmp_path / "*.csv*"), COLUMNS)
    assert sorted(loaded.rows('"_owner", "age", "note"')) == sorted(WANTED * 2)
    assert [path.suffix for path in loaded.folder.iterdir() if path.suffix not in (".duckdb", ".key")] == []


def test_a_file_cannot_reach_into_the_next(load: Any, tmp_path: Path) -> None:
    """Read as one text, the two would pair their quotation marks."""
    (tmp_path / "a.csv").write_text('id,age,note\n1,5,"never closed\n')
    (tmp_path / "b.csv").write_text('id,age,note\n2,6,x"\n3,7,y\n')
    with pytest.raises(PolicyError, match="quotation marks do not pair"):
        load(str(tmp_path / "*.csv"), COLUMNS)


def test_a_packed_file_that_breaks_off_is_refused(load: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_files, "_CHUNK", 1 << 16)
    whole = gzip.compress(b"id,age,note\n" + b"".join(b"%d,5,canary %d\n" % (k, k * k) for k in range(50_000)))
    for kept in (len(whole) // 2, 40):
        (tmp_path / "a.csv.gz").write_bytes(whole[:kept])
        with pytest.raises(PolicyError, match="cannot be read to its end"):
            load(tmp_path / "a.csv.gz", COLUMNS)


@pytest.mark.parametrize("inside", ['"%s"', "%s", '"%s""x"', 'x,y,z,"%s"', '%s,","'])
@pytest.mark.parametrize("letter", ["a", '""', ","])
def test_a_record_that_is_too_long_is_dropped_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inside: str, letter: str
) -> None:
    """In bounded memory, and with the state that it leaves behind."""
    monkeypatch.setattr(csv_files, "_CHUNK", 64)
    monkeypatch.setattr(csv_files, "LONGEST", 256)
    if letter == '""' and not inside.startswith('"'):
        letter = "b"
    path = tmp_path / "long.csv"
    for count in (*range(600, 610), 64 * 30, 64 * 30 + 1):
        long = inside % (letter * count)
        for ending in ("\n", "\r\n"):
            path.write_bytes(f"x,y,z\n1,2,3{ending}5,6,{long}{ending}7,8,9{ending}".encode())
            assert found(path) == ("read", [("1", "2", "3"), ("7", "8", "9")], 1)


def check_length_alone(path: Path) -> None:
    """Whether a record is too long is settled by its own length, wherever the pieces of the file end."""
    for longer in (0, 1, 30):
        for inside in (b"%b", b'"%b"'):
            record = b"5,6," + inside % (b"a" * (256 - 2 * (inside != b"%b") - 4 + longer))
            for before in range(0, 130, 3):
                path.write_bytes(b"x,y,z\n1,2," + b"b" * before + b"\n" + record + b"\n7,8,9\n")
                kind, rows, unreadable = found(path)
                assert (kind, [row[0] for row in rows]) == ("read", ["1", "7"] if longer else ["1", "5", "7"]), before
                assert unreadable == (longer > 0)


def test_other_records_do_not_decide_which_one_is_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_files, "_CHUNK", 64)
    monkeypatch.setattr(csv_files, "LONGEST", 256)
    check_length_alone(tmp_path / "long.csv")


def test_planted_bug_only_what_a_piece_leaves_over_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Records._kept
    monkeypatch.setattr(csv_files, "_CHUNK", 64)
    monkeypatch.setattr(csv_files, "LONGEST", 256)

    def lenient(self: Records, fields: Any, long: bool, header: int) -> Any:
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(csv_files, "LONGEST", 1 << 30)
            return kept(self, fields, long, header)

    monkeypatch.setattr(Records, "_kept", lenient)
    with pytest.raises(AssertionError):
        check_length_alone(tmp_path / "long.csv")


def test_names_in_the_header(tmp_path: Path) -> None:
    path = tmp_path / "names.csv"
    path.write_bytes('\ufeff"a ""b""","c\nd",é,\n1,2,3,4\n'.encode())
    assert header(File.at(str(path)), ",") == ['a "b"', "c\nd", "é", ""]
    path.write_bytes("id,naïve\n".encode("utf-16"))
    with pytest.raises(PolicyError, match="iconv -f UTF-16"):
        header(File.at(str(path)), ",")
    path.write_bytes(b"")
    assert header(File.at(str(path)), ",") == []
