"""From a question to the rows an analyst reads: formulas, and what HAVING, ORDER BY and LIMIT make of noisy columns."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import dither as dt
from dither.answer import Chosen

ROWS = 600


@pytest.fixture(scope="module")
def curator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dt.Curator]:
    folder: Path = tmp_path_factory.mktemp("present") / "clinic"
    table = pa.table(
        {
            "person": list(range(ROWS)),
            "region": [("north", "south", "east")[row % 3] for row in range(ROWS)],
            "age": [row % 90 for row in range(ROWS)],
            "cost": [row % 100 / 4 for row in range(ROWS)],
            "sick": [row % 5 == 0 for row in range(ROWS)],
            "day": [datetime.date(2024, 1, 1 + row % 7) for row in range(ROWS)],
        }
    )
    with dt.Curator.open(folder) as opened:
        opened.register(
            "visits",
            table,
            owner="person",
            max_rows_per_owner=1,
            budget=dt.PureDP(9_000),
            columns={
                "region": dt.Category(["north", "south", "east", "west"]),
                "age": dt.Int(0, 120, nullable=False, default=0),
                "cost": dt.Fixed(0, 100, decimals=2),
                "sick": dt.Bool(nullable=False, default=False),
                "day": dt.Date("2024-01-01", "2024-01-31"),
            },
        )
        yield opened


def test_formulas_are_computed_from_the_measures_that_are_shown(curator):
    found = curator.sql(
        "SELECT region, COUNT(*) AS n, COUNT(*) FILTER (WHERE sick) AS ill, SUM(cost) AS paid, "
        "100.0 * COUNT(*) FILTER (WHERE sick) / COUNT(*) AS share, SUM(cost) - 2 * COUNT(*) AS rest "
        "FROM visits GROUP BY region",
        epsilon=30,
    )
    n, ill, share = found["n"], found["ill"], found["share"]
    assert share == pytest.approx(100 * ill / np.maximum(n, 1))
    assert found["rest"].tolist() == [paid - 2 * count for paid, count in zip(found["paid"], n.tolist(), strict=True)]
    assert found["share"][0] == pytest.approx(20, abs=5)
    lower, upper = found.interval("share")
    assert ((lower <= share) & (share <= upper)).all()
    assert [noise.measure for noise in found.column("share").scale] == ["number of rows with a value", "number of rows"]


def test_rows_are_kept_and_sorted_by_the_numbers_shown(curator):
    found = curator.sql(
        "SELECT age, COUNT(*) AS n, AVG(cost) AS mean FROM visits GROUP BY age "
        "HAVING n > 3 AND mean IS NOT NULL ORDER BY n DESC, age LIMIT 20 OFFSET 2",
        epsilon=2,
    )
    shown = [(-row["n"], row["age"]) for row in found.to_dicts()]
    assert 0 < len(found) <= 20
    assert shown == sorted(shown)
    assert all(-n > 3 for n, _ in shown)
    assert not found.complete
    assert "HAVING and LIMIT chose rows by their noisy values" in found.notes[-1]
    whole = curator.sql("SELECT age, COUNT(*) AS n, AVG(cost) AS mean FROM visits GROUP BY age", epsilon=2)
    assert not whole.charged
    assert whole.complete
    kept = {row["age"]: (row["n"], row["mean"]) for row in whole.to_dicts()}
    assert all(kept[row["age"]] == (row["n"], row["mean"]) for row in found.to_dicts())


def test_what_only_having_needs_is_paid_and_not_shown(curator):
    text = "SELECT region FROM visits GROUP BY region HAVING COUNT(*) > 100 ORDER BY SUM(cost) / COUNT(*)"
    before = curator.budget("visits").spent.epsilon
    found = curator.sql(text, epsilon=20)
    assert curator.budget("visits").spent.epsilon - before == 20
    assert found.names == ("region",)
    assert sorted(found["region"].tolist()) == ["east", "north", "south"]
    explained = curator.explain(text, epsilon=20).to_dict()
    assert [column["name"] for column in explained["columns"]] == ["not shown 1", "not shown 2"]


def test_an_answer_may_have_no_rows(curator):
    found = curator.sql("SELECT region, COUNT(*) AS n FROM visits GROUP BY region HAVING n < -1000", epsilon=1)
    assert len(found) == 0
    assert found.to_dicts() == []
    assert "no rows" in str(found)


def test_chosen_days_and_labels_are_shown_as_such(curator):
    found = curator.sql(
        "SELECT MODE() WITHIN GROUP (ORDER BY region) AS usual, MIN(day) AS first, MEDIAN(age) + 0 AS middle "
        "FROM visits HAVING MIN(day) < '2024-02-01' ORDER BY MIN(day)",
        epsilon=60,
    )
    assert isinstance(found.column("usual"), Chosen)
    assert found["usual"][0] in {"north", "south", "east", "west", None}
    assert found.to_dicts()[0]["first"] >= datetime.date(2024, 1, 1)
    assert found["middle"][0] == pytest.approx(44.5, abs=10)
    assert math.isinf(found.interval("middle").upper[0])
    assert "first" in found.to_json()
    assert isinstance(found.column("first"), Chosen)


def test_groups_and_their_total(curator):
    by_region = curator.sql(
        "SELECT region, COUNT(*) AS n, SUM(cost) AS paid FROM visits GROUP BY region", epsilon="0.3"
    )
    total = curator.sql("SELECT COUNT(*) AS n, SUM(cost) AS paid FROM visits", epsilon=20)
    together = by_region.consistent(total)
    assert abs(int(together["n"].sum()) - int(total["n"][0])) <= 1
    assert (by_region.nonnegative()["n"] >= 0).all()
    owners = curator.sql("SELECT region, COUNT(DISTINCT person) AS n FROM visits GROUP BY region", epsilon=1)
    with pytest.raises(dt.ParameterError, match="no counts or sums in common"):
        owners.consistent(total)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT region, COUNT(*) FROM visits GROUP BY region HAVING nosuch > 1",
        "SELECT region, COUNT(*) FROM visits GROUP BY region ORDER BY cost",
        "SELECT age FROM visits ORDER BY cost LIMIT 1",
        "SELECT region, SIN(COUNT(*)) FROM visits GROUP BY region",
        "SELECT COUNT(*) FROM (SELECT age FROM visits ORDER BY cost LIMIT 5) s",
        "SELECT COUNT(*) + age FROM visits",
        "SELECT COUNT(*) FROM visits LIMIT ALL",
    ],
)
def test_refused_before_anything_is_paid(curator, text):
    before = curator.budget("visits").spent.epsilon
    with pytest.raises(dt.UnsupportedQuery) as caught:
        curator.sql(text, epsilon=1)
    assert caught.value.line == 1
    assert curator.budget("visits").spent.epsilon == before


@pytest.mark.parametrize(
    "clause",
    [
        "ORDER BY n ASC NULLS LAST",
        "ORDER BY n DESC NULLS FIRST, region",
        "ORDER BY region NULLS FIRST, 2 DESC NULLS LAST",
        "LIMIT 2 OFFSET 1",
        "OFFSET 1 LIMIT 2",
        "OFFSET 1 ROW FETCH FIRST 2 ROWS ONLY",
        "FETCH NEXT ROW ONLY",
        "HAVING region IS NULL OR region <> 'west' ORDER BY CASE WHEN region = 'south' THEN 0 ELSE n END",
        "HAVING NOT n BETWEEN -5 AND 5 AND n::float / 2 > 1 AND POWER(n, 2) >= 4",
    ],
)
def test_every_spelling_is_read(curator, clause):
    found = curator.sql(f"SELECT region, COUNT(*) AS n FROM visits GROUP BY region {clause}", epsilon=3)
    assert found.names == ("region", "n")
