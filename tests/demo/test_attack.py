"""The differencing attack works on exact answers; that is why dither exists."""

from __future__ import annotations

from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from dither.demo.attack import DIAGNOSIS, difference
from dither.demo.clinic import write_visits


def test_two_exact_counts_reveal_one_patient(tmp_path: Path) -> None:
    raw = tmp_path / "it's visits.parquet"
    write_visits(raw, 20_000)
    found = difference(raw)
    assert found.exact[0] - found.exact[1] == 1
    table = pq.read_table(raw)
    singled_out = table.filter((pc.field("age") == found.age) & (pc.field("postcode") == found.postcode))
    assert len(set(singled_out.column("patient_id").to_pylist())) == 1
    assert DIAGNOSIS in singled_out.column("diagnosis").to_pylist()


def test_a_clinic_too_small_to_attack_says_so(tmp_path: Path) -> None:
    write_visits(tmp_path / "visits.parquet", 3)
    with pytest.raises(LookupError, match="make a larger one"):
        difference(tmp_path / "visits.parquet")
