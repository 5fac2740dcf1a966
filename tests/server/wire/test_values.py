"""Values as bytes and back: what clients of PostgreSQL read is what was released, as text and in binary."""

from __future__ import annotations

import datetime
import math
import struct
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from psycopg.adapt import Transformer
from psycopg.pq import Format

from dither.server.wire.parameters import literal, others
from dither.server.wire.sqlstates import WireError
from dither.server.wire.value_types import NumberTooLarge, ValueType, encoded, numeric, numeric_from, type_of

UTC = datetime.UTC
CASES: list[tuple[pa.DataType, list[Any]]] = [
    (pa.int64(), [0, -1, 2**63 - 1, -(2**63), None]),
    (pa.int16(), [1, -1]),
    (pa.int32(), [2**31 - 1, -(2**31)]),
    (pa.uint32(), [0, 2**32 - 1]),
    (pa.float64(), [0.0, -0.5, 1e300, 5e-324, 12.0, None]),
    (pa.bool_(), [True, False, None]),
    (pa.string(), ["", "ä漢", "a\nb", "'", None]),
    (pa.date32(), [datetime.date(1, 1, 1), datetime.date(2000, 1, 1), datetime.date(9999, 12, 31)]),
    (pa.timestamp("us"), [datetime.datetime(1, 1, 1), datetime.datetime(2024, 2, 29, 23, 59, 59, 999999)]),
    (pa.timestamp("us", tz="UTC"), [datetime.datetime(1999, 12, 31, 23, 59, 59, 1, tzinfo=UTC)]),
    (pa.decimal128(38, 4), [Decimal("0.0000"), Decimal("-12345678.9012"), Decimal("0.0001"), Decimal("10000.0000")]),
    (pa.list_(pa.string()), [["a", "b c", '"', "\\", "null", ""], [], [None, "x"]]),
    (pa.list_(pa.int16()), [[1, 2], []]),
]


def read_back(cells: list[bytes], oid: int, form: Format) -> list[Any]:
    """By psycopg's own readers."""
    load = Transformer().get_loader(oid, form).load
    return [None if cell[:4] == b"\xff\xff\xff\xff" else load(cell[4:]) for cell in cells]


@pytest.mark.parametrize(("kind", "values"), CASES, ids=[str(kind) for kind, _ in CASES])
@pytest.mark.parametrize("form", Format)
def test_clients_read_what_was_written(kind: pa.DataType, values: list[Any], form: Format) -> None:
    found = type_of(kind)
    cells = encoded(pa.array(values, kind).to_pylist(), found, binary=form == Format.BINARY)
    assert all(cell == b"\xff\xff\xff\xff" or struct.unpack("!i", cell[:4])[0] == len(cell) - 4 for cell in cells)
    assert read_back(cells, found.oid, form) == values


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**30), max_value=10**30, places=9))
def test_numeric_in_binary(value: Decimal) -> None:
    written = numeric(value)
    assert Transformer().get_loader(1700, Format.BINARY).load(written) == value
    assert numeric_from(written) == value


def test_a_nul_hides_nothing() -> None:
    (cell,) = encoded(["a\0b"], ValueType(25), binary=False)
    assert cell[4:].decode() == "a\N{REPLACEMENT CHARACTER}b"


def test_what_is_no_number_is_null() -> None:
    assert encoded([float("nan"), float("inf")], ValueType(20), binary=True) == [b"\xff\xff\xff\xff"] * 2


def test_a_number_that_does_not_fit_is_an_error() -> None:
    with pytest.raises(NumberTooLarge):
        encoded([2**63], ValueType(20), binary=True)


@pytest.mark.parametrize(
    ("value", "oid", "binary", "written"),
    [
        (None, 23, False, "NULL"),
        (b"42", 23, False, "42"),
        (b"-42", 20, False, "(-42)"),
        (struct.pack("!h", -1), 21, True, "(-1)"),
        (struct.pack("!q", 2**40), 20, True, str(2**40)),
        (b"1.50", 1700, False, "1.50"),
        (b"1e-7", 701, False, "0.0000001"),
        (struct.pack("!d", 0.1), 701, True, "0.1"),
        (numeric(Decimal("-3.14")), 1700, True, "(-3.14)"),
        (b"t", 16, False, "TRUE"),
        (b"\0", 16, True, "FALSE"),
        (b"it's", 25, False, "'it''s'"),
        (b"x", 0, False, "'x'"),
        (b"2024-01-02", 1082, False, "DATE '2024-01-02'"),
        (b"2024-01-02 +00", 1082, False, "DATE '2024-01-02'"),
        (struct.pack("!i", -1), 1082, True, "DATE '1999-12-31'"),
        (b"2024-01-02 03:04:05.6+02", 1114, False, "TIMESTAMP '2024-01-02 03:04:05.6'"),
        (b"2024-01-02 03:04:05+02", 1184, False, "TIMESTAMPTZ '2024-01-02 03:04:05+02'"),
        (struct.pack("!q", 1), 1184, True, "TIMESTAMPTZ '2000-01-01 00:00:00.000001+00'"),
        (b"a'); DROP", 99999, False, "'a''); DROP'"),
    ],
)
def test_parameters_as_literals(value: bytes | None, oid: int, binary: bool, written: str) -> None:
    assert literal(value, oid, binary) == written


@pytest.mark.parametrize(
    ("value", "oid", "binary"),
    [
        (b"4x", 23, False), (b"", 23, False), (b"1.5", 20, False), (b"\0", 23, True), (b"NaN", 701, False),
        (struct.pack("!d", float("inf")), 701, True), (b"infinity", 1700, False), (b"maybe", 16, False),
        (b"\2", 16, True), (b"\xff\xff", 25, False), (b"a\0b", 25, False), (struct.pack("!i", 2**31 - 1), 1082, True),
        (struct.pack("!q", 2**63 - 1), 1114, True), (struct.pack("!hhHh", 1, 0, 0xC000, 0) + b"\0\1", 1700, True),
        (struct.pack("!hhHh", 1, 30000, 0, 0) + b"\0\1", 1700, True), (struct.pack("!hhHh", 9, 0, 0, 0), 1700, True),
        (b"1e999", 1700, False), (b"x", 99999, True), (b"9" * 5000, 20, False),
    ],
)  # fmt: skip
def test_what_is_no_value_is_refused(value: bytes, oid: int, binary: bool) -> None:
    from dither.errors import DitherError

    with pytest.raises(DitherError):
        literal(value, oid, binary)
    assert issubclass(WireError, DitherError)


@given(st.integers(0, 2**32 - 1))
@example(0x7F7FFFFF)  # the largest
@example(0xFF7FF8AC)
def test_a_float_in_four_bytes_is_its_shortest_decimal(bits: int) -> None:
    value = struct.pack("!I", bits)
    (number,) = struct.unpack("!f", value)
    if not math.isfinite(number):
        with pytest.raises(WireError, match="no value of its type"):
            literal(value, 700, True)
    else:
        assert struct.pack("!f", float(literal(value, 700, True).strip("()"))) in (value, struct.pack("!f", 0.0))
    assert literal(struct.pack("!f", 0.1), 700, True) == literal(b"0.1", 700, False) == "0.1"


def test_what_an_untyped_text_may_be() -> None:
    assert others(b"40") == ["40"]
    assert others(b"2024-01-02 +00") == ["DATE '2024-01-02'"]
    assert others(b"north") == others(None) == []
