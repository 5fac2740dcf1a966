"""One hostile record changes how no other record is read, and not whether a statistic is computed.

Every type of column of every source is crossed with an extra record: null, NaN, infinite, extreme, not UTF-8, of
another type where the container can hold it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dither as dt
from dither.errors import DitherError
from dither.mechanisms.codes import Grid, column_codes
from dither.mechanisms.quantiles.candidates import standing
from dither.sensitivity.columns import reading
from dither.sensitivity.columns.reading import Reading, read_column
from dither.sensitivity.columns.records import Records
from dither.stats.histogram import category_counts
from dither.stats.kinds import holds_numbers, number_column

Build = Callable[[list[Any]], Any]
NULL = None
DAY = datetime(2020, 2, 3, 4, 5, 6, 7)


def arrow_ints(kind: Any) -> Build:
    """A column of Arrow from the numbers that stand for its values, so that every one of them can be had."""
    width = pa.int32() if kind.bit_width == 32 else pa.int64()
    return lambda values: pa.array(values, width).view(kind)


def polars_ints(kind: Any, width: Any = pl.Int64) -> Build:
    return lambda values: pl.Series(values, dtype=width).cast(kind)


def arrow_text(kind: Any) -> Build:
    return lambda values: pa.array(
        [value.encode() if isinstance(value, str) else value for value in values], pa.binary()
    ).view(kind)


def masked(kind: str) -> Build:
    return lambda values: np.ma.MaskedArray(
        np.array([0 if value is None else value for value in values], kind), [value is None for value in values]
    )


def objects(values: list[Any]) -> Any:
    return np.fromiter(values, object, len(values))


INTS = [3, 1, 2, 2, 7]
WORDS = ["a", "b", "b", "", "ä"]
FLOATS = [0.1, 0.3, 0.3, 2.5, -1.0]
TRUTHS = [True, False, True]
DECIMALS = [Decimal("1.50"), Decimal("2.25"), Decimal("-7.00")]
STAMPS = [1580702706000000, 5_000_000, 5_000_000]  # microseconds
STRANGE = [NULL, math.nan, math.inf, -math.inf, 10**400, "x", b"\xff", [1], {}, object(), Decimal("sNaN"), 1j, True]
STRANGE += [Fraction(1, 3), np.datetime64("NaT"), pd.NA, pd.NaT, np.float32(0.1), date.max, (1, [2]), {1, 2}]
FLOAT_EXTRAS = [NULL, math.nan, math.inf, -math.inf, 1e30]
FAR = [NULL, 2**62, -(2**62), -(2**63) + 1]

# Name, how the column is built, ordinary records, hostile ones.
COLUMNS: dict[str, tuple[Build, list[Any], list[Any]]] = {
    "list of floats": (list, FLOATS, STRANGE),
    "list of ints": (list, INTS, STRANGE),
    "list of words": (list, WORDS, STRANGE),
    "tuple": (tuple, [1, 0.5, "a", None], STRANGE),
    "numpy objects": (objects, FLOATS, STRANGE),
    "pandas objects": (lambda values: pd.Series(values, dtype=object), INTS, STRANGE),
    "polars objects": (lambda values: pl.Series(values, dtype=pl.Object), WORDS, STRANGE),
    "numpy words": (lambda values: np.array(values, "U9"), WORDS, ["\x00", "z" * 9]),
    "numpy bool": (lambda values: np.array(values, bool), TRUTHS, [False]),
    "numpy masked": (masked("f4"), FLOATS, [*FLOAT_EXTRAS]),
    "numpy masked ints": (masked("i8"), INTS, [NULL, 2**63 - 1]),
    "numpy days": (lambda values: np.array(values, "M8[D]"), [1, 2, 2], [-(2**63), 2**40]),
    "numpy nanoseconds": (lambda values: np.array(values, "M8[ns]"), [1000, 2001, 2000], [-(2**63), 2**62]),
    "numpy durations": (lambda values: np.array(values, "m8[us]"), [1, 2, 2], [-(2**63), 2**62]),
    "pandas words": (lambda values: pd.Series(values, dtype="str"), WORDS, [NULL, "\x00"]),
    "pandas string": (lambda values: pd.Series(values, dtype="string"), WORDS, [NULL, "\x00"]),
    "pandas boolean": (lambda values: pd.Series(values, dtype="boolean"), TRUTHS, [NULL]),
    "pandas bool": (lambda values: pd.Series(values), TRUTHS, [NULL, "x", 7]),
    "pandas ints": (lambda values: pd.Series(values), INTS, [NULL, 2**62, "x", 0.5]),
    "pandas category": (
        lambda values: pd.Series(pd.Categorical(values, categories=["a", "b", "", "ä", "q"])),
        WORDS,
        [NULL, "q"],
    ),
    "pandas stamps": (lambda values: pd.Series(np.array(values, "M8[us]")), STAMPS, [-(2**63), 2**62]),
    "pandas zoned": (
        lambda values: pd.Series(np.array(values, "M8[us]")).dt.tz_localize("UTC").dt.tz_convert("Europe/Berlin"),
        STAMPS,
        [-(2**63), 2**62],
    ),
    "pandas durations": (lambda values: pd.Series(np.array(values, "m8[s]")), [1, 2, 2], [-(2**63), 2**62]),
    "pandas sparse": (lambda values: pd.Series(pd.arrays.SparseArray(values, dtype="f8")), FLOATS, [*FLOAT_EXTRAS]),
    "arrow bool": (lambda values: pa.array(values, pa.bool_()), TRUTHS, [NULL]),
    "arrow text": (arrow_text(pa.string()), WORDS, [NULL, b"\xff\xfe", "\x00"]),
    "arrow large text": (lambda values: pa.array(values, pa.large_string()), WORDS, [NULL, "\x00"]),
    "arrow text view": (lambda values: pa.array(values, pa.string_view()), WORDS, [NULL, "\x00"]),
    "arrow labels": (lambda values: pa.array(values).dictionary_encode(), WORDS, [NULL, "new"]),
    "arrow coded numbers": (lambda values: pa.array(values, pa.int64()).dictionary_encode(), INTS, [NULL, 2**60]),
    "arrow coded floats": (lambda values: pa.array(values, pa.float32()).dictionary_encode(), FLOATS, [*FLOAT_EXTRAS]),
    "arrow runs": (
        lambda values: pa.RunEndEncodedArray.from_arrays(list(range(1, len(values) + 1)), pa.array(values, pa.int64())),
        INTS,
        [NULL, 2**60],
    ),
    "arrow decimal128": (lambda values: pa.array(values, pa.decimal128(38, 2)), DECIMALS, [NULL, Decimal(10) ** 35]),
    "arrow decimal256": (lambda values: pa.array(values, pa.decimal256(76, 2)), DECIMALS, [NULL, Decimal(10) ** 70]),
    "arrow bytes": (lambda values: pa.array(values, pa.binary()), [b"a", b"\xff"], [NULL, b""]),
    "arrow lists": (lambda values: pa.array(values, pa.list_(pa.int64())), [[1], [], [2, 3]], [NULL, [None]]),
    "arrow structs": (
        lambda values: pa.array(values, pa.struct({"a": pa.int64()})),
        [{"a": 1}, {"a": 2}],
        [NULL, {"a": None}],
    ),
    "arrow chunks": (lambda values: pa.chunked_array([values[:2], values[2:]], pa.float32()), FLOATS, FLOAT_EXTRAS),
    "arrow date64": (lambda values: pa.array(values, pa.int64()).view(pa.date64()), [86_400_000, 0], FAR),
    "arrow date32": (lambda values: pa.array(values, pa.int32()).view(pa.date32()), [1, 2], [NULL, 2**30]),
    "arrow nulls": (lambda values: pa.array(values, pa.null()), [None, None], [NULL]),
    "polars bool": (lambda values: pl.Series(values, dtype=pl.Boolean), TRUTHS, [NULL]),
    "polars text": (lambda values: pl.Series(values, dtype=pl.String), WORDS, [NULL, "\x00"]),
    "polars labels": (lambda values: pl.Series(values, dtype=pl.Categorical), WORDS, [NULL, "new"]),
    "polars enum": (lambda values: pl.Series(values, dtype=pl.Enum([*WORDS[:2], "", "ä"])), WORDS, [NULL]),
    "polars decimal": (lambda values: pl.Series(values, dtype=pl.Decimal(38, 2)), DECIMALS, [NULL, Decimal(10) ** 35]),
    "polars lists": (lambda values: pl.Series(values, dtype=pl.List(pl.Int64)), [[1], [], [2]], [NULL, [None]]),
    "polars wide": (lambda values: pl.Series(values, dtype=pl.Int128), INTS, [NULL, 2**100]),
    "polars date": (polars_ints(pl.Date, pl.Int32), [1, 2], [NULL, 2**30]),
    "polars time": (polars_ints(pl.Time), [1_000_000, 2_000], [NULL]),
    "polars nulls": (lambda values: pl.Series(values, dtype=pl.Null), [None, None], [NULL]),
}
for width in (8, 16, 32, 64):
    for sign in ("int", "uint"):
        most = 2 ** (width - (sign == "int")) - 1
        kind, capital = f"{sign}{width}", f"{sign}{width}".replace("i", "I").replace("u", "U")
        COLUMNS |= {
            f"numpy {kind}": (lambda values, kind=kind: np.array(values, kind), INTS, [0, most]),
            f"pandas {kind}": (lambda values, kind=kind: pd.Series(values, dtype=kind), INTS, [0, most]),
            f"pandas nullable {kind}": (
                lambda values, kind=capital: pd.Series(values, dtype=kind),
                INTS,
                [NULL, most],
            ),
            f"arrow {kind}": (lambda values, kind=kind: pa.array(values, getattr(pa, kind)()), INTS, [NULL, most]),
            f"pandas arrow {kind}": (
                lambda values, kind=kind: pd.Series(values, dtype=f"{kind}[pyarrow]"),
                INTS,
                [NULL, most],
            ),
            f"polars {kind}": (
                lambda values, kind=capital: pl.Series(values, dtype=getattr(pl, kind)),
                INTS,
                [NULL, most],
            ),
        }
for width in (16, 32, 64):
    extras = [NULL, math.nan, math.inf, -math.inf, float(np.finfo(f"f{width // 8}").max)]
    COLUMNS |= {
        f"numpy float{width}": (lambda values, w=width: np.array(values, f"f{w // 8}"), FLOATS, extras),
        f"pandas float{width}": (lambda values, w=width: pd.Series(values, dtype=f"float{w}"), FLOATS, extras),
        f"arrow float{width}": (lambda values, w=width: pa.array(values, getattr(pa, f"float{w}")()), FLOATS, extras),
        f"polars float{width}": (
            lambda values, w=width: pl.Series(values, dtype=getattr(pl, f"Float{w}")),
            FLOATS,
            extras,
        ),
    }
    if width > 16:
        COLUMNS |= {
            f"pandas nullable float{width}": (
                lambda values, w=width: pd.Series(values, dtype=f"Float{w}"),
                FLOATS,
                extras,
            ),
            f"pandas arrow float{width}": (
                lambda values, w=width: pd.Series(values, dtype=pd.ArrowDtype(getattr(pa, f"float{w}")())),
                FLOATS,
                extras,
            ),
        }
for unit in ("s", "ms", "us", "ns"):
    COLUMNS[f"arrow duration {unit}"] = (arrow_ints(pa.duration(unit)), [5000, 7000, 7000], FAR)
    COLUMNS[f"arrow time {unit}"] = (
        arrow_ints(pa.time32(unit) if unit in ("s", "ms") else pa.time64(unit)),
        [5000, 7000, 7000],
        [NULL, 2**31 - 1],
    )
    for zone in (None, "UTC", "Europe/Berlin", "+07:30", "Nowhere/Else"):
        COLUMNS[f"arrow stamp {unit} {zone}"] = (arrow_ints(pa.timestamp(unit, zone)), [5000, 7000, 7000], FAR)
    if unit != "s":
        COLUMNS[f"polars duration {unit}"] = (polars_ints(pl.Duration(unit)), [5000, 7000, 7000], FAR)
        for zone in (None, "UTC", "Europe/Berlin"):
            COLUMNS[f"polars stamp {unit} {zone}"] = (polars_ints(pl.Datetime(unit, zone)), [5000, 7000, 7000], FAR)


def arrow_coded(index: Any, kind: Any, values: list[Any]) -> Build:
    """A column of Arrow from places in its dictionary, which holds all values."""
    width = {32: pa.int32(), 64: pa.int64()}.get(kind.bit_width) if pa.types.is_temporal(kind) else None
    known = arrow_text(kind)(values) if kind == pa.string() else pa.array(values, width or kind).view(kind)
    return lambda places: pa.DictionaryArray.from_arrays(pa.array(places, index), known)


CODED: dict[Any, tuple[list[Any], list[Any]]] = {  # types in a dictionary, ordinary values and hostile ones
    pa.string(): (["a", "b", ""], [b"\xff\xfe", "\x00"]),
    pa.binary(): ([b"a", b"b", b""], [b"\xff"]),
    pa.int8(): ([3, 1, 2], [127]),
    pa.uint64(): ([3, 1, 2], [2**64 - 1]),
    pa.float16(): ([0.5, 2.5, -1.0], [math.nan, math.inf]),
    pa.float32(): ([0.1, 2.5, -1.0], [math.nan, math.inf]),
    pa.float64(): ([0.1, 2.5, -1.0], [math.nan, -math.inf, 1e308]),
    pa.bool_(): ([True, False, True], []),
    pa.decimal128(38, 2): ([*DECIMALS], [Decimal(10) ** 35]),
    pa.decimal256(76, 2): ([*DECIMALS], [Decimal(10) ** 70]),
    pa.date32(): ([1, 2, 3], [2**30]),
    pa.timestamp("ns"): ([5000, 7000, 1], [2**62, -(2**62)]),
    pa.timestamp("us", "UTC"): ([5000, 7000, 1], [2**62, -(2**62)]),
    pa.duration("s"): ([5000, 7000, 1], [2**62]),
}
for signed in (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()):
    for coded, (usual, hostile) in CODED.items():
        places = [NULL, *range(3, 3 + len(hostile))]
        COLUMNS[f"arrow {signed} of {coded}"] = (arrow_coded(signed, coded, usual + hostile), [0, 1, 1, 2], places)
for title, usual, hostile in (
    ("ints", INTS, [2**62]),
    ("floats", FLOATS, [math.inf, 1e30]),
    ("decimals", DECIMALS, [Decimal("1E+400"), Decimal("-Infinity")]),
    ("stamps", [pd.Timestamp(value, unit="us") for value in STAMPS], [pd.Timestamp("9999-12-31")]),
):
    known = list(dict.fromkeys([*usual, *hostile]))
    COLUMNS[f"pandas category of {title}"] = (
        lambda values, known=known: pd.Series(pd.Categorical(values, categories=known)),
        usual,
        [NULL, *hostile],
    )

CASES = [(name, place) for name, (_, _, extras) in COLUMNS.items() for place in range(len(extras))]
GRID = Grid.within(-10, 10, "0.25")
CANDIDATES = [0, "0.1", 0.3, 2, "2.5", 3]


def same(one: object, other: object) -> bool:
    return one is other or repr(one) == repr(other) or bool(one == other)


def hashable(item: object) -> bool:
    try:
        return hash(item) is not None
    except TypeError:
        return False


def categories_of(column: Any) -> list[Any]:
    """The values that occur, declared as categories; a NaN equals nothing and cannot be one."""
    found = read_column(column).elements()
    return list(dict.fromkeys([item for item in found if hashable(item) and item is not None])) or ["none"]


def check_column(build: Build, ordinary: list[Any], extra: Any) -> None:
    """With the extra record first, last and alone in the middle, the others are read as without it."""
    alone = build(ordinary)
    with_extra = {place: build([*ordinary[:place], extra, *ordinary[place:]]) for place in (0, 2, len(ordinary))}
    read, categories = read_column(alone).elements(), categories_of(alone)
    counts = category_counts(alone, categories).tolist()
    for place, column in with_extra.items():
        others = read_column(column).elements()
        hostile = others.pop(place)
        assert len(others) == len(read)
        assert all(map(same, others, read)), "the others are read differently"
        own = category_counts([hostile], categories)
        assert (category_counts(column, categories) - own).tolist() == counts, "the others are counted differently"
        if outcome(alone, number_column) == outcome(column, number_column) == "Reading":
            check_numbers(alone, column, place)


def check_numbers(alone: Any, column: Any, place: int) -> None:
    codes, missing = column_codes(number_column(alone), GRID)
    others, absent = column_codes(number_column(column), GRID)
    assert np.delete(others, place).tolist() == codes.tolist(), "the others have other codes"
    left_out = [np.zeros(codes.size, bool) if missing is None else missing, np.zeros(others.size, bool)]
    left_out[1] = left_out[1] if absent is None else absent
    assert np.delete(left_out[1], place).tolist() == left_out[0].tolist(), "others are missing"
    rule = dt.ListedQuantile(q="0.5", candidates=CANDIDATES, epsilon=1)
    before, after = (standing(one, rule.candidates, keep_missing=False) for one in (alone, column))
    moved = after.places - before.places
    assert sorted(moved.tolist())[-1] <= 1, "others have moved"
    assert moved.min() >= 0, "others have moved"
    if after.size == before.size:
        assert rule.probabilities(alone) == rule.probabilities(column)
    clamped = Records(column, -10, 10).ranks(1, others.size)
    for value in Records(alone, -10, 10).ranks(1, codes.size):
        clamped.remove(value)
    assert len(clamped) == 1


def outcome(column: Any, call: Callable[[Any], Any]) -> str:
    try:
        return type(call(column)).__name__
    except DitherError as refused:
        return f"{type(refused).__name__}: {refused}"


@pytest.mark.parametrize(("name", "place"), CASES, ids=lambda part: str(part))
def test_one_hostile_record_changes_no_other(name: str, place: int) -> None:
    build, ordinary, extras = COLUMNS[name]
    check_column(build, ordinary, extras[place])


PRICE = {"epsilon": 1}
BOUNDS = {"lower": -10, "upper": 10, **PRICE}
STATISTICS: dict[str, Callable[[Any], Any]] = {
    "count": lambda x: dt.stats.count(x, **PRICE),
    "sum": lambda x: dt.stats.sum(x, **BOUNDS),
    "mean": lambda x: dt.stats.mean(x, **BOUNDS),
    "variance": lambda x: dt.stats.variance(x, **BOUNDS, relation="replace"),
    "median": lambda x: dt.stats.median(x, **BOUNDS, grid=1),
    "listed": lambda x: dt.stats.median(x, candidates=CANDIDATES, **PRICE),
    "trimmed_mean": lambda x: dt.stats.trimmed_mean(x, "0.1", **BOUNDS),
    "edges": lambda x: dt.stats.histogram(x, edges=[-1, 0, 3], **PRICE),
    "categories": lambda x: dt.stats.histogram(x, categories=[1, "a"], **PRICE),
    "mode": lambda x: dt.stats.mode(x, categories=[1, "a"], **PRICE),
    "vote": lambda x: dt.stats.vote(x, candidates=["a", "b"], **PRICE),
    "ratio": lambda x: dt.stats.ratio(x, x, **PRICE),
    "fine grid": lambda x: dt.stats.sum(x, lower=0, upper="1e-290", grid="1e-299", **PRICE),
    "regression": lambda x: dt.stats.linear_regression(
        [x], x, x_bounds=[(-10, 10)], y_bounds=(-10, 10), epsilon=1, delta="1e-6"
    ),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_success_depends_on_no_record(name: str) -> None:
    """Each statistic answers or refuses by the type, which pandas' own columns of NumPy types may change."""
    build, ordinary, extras = COLUMNS[name]
    if name in ("pandas bool", "pandas ints"):  # pandas makes another type of them
        extras = [extra for extra in extras if outcome(build([*ordinary, extra]), holds_numbers) == "bool"]
    for statistic, call in STATISTICS.items():
        if statistic == "vote" and name.startswith(("pandas bool", "pandas ints")):
            continue
        wanted = outcome(build([*ordinary, ordinary[0]]), call)
        for extra in extras:
            assert outcome(build([*ordinary, extra]), call) == wanted, (statistic, extra)


def test_examples_that_once_differed() -> None:
    tenths = pl.Series([0.1] * 200 + [0.3] * 150, dtype=pl.Float32)
    rule = dt.ListedQuantile(q="0.5", candidates=[0.1, 0.05], epsilon=1)
    with_null = tenths.append(pl.Series([None], dtype=pl.Float32))
    assert rule.probabilities(tenths) == rule.probabilities(with_null)
    stamp = datetime(2020, 1, 1, tzinfo=UTC)
    zoned = pa.array([stamp] * 500, pa.timestamp("us", "UTC"))
    both = pa.chunked_array([zoned, pa.array([None], zoned.type)])
    assert category_counts(zoned, [stamp]).tolist() == category_counts(both, [stamp]).tolist() == [500]


@pytest.mark.parametrize(
    ("column", "value"),
    [
        (np.array(["2020-02-03T04:05:06.000007"], "M8[ns]"), DAY),
        (np.array(["2020-02-03"], "M8[D]"), date(2020, 2, 3)),
        (pd.Series([DAY]), DAY),
        (pa.array([DAY], pa.timestamp("ns")), DAY),
        (pl.Series([DAY]), DAY),
        (pa.array([time(1, 2)]), time(1, 2)),
        (np.array([5], "m8[ns]") * 1000, timedelta(microseconds=5)),
        (pl.Series([timedelta(days=1)]), timedelta(days=1)),
        (pa.array([Decimal("1.50")]), Decimal("1.5")),
        (pl.Series(["a"], dtype=pl.Categorical), "a"),
        (np.array([0.1], "f4"), float(np.float32(0.1))),
        (np.array([True]), True),
    ],
)
def test_values_of_every_kind_are_counted(column: Any, value: Any) -> None:
    assert category_counts(column, ["other", value]).tolist() == [0, 1]


def old_arrow(column: Any) -> Reading:
    return reading._objects(column.to_pylist()) if column.null_count else Reading(np.asarray(column))


def old_polars(column: Any) -> Reading:
    return reading._objects(column.to_list()) if column.null_count() else Reading(np.asarray(column.to_numpy()))


@pytest.mark.parametrize(
    ("part", "planted", "name", "extra"),
    [
        ("_arrow", old_arrow, "arrow float32", NULL),
        ("_arrow", old_arrow, "arrow stamp ns UTC", NULL),
        ("_each", lambda together, size, alone: reading._objects(together()), "arrow stamp us UTC", 2**62),
        ("_each", lambda together, size, alone: reading._objects(together()), "pandas zoned", 2**62),
        ("_each", lambda together, size, alone: reading._objects(together()), "arrow int8 of string", 3),
        ("_polars", old_polars, "polars float32", NULL),
        ("_polars", old_polars, "polars stamp ns UTC", NULL),
    ],
)
def test_planted_nulls_decide_how_a_column_is_read(
    monkeypatch: pytest.MonkeyPatch, part: str, planted: Any, name: str, extra: Any
) -> None:
    build, ordinary, _ = COLUMNS[name]
    check_column(build, ordinary, extra)
    monkeypatch.setattr(reading, part, planted)
    with pytest.raises((AssertionError, OverflowError, NotImplementedError, UnicodeDecodeError)):
        check_column(build, ordinary, extra)
