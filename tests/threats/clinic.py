"""A small clinic for threats that need the whole walk: charge, engine, noise, ledger, answer."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa

from dither.accounting import PureDP
from dither.curator.curator import Curator
from dither.policy.columns import Category, Int, Text

COLUMNS = {
    "age": Int(0, 120),
    "visits": Int(0, 20, nullable=False, default=0),
    "region": Category(["north", "south"], nullable=False, default="north"),
    "remark": Text(),
}
COUNT = "SELECT COUNT(*) FROM visits"


def patients(count: int = 40, *, older: int = 0, remark: str = "none") -> pa.Table:
    """One to three rows for each patient."""
    drawn = random.Random(5)
    rows: list[dict[str, Any]] = [
        {
            "patient": patient,
            "age": drawn.randint(0, 100) + older,
            "visits": drawn.randint(0, 20),
            "region": drawn.choice(["north", "south"]),
            "remark": remark,
        }
        for patient in range(count)
        for _ in range(drawn.randint(1, 3))
    ]
    return pa.Table.from_pylist(rows)


def open_clinic(
    folder: Path,
    *,
    budget: Any = None,
    oversubscribe: bool = False,
    source: Any = None,
    kind: type[Curator] = Curator,
    **declared: Any,
) -> Curator:
    """A curator whose people are the patients, with one table of visits; alice may spend 1 of a budget not stated."""
    curator = kind.open(folder)
    curator.people("patients", budget=budget or PureDP(4), oversubscribe=oversubscribe)
    if budget is None:
        curator.analyst("alice", budget=PureDP(1))
    add_table(curator, "visits", patients() if source is None else source, **declared)
    return curator


def add_table(curator: Curator, name: str, source: Any, *, people: str = "patients", **declared: Any) -> None:
    curator.register(
        name, source, people=people, **{"owner": "patient", "max_rows_per_owner": 3, "columns": COLUMNS} | declared
    )


def spent(curator: Curator, people: str = "patients", analyst: str | None = None) -> Any:
    amount = curator.budget(people, analyst).spent
    return amount.epsilon if amount.rho is None else amount.rho
