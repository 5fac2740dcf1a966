"""Sums of decimals computed from answers: their ends are in the same units as the numbers."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pyarrow as pa

import dither as dt


def test_an_interval_holds_its_own_number(tmp_path: Path) -> None:
    with dt.Curator.open(tmp_path / "clinic") as curator:
        curator.people("patients", budget=dt.ApproxDP(4, "1e-6"))
        source = pa.table({"pid": range(100), "fee": ["50.25"] * 100, "region": ["north"] * 100})
        columns = {"fee": dt.Fixed(0, 100, decimals=2), "region": dt.Category(["north", "south"])}
        curator.register("visits", source, people="patients", owner="pid", max_rows_per_owner=1, columns=columns)
        text = "SELECT SUM(f) AS f FROM (SELECT region, SUM(fee) AS f FROM visits GROUP BY region) AS t"
        answer = curator.sql(text, epsilon="1")
    (row,) = answer.to_dicts(intervals=True)
    assert isinstance(row["f_lower"], Decimal)
    assert row["f_lower"] < row["f"] < row["f_upper"]
    lower, upper = answer.interval("f")
    assert (lower[0], upper[0]) == (row["f_lower"], row["f_upper"])
