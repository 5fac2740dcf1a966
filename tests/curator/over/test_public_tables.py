"""Public tables joined to answers: looked up for nothing, with the intervals of the answer's own columns."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import dither as dt
from dither.curator.over import over_walk
from dither.sql.over import provenance

Make = Callable[..., dt.Curator]
COUNTED = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
WARDS = {"ward": [1, 2], "beds": [10, 40], "house": ["old", "new"]}
BEDS = "SELECT m.ward, n, w.house, 1.0 * n / w.beds AS per_bed FROM m JOIN wards w ON m.ward = w.ward ORDER BY m.ward"


def with_wards(clinic: dt.Curator, **columns: Any) -> dt.Curator:
    clinic.register_public(
        "wards",
        pa.table({**WARDS, **columns}),
        key="ward",
        columns={"ward": dt.Int(0, 9), "beds": dt.Int(0, 100), "house": dt.Category(["old", "new"])},
    )
    return clinic


def check_lookup(clinic: dt.Curator, text: str, **price: Any) -> dt.Answer:
    """The same as DuckDB computes from the noisy rows and the public table."""
    alone = clinic.sql(COUNTED, epsilon=1)
    answer = clinic.sql(f"WITH m AS ({COUNTED}) {text}", epsilon=1, **price)
    assert not answer.charged
    with duckdb.connect() as connection:
        connection.register("m", alone.to_arrow())
        connection.register("wards", pa.table(WARDS))
        wanted = connection.sql(text).fetchall()
    found = [tuple(row.values()) for row in answer.to_dicts()]
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        for mine, theirs in zip(one, other, strict=True):
            assert mine == theirs or math.isclose(mine, theirs)
    return answer


TEXTS = [
    BEDS,
    "SELECT house, SUM(n) AS n FROM m LEFT JOIN wards USING (ward) GROUP BY house ORDER BY house",
    "SELECT ward, n FROM m WHERE ward IN (SELECT ward FROM wards WHERE beds > 20) ORDER BY ward",
    "SELECT COUNT(*) AS c FROM m CROSS JOIN (SELECT beds FROM wards WHERE house = 'old') AS w",
    "SELECT ward, n - (SELECT MAX(beds) FROM wards) AS short FROM m ORDER BY ward",
]


def test_it_is_what_duckdb_says(make: Make) -> None:
    clinic = with_wards(make())
    for text in TEXTS:
        check_lookup(clinic, text)
    check_lookup(
        clinic,
        "SELECT m.ward, house FROM m LEFT JOIN wards w ON m.ward = w.ward ORDER BY house, m.ward",
        dialect="duckdb",
    )


def test_intervals_are_those_of_the_answer(make: Make) -> None:
    clinic = with_wards(make())
    alone, answer = clinic.sql(COUNTED, epsilon=1), check_lookup(clinic, BEDS)
    places = [list(alone["ward"]).index(ward) for ward in answer["ward"]]
    for one, other in zip(answer.interval("n"), alone.interval("n"), strict=True):
        assert (one == other[places]).all()
    lower, upper = answer.interval("per_bed")
    beds = np.array([10, 40])
    assert (upper - lower) * beds == pytest.approx((answer.interval("n")[1] - answer.interval("n")[0]), rel=0.05)


def test_another_snapshot_is_computed_anew(make: Make) -> None:
    clinic = with_wards(make())
    first = clinic.sql(f"WITH m AS ({COUNTED}) {BEDS}", epsilon=1)
    clinic.refresh("wards", pa.table({**WARDS, "house": ["new", "new"]}))
    again = clinic.sql(f"WITH m AS ({COUNTED}) {BEDS}", epsilon=1)
    assert not again.charged
    assert (list(first["house"]), list(again["house"])) == (["old", "new"], ["new", "new"])


REFUSED = [
    (f"SELECT * FROM ({COUNTED}) AS m JOIN visits v ON m.ward = v.ward", "rows of people cannot be joined"),
    (f"SELECT * FROM ({COUNTED}) AS m JOIN nosuch v ON m.ward = v.ward", "no table 'nosuch'"),
    (f"SELECT n FROM ({COUNTED}) AS m WHERE ward IN (SELECT ward FROM visits)", "Rows are never shown"),
    (f"SELECT m.ward, n + w.house AS x FROM ({COUNTED}) AS m JOIN wards w ON m.ward = w.ward", "cannot be computed"),
]


def test_refused_before_the_charge(make: Make) -> None:
    clinic = with_wards(make())
    entries = len([*clinic.ledger()])
    for text, said in REFUSED:
        with pytest.raises((dt.UnsupportedQuery, dt.PolicyError), match=said):
            clinic.sql(text, epsilon=1)
    assert len([*clinic.ledger()]) == entries


# Planted bugs


def test_planted_the_snapshot_is_forgotten(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = over_walk.computed_key
    monkeypatch.setattr(
        over_walk, "computed_key", lambda text, releases, shown: honest(text, releases, {**shown, "public": ""})
    )
    with pytest.raises(AssertionError):
        test_another_snapshot_is_computed_anew(make)


REPEATED = "SELECT m.ward, n FROM m JOIN wards w ON m.ward <> w.ward QUALIFY ROW_NUMBER() OVER (ORDER BY n DESC) <= 3"


def check_repeated_rows(clinic: dt.Curator) -> None:
    """Rows that a join repeats are no longer those of one answer: where noise chose some, nothing is known of them."""
    with pytest.raises(dt.ParameterError, match="states no error"):
        clinic.sql(f"WITH m AS ({COUNTED}) {REPEATED}", epsilon=1).interval("n")


def test_rows_that_a_join_repeats_have_no_intervals(make: Make) -> None:
    check_repeated_rows(with_wards(make()))


def test_planted_every_join_is_taken_for_a_lookup(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provenance, "finds_one", lambda join, table: True)
    with pytest.raises(pytest.fail.Exception):
        check_repeated_rows(with_wards(make()))
