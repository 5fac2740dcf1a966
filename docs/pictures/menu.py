"""Draw menu.svg: what an explanation offers, after a profile of a made-up table, as on the page about the planner.

    python docs/pictures/menu.py

The profile is noisy, so the picture differs with every run.
"""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from statistics import NormalDist

import pyarrow as pa

import dither as dt

HERE = Path(__file__).parent


def main() -> None:
    rows = [min(200, math.ceil(math.exp(1 + NormalDist().inv_cdf((n + 0.5) / 5_000)))) for n in range(5_000)]
    patients = [patient for patient, many in enumerate(rows) for _ in range(many)]
    visits = pa.table({"patient": patients, "region": [("north", "south", "east")[p % 3] for p in patients]})
    with tempfile.TemporaryDirectory() as folder, dt.Curator.open(Path(folder) / "clinic") as curator:
        curator.people("patients", budget=dt.ApproxDP(8, "1e-6"))
        curator.register(
            "visits",
            visits,
            people="patients",
            owner="patient",
            max_rows_per_owner=200,
            columns={"region": dt.Category(["north", "south", "east"])},
        )
        curator.profile("visits", share="0.2")
        told = curator.explain("SELECT region, COUNT(*) AS visits FROM visits GROUP BY region", epsilon="0.02")
    told.plot().save(HERE / "menu.svg")


if __name__ == "__main__":
    main()
