"""Every value of every source type has one defined stored form; the oracle is plain Python on exact decimals."""

from __future__ import annotations

import datetime
import math
import struct
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dither.errors import PolicyError
from dither.policy.columns import Bool, Category, Coded, Column, Date, Fixed, Int, Text, Timestamp

NUMBERS: dict[str, Coded] = {
    "cents": Fixed(0, 100, decimals=2),
    "whole": Fixed(-100, 100, decimals=0),
    "fine": Fixed("-4.5", "4.5", decimals=18),
    "milli": Fixed(-(10**12), 10**12, decimals=3),
    "wide": Int(-(2**62), 2**62),
    "micro": Fixed("-999999999999", "999999999999", decimals=6),
    "unit": Fixed(0, 1, decimals=9),
    "small": Int(-5, 120),
}
NASTY = [
    math.nan, math.inf, -math.inf, 0.0, -0.0, 5e-324, -5e-324, 1.7976931348623157e308, -1.7976931348623157e308,
    2.0**63, -(2.0**63), 2.0**62, -(2.0**62), 2.0**53 + 2, 1e20, 1e21, 1e12, 1e12 + 0.5, 999999999999.9999,
    0.5, 1.5, 2.5, -0.5, -1.5, 0.005, 0.015, 0.145, 1.005, -0.145, 0.125, 2.675, 99.995, 100.004, 100.005, 100.0, 120.5,
]  # fmt: skip


def steps(value: float | int | Decimal, column: Coded) -> Decimal:
    with localcontext() as context:
        context.prec = 2000
        exact = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
        return (exact * 10**column.decimals).to_integral_value(ROUND_HALF_UP)


def expected_number(value: float | int | Decimal | None, column: Coded) -> int | None:
    if value is None or not math.isfinite(value):
        return None
    return int(min(max(steps(value, column), Decimal(column.low)), Decimal(column.high)))


def check_numbers(loaded: Any, values: list[Any], columns: dict[str, Coded], read: Any = lambda value: value) -> None:
    names = ", ".join(f'"{name}"' for name in columns)
    stored = {row[0]: row[1:] for row in loaded.rows(f'"_owner", {names}')}
    wrong = []
    for owner, value in enumerate(values):
        for name, got in zip(columns, stored[owner], strict=True):
            if got != expected_number(read(value), columns[name]):
                wrong.append((value, name, got))
    assert wrong == []


def numbers_table(values: Any, kind: pa.DataType) -> pa.Table:
    array = pa.array(values, kind)
    return pa.table({"id": range(len(array)), **dict.fromkeys(NUMBERS, array)})


def test_nasty_doubles(load: Any) -> None:
    loaded = load(numbers_table([*NASTY, None], pa.float64()), NUMBERS)
    check_numbers(loaded, [*NASTY, None], NUMBERS)
    assert loaded.report.replaced == dict.fromkeys(NUMBERS, 3)
    kept = [value for value in NASTY if math.isfinite(value)]
    for name, column in NUMBERS.items():
        outside = [value for value in kept if not column.low <= steps(value, column) <= column.high]
        assert loaded.report.clamped[name] == len(outside) > 0


@given(st.lists(st.integers(0, 2**64 - 1), min_size=200, max_size=200), st.integers(0, 2**32))
@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_double_and_its_text(load: Any, words: list[int], seed: int) -> None:
    values = [struct.unpack("<d", struct.pack("<Q", word))[0] for word in words]
    values += [(seed * 7919 * k % 10**k + 0.5) / 10 ** (k // 2) for k in range(1, 17)]  # near and on ties
    values += [(seed + k) / 1000 for k in range(50)]
    check_numbers(load(numbers_table(values, pa.float64()), NUMBERS), values, NUMBERS)
    check_numbers(load(numbers_table([repr(value) for value in values], pa.string()), NUMBERS), values, NUMBERS)


def test_singles_are_read_as_they_are_printed(load: Any) -> None:
    values = [0.1, 0.145, 2.5, 1e38, -7.25, math.nan, math.inf, 16777217.0]
    loaded = load(numbers_table(values, pa.float32()), NUMBERS)
    shown = [duckdb.execute("SELECT CAST(CAST(? AS FLOAT) AS VARCHAR)", [value]).fetchall()[0][0] for value in values]
    check_numbers(loaded, [float(text) for text in shown], NUMBERS)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (pa.int8(), [-128, 127, 0, 5]),
        (pa.int64(), [-(2**63), 2**63 - 1, 2**62, 2**62 + 1, -(2**62) - 1, 0, 100, 101]),
        (pa.uint64(), [2**64 - 1, 2**63, 0, 100]),
        (pa.decimal128(38, 0), [Decimal(10**38 - 1), Decimal(-(10**38) + 1), Decimal(7)]),
        (
            pa.decimal128(10, 3),
            [Decimal("0.145"), Decimal("-0.145"), Decimal("0.155"), Decimal("99.995"), Decimal("1.234")],
        ),
        (pa.decimal128(38, 30), [Decimal("0.123456789012345678500000000000"), Decimal("-4.5")]),
        (pa.decimal256(60, 2), [Decimal(10) ** 55, Decimal("12.345").quantize(Decimal("0.01")), Decimal(-(10**55))]),
    ],
)
def test_integers_and_decimals_are_exact(load: Any, kind: pa.DataType, values: list[Any]) -> None:
    check_numbers(load(numbers_table([*values, None], kind), NUMBERS), [*values, None], NUMBERS)


def test_wide_integers_of_the_engine(load: Any, tmp_path: Any) -> None:
    columns = {name: column for name, column in NUMBERS.items() if name != "id"}
    for type_, values in {
        "HUGEINT": [2**127 - 1, -(2**127), 2**62 + 1, 3],
        "UHUGEINT": [2**128 - 1, 0, 2**62],
        "BIGNUM": [10**60, -(10**60), 17],
    }.items():
        path = tmp_path / f"{type_}.db"
        with duckdb.connect(str(path)) as connection:
            fields = ", ".join(f'x AS "{name}"' for name in columns)
            listed = ", ".join(f"({owner}, CAST('{value}' AS {type_}))" for owner, value in enumerate(values))
            connection.execute(f"CREATE TABLE t AS SELECT id, {fields} FROM (VALUES {listed}) v(id, x)").fetchall()
        check_numbers(load((path, "t"), columns), values, columns)


TEXTS: dict[str, str | None] = {
    "12": "12", " 12 ": "12", "+5": "5", "-0": "0", "1e2": "100", "1E-3": "0.001", ".5": "0.5", "5.": "5", "007": "7",
    "": None, " ": None, "abc": None, "12abc": None, "1,5": None, "nan": None, "NaN": None, "inf": None,
    "-Infinity": None, "1e400": None, "--1": None, "1e": None, ".": None, "NULL": None, "\x00": None,
    "١٢": None, "12\x00": None,
    "99999999999999999999999999999999999999999999": "1e44", "-1e300": "-1e300",
    "0.1249999999999999999999": "0.1249999999999999999999", "0.1250000000000000000000": "0.125", "1e-400": "0",
    "100.005": "100.005",
    "4611686018427387904": "4611686018427387904",
    "4611686018427387903.5": "4611686018427387903.5",
}  # fmt: skip


def test_text_that_casts_and_text_that_does_not(load: Any) -> None:
    texts = list(TEXTS)
    loaded = load(numbers_table(texts, pa.string()), NUMBERS)
    check_numbers(loaded, texts, NUMBERS, read=lambda text: None if TEXTS[text] is None else Decimal(TEXTS[text]))
    assert loaded.report.replaced["cents"] == sum(1 for value in TEXTS.values() if value is None)


KINDS: list[tuple[Column, pa.DataType, list[tuple[Any, Any]]]] = [
    (Bool(), pa.bool_(), [(True, 1), (False, 0), (None, None)]),
    (Bool(), pa.int64(), [(1, 1), (0, 0), (2, None), (-1, None)]),
    (Bool(), pa.float64(), [(1.0, 1), (0.0, 0), (0.5, None), (math.nan, None)]),
    (Bool(), pa.string(), [("true", 1), ("FALSE", 0), ("1", 1), ("maybe", None), ("", None)]),
    (Int(0, 9), pa.bool_(), [(True, 1), (False, 0)]),
    (
        Category(["b", "a", "10", "é'\""]), pa.string(),
        [("a", 1), ("b", 0), ("A", None), ("", None), ("é'\"", 3), (None, None)],
    ),
    (Category(["b", "a", "10", "é'\""]), pa.int64(), [(10, 2), (11, None)]),
    (Category(["b", "a"]), pa.dictionary(pa.int8(), pa.string()), [("a", 1), ("b", 0), ("c", None)]),
    (Category(["b", "a"]), pa.binary(), [(b"a", 1), (b"\xff", None)]),
    (Text(max_length=3), pa.string(), [("abc", "abc"), ("äöü", "äöü"), ("abcd", None), ("a\x00", None), ("", "")]),
    (Text(max_length=9), pa.binary(), [(b"ok", "ok"), (b"\xff", None), ("ß".encode(), "ß"), (b"\xed\xa0\x80", None)]),
    (Text(max_length=9), pa.int64(), [(123, "123"), (10**12, None)]),
    (
        Date("2000-01-01", "2030-12-31"), pa.date32(),
        [(datetime.date(1970, 1, 1), 10957), (datetime.date(2024, 2, 29), 19782), (datetime.date(9999, 12, 31), 22279)],
    ),
    (
        Date("2000-01-01", "2030-12-31"), pa.string(),
        [("2024-02-29", 19782), ("2023-02-29", None), ("infinity", None), ("-infinity", None), ("290000-01-01", 22279),
         ("2024-02-29 23:59:59", 19782), ("yesterday", None), ("0001-01-01 (BC)", 10957), ("999999999-01-01", None)],
    ),
    (
        Date("2000-01-01", "2030-12-31"), pa.timestamp("us", "America/New_York"),
        [(datetime.datetime(2024, 2, 29, 23, tzinfo=datetime.UTC), 19782)],
    ),
    (
        Timestamp("2000-01-01", "2030-12-31"), pa.timestamp("us"),
        [(datetime.datetime(2024, 2, 29, 1, 2, 3, 456789), 1709168523456789),
         (datetime.datetime(1960, 1, 1), 946684800000000)],
    ),
    (
        Timestamp("2000-01-01", "2030-12-31"), pa.timestamp("ns", "Europe/Paris"),
        [(1709168523456789000, 1709168523456789), (9 * 10**18, 1924905600000000), (-9 * 10**18, 946684800000000),
         (2**63 - 1, None)],
    ),
    (
        Timestamp("2000-01-01", "2030-12-31"), pa.string(),
        [("2024-02-29T01:02:03.456789Z", 1709168523456789), ("2024-02-29 03:02:03.456789+02:00", 1709168523456789),
         ("2024-02-29 01:02:03.456789", 1709168523456789), ("2024-02-30", None), ("infinity", None), ("x", None),
         ("290000-01-01", 1924905600000000)],
    ),
    (Timestamp("2000-01-01", "2030-12-31"), pa.date32(), [(datetime.date(2024, 2, 29), 1709164800000000)]),
]  # fmt: skip


@pytest.mark.parametrize(("column", "kind", "cases"), KINDS)
def test_other_kinds(load: Any, column: Column, kind: pa.DataType, cases: list[tuple[Any, Any]]) -> None:
    values = [value for value, _ in cases]
    source = pa.table({"id": range(len(values)), "x": pa.array(values, kind)})
    assert dict(load(source, {"x": column}).rows('"_owner", "x"')) == dict(enumerate(want for _, want in cases))


@pytest.mark.parametrize(("column", "kind", "cases"), KINDS)
def test_a_column_that_is_not_nullable_holds_its_default(
    load: Any, column: Column, kind: pa.DataType, cases: list[tuple[Any, Any]]
) -> None:
    default = {Bool: True, Category: "a", Text: "-'-"}.get(type(column), "2020-02-02")
    default = 7 if isinstance(column, Int) else default
    given_ = {key: value for key, value in column.declaration().items() if key not in ("kind", "nullable", "default")}
    full = type(column)(**given_, nullable=False, default=default)
    values = [value for value, _ in cases] + [None]
    source = pa.table({"id": range(len(values)), "x": pa.array(values, kind)})
    loaded = load(source, {"x": full})
    wanted = [full.stored_default if want is None else want for _, want in cases] + [full.stored_default]
    assert dict(loaded.rows('"_owner", "x"')) == dict(enumerate(wanted))
    assert loaded.report.replaced["x"] == sum(1 for _, want in cases if want is None) + 1


def test_dates_of_the_engine_that_are_infinite(load: Any, tmp_path: Any) -> None:
    path = tmp_path / "infinite.db"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE t AS SELECT range AS id, "
            "CAST(['infinity', '-infinity', '5877642-06-25 (BC)'][range + 1] AS DATE) AS d, "
            "CAST(['infinity', '-infinity', '294247-01-10'][range + 1] AS TIMESTAMP) AS s FROM range(3)"
        ).fetchall()
    columns = {"d": Date("2000-01-01", "2030-12-31"), "s": Timestamp("2000-01-01", "2030-12-31")}
    assert sorted(load((path, "t"), columns).rows('"_owner", "d", "s"')) == [
        (0, None, None),
        (1, None, None),
        (2, 10957, 1924905600000000),
    ]


@pytest.mark.parametrize(
    ("column", "values"),
    [
        (Int(0, 9), pa.array([[1], [2]])),
        (Date("2000-01-01", "2001-01-01"), pa.array([1, 2])),
        (Text(), pa.array([{"a": 1}] * 2)),
    ],
)
def test_types_that_cannot_be_read_are_refused_by_the_schema_alone(load: Any, column: Column, values: pa.Array) -> None:
    with pytest.raises(PolicyError, match="cannot be read as"):
        load(pa.table({"id": [1, 2], "x": values}), {"x": column})


@pytest.mark.parametrize(
    ("owners", "kept"),
    [
        (pa.array([1, None, -(2**63), 2**63 - 1]), {1, -(2**63), 2**63 - 1}),
        (pa.array([2**64 - 1, None], pa.uint64()), {str(2**64 - 1)}),
        (pa.array(["a", None, "", "  ", "b"]), {"a", "b"}),
        (pa.array([1.0, math.nan, math.inf, 1.5, -0.0, 1e300, None]), {1, 0}),
        (pa.array([b"x", b"\xff", None]), {"x"}),
        (pa.array(["a", "b", None]).dictionary_encode(), {"a", "b"}),
    ],
)
def test_a_record_without_an_owner_is_dropped(load: Any, owners: pa.Array, kept: set[Any]) -> None:
    loaded = load(pa.table({"id": owners, "x": range(len(owners))}), {"x": Int(0, 9)})
    assert {row[0] for row in loaded.rows('"_owner"')} == kept
    assert loaded.report.dropped_without_owner == len(owners) - len(kept)
    assert loaded.report.rows == loaded.report.owners == len(kept)
