"""A table whose every group has rows, asked at a price that leaves almost no noise."""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable, Iterator

import duckdb
import pyarrow as pa
import pytest

import dither as dt


def make_rows(people: int = 240) -> pa.Table:
    dice = random.Random(16)
    cells = [
        (region, sex, month) for region in ("east", "north", "south", "west") for sex in "fm" for month in (1, 2, 3)
    ]
    rows = []
    for person in range(people):
        region, sex, month = cells[person % len(cells)] if person < 3 * len(cells) else dice.choice(cells)
        day = datetime.date(2024, month, 1 + person % 28)
        rows.append({"person": person, "region": region, "sex": sex, "day": day, "kids": dice.randrange(2)})
    return pa.Table.from_pylist(rows)


COLUMNS = {
    "region": dt.Category(["east", "north", "south", "west"], nullable=False, default="west"),
    "sex": dt.Category(["f", "m"], nullable=False, default="f"),
    "day": dt.Date("2024-01-01", "2024-03-31", nullable=False, default="2024-01-01"),
    "kids": dt.Int(0, 1, nullable=False, default=0),
}


@pytest.fixture(scope="module")
def make_silent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], dt.Curator]]:
    """Makes curators with a budget for some seventy answers without noise."""
    opened: list[dt.Curator] = []

    def make() -> dt.Curator:
        curator = dt.Curator.open(tmp_path_factory.mktemp("over") / "folder")
        opened.append(curator)
        curator.people("people", budget=dt.PureDP(9000))
        curator.register("visits", make_rows(), people="people", owner="person", max_rows_per_owner=1, columns=COLUMNS)
        return curator

    yield make
    for curator in opened:
        curator.close()


@pytest.fixture(scope="module")
def silent(make_silent: Callable[[], dt.Curator]) -> dt.Curator:
    return make_silent()


@pytest.fixture(scope="module")
def exact() -> Iterator[duckdb.DuckDBPyConnection]:
    """The same rows where nothing is private."""
    connection = duckdb.connect()
    connection.register("visits", make_rows())
    yield connection
    connection.close()
