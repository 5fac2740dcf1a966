"""Made-up visits: how rows are spread over owners is all that differs between these tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import dither as dt
from coverage_tables import Asked, Subject, questions

Ints = np.ndarray[Any, Any]

REGIONS, TOWNS, HIGHEST = 8, 40, 1000


@dataclass(frozen=True)
class Visits:
    """How rows are spread over owners; regions and values follow from a row's owner and how many rows that has."""

    name: str
    most: int
    rows: Callable[[np.random.Generator], Ints]
    heavy: int  # whoever has at least so many rows has all of them in the last region, with the highest values
    calls: int = 15  # declared of an owner; five at most are there

    def make(self, folder: Path) -> None:
        drawn = np.random.default_rng(20261)
        rows = self.rows(drawn)
        owner = np.repeat(np.arange(len(rows)), rows)
        heavy = rows[owner] >= self.heavy
        region = np.where(heavy, REGIONS - 1, drawn.integers(0, REGIONS - 1, len(owner)))
        town = np.where(heavy, TOWNS - 1 - owner % 3, drawn.geometric(0.08, len(owner)) % TOWNS)
        spread = np.clip(drawn.gamma(2, 60, len(owner)) + 4 * rows[owner], 0, HIGHEST)
        value = np.where(rows[owner] > self.most, HIGHEST, spread.astype(np.int64))
        town = np.where(rows[owner] > self.most, TOWNS - 1, town)
        names = np.array([f"r{number}" for number in range(REGIONS)])
        texts = np.array([f"town {number:02d}" for number in range(TOWNS)])
        visits = {"pid": owner, "region": names[region], "town": town, "place": texts[town], "value": value}
        pq.write_table(pa.table(visits), folder / "visits.parquet")
        patients = {"pid": np.arange(len(rows)), "age": drawn.integers(0, 90, len(rows))}
        pq.write_table(pa.table(patients), folder / "patients.parquet")
        many = np.minimum(rows, drawn.integers(0, min(5, self.calls) + 1, len(rows)))
        caller = np.repeat(np.arange(len(rows)), many)
        pq.write_table(pa.table({"pid": caller, "hour": drawn.integers(0, 24, len(caller))}), folder / "calls.parquet")

    def register(self, curator: dt.Curator, folder: Path) -> None:
        regions = [f"r{number}" for number in range(REGIONS)]
        columns = {
            "region": dt.Category(regions, nullable=False, default="r0"),
            "town": dt.Int(0, TOWNS - 1, nullable=False, default=0),
            "place": dt.Text(nullable=False, default=""),
            "value": dt.Int(0, HIGHEST, nullable=False, default=0),
        }
        named: dict[str, Any] = {"people": "all", "owner": "pid"}
        curator.register("visits", folder / "visits.parquet", max_rows_per_owner=self.most, columns=columns, **named)
        age = {"age": dt.Int(0, 100, nullable=False, default=0)}
        curator.register("patients", folder / "patients.parquet", max_rows_per_owner=1, columns=age, **named)
        hour = {"hour": dt.Int(0, 23, nullable=False, default=0)}
        curator.register("calls", folder / "calls.parquet", max_rows_per_owner=self.calls, columns=hour, **named)

    def subject(self) -> Subject:
        kept = "QUALIFY row_number() OVER (PARTITION BY pid) <= " + str(self.most)
        aged = "SELECT v.region, COUNT(*) AS n FROM visits v JOIN patients p ON v.pid = p.pid WHERE p.age >= 40"
        called = "SELECT v.region, COUNT(*) AS n FROM visits v JOIN calls c ON v.pid = c.pid WHERE c.hour < 12"
        return Subject(
            self.name,
            self.make,
            self.register,
            {
                "visits": "SELECT * FROM '{folder}/visits.parquet' " + kept,
                "patients": "FROM '{folder}/patients.parquet'",
                "calls": "FROM '{folder}/calls.parquet'",
            },
            (
                *questions("visits", "pid", "region", "town", "place", "value", 500, self.most, 8),
                Asked("join", f"{aged} GROUP BY v.region"),
                Asked("join", f"{called} GROUP BY v.region"),
            ),
            "visits",
            "value",
            "SELECT pid, region, value FROM visits",
            HIGHEST,
        )


def _clustered(drawn: np.random.Generator) -> Ints:
    return np.concatenate([drawn.integers(1, 4, 3000), drawn.integers(200, 301, 60)])


def _zipf(drawn: np.random.Generator) -> Ints:
    return np.ceil(400 / np.arange(1, 3001) ** 0.9).astype(np.int64)


def _lognormal(drawn: np.random.Generator) -> Ints:
    return np.clip(drawn.lognormal(1.5, 1.2, 3000), 1, 300).astype(np.int64)


def _one_huge(drawn: np.random.Generator) -> Ints:
    return np.concatenate([drawn.integers(1, 6, 3000), [5000]])


VISITS = {
    "clustered": Visits("heavy owners in one group", 300, _clustered, heavy=200).subject(),
    "zipf": Visits("Zipf rows per owner", 400, _zipf, heavy=1000).subject(),
    "correlated": Visits("values grow with rows", 300, _lognormal, heavy=100).subject(),
    "huge": Visits("one huge owner", 2000, _one_huge, heavy=1000, calls=4).subject(),
}
