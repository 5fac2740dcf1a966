"""The same numbers under the labels that another text gives to them: for nothing, and right."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dither as dt

PAIRS = [
    ("TO_CHAR(day, 'Dy')", "TO_CHAR(day, 'FMDay')"),
    ("LOWER(g)", "UPPER(g)"),
    ("COALESCE(g, 'none')", "COALESCE(g, 'nothing')"),
    ("CASE WHEN a < 18 THEN 'minor' ELSE 'adult' END", "CASE WHEN a < 18 THEN 'adult' ELSE 'minor' END"),
    ("CASE WHEN a < 18 THEN 1 ELSE 2 END", "CASE WHEN a < 18 THEN 20 ELSE 10 END"),
    ("DATE_TRUNC('day', seen)", "CAST(seen AS DATE)"),
]
COUNT = 400  # a hundred and three hundred rows, which the noise cannot take for each other


@pytest.fixture
def curator(tmp_path: Path) -> Iterator[Any]:
    with dt.Curator.open(tmp_path / "c") as curator:
        curator.people("all", budget=dt.PureDP(10))
        size = range(COUNT)
        rows = {
            "uid": [*size],
            "a": [5 if place % 4 else 60 for place in size],
            "g": ["North" if place % 4 else "south" for place in size],
            "day": ["2024-01-01" if place % 4 else "2024-01-02" for place in size],
            "seen": ["2024-01-01T10:00:00" if place % 4 else "2024-01-02T11:00:00" for place in size],
        }
        columns = {
            "a": dt.Int(0, 99),
            "g": dt.Category(["North", "south"]),
            "day": dt.Date("2024-01-01", "2024-01-31"),
            "seen": dt.Timestamp("2024-01-01", "2024-01-31"),
        }
        curator.register("t", pa.table(rows), people="all", owner="uid", max_rows_per_owner=1, columns=columns)
        yield curator


def asked(curator: Any, key: str, **stated: Any) -> Any:
    return curator.sql(f"SELECT {key} AS k, COUNT(*) AS n FROM t GROUP BY 1", epsilon=4, **stated)


@pytest.mark.parametrize("pair", PAIRS, ids=[one for one, _ in PAIRS])
def test_other_labels_are_free_and_right(curator: Any, pair: tuple[str, str]) -> None:
    first = asked(curator, pair[0])
    spent = curator.budget("all").spent
    other = asked(curator, pair[1])
    assert not other.charged
    assert curator.budget("all").spent == spent
    assert [*other["n"]] == [*first["n"]]
    alone = asked(curator, pair[1], request="alone")
    assert alone.to_dicts() == other.to_dicts()
    again = asked(curator, pair[0])
    assert again.to_dicts() == first.to_dicts()
    assert asked(curator, pair[0], request="alone").to_dicts() == first.to_dicts()


def test_each_number_stands_under_its_own_label(curator: Any) -> None:
    for key, most in [(PAIRS[3][0], "minor"), (PAIRS[3][1], "adult"), (PAIRS[0][0], "Mon"), (PAIRS[0][1], "Monday")]:
        counts = dict(zip(asked(curator, key)["k"], asked(curator, key)["n"], strict=True))
        assert counts[most] > 200, (key, counts)
        assert sum(count > 50 for count in counts.values()) == 2


def test_planted_labels_of_the_first_text(curator: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dither.curator.recall.relabelled", lambda priced, known: known.answer)
    asked(curator, PAIRS[0][0])
    with pytest.raises(dt.PolicyError, match="before the labels"):
        asked(curator, PAIRS[0][1])
