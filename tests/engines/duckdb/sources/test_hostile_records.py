"""Threat 57: how a record is read depends on the source's schema and on declarations, never on other records.

Every type of column of every kind of source is crossed with hostile records: nulls, NaN, infinities, extremes, bytes
that are not UTF-8, values of another type, missing owners. The rows of all others, whether the load succeeds, and how
columns and owners are stored stay the same.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

from dither.engines.duckdb.engine import DuckDBEngine
from dither.engines.duckdb.snapshots import owners
from dither.engines.duckdb.sources import frames, pandas, parquet, sources
from dither.engines.duckdb.sources.files import File
from dither.errors import PolicyError
from dither.policy.catalog import Table
from dither.policy.columns import Bool, Category, Column, Date, Fixed, Int, Text, Timestamp

NUMBERS = {"i": Int(-100, 100), "f": Fixed(-9, 9, decimals=2), "w": Int(-(2**62), 2**62), "b": Bool()}
WORDS = {"c": Category(["1", "a", "true", "2020-01-01"]), "t": Text(max_length=40)}
TIMES = {"d": Date("1960-01-01", "2030-12-31"), "s": Timestamp("1960-01-01", "2030-12-31")}
FAR = [2**62, -(2**62), 2**63 - 1, 1 - 2**63, -(2**63), 2**53, 0]
BYTES = [b"", b"\xff\xfe", b"a\x00", "\ufdd0".encode(), b"x" * 70_000, b"1e999", b"infinity", b"NaN", b"\xed\xa0\x80"]

Values = tuple[dict[str, Column], list[Any], list[Any]]  # declared columns, usual values, hostile values


def integers(kind: Any) -> Values:
    bits, signed = kind.bit_width, pa.types.is_signed_integer(kind)
    return NUMBERS | WORDS, [0, 1, 5, 100], [2 ** (bits - signed) - 1, -(2 ** (bits - 1)) if signed else 0]


def floats(kind: Any) -> Values:
    return NUMBERS | WORDS, [0.0, 1.0, 2.5, -3.25], [math.nan, math.inf, -math.inf, 6e4, 5e-324, -0.0]


def decimals(kind: Any) -> Values:
    most = Decimal("9" * (kind.precision - kind.scale) + ".99")
    return NUMBERS | WORDS, [Decimal("1.00"), Decimal("2.50"), Decimal("-3.00")], [most, most.copy_negate()]


def texts(kind: Any) -> Values:
    return NUMBERS | WORDS | TIMES, [b"a", b"1", "schön".encode(), b"2020-01-01", b"2.5"], BYTES


def times(kind: Any) -> Values:
    day = datetime.date(2020, 1, 1) if pa.types.is_date(kind) else datetime.datetime(2020, 1, 1, 5)
    return WORDS | TIMES, [day, type(day)(1999, 12, 31)], FAR if kind.bit_width == 64 else [2**31 - 1, -(2**31), 1]


TYPES: dict[str, tuple[Any, Callable[[Any], Values]]] = {
    **{str(k): (k, integers) for k in (pa.int8(), pa.int64(), pa.uint8(), pa.uint32(), pa.uint64())},
    **{str(k): (k, floats) for k in (pa.float16(), pa.float32(), pa.float64())},
    **{str(k): (k, decimals) for k in (pa.decimal128(10, 2), pa.decimal128(38, 2), pa.decimal256(60, 2))},
    **{str(k): (k, texts) for k in (pa.string(), pa.large_string(), pa.string_view(), pa.binary())},
    **{str(k): (k, times) for k in (pa.date32(), pa.date64())},
    **{str(k): (k, times) for unit in ("s", "ms", "us", "ns") for k in (pa.timestamp(unit), pa.timestamp(unit, "UTC"))},
    "bool": (pa.bool_(), lambda kind: (NUMBERS | WORDS, [True, False], [])),
    "labels": (pa.dictionary(pa.int32(), pa.string()), texts),
}


def array(values: list[Any], kind: Any) -> Any:
    """Any value, also those that no constructor takes: whole numbers of time, and bytes as text."""
    if pa.types.is_dictionary(kind):
        return pa.array([v and v.decode("utf-8", "ignore") for v in values], kind.value_type).dictionary_encode()
    if pa.types.is_string_view(kind):
        return pa.array(values, pa.binary()).cast(pa.binary_view()).view(kind)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return pa.array(values, pa.binary() if pa.types.is_string(kind) else pa.large_binary()).view(kind)
    if pa.types.is_temporal(kind):
        whole = pa.int32() if kind.bit_width == 32 else pa.int64()
        plain = [v if isinstance(v, int) or v is None else pa.scalar(v, kind).cast(whole).as_py() for v in values]
        return pa.array(plain, whole).view(kind)
    return pa.array(values, kind)


def records(kind: Any, usual: list[Any], hostile: list[Any]) -> tuple[Any, Any]:
    """The usual records alone, and with hostile ones of owner 99 among them."""
    values = [usual[k % len(usual)] for k in range(12)]
    mixed, ids = values[:5], list(range(5))
    for value in [*hostile, None]:
        mixed.append(value)
        ids.append(99)
    mixed, ids = mixed + values[5:], ids + list(range(5, 12))
    return (
        pa.table({"id": pa.array(range(12), pa.int64()), "x": array(values, kind)}),
        pa.table({"id": pa.array(ids, pa.int64()), "x": array(mixed, kind)}),
    )


def to_csv(table: Any, folder: Path) -> Any:
    path, kind = folder / f"r{table.num_rows}.csv", table["x"].type
    column = table["x"].combine_chunks()
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        column = column.view(pa.int32() if kind.bit_width == 32 else pa.int64())
    column = frames._plain(column)
    lines = [b"id,x"]
    for owner, value in zip(table["id"].to_pylist(), column.to_pylist(), strict=True):
        text = b"" if value is None else str(value).encode() if not isinstance(value, bytes) else value
        lines.append(b'%d,"%s"' % (owner, text.replace(b'"', b'""')))
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path


def to_parquet(table: Any, folder: Path) -> Any:
    path = folder / f"r{table.num_rows}.parquet"
    pq.write_table(table, path, version="2.6")
    return path


def to_int96(table: Any, folder: Path) -> Any:
    path = folder / f"r{table.num_rows}.parquet"
    pq.write_table(table, path, use_deprecated_int96_timestamps=True)
    return path


def to_pandas(table: Any, folder: Path) -> Any:
    kind = table["x"].type
    if pa.types.is_timestamp(kind) or pa.types.is_date64(kind):  # NumPy's own times; its NaT is the lowest of them
        unit = "ms" if pa.types.is_date64(kind) else kind.unit
        raw = table["x"].combine_chunks().view(pa.int64()).fill_null(-(2**63)).to_numpy()
        return pd.DataFrame({"id": table["id"].to_pandas(), "x": raw.view(f"datetime64[{unit}]")})
    return table.to_pandas(coerce_temporal_nanoseconds=False)


def to_relation(table: Any, folder: Path) -> Any:
    return duckdb.connect().from_arrow(table)


SOURCES: dict[str, Callable[[Any, Path], Any]] = {
    "Arrow table": lambda table, folder: table,
    "Arrow reader": lambda table, folder: pa.RecordBatchReader.from_batches(table.schema, table.to_batches(3)),
    "Arrow dataset": lambda table, folder: pa.dataset.dataset(table),
    "Parquet": to_parquet,
    "Parquet with times of 96 bits": to_int96,
    "CSV": to_csv,
    "pandas": to_pandas,
    "pandas on Arrow": lambda table, folder: table.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda table, folder: pl.from_arrow(table),
}
# What a library cannot hold is not crossed with it.
FEW = {"int64", "double", "string", "decimal128(38, 2)", "timestamp[ms]", "bool"}  # where the rest takes the same way
BAD_TEXT = {"string", "large_string", "string_view"}
NOT_IN = {
    "Arrow reader": set(TYPES) - FEW,
    "Arrow dataset": set(TYPES) - FEW,
    "CSV": set(TYPES) - FEW,
    "polars": BAD_TEXT | {"decimal256(60, 2)", "timestamp[s]", "timestamp[s, tz=UTC]", "halffloat"},
    "pandas": BAD_TEXT | {"date32[day]"},
    "pandas on Arrow": {"string_view"} | {"labels"},
    "Parquet": {"string_view", "timestamp[s]", "timestamp[s, tz=UTC]", "date64[ms]"},
    "Parquet with times of 96 bits": {str(k) for k, _ in TYPES.values()}
    - {f"timestamp[{u}]" for u in ("us", "ns", "ms")},
}


class Others:
    """Loads tables and reads what is stored for everybody but the hostile owner."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.engine, self.snapshot = folder, DuckDBEngine(folder / "snapshots"), 0

    def load(self, source: Any, columns: dict[str, Column], owner_type: str = "") -> Any:
        """The rows of others and how they are stored, or the refusal."""
        self.snapshot += 1
        table = Table("t", "people", "id", 9, columns, snapshot=self.snapshot, owner_type=owner_type)
        try:
            self.engine.load(table, source)
        except PolicyError as error:
            return str(error)
        path = self.folder / "snapshots" / f"t-{self.snapshot:06d}.duckdb"
        with duckdb.connect(str(path), read_only=True) as connection:
            kept = "FROM rows WHERE CAST(_owner AS VARCHAR) IN (SELECT CAST(range AS VARCHAR) FROM range(12))"
            rows = connection.execute(f"SELECT * {kept}").fetchall()
            return connection.execute("DESCRIBE rows").fetchall(), sorted(rows, key=str)

    def check(self, usual: Any, mixed: Any, columns: dict[str, Column], owner_type: str = "") -> None:
        first, second = (self.load(source, columns, owner_type) for source in (usual, mixed))
        assert not isinstance(first, str), first
        assert len(first[1]) == 12
        assert first == second, "others are read otherwise"


@pytest.fixture
def others(tmp_path: Path) -> Others:
    return Others(tmp_path)


def from_x(columns: dict[str, Column]) -> dict[str, Column]:
    """The same columns, each read from column x of the source."""
    return {key: type(column)(**{**_given(column), "source": "x"}) for key, column in columns.items()}


def check_values(others: Others, name: str, source: str) -> None:
    kind, values = TYPES[name]
    columns, usual, hostile = values(kind)
    if name == "labels" or source in ("polars", "pandas"):
        hostile = [value for value in hostile if not isinstance(value, bytes) or value.isascii()]
    declared = from_x(columns)
    made = [SOURCES[source](table, others.folder) for table in records(kind, usual, hostile)]
    others.check(made[0], made[1], declared)


def _given(column: Column) -> dict[str, Any]:
    given = {key: value for key, value in column.declaration().items() if key not in ("kind", "nullable", "default")}
    return {key: value for key, value in given.items() if value is not None}


@pytest.mark.parametrize("source", SOURCES)
def test_hostile_values(others: Others, source: str) -> None:
    for name in TYPES:
        if name not in NOT_IN.get(source, ()):
            check_values(others, name, source)


# Owners

OWNERS: dict[str, tuple[Any, list[Any], str]] = {  # type, hostile owners, how owners are stored
    "int64": (pa.int64(), [2**63 - 1, -(2**63)], "BIGINT"),
    "uint8": (pa.uint8(), [255], "BIGINT"),
    "uint64": (pa.uint64(), [2**64 - 1], "VARCHAR"),
    "float64": (pa.float64(), [math.nan, math.inf, -math.inf, 1e300, 0.5, 2.0**63, 5e-324], "BIGINT"),
    "float32": (pa.float32(), [math.nan, math.inf, 2.0**30, 0.5], "BIGINT"),
    "decimal128": (pa.decimal128(20, 2), [Decimal("999999999999999999.99")], "VARCHAR"),
    "decimal256": (pa.decimal256(60, 2), [Decimal("9" * 58 + ".99")], "VARCHAR"),
    "string": (pa.string(), BYTES, "VARCHAR"),
    "binary": (pa.binary(), BYTES, "VARCHAR"),
    "labels": (pa.dictionary(pa.int32(), pa.string()), [b"a\x00", b" "], "VARCHAR"),
    "numbers as labels": (pa.dictionary(pa.int32(), pa.int64()), [2**63 - 1], "BIGINT"),
}


def owned(kind: Any, hostile: list[Any]) -> Any:
    """Records of owners 0 to 11, with those of hostile owners among them."""
    ids: list[Any] = list(range(12))
    if pa.types.is_decimal(kind):
        ids = [Decimal(f"{k}.00") for k in ids]
    elif pa.types.is_string(kind) or pa.types.is_binary(kind) or getattr(kind, "value_type", None) == pa.string():
        ids = [str(k).encode() for k in ids]
    ids = ids[:5] + hostile + ids[5:]
    if getattr(kind, "value_type", None) == pa.int64():
        return pa.table({"id": pa.array(ids, pa.int64()).dictionary_encode(), "x": range(len(ids))})
    return pa.table({"id": array(ids, kind), "x": pa.array([5] * len(ids), pa.int64())})


@pytest.mark.parametrize("name", OWNERS)
def test_hostile_and_missing_owners(others: Others, name: str) -> None:
    kind, hostile, stored = OWNERS[name]
    usual, mixed = owned(kind, []), owned(kind, [*hostile, None])
    columns = {"y": Int(5, 5, source="x", nullable=False, default=5)}
    for source in ("Arrow table", "Parquet", "pandas", "polars"):
        if source in ("pandas", "polars") and name in ("string", "decimal256", "binary"):
            continue  # they cannot hold what is not UTF-8, or so many digits
        if (source, name) == ("pandas", "uint64"):
            continue  # a missing value makes it floats, which hold fewer: only people's known type is kept
        made = [SOURCES[source](table, others.folder) for table in (usual, mixed)]
        others.check(made[0], made[1], columns)
        assert others.load(made[0], columns)[0][0][:2] == ("_owner", stored)
        if stored == "BIGINT" or name in ("decimal128", "uint64"):  # numbers, in the type that people have
            for known in ("BIGINT", "VARCHAR"):
                made = [SOURCES[source](table, others.folder) for table in (usual, mixed)]
                others.check(made[0], made[1], columns, known)


def missing_owner() -> tuple[Any, Any]:
    """One record without an owner makes a column of NumPy's whole numbers one of floats."""
    usual = pd.DataFrame({"id": range(12), "x": [5] * 12})
    mixed = pd.concat([usual, pd.DataFrame({"id": [None], "x": [5]})], ignore_index=True).astype({"id": "float64"})
    assert [frame["id"].dtype.kind for frame in (usual, mixed)] == ["i", "f"]
    return usual, mixed


def wrong_owner() -> tuple[Any, Any]:
    """One owner that is text makes it a column of objects."""
    usual = pd.DataFrame({"id": range(12), "x": [5] * 12})
    mixed = pd.concat([usual, pd.DataFrame({"id": ["x"], "x": [5]})], ignore_index=True)
    assert mixed["id"].dtype == object
    return usual, mixed


def check_owners_of_pandas(others: Others) -> None:
    columns: dict[str, Column] = {"x": Int(0, 9)}
    others.check(*missing_owner(), columns)
    for known in ("BIGINT", "VARCHAR"):
        others.check(*missing_owner(), columns, known)
        others.check(*wrong_owner(), columns, known)


def test_owners_of_pandas_keep_their_type(others: Others) -> None:
    check_owners_of_pandas(others)


def test_values_of_another_type_in_pandas(others: Others) -> None:
    """They make their column one of Python objects: others are read by their text, with the same result."""
    for usual, hostile in (
        ([0, 1, 5, 100], ["x", None, [1], b"\xff", 10**400, math.nan]),
        ([1.0, 2.5, -3.0, 1e22], ["x", None, {}]),
        ([True, False, True, True], ["x", None, 7]),
        (["a", "1", "true", "é"], [1, None, 2.5, "\ud800", object()]),
    ):
        frames_ = []
        for more in ([], hostile):
            values = [usual[k % 4] for k in range(12)]
            ids = [*range(5), *[99] * len(more), *range(5, 12)]
            frames_.append(pd.DataFrame({"id": ids, "x": pd.Series(values[:5] + more + values[5:])}))
        declared = {key: type(column)(**{**_given(column), "source": "x"}) for key, column in (NUMBERS | WORDS).items()}
        others.check(*frames_, declared)
        assert frames_[1]["x"].dtype == object


# Planted bugs


def test_planted_bug_owner_type_from_floats(others: Others, monkeypatch: pytest.MonkeyPatch) -> None:
    read_owner = owners.read_owner

    def by_values(raw: str, source_type: str) -> tuple[str, str]:
        owner, kind = read_owner(raw, source_type)
        return (f"CAST({owner} AS VARCHAR)", "VARCHAR") if source_type == "DOUBLE" else (owner, kind)

    monkeypatch.setattr(owners, "read_owner", by_values)
    with pytest.raises(AssertionError, match="others are read otherwise"):
        check_owners_of_pandas(others)


def test_planted_bug_objects_are_text(others: Others, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "UNTYPED", b"another mark")
    with pytest.raises(AssertionError, match="others are read otherwise"):
        check_owners_of_pandas(others)


def test_planted_bug_times_are_converted_by_the_engine(others: Others, monkeypatch: pytest.MonkeyPatch) -> None:
    plain, plain_type = frames._plain, frames.plain_type
    monkeypatch.setattr(sources, "instant", lambda kind: None)
    monkeypatch.setattr(frames, "plain_type", lambda kind: kind if pa.types.is_timestamp(kind) else plain_type(kind))
    monkeypatch.setattr(frames, "_plain", lambda one: one if pa.types.is_timestamp(one.type) else plain(one))
    monkeypatch.setattr("dither.engines.duckdb.snapshots.sanitising.INSTANTS", frozenset({"TIMESTAMP_MS"}))
    monkeypatch.setattr(
        "dither.engines.duckdb.snapshots.sanitising.steps",
        lambda raw, kind: f"CAST(epoch_ms(CAST({raw} AS TIMESTAMP)) AS HUGEINT)",
    )
    monkeypatch.setattr("dither.engines.duckdb.snapshots.sanitising.days", lambda steps, kind: f"{steps} // 86400000")
    monkeypatch.setattr(
        "dither.engines.duckdb.snapshots.sanitising.microseconds", lambda steps, kind: f"{steps} * 1000"
    )
    monkeypatch.setattr("dither.engines.duckdb.snapshots.sanitising.text", lambda raw, kind: f"CAST({raw} AS VARCHAR)")
    with pytest.raises(AssertionError, match="others are read otherwise"):
        check_values(others, "timestamp[ms]", "Arrow table")


def int96_and_text(folder: Path) -> tuple[Any, Any]:
    """Times of others that another reader takes for others, and one text that is not UTF-8."""
    made = []
    for name, last in (("usual", []), ("mixed", [b"\xff"])):
        ids = [*range(12), *[99] * len(last)]
        seen = pa.array([datetime.datetime(1500 + 50 * (k % 12), 1, 1) for k in range(len(ids))], pa.timestamp("us"))
        note = array([b"a"] * 12 + last, pa.string())
        pq.write_table(
            pa.table({"id": ids, "seen": seen, "note": note}),
            folder / f"{name}.parquet",
            use_deprecated_int96_timestamps=True,
        )
        made.append(folder / f"{name}.parquet")
    return made[0], made[1]


INT96 = {"seen": Timestamp("1800-01-01", "2100-12-31"), "note": Text()}


def test_text_that_is_not_utf8_beside_times_of_96_bits(others: Others) -> None:
    usual, mixed = int96_and_text(others.folder)
    others.check(usual, mixed, INT96)
    first = min(row[1] for row in others.load(usual, INT96)[1])
    assert first == INT96["seen"].low, "1500 is clamped to the lowest, and not read as 2084"


def test_planted_bug_another_reader_for_text_that_is_not_utf8(others: Others, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine's own reader where it succeeds, and Arrow with its own idea of such times where it does not."""
    by_arrow = sources._parquet

    def falling_back(connection: Any, path: str, found: list[File], wanted: Any) -> Any:
        try:
            table = duckdb.connect().sql(f"FROM read_parquet({[file.name for file in found]})").to_arrow_table()
            return [sources._arrow(connection, table, wanted)]
        except duckdb.Error:
            return by_arrow(connection, path, found, wanted)

    monkeypatch.setattr(sources, "_parquet", falling_back)
    monkeypatch.setattr(parquet, "_opened", pq.ParquetFile)
    with pytest.raises(AssertionError, match="others are read otherwise"):
        others.check(*int96_and_text(others.folder), INT96)


# Files and names


def test_each_parquet_file_is_read_by_its_own_schema(others: Others) -> None:
    """A file in which one record has made whole numbers floats changes nothing about those of another file."""
    big = 2**53 + 1
    folder = others.folder / "parts"
    folder.mkdir()
    pq.write_table(pa.table({"id": range(12), "x": [big] * 12}), folder / "a.parquet")
    usual = others.load(folder, {"x": Int(0, 2**60), "more": Int(0, 9, source="x")})
    for k, more in enumerate(([0.5], ["text"], [[1]], [None])):
        pq.write_table(pa.table({"id": [99], "x": more, "z": [1]}), folder / "b.parquet")
        mixed = others.load(folder, {"x": Int(0, 2**60), "more": Int(0, 9, source="x")})
        assert "cannot be read as Int" in mixed if k == 2 else mixed == usual
    assert usual[1][0][1] == big
    pq.write_table(pa.table({"id": [99.0]}), folder / "b.parquet")
    assert others.load(folder, {"x": Int(0, 2**60), "more": Int(0, 9, source="x")}) == usual
    pq.write_table(pa.table({"id": [99], "X": [1]}), folder / "b.parquet")
    assert "spell names of columns differently" in others.load(folder, {"x": Int(0, 9)})


def twice(names: list[str], folder: Path) -> list[Any]:
    columns = [pa.array([k, k + 1]) for k in range(len(names))]
    table = pa.table(columns, names=names)
    pq.write_table(table, folder / "twice.parquet")
    frame = pd.DataFrame({k: [k, k + 1] for k in range(len(names))}).set_axis(names, axis=1)
    relation = duckdb.sql("SELECT " + ", ".join(f'{k} AS "{name}"' for k, name in enumerate(names)))
    (folder / "twice.csv").write_text(",".join(names) + "\n1,2,3\n")
    return [table, folder / "twice.parquet", frame, relation, folder / "twice.csv", pa.dataset.dataset(table)]


@pytest.mark.parametrize("names", [["id", "x", "x"], ["id", "x", "id"], ["id", "X", "x "], ["id", "X", "xX"]])
def test_a_name_is_one_column(others: Others, names: list[str]) -> None:
    """Exactly the same name twice is refused, the owner's too."""
    for source in twice(names, others.folder):
        found = others.load(source, {"x": Int(0, 9)})
        if len(set(names)) < 3:
            assert "several columns named" in found or "each differently" in found
        else:
            assert not isinstance(found, str), found


def test_names_that_differ_in_case(others: Others) -> None:
    """The one that is spelt as declared is meant; where none is, nobody can say."""
    made = twice(["id", "X", "x"], others.folder)
    for source in made[:2]:
        assert [row[1] for row in others.load(source, {"x": Int(0, 9)})[1]] == [2, 3]
        assert [row[1] for row in others.load(source, {"y": Int(0, 9, source="X")})[1]] == [1, 2]
    made = twice(["id", "X", "xX"], others.folder)
    table = pa.table([pa.array([1]), pa.array([1]), pa.array([1])], names=["id", "Xx", "xX"])
    assert "several columns that 'xx' may mean: Xx, xX" in others.load(table, {"xx": Int(0, 9)})


def signalling(others: Others) -> None:
    """Each of the objects is asked by itself what it is."""
    usual = pd.DataFrame({"id": range(12), "x": pd.Series([1, 2.5, "a", None] * 3, dtype=object)})
    hostile = pd.DataFrame({"id": [99], "x": pd.Series([Decimal("sNaN")], dtype=object)})
    others.check(usual, pd.concat([usual, hostile], ignore_index=True), from_x(NUMBERS | WORDS))


def test_an_object_that_cannot_be_compared(others: Others) -> None:
    signalling(others)
    frame = pd.DataFrame({"id": pd.Series([*range(12), Decimal("sNaN")], dtype=object), "x": range(13)})
    others.check(frame[:12], frame, from_x(NUMBERS))


def test_planted_bug_all_objects_are_compared_at_once(others: Others, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pandas, "_missing", lambda series: series.isna().to_numpy())
    with pytest.raises(InvalidOperation):
        signalling(others)


def beyond_their_digits(others: Others, write: Callable[[Any, Path], Any]) -> None:
    """128 bits hold more than 38 digits, and a file may hold any bits."""
    for kind in (pa.decimal128(38, 0), pa.decimal128(38, 37), pa.decimal128(10, 3)):
        usual = pa.table({"id": range(12), "x": pa.array([Decimal(1), Decimal("2"), None] * 4, kind)})
        bits = b"".join(number.to_bytes(16, "little", signed=True) for number in (2**127 - 1, -(2**127), 10**38))
        far = pa.Array.from_buffers(kind, 3, [None, pa.py_buffer(bits)])
        mixed = pa.concat_tables([usual, pa.table({"id": [99] * 3, "x": far})])
        others.check(write(usual, others.folder), write(mixed, others.folder), from_x(NUMBERS | WORDS))


@pytest.mark.parametrize("source", ["Arrow table", "Parquet"])
def test_decimals_beyond_their_digits(others: Others, source: str) -> None:
    beyond_their_digits(others, SOURCES[source])


def test_planted_bug_decimals_as_their_bits(others: Others, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "_of_38_digits", lambda column: column)
    with pytest.raises(AssertionError, match="others are read otherwise"):
        beyond_their_digits(others, SOURCES["Arrow table"])
