"""Draw laplace.svg, tested.svg and patients.svg, as on the page about pictures.

    python docs/pictures/mechanisms.py

The counts are noisy, so patients.svg differs with every run.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import pyarrow as pa

import dither as dt

HERE = Path(__file__).parent


def main() -> None:
    dt.Laplace(epsilon=1, sensitivity=1).plot().save(HERE / "laplace.svg")
    tested = dt.ProposeTestRelease(epsilon=1, delta="1e-6", bound=2, grid=1)
    tested.plot(value=10, distance=27).save(HERE / "tested.svg")
    visits = pa.table({"patient": list(range(900)), "region": ["north", "south", "west"] * 300})
    with tempfile.TemporaryDirectory() as folder, dt.Curator.open(Path(folder) / "clinic") as curator:
        curator.register(
            "visits",
            visits,
            owner="patient",
            max_rows_per_owner=1,
            budget=dt.PureDP(2),
            columns={"region": dt.Category(["north", "south", "west"])},
        )
        answer = curator.sql("SELECT region, COUNT(*) AS patients FROM visits GROUP BY region", epsilon="0.1")
    answer.plot().save(HERE / "patients.svg")


if __name__ == "__main__":
    main()
