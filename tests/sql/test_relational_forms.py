"""Joins, subqueries and windows before the noise equal what DuckDB answers to the same text, where no limit bites."""

from __future__ import annotations

import datetime
import random
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from sql_reference_exactly import check, exact, plain

import dither as dt
from dither.sql.binding import owner_aggregates, relations
from dither.sql.binding.joining import from_clauses, scalar_queries
from dither.sql.binding.joining.joins import Joining
from dither.sql.guard.check import UnsafePlan
from dither.sql.lowering.block import Block
from dither.sql.lowering.blocks import NODES, Blocks
from dither.sql.plan.nodes import JoinFull

DRAW = random.Random(61)
CITIES = ["bern", "rom", "ulm"]
FIRST = datetime.date(2024, 1, 1)


def day(most: int = 100) -> datetime.date | None:
    return DRAW.choice([None, *[FIRST + datetime.timedelta(days=DRAW.randint(0, most)) for _ in range(6)]])


# People without events, events of people without a row of their own, some of them twice.
PEOPLE = [{"uid": uid, "city": DRAW.choice([*CITIES, None]), "age": DRAW.randint(1, 90)} for uid in range(1, 25)]
EVENTS = [
    {
        "eid": eid,
        "uid": DRAW.randint(5, 32),
        "x": DRAW.choice([None, DRAW.randint(-20, 20)]),
        "day": day(),
        "shop": DRAW.randint(1, 5),
    }
    for eid in range(1, 110)
]
ITEMS = [{"uid": DRAW.randint(1, 40), "qty": DRAW.randint(0, 9)} for _ in range(60)]
SHOPS = [
    {"shop": shop, "town": town, "size": size}
    for shop, town, size in ((1, "rom", 3), (2, "ulm", 1), (3, "rom", 9), (4, None, None))
]
PERIODS = [
    {"period": 1, "label": "a", "starts": FIRST, "ends": FIRST + datetime.timedelta(days=30), "rate": 5},
    {
        "period": 2,
        "label": "b",
        "starts": FIRST + datetime.timedelta(days=30),
        "ends": FIRST + datetime.timedelta(days=60),
        "rate": 7,
    },
    {
        "period": 3,
        "label": "a",
        "starts": FIRST + datetime.timedelta(days=40),
        "ends": FIRST + datetime.timedelta(days=90),
        "rate": None,
    },
    {"period": 4, "label": "c", "starts": None, "ends": FIRST + datetime.timedelta(days=50), "rate": 2},
    {
        "period": 5,
        "label": "c",
        "starts": FIRST + datetime.timedelta(days=90),
        "ends": FIRST + datetime.timedelta(days=10),
        "rate": 1,
    },
]
TABLES = {
    "people": pa.Table.from_pylist(PEOPLE),
    "events": pa.Table.from_pylist(EVENTS),
    "items": pa.Table.from_pylist(ITEMS),
    "shops": pa.Table.from_pylist(SHOPS),
    "periods": pa.Table.from_pylist(PERIODS),
}

_NAMED = re.compile(r"^-- (.+): (\d)\n(.+?);$", re.MULTILINE)
TEXT = (Path(__file__).parent / "fixtures" / "relational_forms.sql").read_text(encoding="utf-8")
FORMS = {name: (text, int(keys)) for name, keys, text in _NAMED.findall(TEXT)}


@pytest.fixture(scope="module")
def curator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with dt.Curator.open(tmp_path_factory.mktemp("relational") / "c") as curator:
        curator.people("all", budget=dt.ApproxDP(100, "1e-6"))
        told: dict[str, Any] = {"people": "all", "owner": "uid"}
        people = {"city": dt.Category(CITIES), "age": dt.Int(0, 120)}
        curator.register("people", TABLES["people"], max_rows_per_owner=1, columns=people, **told)
        events = {
            "eid": dt.Int(0, 1000, nullable=False, default=0),
            "x": dt.Int(-20, 20),
            "day": dt.Date("2024-01-01", "2024-12-31"),
            "shop": dt.Int(1, 5),
        }
        curator.register("events", TABLES["events"], max_rows_per_owner=12, columns=events, **told)
        curator.register("items", TABLES["items"], max_rows_per_owner=9, columns={"qty": dt.Int(0, 9)}, **told)
        shops = {"shop": dt.Int(1, 5), "town": dt.Category(CITIES), "size": dt.Int(0, 9)}
        curator.register_public("shops", TABLES["shops"], key="shop", columns=shops)
        periods = {
            "period": dt.Int(1, 5),
            "label": dt.Category(["a", "b", "c"]),
            "starts": dt.Date("2024-01-01", "2024-12-31"),
            "ends": dt.Date("2024-01-01", "2024-12-31"),
            "rate": dt.Int(0, 9),
        }
        curator.register_public("periods", TABLES["periods"], key="period", columns=periods)
        yield curator


@pytest.mark.parametrize("form", FORMS)
def test_forms_equal_those_of_another_engine(curator: Any, form: str) -> None:
    text, keys = FORMS[form]
    check(exact(curator, text), plain(text, TABLES), keys)


def broken(name: str, patch: pytest.MonkeyPatch) -> None:
    """One step of a form done wrongly."""
    sound: Any
    if name == "full join":  # rows that the right side alone has are lost
        sound = Blocks.joined_fully
        patch.setitem(NODES, JoinFull, lambda blocks, node: swapped(sound(blocks, node), "FULL JOIN", "LEFT JOIN"))
    elif name == "owners of a full join":  # rows of the right side alone have no owner
        sound = Blocks.joined_fully
        patch.setitem(NODES, JoinFull, lambda blocks, node: left_owner(sound(blocks, node)))
    elif name == "later right join":  # the other side is kept
        patch.setattr(from_clauses, "_OUTER", ("FULL",))
    elif name == "half-open range join":  # the ends are lost
        patch.setattr(Joining, "_truth", lambda self, conditions: None)
    elif name == "left join on a column that repeats":
        patch.setattr(Joining, "_multiplied", lambda self, part, equal, between: None)
    elif name == "public totals of no rows":  # not NULL, as totals of somebody's rows are not
        patch.setattr(owner_aggregates._Building, "_may_be_null", lambda self, value: value.nullable)
    elif name == "none of own rows":  # COUNT is NULL where there is no row
        sound = scalar_queries._replaced
        patch.setattr(scalar_queries, "_replaced", lambda *given, missing: sound(*given, missing=False))
    elif name == "own rows by another column":
        sound = scalar_queries._Writing._ties
        patch.setattr(scalar_queries._Writing, "_ties", lambda self, query: first_tie(sound(self, query)))
    elif name == "first event":  # places among everybody's rows
        sound = Blocks._window
        patch.setattr(Blocks, "_window", lambda self, writer, block, window: re.sub(
            r"PARTITION BY \S+ ", "", sound(self, writer, block, window)
        ))  # fmt: skip
    elif name == "row before":
        sound = Blocks._window
        patch.setattr(Blocks, "_window", lambda self, *given: sound(self, *given).replace("LAG(", "LEAD("))
    elif name == "rows that QUALIFY keeps":  # it is passed over
        patch.setattr(relations, "qualified", lambda binder, query, rows: rows)


def swapped(block: Block, old: str, new: str) -> Block:
    return replace(block, source=block.source.replace(old, new))


def left_owner(block: Block) -> Block:
    return replace(block, owner=block.owner.removeprefix("COALESCE(").partition(",")[0])


def first_tie(found: Any) -> Any:
    return found[0][:1], found[1]


PLANTED = (
    "full join", "owners of a full join", "later right join", "half-open range join",
    "left join on a column that repeats", "public totals of no rows", "none of own rows", "own rows by another column",
    "first event", "row before", "rows that QUALIFY keeps",
)  # fmt: skip


@pytest.mark.parametrize("form", PLANTED)
def test_planted_forms_that_are_wrong_are_noticed(curator: Any, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    broken(form, monkeypatch)
    text, keys = FORMS[form]
    with pytest.raises((AssertionError, UnsafePlan, dt.UnsupportedQuery)):
        check(exact(curator, f"{text} "), plain(text, TABLES), keys)  # a text that nobody has read before
