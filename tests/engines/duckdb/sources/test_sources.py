"""The same records give the same snapshot from every kind of source; what cannot be read leaves nothing."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

from dither.engines.duckdb.engine import DuckDBEngine
from dither.engines.duckdb.sources.sources import Delimited
from dither.errors import PolicyError
from dither.policy.catalog import Table
from dither.policy.columns import Bool, Category, Date, Fixed, Int, Text, Timestamp

COLUMNS = {
    "age": Int(0, 120),
    "amount": Fixed(0, 100, decimals=2),
    "region": Category(["south", "north"]),
    "paid": Bool(),
    "day": Date("2020-01-01", "2029-12-31"),
    "seen": Timestamp("2020-01-01", "2029-12-31"),
    "note": Text(max_length=12),
}
RECORDS = pa.table(
    {
        "id": pa.array([f"p{k % 7}" if k % 5 else None for k in range(40)]),
        "age": pa.array([None if k % 11 == 0 else 7 * k - 40 for k in range(40)], pa.int64()),
        "amount": pa.array([math.nan, math.inf, -math.inf, 5e-324, 99.995] + [k * 3.335 for k in range(35)]),
        "region": pa.array([["north", "south", "west", None, ""][k % 5] for k in range(40)]),
        "paid": pa.array([[True, False, None][k % 3] for k in range(40)]),
        "day": pa.array([k * 300 + 15000 for k in range(40)], pa.date32()),
        "seen": pa.array([k * 10**14 for k in range(40)], pa.timestamp("us", "UTC")),
        "note": pa.array(["x" * k for k in range(39)] + ['comma, "quote"']),
    }
)


def parquet(folder: Path) -> Any:
    pq.write_table(RECORDS, folder / "records.parquet")
    return str(folder / "records.parquet")


def parquet_folder(folder: Path) -> Any:
    (folder / "parts").mkdir()
    for part in range(4):
        pq.write_table(RECORDS.slice(10 * part, 10), folder / "parts" / f"part{part}.parquet")
    return folder / "parts"


def parquet_pattern(folder: Path) -> Any:
    return str(parquet_folder(folder) / "part*.parquet")


def csv_file(folder: Path) -> Any:
    with duckdb.connect() as connection:
        connection.register("records", RECORDS)
        connection.execute(f"COPY (FROM records) TO '{folder / 'records.csv'}' (HEADER)").fetchall()
    return folder / "records.csv"


def duckdb_file(folder: Path) -> Any:
    with duckdb.connect(str(folder / "records.db")) as connection:
        connection.register("records", RECORDS)
        connection.execute("CREATE TABLE visits AS FROM records").fetchall()
    return folder / "records.db", "visits"


def duckdb_connection(folder: Path) -> Any:
    return duckdb.connect(str(duckdb_file(folder)[0])), "visits"


def duckdb_relation(folder: Path) -> Any:
    return duckdb_connection(folder)[0].sql("SELECT * FROM visits WHERE true")


SOURCES: list[Callable[[Path], Any]] = [
    parquet,
    parquet_folder,
    parquet_pattern,
    csv_file,
    duckdb_file,
    duckdb_connection,
    duckdb_relation,
    lambda folder: RECORDS,
    lambda folder: pa.RecordBatchReader.from_batches(RECORDS.schema, RECORDS.to_batches(max_chunksize=7)),
    lambda folder: pa.dataset.dataset(parquet(folder)),
    lambda folder: RECORDS.to_pandas(),
    lambda folder: RECORDS.to_pandas().astype(object),
    lambda folder: pl.from_arrow(RECORDS),
]


@pytest.mark.parametrize("source", SOURCES)
def test_every_kind_of_source_gives_the_same_snapshot(load: Any, tmp_path: Path, source: Callable[[Path], Any]) -> None:
    reference = load(RECORDS, COLUMNS, most=2)
    loaded = load(source(tmp_path), COLUMNS, most=2)
    assert sorted(loaded.rows(), key=str) == sorted(reference.rows(), key=str)
    assert (loaded.report.rows, loaded.report.owners) == (32, 7)
    assert loaded.report.dropped_without_owner == 8
    assert loaded.report.beyond_max_rows_per_owner == 32 - 2 * 7
    assert loaded.report.clamped == reference.report.clamped
    assert reference.report.clamped["age"] > 5


def test_pandas_objects_are_read_one_by_one(load: Any) -> None:
    frame = pd.DataFrame(
        {
            "id": ["a", 1, None, b"b", 2.5, "c", "d", "e"],
            "age": [1, "2", 3.0, None, "x", [4], pd.NA, "\ud800"],
            "region": pd.Categorical(["north", "south", "north", "south", None, "north", "north", "north"]),
        },
    )
    loaded = load(frame, {"age": Int(0, 120), "region": Category(["north", "south"])})
    assert sorted(loaded.rows('"_owner", "age", "region"')) == [
        ("1", 2, 1),
        ("2.5", None, None),
        ("a", 1, 0),
        ("b", None, 1),
        ("c", None, 0),
        ("d", None, 0),
        ("e", None, 0),
    ]


def test_rare_arrow_types(load: Any) -> None:
    source = pa.table(
        {
            "id": pa.array(["a", "b"], pa.string_view()),
            "half": pa.array([0.5, 2.25], pa.float16()),
            "label": pa.array([7, 8]).dictionary_encode(),
            "nothing": pa.nulls(2),
        }
    )
    columns = {"half": Fixed(0, 9, decimals=2), "label": Category(["7"]), "nothing": Int(0, 9)}
    assert sorted(load(source, columns).rows('"_owner", "half", "label", "nothing"')) == [
        ("a", 50, 0, None),
        ("b", 225, None, None),
    ]


def test_objects_that_have_no_text_are_no_values(load: Any) -> None:
    class Silent:
        def __str__(self) -> str:
            raise ValueError("canary")

    frame = pd.DataFrame({"id": [1, 2], "x": pd.Series([Silent(), "5"], dtype=object)})
    frame["y"] = pd.Categorical.from_codes([0, 1], categories=pd.Index([b"x", 6], dtype=object))
    loaded = load(frame, {"x": Int(0, 9), "y": Int(0, 9)})
    assert sorted(loaded.rows('"_owner", "x", "y"')) == [(1, None, None), (2, 5, 6)]


def test_text_that_is_not_utf8_is_lost_alone(load: Any, tmp_path: Path) -> None:
    bad = pa.array([b"good", b"\xff\xfe", "schön".encode()], pa.binary()).view(pa.string())
    table = pa.table({"id": [1, 2, 3], "note": bad})
    pq.write_table(table, tmp_path / "bad.parquet")
    shown: list[tuple[str, float]] = []
    for source in (table, tmp_path / "bad.parquet"):
        loaded = load(source, {"note": Text()}, progress=lambda what, done: shown.append((what, done)))
        assert dict(loaded.rows('"_owner", "note"')) == {1: "good", 2: None, 3: "schön"}
        assert loaded.report.replaced == {"note": 1}
    assert shown[-1] == ("verified", 1.0)


def test_a_line_that_is_no_record_is_dropped_alone(load: Any, tmp_path: Path) -> None:
    path = tmp_path / "lines.csv"
    path.write_bytes(b'id,age,note\n1,5,"a\nb"\n2,6\n3,7,x,y\n4,8,\xff\n,9,z\n"6","","say ""hi"""\n7,1e1,\n')
    loaded = load(path, {"age": Int(0, 120), "note": Text()})
    assert sorted(loaded.rows('"_owner", "age", "note"')) == [
        ("1", 5, "a\nb"),
        ("4", 8, None),
        ("6", None, 'say "hi"'),
        ("7", 10, None),
    ]
    assert (loaded.report.dropped_without_owner, loaded.report.unreadable_lines) == (1, 2)
    assert loaded.report.replaced == {"age": 0, "note": 1}
    assert "unreadable lines (more or fewer fields than the header, say): 2" in str(loaded.report)
    assert "iconv -f LATIN1 -t UTF-8" in str(loaded.report)
    with pytest.raises(PolicyError, match=r"2 unreadable lines .*; 1 record without an owner; .* not all UTF-8"):
        load(path, {"age": Int(0, 120), "note": Text()}, strict=True)


@pytest.mark.parametrize("note", ['"never closed', '"clo"sed early'])
def test_quotation_marks_that_do_not_pair_are_refused(load: Any, tmp_path: Path, note: str) -> None:
    """One record must not swallow those after it."""
    path = tmp_path / "torn.csv"
    path.write_text(f"id,age,note\na,1,x\nb,2,{note}\nc,3,y\nd,4,z\n")
    with pytest.raises(PolicyError, match="quotation marks do not pair, so records cannot be told apart") as caught:
        load(path, {"age": Int(0, 120), "note": Text()})
    assert "closed" not in str(caught.value)


@pytest.mark.parametrize("mark", [";", "\t", "|"])
def test_quoted_names_with_another_delimiter_say_which(load: Any, tmp_path: Path, mark: str) -> None:
    path = tmp_path / "other.csv"
    path.write_text('"id","age"\n"a","1"\n'.replace(",", mark))
    with pytest.raises(PolicyError, match="its fields look separated by") as caught:
        load(path, {"age": Int(0, 120)})
    assert f"delimiter={mark!r}" in str(caught.value)


def test_columns_without_a_name_or_named_twice_are_no_harm_if_nobody_asks_for_them(load: Any, tmp_path: Path) -> None:
    path = tmp_path / "loose.csv"
    path.write_text("id,note,age,note,,\na,x,1,y,,\nb,x,2,y,z,\n")
    assert sorted(load(path, {"age": Int(0, 120)}).rows('"_owner", "age"')) == [("a", 1), ("b", 2)]
    with pytest.raises(PolicyError, match="several columns named 'note'"):
        load(path, {"note": Text()})


def test_how_one_record_is_read_does_not_depend_on_the_others(load: Any, tmp_path: Path) -> None:
    """A reader that guesses types would read 007 as a number until one record somewhere says x."""
    path = tmp_path / "guess.csv"
    columns = {"code": Category(["007", "7"]), "when": Text()}
    seen = []
    for last in ("", "z,x,never\n"):
        path.write_text("id,code,when\na,007,2024-01-01\nb,7,2024-1-1\n" + last)
        seen.append([row for row in sorted(load(path, columns).rows('"_owner", "code", "when"')) if row[0] != "z"])
    assert seen[0] == seen[1] == [("a", 0, "2024-01-01"), ("b", 1, "2024-1-1")]


def test_names_are_matched_like_sql(load: Any) -> None:
    source = pa.table({"ID": [1], "Age": [5], 'o"dd': [1]})
    assert load(source, {"age": Int(0, 9)}).rows('"_owner", "age"') == [(1, 5)]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("nowhere.parquet", "there is no file"),
        ("nowhere.csv", "there is no file"),
        ("folder", "there is no file"),
        (("nowhere.db", "visits"), "there is no file"),
        ("notes.txt", "neither .parquet nor .csv"),
        ("broken.parquet", "cannot be read as Parquet"),
        ("broken.db.csv", "cannot be read as CSV|must name its columns"),
        (("broken.parquet", "visits"), "cannot be opened as a DuckDB database"),
        (("records.db", "visitors"), "has no table 'visitors'; it has: visits"),
        ("empty.csv", "must name its columns|no column"),
        ("header.csv", "no row with an owner"),
        ("twice.csv", "several columns named"),
        ("*der.csv", "no row with an owner"),
        ("[th]*e*.csv", "different headers"),
        (RECORDS.slice(0, 0), "no row with an owner"),
        (RECORDS.filter(pa.compute.is_null(RECORDS["id"])), "no row with an owner"),
        (RECORDS.drop_columns(["age"]), "no column 'age'; it has: id, amount, region"),
        (RECORDS.drop_columns(["id"]), "no column 'id'; it has: age, amount"),
        (42, "cannot read a table from int"),
        ([1, 2], "cannot read a table from list"),
    ],
)
def test_what_cannot_be_read_is_refused_and_leaves_nothing(tmp_path: Path, source: Any, message: str) -> None:
    duckdb_file(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "notes.txt").write_text("canary")
    (tmp_path / "broken.parquet").write_bytes(b"canary" * 100)
    (tmp_path / "broken.db.csv").write_bytes(b"\xff\xfecanary,canary\n")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "twice.csv").write_text("id,age,AGE\n1,2,3\n")
    (tmp_path / "header.csv").write_text(",".join(RECORDS.column_names) + "\n")
    if isinstance(source, str):
        source = tmp_path / source
    elif isinstance(source, tuple):
        source = (tmp_path / source[0], source[1])
    engine, table = DuckDBEngine(tmp_path / "snapshots"), Table("t", "people", "id", 2, COLUMNS, snapshot=1)
    with pytest.raises(PolicyError, match=message) as caught:
        engine.load(table, source)
    assert "canary" not in str(caught.value)
    assert not engine.has(table)
    assert {path.name for path in (tmp_path / "snapshots").iterdir()} <= {"rank.key"}


def test_a_source_that_breaks_off_leaves_nothing(tmp_path: Path) -> None:
    def batches() -> Any:
        yield from RECORDS.to_batches(max_chunksize=10)
        raise RuntimeError("canary 4217")

    engine, table = DuckDBEngine(tmp_path / "snapshots"), Table("t", "people", "id", 2, COLUMNS, snapshot=1)
    with pytest.raises(PolicyError) as caught:
        engine.load(table, pa.RecordBatchReader.from_batches(RECORDS.schema, batches()))
    assert "canary" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert {path.name for path in (tmp_path / "snapshots").iterdir()} == {"rank.key"}


def objects(folder: Path, owners: list[Any]) -> Any:
    return pd.DataFrame({"id": pd.Series(owners, dtype=object), "x": range(len(owners))})


def text_file(folder: Path, owners: list[Any]) -> Any:
    path = folder / "owners.csv"
    path.write_bytes(b"id,x\n" + b"".join(f'"{owner}",{k}\n'.encode() for k, owner in enumerate(map(str, owners))))
    return path


def text_parquet(folder: Path, owners: list[Any]) -> Any:
    path = folder / "owners.parquet"
    pq.write_table(text_arrow(folder, owners), path)
    return path


def text_arrow(folder: Path, owners: list[Any]) -> Any:
    return pa.table({"id": list(map(str, owners)), "x": range(len(owners))})


def text_duckdb(folder: Path, owners: list[Any]) -> Any:
    with duckdb.connect(str(folder / "owners.db")) as connection:
        connection.register("records", text_arrow(folder, owners))
        connection.execute("CREATE TABLE visits AS FROM records").fetchall()
    return folder / "owners.db", "visits"


@pytest.mark.parametrize("source", [objects, text_file, text_parquet, text_arrow, text_duckdb])
def test_one_person_is_one_owner_however_written(load: Any, tmp_path: Path, source: Callable[..., Any]) -> None:
    """Else one person could contribute several times the limit of rows."""
    seven = [
        7,
        7.0,
        "7",
        " 7",
        "7 ",
        "\t7\r\n",
        "\u00a07\ufeff",
        "7.",
        "7.00",
        Decimal("7.0"),
        np.int8(7),
        np.float32(7),
    ]
    others = ["7a", "07", "7.5", "A", "a", "-7", -7.0, "7 8", True]
    loaded = load(source(tmp_path, [*seven, *others, " ", "\u200b"]), {"x": Int(0, 99)}, most=1)
    owners = [row[0] for row in loaded.rows('"_owner"')]
    assert owners.count("7") == len(seven)
    truth = "true" if source is objects else "True"
    assert sorted(set(owners)) == sorted({"7", "7a", "07", "7.5", "A", "a", "-7", "7 8", truth})
    assert loaded.report.owners == 9
    assert loaded.report.dropped_without_owner == 2
    assert loaded.report.beyond_max_rows_per_owner == len(seven) - 1 + 1  # and the second -7


@pytest.mark.parametrize(
    "owners",
    [
        pa.array([7.0, 7.0, None]),
        pa.array([7.0, 7.0, None], pa.float32()),
        pa.array([Decimal("7.00"), Decimal(7), None], pa.decimal128(5, 2)),
        pa.array([Decimal("7.00"), Decimal(7), None], pa.decimal256(60, 2)),
        pa.array([7, 7, None], pa.uint64()),
        pa.array([b" 7", b"7.0", b"\xff"]),
        pa.array([" 7", "7.0", None]).dictionary_encode(),
    ],
)
def test_a_whole_number_is_the_same_owner_in_every_type(load: Any, owners: pa.Array) -> None:
    loaded = load(pa.table({"id": owners, "x": range(3)}), {"x": Int(0, 9)})
    seven = 7 if pa.types.is_floating(owners.type) else "7"
    assert [row[0] for row in loaded.rows('"_owner"')] == [seven, seven]


def test_truth_values_identify_nobody(load: Any) -> None:
    with pytest.raises(PolicyError, match="cannot identify anybody"):
        load(pa.table({"id": [True, False], "x": [1, 2]}), {"x": Int(0, 9)})


def test_csv_that_is_not_utf8_loses_values_and_not_records(load: Any, tmp_path: Path) -> None:
    """An owner with other bytes is nobody: two people must not become one by losing the same letter."""
    path = tmp_path / "latin.csv"
    names = ["Müller", "Möller", "Muller", "René", "Ren"]
    path.write_bytes(b"id,name,age\r\n" + b"".join(f"{n},{n},{i}\n".encode("latin-1") for i, n in enumerate(names)))
    loaded = load(path, {"name": Text(), "age": Int(0, 9)})
    assert sorted(loaded.rows('"_owner", "name", "age"')) == [("Muller", "Muller", 2), ("Ren", "Ren", 4)]
    assert (loaded.report.dropped_without_owner, loaded.report.unreadable_lines) == (3, 0)
    by_age = load(path, {"name": Text(), "region": Category(["Müller", "Ren"], source="name")}, owner="age")
    assert sorted(by_age.rows('"_owner", "name", "region"')) == [
        ("0", None, None),
        ("1", None, None),
        ("2", "Muller", None),
        ("3", None, None),
        ("4", "Ren", 1),
    ]
    assert by_age.report.replaced == {"name": 3, "region": 4}
    assert not by_age.report.utf8


def test_columns_may_have_other_names_in_the_source(load: Any, tmp_path: Path) -> None:
    path = tmp_path / "visits.csv"
    path.write_text("Patient ID,Visit Date,Age (years)\n1,2024-03-01,40\n")
    columns = {"day": Date("2024-01-01", "2024-12-31", source="Visit Date"), "age": Int(0, 120, source="age (YEARS)")}
    frame = pd.DataFrame({"Patient ID": ["1"], "Visit Date": ["2024-03-01"], "Age (years)": ["40"]})
    for source in (path, frame, pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        assert load(source, columns, owner="Patient ID").rows('"_owner", "day", "age"') == [("1", 19783, 40)]
    with pytest.raises(PolicyError, match=r"no column 'Visit Dat'; it has: .* Did you mean .Visit Date.\?"):
        load(path, {"day": Date("2024-01-01", "2024-12-31", source="Visit Dat")}, owner="Patient ID")


def test_other_delimiters_are_stated_and_hinted_at(load: Any, tmp_path: Path) -> None:
    path = tmp_path / "semicolon.csv"
    path.write_text('id;fee;note\na;1.5;"x;y"\n')
    columns = {"fee": Fixed(0, 9, decimals=1), "note": Text()}
    with pytest.raises(
        PolicyError, match=r"it has: id;fee;note\. Its fields look separated by ';': state delimiter=';'"
    ):
        load(path, columns)
    assert load(Delimited(path, ";"), columns).rows('"_owner", "fee", "note"') == [("a", 15, "x;y")]
    (tmp_path / "tabs.csv").write_text("id\tfee\tnote\na\t2\t\n")
    assert load(Delimited(tmp_path / "tabs.csv", "\t"), columns).rows('"_owner", "fee"') == [("a", 20)]
    for wrong in ("", ";;", '"', "\n", "é", 7):
        with pytest.raises(PolicyError, match="one character"):
            Delimited(path, wrong)
    with pytest.raises(PolicyError, match=r"\.csv and \.tsv"):
        Delimited(tmp_path / "x.parquet", ";")
    path.write_text("id,age\na\nb,2,3\n")
    with pytest.raises(PolicyError, match="nothing to ask about; it has 2 unreadable lines"):
        load(path, {"age": Int(0, 9)})
