"""Small databases at the ends of everything declared, and neighbours of them: owner 74 is the one who comes and goes.

Owner 74 alone has `mark` 74, so that a predicate can choose that one person. Each database is adversarial in a way of
its own, named in DATABASES.
"""

from __future__ import annotations

import datetime
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from dither.accounting import ApproxDP
from dither.curator.curator import Curator
from dither.errors import PolicyError
from dither.lab.audit.neighbours.sides import Side
from dither.policy.catalog import EACH_ROW
from dither.policy.columns import Bool, Category, Coded, Column, Date, Fixed, Int, Text, Timestamp
from dither.policy.limits import Limits
from dither.sql.pricing.price import PricedQuestion

GONE = 74
EVENTS, ITEMS = 4, 6  # most rows of an owner
MULTIBYTE = "😀"
MOST_GROUPS = 70_000
Row = dict[str, Any]

COLUMNS: dict[str, Column] = {
    "eid": Int(0, 10**6),
    "uid": Int(0, 10_000),
    "mark": Int(0, 1000, nullable=False, default=0),
    "tiny": Int(-1, 1),
    "half": Int(-(2**31), 2**31),
    "wide": Int(-(2**50), 2**50),
    "big": Int(-(2**62), 2**62),
    "top": Int(2**62 - 3, 2**62),
    "fix": Fixed(-4, 4, decimals=18),
    "money": Fixed(-(10**9), 10**9, decimals=4),
    "d": Date("0001-01-01", "9999-12-31"),
    "early": Date("0001-01-01", "0002-03-31"),
    "late": Date("9998-10-01", "9999-12-31"),
    "at": Timestamp("0001-01-01", "9999-12-31T23:59:59.999999+00:00"),
    "flag": Bool(),
    "g": Category(["", "a" * 1000, "é" * 9, "z"]),
    "one": Category(["only"], nullable=False, default="only"),
    "w": Text(max_length=3, nullable=False, default=""),
    "s": Text(max_length=1000),
    "long": Text(max_length=65_536),
}
PEOPLE: dict[str, Column] = {
    "mark": Int(0, 1000, nullable=False, default=0),
    "age": Int(0, 120),
    "born": Date("0001-01-01", "9999-12-31"),
    "score": Fixed(-1, 1, decimals=12),
    "name": Text(max_length=40),
}
THINGS: dict[str, Column] = {"eid": Int(0, 10**6), "qty": Int(-(2**40), 2**40), "code": Int(0, 9), "label": Text()}
RECORDS: dict[str, Column] = {"v": Int(-(2**45), 2**45), "day": Date("0001-01-01", "9999-12-31"), "note": Text()}
CODES: dict[str, Column] = {
    "code": Int(0, 9, nullable=False, default=0),
    "factor": Int(-(2**40), 2**40),
    "title": Text(max_length=500),
}
DECLARED: dict[str, dict[str, Any]] = {
    "t": {"owner": "uid", "key": "eid", "max_rows_per_owner": EVENTS, "columns": COLUMNS},
    "p": {"owner": "uid", "max_rows_per_owner": 1, "columns": PEOPLE},
    "c": {
        "owner": "eid -> t.eid",
        "max_rows_per_owner": ITEMS,
        "columns": THINGS,
        "max_rows_per_owner_in": {"code": 3},
        "max_values_per_owner": {"label": 2},
    },
    "r": {"owner": EACH_ROW, "columns": RECORDS},
}
# Small enough for questions at the limits to be quick: what is admitted just below them is run thousands of times.
LIMITS = Limits(max_cells=5_000, max_characters=100_000, max_join_rows_per_owner=300, workers=1)


def at_end(column: Column, upper: bool) -> Any:
    """The value at one end of all that is declared; the longest text, in letters of four bytes, and the empty one."""
    if isinstance(column, Coded):
        value = column.decode(column.high if upper else column.low)
        return value.replace(tzinfo=None) if isinstance(value, datetime.datetime) else value
    assert isinstance(column, Text)
    return MULTIBYTE * column.max_length if upper else ""


def row(columns: dict[str, Column], choose: Callable[[str, Column], Any], **known: Any) -> Row:
    return {name: choose(name, column) for name, column in columns.items()} | known


def upper(name: str, column: Column) -> Any:
    return at_end(column, True)


def lower(name: str, column: Column) -> Any:
    return at_end(column, False)


def null(name: str, column: Column) -> Any:
    return None


def short(name: str, column: Column) -> Any:
    """In the middle; texts of a few letters, with spaces around them."""
    if isinstance(column, Coded):
        value = column.decode((column.low + column.high) // 2)
        return value.replace(tzinfo=None) if isinstance(value, datetime.datetime) else value
    return " a "


def mixed(number: int) -> Callable[[str, Column], Any]:
    """One end, the other, NULL, a middle: a mixture of its own for each number."""
    ways = (upper, lower, null, short)
    return lambda name, column: ways[(number * 7 + sum(map(ord, name)) * (1 + number // 4)) % 4](name, column)


def distinct(number: int) -> Callable[[str, Column], Any]:
    """Numbers so far from the lower end, texts of so many letters: no two rows agree where that is possible."""

    def choose(name: str, column: Column) -> Any:
        if isinstance(column, Coded):
            value = column.decode(column.low + number % (column.high - column.low + 1))
            return value.replace(tzinfo=None) if isinstance(value, datetime.datetime) else value
        assert isinstance(column, Text)
        return "x" * min(number, column.max_length)

    return choose


Way = Callable[[int], Callable[[str, Column], Any]]
# How the rows of others, and those of owner 74, are chosen by the number of a row; how many others there are.
DATABASES: dict[str, tuple[Way, Way, int]] = {
    "the one at the upper ends": (lambda _: lower, lambda _: upper, 6),
    "the one at the lower ends": (lambda _: upper, lambda _: lower, 2),
    "the one has nothing": (lambda _: upper, lambda _: null, 2),
    "others have nothing": (lambda _: null, mixed, 6),
    "all mixed": (mixed, mixed, 8),
    "all alike": (lambda _: upper, lambda _: upper, 2),
    "all distinct": (distinct, lambda number: distinct(10**6 - number), 9),
    "one other, who has nothing": (lambda _: null, lambda number: mixed(number) if number % 2 else upper, 1),
}


def tables(name: str) -> dict[str, list[Row]]:
    """The rows of every table, each with the owner it goes with under `_of`; every owner has all rows allowed."""
    others, gone, count = DATABASES[name]
    made: dict[str, list[Row]] = {"t": [], "p": [], "c": [], "r": []}
    for owner in [*range(1, count + 1), GONE]:
        choose = gone if owner == GONE else others
        mark = GONE if owner == GONE else owner % 50
        for number in range(EVENTS):
            eid = owner * 100 + number
            if owner % 5 != 4 or owner == GONE:  # some have rows in one table alone
                made["t"].append(row(COLUMNS, choose(eid), eid=eid, uid=owner, mark=mark, _of=owner))
            for item in range(ITEMS // EVENTS + 1):
                made["c"].append(row(THINGS, choose(eid + item), eid=eid, _of=owner))
        if owner % 5 != 3:
            made["p"].append(row(PEOPLE, choose(owner), mark=mark, uid=owner, _of=owner))
        made["r"].append(row(RECORDS, choose(owner), _of=owner))
    return made


def codes() -> Iterator[Row]:
    for code in range(10):
        if code != 3:
            yield row(CODES, mixed(code), code=code)


KINDS: dict[type[Column], Any] = {
    Int: pa.int64(),
    Bool: pa.bool_(),
    Date: pa.date32(),
    Timestamp: pa.timestamp("us"),
    Category: pa.string(),
    Text: pa.string(),
}


def _arrow(columns: dict[str, Column], rows: list[Row]) -> pa.Table:
    """As a source: decimals as decimals, so that nothing is rounded on the way."""
    kinds = {"uid": pa.int64()} | {
        name: pa.decimal128(38, column.decimals) if isinstance(column, Fixed) else KINDS[type(column)]
        for name, column in columns.items()
    }
    kept = [name for name in kinds if name in columns or (rows and name in rows[0])]
    return pa.table({name: pa.array([one[name] for one in rows], kinds[name]) for name in kept})


def make_side(folder: Path, name: str, *, gone: bool, like: Side | None = None) -> Side:
    """A curator with one of the databases, with or without owner 74; ranks are drawn with the key of `like`."""
    curator = Curator.open(folder)
    if like is not None:
        (folder / "snapshots").mkdir(mode=0o700, exist_ok=True)
        shutil.copy(like.curator._engine.home._folder / "rank.key", folder / "snapshots" / "rank.key")  # type: ignore[attr-defined]
    curator.limits(LIMITS)
    curator.people("everybody", budget=ApproxDP(4, "1e-6"))
    rows = tables(name)
    for table, declared in DECLARED.items():
        kept = [one for one in rows[table] if not (gone and one["_of"] == GONE)]
        columns = declared["columns"]
        source = _arrow(columns if table != "p" else {"uid": Int(0, 1)} | columns, kept)
        curator.register(table, source, people="everybody", **declared)
    curator.register_public("pub", _arrow(CODES, list(codes())), columns=CODES, key="code")
    return _small_answers(Side.of(curator))


def _small_answers(side: Side) -> Side:
    """Answers of millions of rows take too long to compare in thousands: refused here, whatever the limits are."""

    def price(text: str, **stated: Any) -> PricedQuestion:
        priced = side.price(text, **stated)
        if priced.question.public and any(part.group_count > MOST_GROUPS for part in priced.aggregates):
            raise PolicyError("too many groups to compare quickly.")
        return priced

    return replace(side, price=price)


def make_pairs(folder: Path) -> dict[str, tuple[Side, Side]]:
    """Every database beside itself without owner 74."""
    pairs: dict[str, tuple[Side, Side]] = {}
    for number, name in enumerate(DATABASES):
        one = make_side(folder / f"{number}", name, gone=False)
        pairs[name] = one, make_side(folder / f"{number}-without", name, gone=True, like=one)
    return pairs
