"""Parameters as the literals that they stand for: bound into a question before it is priced."""

from __future__ import annotations

import ctypes
import datetime
import re
import struct
from collections.abc import Callable, Mapping
from decimal import Decimal

from dither.server.wire.channel import Content, ProtocolViolation, decoded
from dither.server.wire.sqlstates import WireError
from dither.server.wire.statements import ListLiteral
from dither.server.wire.value_types import (
    BOOL,
    DATE,
    EPOCH,
    FLOAT8,
    INT8,
    NUMERIC,
    TEXT,
    TIMESTAMP,
    TIMESTAMPTZ,
    numeric_from,
)

UNKNOWN = 0
_NUMBER = re.compile(r"\s*([+-]?)(\d{1,400}(?:\.\d{0,400})?|\.\d{1,400})(?:[eE]([+-]?\d{1,2}))?\s*")
_ZONED_DAY = re.compile(r"(\d{4}-\d\d-\d\d)(?: ?[+-]\d\d(?::?\d\d)?)?")
_ZONE = re.compile(r"(?<=[:.\d]\d) ?(?:Z|[+-]\d\d(?::?\d\d)?)$")  # of which a timestamp without zone takes no notice
_WHOLE = re.compile(r"\s*[+-]?\d{1,400}\s*")
_TRUE, _FALSE = ("t", "true", "y", "yes", "on", "1"), ("f", "false", "n", "no", "off", "0")
_INTS: Mapping[int, str] = {21: "!h", 23: "!i", INT8: "!q", 26: "!I"}
_TEXTS = (UNKNOWN, TEXT, 1043, 1042, 19, 705, 18)
_CASTS = {  # of a parameter whose type nobody has said, what a cast behind it says
    "int": 23, "integer": 23, "int4": 23, "bigint": INT8, "int8": INT8, "smallint": 21, "int2": 21,
    "numeric": NUMERIC, "decimal": NUMERIC, "float8": FLOAT8, "double": FLOAT8, "real": 700, "float4": 700,
    "text": TEXT, "varchar": 1043, "bool": BOOL, "boolean": BOOL, "date": DATE,
    "timestamp": TIMESTAMP, "timestamptz": TIMESTAMPTZ,
}  # fmt: skip


_ITEMS = {  # of arrays, what they hold
    1000: BOOL, 1016: INT8, 1005: 21, 1007: 23, 1028: 26, 1009: TEXT, 1015: 1043, 1014: 1042, 1002: 18, 1003: 19,
    1231: NUMERIC, 1021: 700, 1022: FLOAT8, 1182: DATE, 1115: TIMESTAMP, 1185: TIMESTAMPTZ,
}  # fmt: skip
ARRAY_OF = {item: array for array, item in _ITEMS.items()}
_ITEM = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*+)"|([^"{},\\]+?))\s*(,|$)', re.DOTALL)


def inferred(oid: int, cast: str | None) -> int:
    """The type of a parameter, as far as it is known: the client's word, then that of a cast."""
    plain = (cast or "").removesuffix("[]")
    known = _CASTS.get(plain, UNKNOWN)
    return oid or (known if plain == cast else ARRAY_OF.get(known, UNKNOWN))


def list_literal(value: bytes | None, oid: int, binary: bool) -> ListLiteral:
    """An array of one dimension as SQL writes it; one of a type that nobody has said holds texts."""
    item = _ITEMS.get(oid, UNKNOWN)
    try:
        items = [None] if value is None else _binary_items(value, item) if binary else _text_items(value)
    except (ValueError, ProtocolViolation):
        raise WireError("22P02", "a parameter is no array of one dimension.") from None
    if not items:
        raise WireError("0A000", "a parameter is an empty list, which nothing is in.")
    return ListLiteral.of([literal(one, item, binary) for one in items])


def other_lists(value: bytes | None) -> list[str]:
    """What a list of untyped texts may be meant as: one of numbers, or of days."""
    try:
        meant = [others(one) for one in ([] if value is None else _text_items(value))]
    except ValueError:
        return []
    return [ListLiteral.of([one[0] for one in meant])] if meant and all(meant) else []


def item_of(oid: int) -> int | None:
    """What an array holds; None of whatever is none."""
    return _ITEMS.get(oid)


def _text_items(value: bytes) -> list[bytes | None]:
    """The items of {1,"two",NULL}."""
    text, place, found = decoded(value).strip(), 0, list[bytes | None]()
    if not (text.startswith("{") and text.endswith("}")):
        raise ValueError
    inner = text[1:-1]
    while place < len(inner) or (found and inner.endswith(",") and place == len(inner)):
        match = _ITEM.match(inner, place)
        if match is None:
            raise ValueError
        quoted_item, plain, _ = match.groups()
        word = plain if quoted_item is None else re.sub(r"\\(.)", r"\1", quoted_item, flags=re.DOTALL)
        found.append(None if quoted_item is None and plain.upper() == "NULL" else word.encode())
        place = match.end()
    return found


def _binary_items(value: bytes, item: int) -> list[bytes | None]:
    """The items of an array in binary: dimensions, whether there are NULLs, the type; then each with its length."""
    content = Content(value)
    dimensions, _, kind = content.int32(), content.int32(), content.int32()
    if dimensions not in (0, 1) or (item and kind != item):
        raise ValueError
    count = content.int32() if dimensions else 0
    if dimensions:
        content.int32()  # the number of the first
    if not 0 <= 4 * count <= len(value):
        raise ValueError
    found = [content.sized() for _ in range(count)]
    content.end()
    return found


def literal(value: bytes | None, oid: int, binary: bool) -> str:
    """A value as SQL writes it."""
    if value is None:
        return "NULL"
    try:
        if oid in _READERS:
            return _READERS[oid](value, oid, binary)
        if oid not in _TEXTS and binary:
            raise WireError("0A000", f"parameters of type {oid} are read as text alone.")
        return quoted(decoded(value))
    except (ValueError, OverflowError, struct.error):
        raise WireError("22P02", "a parameter is no value of its type.") from None


def others(value: bytes | None) -> list[str]:
    """What an untyped text may be meant as where text does not fit: a number, or a day whose zone says nothing."""
    if value is None:
        return []
    try:
        return [_numeric(value, NUMERIC, False)]
    except ValueError:
        day = _ZONED_DAY.fullmatch(decoded(value))
        return [] if day is None else [f"DATE '{day[1]}'"]


def quoted(text: str) -> str:
    if "\0" in text:
        raise WireError("22021", "a text must not hold the character NUL.")
    return "'" + text.replace("'", "''") + "'"


def _signed(digits: str) -> str:
    return f"({digits})" if digits.startswith("-") else digits.removeprefix("+")


def _int(value: bytes, oid: int, binary: bool) -> str:
    if binary:
        return _signed(str(struct.unpack(_INTS[oid], value)[0]))
    text = value.decode()
    if not _WHOLE.fullmatch(text):
        raise ValueError
    return _signed(str(int(text)))


def _numeric(value: bytes, oid: int, binary: bool) -> str:
    if binary:
        return _signed(f"{numeric_from(value):f}")
    found = _NUMBER.fullmatch(value.decode())
    if found is None:
        raise ValueError  # NaN and infinity are no numbers that one could compare with
    return _signed(f"{Decimal(value.decode().strip()):f}")


def _float(value: bytes, oid: int, binary: bool) -> str:
    if binary and oid == FLOAT8:
        return _numeric(repr(struct.unpack("!d", value)[0]).encode(), oid, False)
    if binary:  # the shortest decimal that is this number in four bytes, as its text has it
        (number,) = struct.unpack("!f", value)
        each = (f"{number:.{digits}g}" for digits in range(1, 10))  # the next double may be beyond four bytes
        found = next((one for one in each if ctypes.c_float(float(one)).value == number), "no number")
        return _numeric(found.encode(), oid, False)
    return _numeric(value, oid, False)


def _bool(value: bytes, oid: int, binary: bool) -> str:
    text = "t" if value == b"\1" else "f" if value == b"\0" else "" if binary else value.decode().strip().lower()
    if text not in (*_TRUE, *_FALSE):
        raise ValueError
    return "TRUE" if text in _TRUE else "FALSE"


def _date(value: bytes, oid: int, binary: bool) -> str:
    if binary:
        (days,) = struct.unpack("!i", value)
        return f"DATE '{(EPOCH + datetime.timedelta(days=days)).date().isoformat()}'"
    day = _ZONED_DAY.fullmatch(value.decode())
    return f"DATE {quoted(value.decode() if day is None else day[1])}"


def _timestamp(value: bytes, oid: int, binary: bool) -> str:
    zone, word = ("+00", "TIMESTAMPTZ") if oid == TIMESTAMPTZ else ("", "TIMESTAMP")
    if binary:
        (microseconds,) = struct.unpack("!q", value)
        moment = EPOCH + datetime.timedelta(microseconds=microseconds)
        return f"{word} '{moment.isoformat(sep=' ')}{zone}'"
    text = value.decode().strip()
    day = _ZONED_DAY.fullmatch(text)
    moment_text = f"{day[1]} 00:00:00" if day is not None else text if zone else _ZONE.sub("", text)
    return f"{word} {quoted(moment_text)}"


_READERS: Mapping[int, Callable[[bytes, int, bool], str]] = {
    **dict.fromkeys(_INTS, _int),
    NUMERIC: _numeric,
    700: _float,
    FLOAT8: _float,
    BOOL: _bool,
    DATE: _date,
    TIMESTAMP: _timestamp,
    TIMESTAMPTZ: _timestamp,
}
