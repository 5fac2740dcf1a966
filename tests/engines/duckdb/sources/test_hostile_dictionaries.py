"""Threat 57, for columns with a dictionary: every type of index and of value, in every source that has such columns.

All of them are columns of one table, so that a load crosses them all with hostile records.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from dither.engines.duckdb.sources import frames, pandas, parquet
from dither.errors import PolicyError
from dither.policy.columns import Category, Column, Date, Fixed, Int, Text, Timestamp

INDICES = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
BAD = [b"\xff\xfe", b"\xed\xa0\x80"]
LONG = [b"", b"a\x00", "\ufdd0".encode(), b"x" * 70_000, b"1e999", b"NaN"]
WORDS = [b"a", b"1", "schön".encode(), b"2020-01-01", b"2.5"]
DAY, FAR = datetime.date(2020, 1, 1), [2**62, 2**63 - 1, -(2**63), 0]
FLOATS, STRANGE = [0.0, 1.0, 2.5, -3.25], [math.nan, math.inf, -math.inf, 6e4, -0.0]
NUMBER: dict[str, Column] = {"f": Fixed(-9, 9, decimals=2)}
TIME: dict[str, Column] = {"d": Date("1960-01-01", "2030-12-31"), "s": Timestamp("1960-01-01", "2030-12-31")}
ANY: dict[str, Column] = {"c": Category(["1", "a", "2020-01-01"]), "t": Text(max_length=40)}

VALUES: dict[Any, tuple[list[Any], list[Any], dict[str, Column]]] = {  # usual and hostile values, how they are declared
    pa.string(): (WORDS, BAD + LONG, NUMBER | TIME | ANY),
    pa.large_string(): (WORDS, BAD + LONG, ANY),
    pa.binary(): (WORDS, BAD + LONG, ANY),
    pa.large_binary(): (WORDS, BAD + LONG, ANY),
    pa.binary(2): ([b"aa", b"10"], [b"\xff\xfe", b"a\x00"], ANY),
    pa.int8(): ([0, 1, 5], [127, -128], NUMBER | ANY),
    pa.int64(): ([0, 1, 5], FAR, NUMBER | ANY),
    pa.uint64(): ([0, 1, 5], [2**64 - 1, 2**63], NUMBER | ANY),
    pa.float16(): (FLOATS, STRANGE, NUMBER | ANY),
    pa.float32(): (FLOATS, STRANGE, NUMBER | ANY),
    pa.float64(): (FLOATS, [*STRANGE, 1e308, 5e-324], NUMBER | ANY),
    pa.decimal128(38, 2): ([Decimal("1.00"), Decimal("2.50")], [Decimal("9" * 36 + ".99")], NUMBER | ANY),
    pa.decimal256(60, 2): ([Decimal("1.00"), Decimal("2.50")], [Decimal("9" * 58 + ".99")], NUMBER | ANY),
    pa.bool_(): ([True, False], [], NUMBER | ANY),
    pa.date32(): ([18_262, 1], [2**31 - 1, -(2**31)], TIME | ANY),
    pa.timestamp("ms"): ([10**12, 1], FAR, TIME | ANY),
    pa.timestamp("us", "UTC"): ([10**15, 1], FAR, TIME | ANY),
    pa.timestamp("ns"): ([10**18, 1], FAR, TIME | ANY),
}
Kinds = list[tuple[Any, Any]]  # types of index and value


def values_of(values: list[Any], kind: Any) -> Any:
    """Any bytes as text, and any whole number as a time."""
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return pa.array(values, pa.binary() if pa.types.is_string(kind) else pa.large_binary()).view(kind)
    if pa.types.is_temporal(kind):
        return pa.array(values, pa.int32() if kind.bit_width == 32 else pa.int64()).view(kind)
    return pa.array(values, kind)


def table(kinds: Kinds, hostile: bool, *, utf8: bool = False) -> Any:
    """Twelve usual records in every column, with nine hostile ones of owner 99 among them if asked for."""
    columns: dict[str, Any] = {"id": [*range(5), *[99] * 9 * hostile, *range(5, 12)]}
    for k, (index, kind) in enumerate(kinds):
        usual, extra, _ = VALUES[kind]
        extra = [value for value in extra if not (utf8 and value in BAD)]
        known = values_of([*usual, *extra], kind)
        places = [place % len(usual) for place in range(12)]
        among = [len(usual) + place if place < len(extra) else None for place in range(9)]
        places = [*places[:5], *(among if hostile else []), *places[5:]]
        columns[f"x{k}"] = pa.DictionaryArray.from_arrays(
            pa.array(places, index), known if hostile else known[: len(usual)]
        )
    return pa.table(columns)


def declared(kinds: Kinds) -> dict[str, Column]:
    columns: dict[str, Column] = {}
    for k, (_, kind) in enumerate(kinds):
        for name, column in VALUES[kind][2].items():
            given = column.declaration()
            kept = {key: given[key] for key in given if key not in ("kind", "nullable", "default", "source")}
            columns[f"{name}{k}"] = type(column)(**kept, source=f"x{k}")
    return columns


def to_parquet(made: Any, folder: Path) -> Any:
    pq.write_table(made, folder / f"{made.num_rows}.parquet")
    return folder / f"{made.num_rows}.parquet"


def to_parquet_dataset(made: Any, folder: Path) -> Any:
    return pa.dataset.dataset(to_parquet(made, folder))


def to_feather(made: Any, folder: Path) -> Any:
    pa.feather.write_feather(made, folder / f"{made.num_rows}.feather")
    return pa.dataset.dataset(folder / f"{made.num_rows}.feather", format="feather")


def to_polars(made: Any, folder: Path) -> Any:
    """Categorical and Enum, which hold text."""
    texts = [[None if value is None else value.decode() for value in one.to_pylist()] for one in made.columns[1:]]
    labels = [value.decode() for value in WORDS + LONG]
    kinds = [pl.Categorical, pl.Enum(labels)] * len(texts)
    series = [pl.Series(f"x{k}", column, dtype=kinds[k]) for k, column in enumerate(texts)]
    return pl.DataFrame({"id": made["id"].to_pylist()}).with_columns(series)


def to_categories(made: Any, folder: Path) -> Any:
    """pandas' own categories, of Python's values."""
    columns = {name: pd.Series(pd.Categorical(made[name].to_pylist())) for name in made.column_names[1:]}
    return pd.DataFrame({"id": made["id"].to_pylist(), **columns})


EVERY = [(index, kind) for index in INDICES for kind in VALUES]
PLAIN = [(pa.int8(), kind) for kind in VALUES if not pa.types.is_temporal(kind) and kind != pa.float16()]
BYTES = [(index, pa.binary()) for index in (pa.int8(), pa.int16())]
SOURCES: dict[str, tuple[Callable[[Any, Path], Any], Kinds]] = {
    "Arrow table": (lambda made, folder: made, EVERY),
    "Arrow reader": (
        lambda made, folder: pa.RecordBatchReader.from_batches(made.schema, made.to_batches(3)),
        EVERY[::5],
    ),
    "Parquet": (to_parquet, EVERY),
    "Parquet dataset": (to_parquet_dataset, [kinds for kinds in EVERY if kinds[0] == pa.int32()]),
    "Feather dataset": (to_feather, EVERY[::3]),
    "pandas categories": (to_categories, PLAIN),
    "pandas on Arrow": (
        lambda made, folder: made.to_pandas(types_mapper=pd.ArrowDtype),
        [kinds for kinds in EVERY if not pa.types.is_string(kinds[1])][::3],
    ),
    "polars": (to_polars, BYTES),
}


def check_others(load: Any, folder: Path, source: str, kinds: Kinds) -> None:
    made, _ = SOURCES[source]
    utf8 = source in ("polars", "pandas categories", "pandas on Arrow")  # they hold no other text
    found = []
    for hostile in (False, True):
        try:
            loaded = load(made(table(kinds, hostile, utf8=utf8), folder), declared(kinds))
            found.append(sorted(loaded.rows("*", '"_owner" < 99'), key=str))
        except PolicyError as refused:
            found.append(str(refused))
    assert not isinstance(found[0], str), found[0]
    assert len(found[0]) == 12
    assert found[0] == found[1], "others are read otherwise"


@pytest.mark.parametrize("source", SOURCES)
def test_hostile_values_in_dictionaries(load: Any, tmp_path: Path, source: str) -> None:
    check_others(load, tmp_path, source, SOURCES[source][1])


def test_dictionaries_that_arrow_would_convert_are_refused_by_their_type(load: Any, tmp_path: Path) -> None:
    """In a dataset, which Arrow reads by the stored schema: whatever the values are."""
    for hostile in (False, True):
        for index in INDICES:
            if index != pa.int32():
                kinds = [(index, pa.string())]
                with pytest.raises(PolicyError, match="give the path of its folder"):
                    load(to_parquet_dataset(table(kinds, hostile), tmp_path), declared(kinds))


def test_one_long_text_of_many_records(load: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts are written out for some records at a time, of a source that holds each once."""
    monkeypatch.setattr(frames, "_DECODED", 7)
    sizes, decoded = [], frames._decoded

    def seen(column: Any) -> Any:
        sizes.append(len(column))
        return decoded(column)

    monkeypatch.setattr(frames, "_decoded", seen)
    places = pa.array([0, 1, 2, None] * 25, pa.int8())
    column = pa.DictionaryArray.from_arrays(places, pa.array(["a", "x" * 10_000, "b"]))
    made = pa.table({"id": range(100), "x": column})
    for source in (made, made.to_pandas(), to_parquet(made, tmp_path)):
        loaded = load(source, {"x": Text(max_length=10)})
        assert loaded.rows("x, COUNT(*)", "true GROUP BY x ORDER BY x") == [("a", 25), ("b", 25), (None, 50)]
    assert max(sizes) == 7


def test_nulls_inside_a_dictionary(load: Any) -> None:
    known = pa.array(["a", None, "b"])
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, None], pa.int8()), known)
    loaded = load(pa.table({"id": range(4), "x": column}), {"x": Text()})
    assert sorted(loaded.rows('"_owner", x')) == [(0, "a"), (1, None), (2, "b"), (3, None)]


def test_planted_bug_the_stored_schema_of_arrow(load: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "_opened", pq.ParquetFile)
    with pytest.raises(AssertionError, match="others are read otherwise"):
        check_others(load, tmp_path, "Parquet", [(pa.int8(), pa.string())])


def test_planted_bug_datasets_that_are_converted(load: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "_converted", lambda kind: False)
    with pytest.raises(AssertionError, match="others are read otherwise"):
        check_others(load, tmp_path, "Parquet dataset", [(pa.int8(), pa.string())])


def test_planted_bug_dictionaries_by_pythons_values(load: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def listed(column: Any) -> Any:
        decoded = pa.types.is_dictionary(column.type)
        return pa.array(column.to_pylist(), column.type.value_type) if decoded else column

    monkeypatch.setattr(frames, "_plain_inside", listed)
    with pytest.raises(AssertionError, match="others are read otherwise"):
        check_others(load, tmp_path, "Arrow table", [(pa.int8(), pa.string())])


def test_planted_bug_categories_as_arrow_takes_them(load: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python's values together, whose type Arrow infers from all of them."""
    monkeypatch.setattr(pandas, "_column", lambda series: (pa.array(series, from_pandas=True), True))
    usual = pd.DataFrame({"id": range(12), "x": pd.Categorical(pd.Series([1, "a", 2.5] * 4, dtype=object))})
    with pytest.raises((pa.ArrowException, PolicyError)):
        load(usual, {"x": Text()})


def test_categories_of_several_kinds(load: Any) -> None:
    """One label of another kind makes all of them Python objects, which are read by the same text."""
    for usual, hostile in (([1, 2, 3], "x"), ([True, False], 7), (["a", "b"], 1.5), ([1.5, 2.0], b"\xff")):
        values = [usual[k % len(usual)] for k in range(12)]
        found = []
        for more in ([], [hostile]):
            frame = pd.DataFrame({"id": [*range(12), *[99] * len(more)], "x": pd.Categorical([*values, *more])})
            rows = load(frame, {"n": Int(-9, 9, source="x"), "t": Text(source="x")}).rows("*", '"_owner" < 99')
            found.append(sorted(rows, key=str))
        assert found[0] == found[1], "others are read otherwise"
