"""PostgreSQL's types by their numbers, and values as clients read them, as text and in binary."""

from __future__ import annotations

import datetime
import math
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from dither.errors import DitherError

if TYPE_CHECKING:
    import pyarrow as pa

BOOL, INT8, INT2, INT4, TEXT, OID, FLOAT8, DATE = 16, 20, 21, 23, 25, 26, 701, 1082
TIMESTAMP, TIMESTAMPTZ, NUMERIC = 1114, 1184, 1700
ARRAYS = {BOOL: 1000, INT8: 1016, INT2: 1005, INT4: 1007, TEXT: 1009, OID: 1028, FLOAT8: 1022}
EPOCH = datetime.datetime(2000, 1, 1)  # PostgreSQL's
_SIZES = {BOOL: 1, INT8: 8, INT2: 2, INT4: 4, OID: 4, FLOAT8: 8, DATE: 4, TIMESTAMP: 8, TIMESTAMPTZ: 8}
_INTS = {INT2: "!h", INT4: "!i", INT8: "!q", OID: "!I"}
_DAY = datetime.timedelta(days=1)
_MICROSECOND = datetime.timedelta(microseconds=1)


class NumberTooLarge(DitherError):
    """A noisy number does not fit its type. It was paid for, and is free to read as text or over HTTP."""

    code = "number_too_large"

    def __init__(self) -> None:
        super().__init__(
            "a noisy number does not fit 64 bits; the answer is stored, and free to read otherwise.",
            hint="Its noise is as large: ask at a higher price, or CAST it to a decimal.",
        )


@dataclass(frozen=True)
class ValueType:
    """A type with its number; of arrays, `item` is that of what they hold."""

    oid: int
    item: int | None = None

    @property
    def size(self) -> int:
        return _SIZES.get(self.oid, -1)


def type_of(kind: pa.DataType) -> ValueType:
    """The type that an Arrow column has here; whatever has none of its own is text."""
    import pyarrow as pa

    is_ = pa.types
    if is_.is_dictionary(kind):
        return type_of(kind.value_type)
    if is_.is_list(kind):
        item = type_of(kind.value_type).oid
        return ValueType(ARRAYS[item], item) if item in ARRAYS else ValueType(TEXT)
    if is_.is_timestamp(kind):
        return ValueType(TIMESTAMP if kind.tz is None else TIMESTAMPTZ)
    tests: Sequence[tuple[Callable[[Any], bool], int]] = (
        (is_.is_boolean, BOOL),
        (is_.is_int64, INT8),
        (is_.is_uint32, OID),
        (lambda one: is_.is_int8(one) or is_.is_int16(one) or is_.is_uint8(one), INT2),
        (is_.is_integer, INT4 if not is_.is_uint64(kind) else NUMERIC),
        (is_.is_floating, FLOAT8),
        (is_.is_decimal, NUMERIC),
        (is_.is_date, DATE),
    )
    return ValueType(next((oid for test, oid in tests if test(kind)), TEXT))


def encoded(values: Sequence[Any], kind: ValueType, *, binary: bool) -> list[bytes]:
    """Cells with their length before them; None and NaN are NULL."""
    write = _writer(kind, binary)
    made = []
    for value in values:
        if value is None or (isinstance(value, float) and not math.isfinite(value)):
            made.append(b"\xff\xff\xff\xff")
        else:
            content = write(value)
            made.append(len(content).to_bytes(4, "big") + content)
    return made


def _writer(kind: ValueType, binary: bool) -> Callable[[Any], bytes]:
    if kind.item is not None:
        item = ValueType(kind.item)
        if binary:
            return lambda values: _array(values, item)
        return lambda values: _array_text(values, item).encode()
    if binary:
        return _BINARY.get(kind.oid, _text)
    return _TEXTS.get(kind.oid, _text)


def _text(value: Any) -> bytes:
    """A NUL would hide the rest of the text from most clients."""
    return str(value).replace("\0", "\N{REPLACEMENT CHARACTER}").encode(errors="replace")


def _int_text(value: Any) -> bytes:
    return str(int(value)).encode()


def _float_text(value: Any) -> bytes:
    return repr(float(value)).removesuffix(".0").encode()


def _bool_text(value: Any) -> bytes:
    return b"t" if value else b"f"


def _numeric_text(value: Any) -> bytes:
    return f"{_exact(value):f}".encode()


def _timestamp_text(value: datetime.datetime) -> bytes:
    return value.replace(tzinfo=None).isoformat(sep=" ").encode()


def _timestamptz_text(value: datetime.datetime) -> bytes:
    return _timestamp_text(value) + b"+00"


def _int(form: str) -> Callable[[Any], bytes]:
    def write(value: Any) -> bytes:
        try:
            return struct.pack(form, int(value))
        except struct.error:
            raise NumberTooLarge from None

    return write


def _timestamp(value: datetime.datetime) -> bytes:
    return struct.pack("!q", (value.replace(tzinfo=None) - EPOCH) // _MICROSECOND)


def _exact(value: Any) -> Decimal:
    return value if isinstance(value, Decimal) else Decimal(str(value))


def numeric(value: Any) -> bytes:
    """PostgreSQL's own form of a decimal number: digits to the base 10,000."""
    number = _exact(value)
    sign, digits, exponent = number.as_tuple()
    if not isinstance(exponent, int):
        raise NumberTooLarge
    scale = max(0, -exponent)
    whole = int("".join(map(str, digits))) * 10 ** max(exponent, 0)
    padded = -(-scale // 4) * 4
    whole *= 10 ** (padded - scale)
    groups: list[int] = []
    while whole:
        whole, group = divmod(whole, 10_000)
        groups.append(group)
    weight = len(groups) - padded // 4 - 1
    while groups and groups[0] == 0:
        groups.pop(0)
    groups.reverse()
    head = struct.pack("!hhHh", len(groups), weight if groups else 0, 0x4000 if sign and groups else 0, scale)
    return head + struct.pack(f"!{len(groups)}h", *groups)


def numeric_from(content: bytes) -> Decimal:
    """The number that such bytes are; ValueError for what is none."""
    count, weight, sign, scale = struct.unpack("!hhHh", content[:8])
    if sign not in (0, 0x4000) or not 0 <= count <= 100 or abs(weight) > 100 or not 0 <= scale <= 400:
        raise ValueError
    whole = 0
    for group in struct.unpack(f"!{count}h", content[8:]):
        if not 0 <= group < 10_000:
            raise ValueError
        whole = whole * 10_000 + group
    decimals = 4 * (count - weight - 1)
    while decimals < scale:
        whole, decimals = whole * 10, decimals + 1
    while decimals > scale and whole % 10 == 0:
        whole, decimals = whole // 10, decimals - 1
    # Made of its digits: computing with Decimals would round them.
    return Decimal((int(sign != 0), tuple(map(int, str(whole))), -decimals))


def _array(values: Sequence[Any], item: ValueType) -> bytes:
    cells = encoded(values, item, binary=True)
    head = struct.pack("!iiI", 1 if cells else 0, 1, item.oid)
    return head + (struct.pack("!ii", len(cells), 1) + b"".join(cells) if cells else b"")


def _array_text(values: Sequence[Any], item: ValueType) -> str:
    write = _writer(item, False)

    def quoted(value: Any) -> str:
        if value is None:
            return "NULL"
        text = write(value).decode()
        plain = text and text.lower() != "null" and not any(sign in '{},"\\' or sign.isspace() for sign in text)
        return text if plain else '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

    return "{" + ",".join(map(quoted, values)) + "}"


_TEXTS: Mapping[int, Callable[[Any], bytes]] = {
    **dict.fromkeys(_INTS, _int_text),
    BOOL: _bool_text,
    FLOAT8: _float_text,
    NUMERIC: _numeric_text,
    TIMESTAMP: _timestamp_text,
    TIMESTAMPTZ: _timestamptz_text,
}
_BINARY: Mapping[int, Callable[[Any], bytes]] = {
    **{oid: _int(form) for oid, form in _INTS.items()},
    BOOL: lambda value: b"\1" if value else b"\0",
    FLOAT8: lambda value: struct.pack("!d", float(value)),
    NUMERIC: numeric,
    DATE: lambda value: struct.pack("!i", (value - EPOCH.date()) // _DAY),
    TIMESTAMP: _timestamp,
    TIMESTAMPTZ: _timestamp,
}
