"""The differencing attack, on exact answers: two harmless-looking counts, one person's diagnosis.

It runs on the demonstration's own raw file, which nobody should let analysts near; that is its point.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

DIAGNOSIS = "HIV"


@dataclass(frozen=True)
class Differencing:
    """Someone the attacker knows by age and postcode, the two questions, and their exact answers."""

    age: int
    postcode: str
    everybody: str
    all_but_one: str
    exact: tuple[int, int]


def difference(parquet: Path) -> Differencing:
    """Attack the first patient (by number) with the diagnosis whom age and postcode single out."""
    import duckdb

    with duckdb.connect() as connection:
        connection.read_parquet(str(parquet)).create_view("visits")
        found = connection.execute(
            """
            SELECT age, postcode FROM visits GROUP BY age, postcode
            HAVING COUNT(DISTINCT patient_id) = 1 AND COUNT(*) FILTER (diagnosis = ?) > 0 AND age BETWEEN 30 AND 60
            ORDER BY MIN(patient_id) LIMIT 1
            """,
            [DIAGNOSIS],
        ).fetchone()
        if found is None:
            raise LookupError("no patient of this clinic is singled out; make a larger one.")
        age, postcode = found
        everybody = f"SELECT COUNT(DISTINCT patient_id) AS patients\nFROM visits\nWHERE diagnosis = '{DIAGNOSIS}'"
        all_but_one = f"{everybody}\n  AND NOT (age = {age} AND postcode = '{postcode}')"
        exact = [_count(connection.execute(text).fetchone()) for text in (everybody, all_but_one)]
    return Differencing(age, postcode, everybody, all_but_one, (exact[0], exact[1]))


def _count(row: tuple[int, ...] | None) -> int:
    if row is None:
        raise LookupError("a count has one row.")
    return row[0]
