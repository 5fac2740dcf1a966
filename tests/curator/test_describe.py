"""Describing a question: the columns of its answer, before anything is paid or read."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest

import dither as dt
from dither.answer.shape import shape_of
from dither.curator.principal import Principal
from dither.errors import Stranger, UnsupportedQuery

QUESTIONS = (
    "SELECT COUNT(*) FROM visits",
    "SELECT region, ok, COUNT(*) AS n, AVG(age) AS years, SUM(fee) FROM visits GROUP BY region, ok",
    "SELECT date_trunc('month', day) AS month, COUNT(*) AS n FROM visits GROUP BY 1 HAVING COUNT(*) > -9999 ORDER BY n",
    "SELECT MEDIAN(age), MODE() WITHIN GROUP (ORDER BY region) FROM visits",
    "SELECT region, n, n * 2 AS twice FROM (SELECT region, COUNT(*) AS n FROM visits GROUP BY region) AS t",
)
ALICE = Principal.analyst("alice")


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dt.Curator]:
    with dt.Curator.open(tmp_path_factory.mktemp("described") / "clinic") as curator:
        curator.people("patients", budget=dt.ApproxDP(4, "1e-6"))
        source = pa.table(
            {"pid": range(200), "age": range(200), "fee": ["1.25"] * 200, "region": ["north"] * 200, "ok": [True] * 200,
             "day": ["2024-01-02"] * 200}
        )  # fmt: skip
        columns = {"age": dt.Int(0, 120), "fee": dt.Fixed(0, 9, decimals=2), "region": dt.Category(["north", "south"]),
                   "ok": dt.Bool(), "day": dt.Date("2024-01-01", "2024-03-31")}  # fmt: skip
        curator.register("visits", source, people="patients", owner="pid", max_rows_per_owner=1, columns=columns)
        curator.analyst("alice", budget=dt.ApproxDP(1, "1e-7"))
        yield curator


@pytest.mark.parametrize("text", QUESTIONS)
def test_the_answer_has_the_columns_that_were_described(clinic: dt.Curator, text: str) -> None:
    before = clinic.budget("patients").spent
    said = clinic.service.describe(ALICE, text, epsilon="0.01")
    assert clinic.budget("patients").spent == before
    answer = clinic.service.ask(ALICE, text, epsilon="0.01")
    assert [(column.name, column.type) for column in said] == [
        (field.name, field.type) for field in answer.to_arrow().schema
    ]
    bounded = {column.name for column in shape_of(answer) if column.noisy}
    assert bounded <= {column.name for column in said if column.noisy}


def test_refusals_are_those_of_asking(clinic: dt.Curator) -> None:
    with pytest.raises(UnsupportedQuery):
        clinic.service.describe(ALICE, "SELECT age FROM visits", epsilon="0.01")
    with pytest.raises(Stranger):
        clinic.service.describe(Principal.analyst("mallory"), QUESTIONS[0], epsilon="0.01")
