"""The clinic: patients with an age, a region and a postcode, and their visits over two years.

Patients differ in how often they come (1 to 40 visits, ten on average), as real ones do.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dither.demo.hashing import below, weighted
from dither.policy.columns import Category, Column, Date, Fixed, Int, Text

if TYPE_CHECKING:
    import pyarrow as pa

PATIENTS = 100_000
MOST_VISITS = 40
REGIONS = ("north", "east", "south", "west")
DEPARTMENTS = ("general", "emergency", "cardiology", "orthopaedics", "paediatrics", "psychiatry")
DIAGNOSES = ("infection", "injury", "hypertension", "diabetes", "asthma", "depression", "HIV", "none")

COLUMNS: dict[str, Column] = {
    "age": Int(0, 105, nullable=False, default=0),
    "region": Category(REGIONS, nullable=False, default="north"),
    "postcode": Text(max_length=4),
    "day": Date("2023-01-01", "2024-12-31", nullable=False, default="2023-01-01"),
    "department": Category(DEPARTMENTS, nullable=False, default="general"),
    "diagnosis": Category(DIAGNOSES),
    "wait": Int(0, 240),
    "fee": Fixed(0, 500, decimals=2, nullable=False, default=0),
}

_CHUNK = 5_000  # patients written at a time
_FIRST_DAY, _DAYS = 19_358, 731  # 2023-01-01 in days since 1970-01-01, and two years
_VISIT_WEIGHTS = [10**6 * 91**visits // 100**visits for visits in range(MOST_VISITS)]
_AGE_WEIGHTS = [60] * 20 + [75] * 40 + [max(1, 75 - 2 * years) for years in range(45)]
_DEPARTMENT_WEIGHTS = (42, 19, 14, 15, 0, 10)  # of adults; children see a paediatrician
_DIAGNOSIS_WEIGHTS = (  # one row per department
    (300, 60, 170, 120, 70, 50, 4, 226),
    (180, 520, 60, 30, 50, 20, 2, 138),
    (10, 5, 620, 110, 5, 10, 1, 239),
    (20, 610, 20, 15, 2, 5, 1, 327),
    (480, 160, 2, 15, 160, 10, 1, 172),
    (2, 8, 20, 20, 5, 760, 3, 182),
)
_TYPICAL_FEE = (4_000, 14_000, 22_000, 16_000, 5_000, 12_000)  # in cents, by department
_TYPICAL_WAIT = (25, 70, 15, 30, 20, 10)  # in minutes, by department


def write_visits(
    path: Path | str, patients: int = PATIENTS, progress: Callable[[str, float], None] | None = None
) -> int:
    """Write the visits as Parquet, the same bytes of data every time; the number of visits."""
    import pyarrow.parquet as pq

    rows, writer = 0, None
    try:
        for first in range(0, patients, _CHUNK):
            table = visits(np.arange(first, min(first + _CHUNK, patients)))
            writer = writer or pq.ParquetWriter(path, table.schema)
            writer.write_table(table)
            rows += len(table)
            if progress is not None:
                progress("making the clinic", min(1.0, (first + _CHUNK) / patients))
    finally:
        if writer is not None:
            writer.close()
    return rows


def visits(patients: NDArray[Any]) -> pa.Table:
    """All visits of these patients (numbered from 0), in order of patient."""
    import pyarrow as pa

    age, region = weighted("age", patients, _AGE_WEIGHTS), weighted("region", patients, (31, 27, 24, 18))
    postcode = 1000 + 2000 * region + below("postcode", patients, 250)
    count = 1 + weighted("visits", patients, _VISIT_WEIGHTS)

    whose = np.repeat(np.arange(len(patients)), count)
    nth = np.arange(len(whose)) - np.repeat(np.cumsum(count) - count, count)
    visit = patients[whose] * MOST_VISITS + nth
    department = np.where(age[whose] < 16, 4, weighted("department", visit, _DEPARTMENT_WEIGHTS))
    return pa.table(
        {
            "patient_id": pa.array(100_000 + patients[whose], pa.int64()),
            "age": pa.array(age[whose], pa.int64()),
            "region": _labels(region[whose], REGIONS),
            "postcode": _text(postcode[whose]),
            "day": pa.array(_FIRST_DAY + below("day", visit, _DAYS), pa.int32()).cast(pa.date32()),
            "department": _labels(department, DEPARTMENTS),
            "diagnosis": _labels(_diagnosis(visit, department), DIAGNOSES),
            "wait": pa.array(_wait(visit, department, region[whose]), pa.int64()),
            "fee": _cents(_fee(visit, department)),
        }
    )


def _diagnosis(visit: NDArray[Any], department: NDArray[Any]) -> NDArray[np.int64]:
    by_department = [weighted("diagnosis", visit, weights) for weights in _DIAGNOSIS_WEIGHTS]
    return np.asarray(np.choose(department, by_department), dtype=np.int64)


def _wait(visit: NDArray[Any], department: NDArray[Any], region: NDArray[Any]) -> NDArray[np.int64]:
    typical = np.array(_TYPICAL_WAIT)[department] + 4 * region
    return np.asarray(np.minimum(240, typical * (20 + below("wait", visit, 181)) // 100), dtype=np.int64)


def _fee(visit: NDArray[Any], department: NDArray[Any]) -> NDArray[np.int64]:
    typical = np.array(_TYPICAL_FEE)[department]
    return np.asarray(np.minimum(50_000, typical * (40 + below("fee", visit, 140)) // 100), dtype=np.int64)


def _labels(codes: NDArray[Any], labels: tuple[str, ...]) -> pa.Array:
    import pyarrow as pa

    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int8()), pa.array(labels))


def _text(numbers: NDArray[Any]) -> pa.Array:
    import pyarrow as pa

    return pa.array(numbers).cast(pa.string())


def _cents(numbers: NDArray[Any]) -> pa.Array:
    """Cents as a decimal with two places; int64 words widened by their sign."""
    import pyarrow as pa

    words = np.stack([numbers, numbers >> 63], axis=1)
    return pa.Array.from_buffers(pa.decimal128(18, 2), len(numbers), [None, pa.py_buffer(np.ascontiguousarray(words))])
