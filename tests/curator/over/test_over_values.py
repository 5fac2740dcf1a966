# ruff: noqa: E501
"""What is computed from answers is what SQL means: at a price with almost no noise, DuckDB says the same of the rows."""

from __future__ import annotations

import math
import os
import random
from collections.abc import Callable
from typing import Any

import duckdb
import pytest

import dither as dt

EPSILON = 120  # of a question: at 25 for each measure, noise on it is 0 but for a chance of 3e-11
CASES = 40 * int(os.environ.get("DITHER_CAMPAIGN", "1"))

MONTHS = "SELECT DATE_TRUNC('month', day) AS month, COUNT(*) AS n, SUM(kids) AS k FROM visits GROUP BY 1"
REGIONS = "SELECT region, COUNT(*) AS n, SUM(kids) AS k FROM visits GROUP BY region"
TEXTS = [
    f"WITH m AS ({MONTHS}) SELECT month, n, n - LAG(n) OVER (ORDER BY month) AS change FROM m ORDER BY month",
    f"WITH m AS ({MONTHS}) SELECT month, SUM(n) OVER (ORDER BY month) AS running FROM m ORDER BY month DESC",
    f"WITH m AS ({MONTHS}) SELECT month, AVG(n) OVER (ORDER BY month ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS a FROM m",
    f"SELECT region, 100.0 * n / SUM(n) OVER () AS share FROM ({REGIONS}) AS t",
    f"SELECT region, RANK() OVER (ORDER BY n DESC) AS r, DENSE_RANK() OVER (ORDER BY k) AS d, ROW_NUMBER() OVER (ORDER BY region) AS o FROM ({REGIONS}) t",
    f"SELECT COUNT(*) AS c, AVG(n) AS a, MIN(n) AS low, MAX(k) AS high FROM ({REGIONS}) AS t WHERE region <> 'west'",
    f"SELECT t.* FROM ({REGIONS}) AS t WHERE n > (SELECT AVG(n) FROM ({REGIONS}) AS u)",
    "SELECT region, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*) DESC, region) AS r FROM visits GROUP BY region QUALIFY r <= 2",
    "SELECT region, sex, COUNT(*) AS n, SUM(COUNT(*)) OVER (PARTITION BY region) AS whole FROM visits GROUP BY region, sex",
    "SELECT region, SUM(COUNT(*)) OVER w AS s FROM visits GROUP BY region WINDOW w AS (ORDER BY region) ORDER BY s DESC LIMIT 2",
    "SELECT UPPER(region) || '-' || sex AS who, 'people' AS what, 1 + 1 AS two, COUNT(*) FROM visits GROUP BY region, sex",
    "SELECT region, CASE WHEN COUNT(*) > 60 THEN 'many' ELSE 'few' END AS size, COUNT(*) > 60 AS many FROM visits GROUP BY region",
    "SELECT region, LOG(COUNT(*)) AS l, LN(COUNT(*)) AS e, SQRT(COUNT(*)) AS s, LOG(2, COUNT(*)) AS two FROM visits GROUP BY region",
    "SELECT region, AVG(kids) AS a FROM visits GROUP BY region HAVING COUNT(*) > 55 ORDER BY RANK() OVER (ORDER BY AVG(kids) DESC)",
    "SELECT 'all' AS what, COUNT(*) AS n FROM visits UNION ALL SELECT 'women', COUNT(*) FROM visits WHERE sex = 'f' UNION ALL SELECT 'kids', SUM(kids) FROM visits",
    "SELECT region AS who, COUNT(*) AS n FROM visits GROUP BY region UNION ALL (SELECT sex, COUNT(*) FROM visits GROUP BY sex) ORDER BY n DESC, who LIMIT 4",
    "SELECT DISTINCT region, sex FROM visits",
    "SELECT region FROM visits WHERE sex = 'f' GROUP BY region",
    "SELECT DISTINCT COUNT(*) > 1 AS some FROM visits GROUP BY region",
    "SELECT region, sex, COUNT(*) AS n, SUM(kids) AS k, GROUPING(region, sex) AS g FROM visits GROUP BY ROLLUP (region, sex)",
    "SELECT region, sex, AVG(kids) AS a, GROUPING(region) AS g FROM visits GROUP BY CUBE (region, sex)",
    "SELECT region, sex, COUNT(*) AS n FROM visits GROUP BY GROUPING SETS ((region, sex), region, ()) HAVING COUNT(*) > 30",
    "SELECT sex, region, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*) DESC, sex, region) AS r FROM visits GROUP BY sex, ROLLUP (region)",
    "SELECT EXTRACT(year FROM DATE_TRUNC('month', day)) AS y, COUNT(*) FROM visits GROUP BY DATE_TRUNC('month', day)",
    "WITH rows AS (SELECT person, region FROM visits WHERE kids > 0), a AS (SELECT region, COUNT(*) AS n FROM rows GROUP BY region), unused AS (SELECT COUNT(*) AS z FROM visits) SELECT a.region, a.n, b.m FROM a JOIN (SELECT region, COUNT(*) AS m FROM visits GROUP BY region) b USING (region)",
    "SELECT kids, COUNT(*) / SUM(COUNT(*)) OVER () AS part, n FROM (SELECT kids, COUNT(*) AS n FROM visits GROUP BY kids) t GROUP BY kids, n",
    "SELECT MAX(n) - MIN(n) AS spread FROM (SELECT region, sex, COUNT(*) AS n FROM visits GROUP BY region, sex) AS t",
    "SELECT (SELECT COUNT(*) FROM visits) - (SELECT COUNT(*) FROM visits WHERE sex = 'f') AS men, (SELECT SUM(kids) FROM visits) * 1.0 / (SELECT COUNT(*) FROM visits) AS each",
    f"WITH m AS ({MONTHS}) SELECT CASE WHEN (SELECT MAX(n) FROM m) > (SELECT AVG(k) FROM m) THEN 'yes' ELSE 'no' END AS many",
    "(SELECT region, COUNT(*) AS n FROM visits GROUP BY region ORDER BY n DESC LIMIT 1) UNION ALL (SELECT region, COUNT(*) AS n FROM visits GROUP BY region ORDER BY n LIMIT 1)",
    "SELECT region, GROUPING(region) AS g, COUNT(*) AS n FROM visits GROUP BY region",
    "SELECT CAST(kids AS TEXT) || '!' AS t, CAST(CAST(kids AS TEXT) AS INTEGER) AS w, CAST(n > 5 AS INTEGER) AS b, CAST(n / 7.0 AS INTEGER) AS c FROM (SELECT kids, COUNT(*) AS n FROM visits GROUP BY kids) t",
    "SELECT region, SUM(n) AS n FROM (SELECT region, sex, COUNT(*) AS n FROM visits GROUP BY region, sex) AS t GROUP BY region",
]


def same(one: Any, other: Any) -> bool:
    if isinstance(one, str) or isinstance(other, str) or one is None or other is None:
        return bool(one == other)
    if hasattr(one, "year") or hasattr(other, "year"):
        return str(one)[:10] == str(other)[:10]
    return math.isclose(float(one), float(other), rel_tol=1e-6, abs_tol=1e-6)


def shown(rows: list[tuple[Any, ...]], ordered: bool) -> list[tuple[Any, ...]]:
    def rank(row: tuple[Any, ...]) -> list[str]:
        return [
            "~"
            if cell is None
            else str(cell)[:10]
            if isinstance(cell, str) or hasattr(cell, "year")
            else f"{float(cell):020.4f}"
            for cell in row
        ]

    return rows if ordered else sorted(rows, key=rank)


def check(silent: dt.Curator, exact: duckdb.DuckDBPyConnection, text: str) -> dt.Answer:
    answer = silent.sql(text, epsilon=EPSILON)
    found = [tuple(row.values()) for row in answer.to_dicts()]
    ordered = " ORDER BY " in text.rpartition(")")[2]
    wanted = shown(exact.sql(text).fetchall(), ordered)
    found = shown(found, ordered)
    assert len(found) == len(wanted), text
    for one, other in zip(found, wanted, strict=True):
        assert len(one) == len(other), text
        assert all(map(same, one, other)), (text, one, other)
    return answer


@pytest.mark.parametrize("text", TEXTS)
def test_it_is_what_duckdb_says(silent: dt.Curator, exact: duckdb.DuckDBPyConnection, text: str) -> None:
    check(silent, exact, text)


class Texts:
    """Random questions over answers."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)

    def some(self, *items: str) -> str:
        return self.dice.choice(items)

    def text(self) -> str:
        keys = self.dice.sample(["region", "sex", "kids"], self.dice.randrange(1, 3))
        value = self.some("COUNT(*)", "SUM(kids)", "COUNT(*) FILTER (WHERE sex = 'f')", "COUNT(*) + SUM(kids)")
        where = self.some("", " WHERE kids > 0", " WHERE sex = 'f'")
        if self.dice.random() < 0.4:
            return self.grouped(keys, value, where)
        inner = f"SELECT {', '.join(keys)}, {value} AS v FROM visits{where} GROUP BY {', '.join(keys)}"
        over = self.window("v", keys)
        kept = self.some("", f" WHERE {keys[0]} IS NOT NULL", " WHERE v > 20")
        return f"SELECT {', '.join(keys)}, {over} AS w, {self.item('v')} AS i FROM ({inner}) AS t{kept}"

    def grouped(self, keys: list[str], value: str, where: str) -> str:
        group = self.some("{}", "ROLLUP ({})", "CUBE ({})").format(", ".join(keys))
        more = self.some(value, self.item(value), self.window(value, keys))
        having = self.some("", f" HAVING {value} > 10")
        return f"SELECT {', '.join(keys)}, {value} AS v, {more} AS w FROM visits{where} GROUP BY {group}{having}"

    def item(self, value: str) -> str:
        return self.some(
            f"ROUND({value} / 7.0, 2)", f"CASE WHEN {value} > 30 THEN 'a' ELSE 'b' END", f"SQRT(ABS({value}))",
            f"{value} * 2 - 1", f"{value} > 30", f"COALESCE(NULLIF({value}, 0), -1)",
        )  # fmt: skip

    def window(self, value: str, keys: list[str]) -> str:
        order = ", ".join(keys)
        return self.some(
            f"RANK() OVER (ORDER BY {value} DESC)", f"SUM({value}) OVER (ORDER BY {order})",
            f"{value} - LAG({value}) OVER (ORDER BY {order})", f"AVG({value}) OVER (PARTITION BY {keys[0]})",
            f"SUM({value}) OVER (ORDER BY {order} ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING)", f"MAX({value}) OVER ()",
        )  # fmt: skip


@pytest.mark.parametrize("part", range(4))
def test_random_questions_over_answers(
    make_silent: Callable[[], dt.Curator], exact: duckdb.DuckDBPyConnection, part: int
) -> None:
    texts = Texts(part)
    for _ in range(0, CASES // 4, 60):
        curator = make_silent()
        for _ in range(min(60, CASES // 4)):
            check(curator, exact, texts.text())


def test_planted_another_meaning(
    silent: dt.Curator, exact: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A text that means something else to the engine is noticed."""
    from dither.curator.over import over_walk

    written = over_walk.engine_text
    monkeypatch.setattr(over_walk, "engine_text", lambda tree: written(tree).replace("SUM(", "MAX("))
    with pytest.raises(AssertionError):
        check(silent, exact, "SELECT sex, SUM(COUNT(*)) OVER () AS n FROM visits WHERE kids = 1 GROUP BY sex")
