"""A synthetic table drawn from its declared domains, and owner 4217, who holds everything that was ever a problem."""

from __future__ import annotations

import datetime
import os
import random
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from dither.policy.catalog import EACH_ROW
from dither.policy.columns import Bool, Category, Column, Date, Fixed, Int, Text, Timestamp

NASTY = 4217
CANARY = "canary-4217-tango"
ROWS_PER_OWNER = 4
CAMPAIGN = int(os.environ.get("DITHER_CAMPAIGN", "1"))  # multiplies the counts of random and repeated trials
LONG = CAMPAIGN > 1
SEED = int(os.environ.get("DITHER_SEED", "0"))  # another one gives other random questions and texts
NASTY_ROWS = 100_000
MOST_EVENTS = 2_000_000

COLUMNS: dict[str, Column] = {
    "eid": Int(0, MOST_EVENTS),
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
    "eid": Int(0, MOST_EVENTS),
    "qty": Int(0, 9, nullable=False, default=0),
    "price": Fixed(0, 100, decimals=2),
    "code": Int(0, 60),
}
RECORDS: dict[str, Column] = {
    "v": Int(0, 100),
    "w": Fixed(-1, 1, decimals=3),
    "kind": Category(["old", "new"]),
    "note": Text(),
}
CODES: dict[str, Column] = {
    "code": Int(0, 60, nullable=False, default=0),
    "weight": Int(-5, 5),
    "rate": Fixed(0, 2, decimals=3),
    "kind": Category(["old", "new"]),
}


# How the private tables are registered.
DECLARED: dict[str, dict[str, Any]] = {
    "t": {"owner": "uid", "key": "eid", "max_rows_per_owner": ROWS_PER_OWNER, "columns": COLUMNS},
    "p": {"owner": "uid", "max_rows_per_owner": 1, "columns": PEOPLE},
    "c": {"owner": "eid -> t.eid", "max_rows_per_owner": 6, "columns": ITEMS},
    "r": {"owner": EACH_ROW, "columns": RECORDS},
}


def declared() -> dict[str, dict[str, Column]]:
    """The columns of every table: events, people, items of events, records of their own, and public codes."""
    return {"t": COLUMNS, "p": PEOPLE, "c": ITEMS, "r": RECORDS, "pub": CODES}


SCHEMA = pa.schema(
    [
        ("eid", pa.int64()),
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


Tables = dict[str, pa.Table]
Rows = Iterator[dict[str, Any]]
WORDS = ["alpha", "beta", "50% off", "a_c", "back\\slash", "quote'd", ""]


def ordinary(seed: int = 1, owners: int = 60) -> Rows:
    """Events of owners with 1 to 12 of them; owner 8 has NULL everywhere, owner 7 a single row, owner 3 the most."""
    drawn = random.Random(seed)
    event = 0
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
                "s": drawn.choice([None, *WORDS]),
                "word": drawn.choice(WORDS),
            }
            event += 1
            yield {"eid": event, "uid": owner} | (dict.fromkeys(row) if owner == 8 else row)


def nasty(rows: int = NASTY_ROWS) -> Rows:
    """Every event of owner 4217; some have no key, some the same, some one that does not fit."""
    keys = [None, 1_500_000, -1, 2**62]
    for number in range(rows):
        eid = keys[number // 3 % len(keys)] if number % 3 == 0 else 1_000_000 + number
        row = {name: values[number % len(values)] for name, values in _TROUBLE.items()}
        yield {"eid": eid, "uid": NASTY} | row


def people(owners: int = 60, seed: int = 3) -> Rows:
    """One row each, and owner 4217 with nine."""
    drawn = random.Random(seed)
    for owner in [*range(1, owners + 1), *([NASTY] * 9)]:
        yield {
            "uid": owner,
            "age": drawn.choice([None, drawn.randint(-5, 130)]),
            "city": drawn.choice([None, "bern", "zürich", "genève", "elsewhere"]),
            "score": drawn.choice([None, round(drawn.uniform(-1, 11), 2)]),
            "born": datetime.date(1945 + drawn.randint(0, 70), drawn.randint(1, 12), drawn.randint(1, 28)),
            "member": drawn.choice([True, False, None]),
            "name": CANARY if owner == NASTY else drawn.choice([None, "alice", "bob", "été", "😀"]),
        }


def items(events: pa.Table, seed: int = 4, most: int = 3000) -> Rows:
    """Up to five items of some events, among them events that nobody has."""
    drawn = random.Random(seed)
    known = sorted({eid for eid in events["eid"].to_pylist() if eid is not None and 0 <= eid <= MOST_EVENTS})
    for eid in [*drawn.sample(known, min(most, len(known))), None, 999_999, 2**40]:
        for _ in range(drawn.randint(0, 5)):
            yield {
                "eid": eid,
                "qty": drawn.randint(-3, 12),
                "price": drawn.choice([None, round(drawn.uniform(-5, 120), 2)]),
                "code": drawn.choice([None, drawn.randint(0, 70)]),
            }


def records(owners: int = 60, seed: int = 6) -> Rows:
    """Rows that are each their own owner; `tag`, which is not declared, says who goes when an owner goes."""
    drawn = random.Random(seed)
    for tag in [*range(1, owners + 1), NASTY]:
        yield {
            "tag": tag,
            "v": drawn.choice([None, drawn.randint(-20, 120)]),
            "w": drawn.choice([None, round(drawn.uniform(-1.2, 1.2), 4)]),
            "kind": drawn.choice([None, "old", "new", "undeclared"]),
            "note": CANARY if tag == NASTY else drawn.choice([None, *WORDS]),
        }


def codes() -> Rows:
    """A public table; some codes are missing."""
    for code in range(61):
        if code % 7:
            yield {
                "code": code,
                "weight": None if code % 5 == 0 else code % 11 - 5,
                "rate": code / 40,
                "kind": [None, "old", "new"][code % 3],
            }


def arrow(rows: Iterable[dict[str, Any]], schema: pa.Schema = SCHEMA) -> pa.Table:
    """The rows as a source to register."""
    return pa.Table.from_pylist(list(rows), schema=schema)


def world(events: pa.Table, owners: int = 60) -> Tables:
    """The sources of all tables."""
    return {
        "t": events,
        "p": pa.Table.from_pylist(list(people(owners))),
        "c": pa.Table.from_pylist(list(items(events))),
        "r": pa.Table.from_pylist(list(records(owners))),
        "pub": pa.Table.from_pylist(list(codes())),
    }


def everybody() -> Tables:
    """The database D."""
    return world(arrow([*ordinary(), *nasty()]))


def few() -> Tables:
    """A small database, for what is asked very often."""
    return world(arrow([*ordinary(owners=12), *nasty(60)]), 12)


def without(rows: Any, owner: int) -> Any:
    """A neighbour: all rows of one owner removed, in one table or in all of them."""
    if isinstance(rows, pa.Table):
        return rows.filter(pc.not_equal(rows["uid"], owner))
    gone = rows["t"].filter(pc.equal(rows["t"]["uid"], owner))["eid"]
    kept = rows["c"].filter(pc.invert(pc.is_in(rows["c"]["eid"], gone.drop_null())))
    others = rows["r"].filter(pc.not_equal(rows["r"]["tag"], owner))
    return rows | {"t": without(rows["t"], owner), "p": without(rows["p"], owner), "c": kept, "r": others}


def shuffled(rows: Any, seed: int = 2) -> Any:
    """The same rows in another order."""
    if not isinstance(rows, pa.Table):
        return {name: shuffled(table, seed) for name, table in rows.items()}
    order = list(range(rows.num_rows))
    random.Random(seed).shuffle(order)
    return rows.take(order)
