"""Threats 11, 18, 36 and 55 on Spark: on neighbouring databases nothing shows but numbers as close as was proven.

The rows are DuckDB's and so are their ranks, so that every exact number must be DuckDB's too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import threats_harness as harness
import threats_population as population
from threats_harness import Leak, Side, check_neighbours

from dither.engines.spark.engine import SparkEngine
from dither.engines.spark.settings import Spark
from dither.engines.spark.statements import Turn

pytestmark = pytest.mark.spark

QUESTIONS = [
    "SELECT COUNT(*), SUM(x) FROM t",
    "SELECT g, flag, COUNT(*), SUM(amount) FROM t GROUP BY g, flag",
    "SELECT s, COUNT(*) FROM t GROUP BY s",
    "SELECT MEDIAN(x) FROM t WHERE word LIKE '%a%' OR s IS NULL",
    "SELECT COUNT(*) FROM (SELECT uid, SUM(n) AS total FROM t GROUP BY uid) AS q WHERE total > 20",
    "SELECT day, SUM(wide / n) FROM t WHERE EXTRACT(YEAR FROM at) = 2024 GROUP BY day",
]


def on_spark(side: Side, session: Any, folder: Path) -> Side:
    """The same database with its table on Spark."""
    engines: Any = side.engine._engine
    engines._given["spark"] = Spark(session, folder)
    side.curator._engine = engines
    side.curator.copy("t", to="spark")
    return Side.of(side.curator)


@pytest.fixture(scope="module")
def sides(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Side]]:
    """One database on DuckDB and on Spark; there also without one owner."""
    folder, rows = tmp_path_factory.mktemp("spark"), population.few()["t"]
    one = harness.make_side(folder / "duckdb", rows)
    made = {"with": rows, "without": population.without(rows, population.NASTY)}
    beside = {name: harness.make_side(folder / name, part, one) for name, part in made.items()}
    yield {
        "duckdb": one,
        **{name: on_spark(side, spark.session, folder / f"{name}-lake") for name, side in beside.items()},
    }
    for side in (one, *beside.values()):
        side.curator.close()


@pytest.mark.parametrize("text", QUESTIONS)
def test_neighbours_and_engines(sides: dict[str, Side], text: str) -> None:
    seen = check_neighbours(sides["with"], sides["without"], text, explained=False)
    home = harness.observe(sides["duckdb"], text, explained=False)
    assert seen.status == "answered"
    assert replace(seen, statements=()) == replace(home, statements=())
    assert seen.exact == home.exact


def test_planted_limit_that_is_forgotten(sides: dict[str, Side], monkeypatch: pytest.MonkeyPatch) -> None:
    table = SparkEngine._table

    def unlimited(self: SparkEngine, turn: Turn, statement: Any) -> Any:
        return table(self, turn, replace(statement, sql=re.sub(r"\w+\.`_rank` <= \d+", "TRUE", statement.sql)))

    monkeypatch.setattr(SparkEngine, "_table", unlimited)
    with pytest.raises(Leak):
        check_neighbours(sides["with"], sides["without"], QUESTIONS[1], explained=False)
