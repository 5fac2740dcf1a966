"""A synthetic table drawn from its declared domains, and owner 4217, who holds everything that was ever a problem."""

from __future__ import annotations

import datetime
import os
import random
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from dither.columns import Bool, Category, Column, Date, Fixed, Int, Text, Timestamp

NASTY = 4217
CANARY = "canary-4217-tango"
ROWS_PER_OWNER = 4
CAMPAIGN = int(os.environ.get("DITHER_CAMPAIGN", "1"))  # multiplies the counts of random and repeated trials
LONG = CAMPAIGN > 1
NASTY_ROWS = 100_000

COLUMNS: dict[str, Column] = {
    "uid": Int(0, 10_000),
    "x": Int(-100, 1000),
    "big": Int(-(2**62), 2**62),
    "wide": Int(-(2**50), 2**50),
    "amount": Fixed(-1000, 1000, decimals=2),
    "n": Int(0, 50),
    "g": Category(["north", "south", "50% off", "lonely"]),
    "h": Int(0, 3, nullable=False, default=0),
    "flag": Bool(),
    "day": Date("2024-01-01", "2024-01-05"),
    "at": Timestamp("2024-01-01", "2024-12-31T23:59:59+00:00"),
    "s": Text(),
    "word": Text(nullable=False, default="none"),
}

PEOPLE: dict[str, Column] = {
    "age": Int(0, 120),
    "city": Category(["bern", "zürich", "genève"]),
    "score": Fixed(0, 10, decimals=1),
    "born": Date("1950-01-01", "2010-12-31"),
    "member": Bool(),
    "name": Text(),
}
ITEMS: dict[str, Column] = {
    "eid": Int(0, 2_000_000),
    "qty": Int(0, 9, nullable=False, default=0),
    "price": Fixed(0, 100, decimals=2),
    "code": Int(0, 60),
}
CODES: dict[str, Column] = {
    "code": Int(0, 60, nullable=False, default=0),
    "weight": Int(-5, 5),
    "rate": Fixed(0, 2, decimals=3),
    "kind": Category(["old", "new"]),
}


def declared() -> dict[str, dict[str, Column]]:
    """The columns of every table: events, people, items of events, and public codes."""
    return {"t": COLUMNS, "p": PEOPLE, "c": ITEMS, "pub": CODES}


SCHEMA = pa.schema(
    [
        ("uid", pa.int64()),
        ("x", pa.float64()),
        ("big", pa.int64()),
        ("wide", pa.int64()),
        ("amount", pa.float64()),
        ("n", pa.string()),
        ("g", pa.string()),
        ("h", pa.int32()),
        ("flag", pa.bool_()),
        ("day", pa.date32()),
        ("at", pa.timestamp("us")),
        ("s", pa.string()),
        ("word", pa.string()),
    ]
)

_DAY, _AT = datetime.date(2024, 1, 1), datetime.datetime(2024, 1, 1)
_INFINITY, _NAN = float("inf"), float("nan")

# What owner 4217 holds; the lists have lengths without common factors, so that many combinations occur.
_TROUBLE: dict[str, Sequence[Any]] = {
    "x": [_NAN, _INFINITY, -_INFINITY, 2.0**63, -(2.0**63), 1.7976931348623157e308, 5e-324, None, 1000.0, -100.0, 0.5],
    "big": [2**63 - 1, -(2**63), None, 0, 2**62, -(2**62), 1],
    "wide": [-(2**63), 2**63 - 1, 2**50, None, -(2**50)],
    "amount": [5e-324, 1.7976931348623157e308, -1.7976931348623157e308, _NAN, _INFINITY, -_INFINITY, None, 0.005, 1e300,
               -0.0, 999.999, -1000.0, 1000.0],
    "n": ["abc", "12", "1e400", "", "NaN", "-inf", None, "0x10", "９", CANARY, "99999999999999999999999", "5e-324",
          " 7 ", "--1", "50", "+3", "inf"],
    "g": ["lonely", "lonely", "undeclared", None, CANARY],
    "h": [3, None, -(2**31), 2**31 - 1],
    "flag": [True, False, None],
    "day": [None, datetime.date.max, datetime.date.min, _DAY, datetime.date(2024, 1, 5)],
    "at": [None, datetime.datetime.max, datetime.datetime(1, 1, 1), _AT],
    "s": [CANARY, None, "", "%", "_", "\\", "'; DROP TABLE rows; --", "a\x00b", "é\u0301\u200b", "x" * 1001, "😀",
          "a\\", "NULL"],
    "word": [None, CANARY, "%_\\", "none", "x" * 5000],
}  # fmt: skip


def ordinary(seed: int = 1, owners: int = 60) -> Iterator[dict[str, Any]]:
    """Owners with 1 to 12 rows; owner 8 has NULL everywhere, owner 7 a single row, owner 3 the most rows."""
    drawn = random.Random(seed)
    words = ["alpha", "beta", "50% off", "a_c", "back\\slash", "quote'd", ""]
    for owner in range(1, owners + 1):
        for _ in range({3: 40, 7: 1}.get(owner, drawn.randint(1, 12))):
            row: dict[str, Any] = {
                "x": drawn.choice([None, float(drawn.randint(-150, 1100))]),
                "big": drawn.choice([drawn.randint(-(2**62), 2**62), drawn.randint(-5, 5)]),
                "wide": drawn.choice([drawn.randint(-(2**51), 2**51), None]),
                "amount": drawn.choice([None, round(drawn.uniform(-1100, 1100), 3)]),
                "n": str(drawn.randint(0, 60)),
                "g": drawn.choice(["north", "south", "50% off", None]),
                "h": drawn.randint(0, 3),
                "flag": drawn.choice([True, False, None]),
                "day": _DAY + datetime.timedelta(days=drawn.randint(0, 5)),
                "at": _AT + datetime.timedelta(minutes=drawn.randint(0, 400_000)),
                "s": drawn.choice([None, *words]),
                "word": drawn.choice(words),
            }
            yield {"uid": owner} | (dict.fromkeys(row) if owner == 8 else row)


def nasty(rows: int = NASTY_ROWS) -> Iterator[dict[str, Any]]:
    """Everything of owner 4217."""
    for number in range(rows):
        yield {"uid": NASTY} | {name: values[number % len(values)] for name, values in _TROUBLE.items()}


def arrow(rows: Iterable[dict[str, Any]]) -> pa.Table:
    """The rows as a source to register."""
    return pa.Table.from_pylist(list(rows), schema=SCHEMA)


def everybody() -> pa.Table:
    """The database D."""
    return arrow([*ordinary(), *nasty()])


def few() -> pa.Table:
    """A small database, for what is asked very often."""
    return arrow([*ordinary(owners=12), *nasty(60)])


def without(rows: pa.Table, owner: int) -> pa.Table:
    """A neighbour: all rows of one owner removed."""
    return rows.filter(pc.not_equal(rows["uid"], owner))


def shuffled(rows: pa.Table, seed: int = 2) -> pa.Table:
    """The same rows in another order."""
    order = list(range(rows.num_rows))
    random.Random(seed).shuffle(order)
    return rows.take(order)
