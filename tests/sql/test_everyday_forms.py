# ruff: noqa: E501 - questions as they are written
"""Everyday forms before the noise equal what DuckDB answers to the same text, on tables where no limit bites."""

from __future__ import annotations

import datetime
import random
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from sql_reference_exactly import check, exact, plain
from sqlglot import exp

import dither as dt
from dither.sql.binding import aggregate_calls, owner_aggregates, regressions
from dither.sql.expressions import Constant, Truth
from dither.sql.guard.check import UnsafePlan
from dither.sql.lowering.duckdb_dialect import DUCKDB
from dither.sql.plan.aggregates import Count
from dither.sql.scalars import conditions, text_functions, time_labels

DuckDBDialect = type(DUCKDB)

DRAW = random.Random(16)
CITIES, WORDS = ["bern", "rom", "ulm"], ["red-apple", "Green-pear", "blue", "", "a-b-c", "ÄPFEL-x", None]
PEOPLE = [{"uid": uid, "city": DRAW.choice(CITIES), "age": DRAW.randint(1, 90)} for uid in range(1, 30)]
EVENTS = [
    {
        "eid": eid,
        "uid": DRAW.randint(1, 36),
        "x": DRAW.choice([None, DRAW.randint(-20, 20)]),
        "y": DRAW.choice([None, DRAW.randint(0, 30)]),
        "amount": DRAW.choice([None, DRAW.randint(0, 9999) / 100]),
        "shop": DRAW.randint(1, 5),
        "ok": DRAW.choice([True, False, None]),
        "day": DRAW.choice([None, datetime.date(2024, 1, 1) + datetime.timedelta(days=DRAW.randint(0, 365))]),
        "word": DRAW.choice(WORDS),
    }
    for eid in range(1, 140)
]
SHOPS = [
    {"shop": shop, "town": town, "size": size} for shop, town, size in ((1, "rom", 3), (2, "ulm", 1), (3, "rom", 9))
]
TABLES = {
    "people": pa.Table.from_pylist(PEOPLE),
    "events": pa.Table.from_pylist(EVENTS),
    "shops": pa.Table.from_pylist(SHOPS),
}

# The question, and DuckDB's words for it where they are others.
FORMS: dict[str, str | tuple[str, str]] = {
    "funnel by filter": "SELECT COUNT(DISTINCT uid) FILTER (WHERE x > 0) AS a, COUNT(DISTINCT uid) FILTER (WHERE ok) AS b FROM events",
    "funnel by case": "SELECT shop, COUNT(DISTINCT CASE WHEN x > 0 THEN uid END) AS a, COUNT(CASE WHEN ok THEN uid END) AS b FROM events GROUP BY shop",
    "funnel by case and filter": "SELECT COUNT(DISTINCT CASE WHEN x > 9 THEN uid WHEN ok THEN uid ELSE NULL END) FILTER (WHERE shop < 4) AS a FROM events",
    "count_if": "SELECT shop, COUNT_IF(x > 3) AS n FROM events GROUP BY shop",
    "group by all": "SELECT shop, ok, COUNT(*) AS n, SUM(x) AS s FROM events GROUP BY ALL",
    "schema": (
        "SELECT COUNT(*) AS n FROM public.events WHERE public.events.x > 0",
        "SELECT COUNT(*) FROM events WHERE x > 0",
    ),
    "distinct from": "SELECT COUNT(*) AS n FROM events WHERE ok IS DISTINCT FROM TRUE AND x IS NOT DISTINCT FROM x",
    "distinct from a value": "SELECT COUNT(*) AS n FROM events WHERE x IS DISTINCT FROM 3 AND word IS DISTINCT FROM 'blue'",
    "distinct from null": "SELECT COUNT(*) AS n FROM events WHERE x IS NOT DISTINCT FROM NULL OR y IS DISTINCT FROM x",
    "joins in parentheses": "SELECT COUNT(*) AS n FROM (people p JOIN events e ON p.uid = e.uid) JOIN shops s ON e.shop = s.shop",
    "parentheses on the right": "SELECT SUM(x) AS n FROM people p JOIN (events e LEFT JOIN shops s ON e.shop = s.shop) ON p.uid = e.uid WHERE s.size > 2",
    "right join": "SELECT p.city, COUNT(e.eid) AS n FROM events e RIGHT JOIN people p ON e.uid = p.uid AND e.ok GROUP BY p.city",
    "anti-join": "SELECT COUNT(*) AS n FROM people p LEFT JOIN events e ON p.uid = e.uid AND e.x > 5 WHERE e.uid IS NULL",
    "found by left join": "SELECT p.city, COUNT(e.uid) AS n FROM people p LEFT JOIN events e ON p.uid = e.uid AND e.x > 5 GROUP BY p.city",
    "not missing": "SELECT COUNT(*) AS n FROM people p LEFT JOIN events e ON p.uid = e.uid WHERE e.uid IS NOT NULL AND p.age > 20",
    "counted per owner": "SELECT SUM(n) AS s FROM (SELECT p.uid, COUNT(e.uid) AS n FROM people p LEFT JOIN events e ON p.uid = e.uid GROUP BY p.uid) q",
    "first day": "SELECT EXTRACT(month FROM f) AS m, COUNT(*) AS n FROM (SELECT uid, MIN(day) AS f FROM events GROUP BY uid) q GROUP BY m",
    "last day": "SELECT COUNT(*) AS n FROM (SELECT uid, MAX(day) AS f FROM events GROUP BY uid HAVING MAX(day) > '2024-06-01') q",
    "different values": "SELECT SUM(a) AS a, SUM(b) AS b FROM (SELECT uid, COUNT(DISTINCT shop) AS a, COUNT(DISTINCT word) AS b FROM events GROUP BY uid) q",
    "different values filtered": "SELECT SUM(a) AS a FROM (SELECT uid, COUNT(DISTINCT shop) FILTER (WHERE x > 0) AS a FROM events GROUP BY uid) q",
    "any and all": "SELECT a, b, COUNT(*) AS n FROM (SELECT uid, BOOL_OR(ok) AS a, BOOL_AND(x > 0) AS b FROM events GROUP BY uid) q GROUP BY a, b",
    "covariance": "SELECT COVAR_POP(y, x) AS a, COVAR_SAMP(y, x) AS b, CORR(y, x) AS c, CORR(x, amount) AS d FROM events",
    "regression": "SELECT shop, REGR_SLOPE(y, x) AS a, REGR_INTERCEPT(y, x) AS b, REGR_R2(y, x) AS c, REGR_COUNT(y, x) AS n FROM events GROUP BY shop",
    "regression filtered": "SELECT REGR_SLOPE(y, x) FILTER (WHERE shop < 4) AS a, REGR_AVGX(y, x) AS b, REGR_AVGY(y, x + 1) AS c FROM events",
    "concat": (
        "SELECT COUNT(*) AS n FROM events WHERE CONCAT(word, '!', word) = 'blue!blue' OR CONCAT(word, 'x') = 'x'",
    )
    * 2,
    "concat of labels": "SELECT CONCAT('in ', city) AS c, COUNT(*) AS n FROM (SELECT uid, COALESCE(city, 'rom') AS city FROM people) p GROUP BY c",
    "right": "SELECT COUNT(*) AS n FROM events WHERE RIGHT(word, 2) = 'le' OR RIGHT(word, 30) = 'blue' OR RIGHT(word, 0) IS NULL",
    "right of labels": "SELECT RIGHT(city, 2) AS c, COUNT(*) AS n FROM people GROUP BY c",
    "position": "SELECT SUM(POSITION('-' IN word)) AS n, SUM(POSITION('e' IN word)) AS m FROM events",
    "split_part": "SELECT COUNT(*) AS n FROM events WHERE SPLIT_PART(word, '-', 2) IN ('pear', 'x', 'b') OR SPLIT_PART(word, '-', 9) <> ''",
    "split_part of labels": "SELECT SPLIT_PART(city, 'o', 1) AS c, COUNT(*) AS n FROM people GROUP BY c",
    "months": (
        "SELECT TO_CHAR(day, 'YYYY-MM') AS m, COUNT(*) AS n FROM events GROUP BY m",
        "SELECT strftime(day, '%Y-%m') AS m, COUNT(*) FROM events GROUP BY m",
    ),
    "names of months": (
        "SELECT TO_CHAR(day, 'Mon') AS m, COUNT(*) AS n FROM events WHERE day < '2024-07-01' GROUP BY m",
        "SELECT strftime(day, '%b') AS m, COUNT(*) FROM events WHERE day < '2024-07-01' GROUP BY m",
    ),
    "padded months": (
        "SELECT TO_CHAR(day, 'Month') AS m, COUNT(*) AS n FROM events GROUP BY m",
        "SELECT rpad(monthname(day), 9, ' ') AS m, COUNT(*) FROM events GROUP BY m",
    ),
    "weekdays": (
        "SELECT TO_CHAR(day, 'FMDay') AS m, TO_CHAR(day, 'Dy') AS k, COUNT(*) AS n FROM events WHERE TO_CHAR(day, 'ID') < '6' GROUP BY m, k",
        "SELECT dayname(day) AS m, strftime(day, '%a') AS k, COUNT(*) FROM events WHERE isodow(day) < 6 GROUP BY m, k",
    ),
    "intervals on keys": (
        "SELECT DATE_TRUNC('month', day) + INTERVAL '1 month' AS m, COUNT(*) AS n FROM events GROUP BY m",
        "SELECT (DATE_TRUNC('month', day) + INTERVAL '1 month')::date AS m, COUNT(*) FROM events GROUP BY m",
    ),
    "median per owner": "SELECT SUM(m) AS s, COUNT(m) AS n FROM (SELECT uid, MEDIAN(x) AS m FROM events GROUP BY uid) q",
    "median of decimals per owner": "SELECT SUM(m) AS s FROM (SELECT uid, shop, MEDIAN(amount) AS m FROM events GROUP BY uid, shop) q",
}


@pytest.fixture(scope="module")
def curator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with dt.Curator.open(tmp_path_factory.mktemp("everyday") / "c") as curator:
        curator.people("all", budget=dt.ApproxDP(100, "1e-6"))
        people = {"city": dt.Category(CITIES), "age": dt.Int(0, 120)}
        told: dict[str, Any] = {"people": "all", "owner": "uid"}
        curator.register("people", TABLES["people"], max_rows_per_owner=1, columns=people, **told)
        events = {
            "eid": dt.Int(0, 1000, nullable=False, default=0),
            "x": dt.Int(-20, 20),
            "y": dt.Int(0, 30),
            "amount": dt.Fixed(0, 100, decimals=2),
            "shop": dt.Int(1, 5, nullable=False, default=1),
            "ok": dt.Bool(),
            "day": dt.Date("2024-01-01", "2024-12-31"),
            "word": dt.Text(max_length=12),
        }
        curator.register("events", TABLES["events"], max_rows_per_owner=12, columns=events, **told)
        shops = {"shop": dt.Int(1, 5), "town": dt.Text(), "size": dt.Int(0, 9)}
        curator.register_public("shops", TABLES["shops"], key="shop", columns=shops)
        yield curator


def keys_of(text: str) -> int:
    """How many leading columns are keys."""
    after = text.rsplit("GROUP BY", 1)[1] if "GROUP BY" in text.rsplit(")", 1)[-1] else ""
    return 2 if after.strip().startswith("ALL") else len(after.split("HAVING")[0].split(",")) if after else 0


@pytest.mark.parametrize("form", FORMS)
def test_forms_equal_those_of_another_engine(curator: Any, form: str) -> None:
    text = FORMS[form]
    ours, theirs = (text, text) if isinstance(text, str) else text
    check(exact(curator, ours), plain(theirs, TABLES), keys_of(ours))


def broken(name: str, patch: pytest.MonkeyPatch) -> None:
    """One step of a form done wrongly."""
    if name == "median per owner":
        patch.setattr(DuckDBDialect, "lower_median", lambda self, value: f"quantile_disc({value}, 0.25)")
    elif name == "split_part":
        patch.setattr(DuckDBDialect, "split_part", lambda self, value, by, place: f"split_part({value}, {by}, 1)")
    elif name == "right":
        patch.setattr(DuckDBDialect, "ending", lambda self, value, length: f"left({value}, {length})")
    elif name == "position":
        patch.setattr(DuckDBDialect, "position", lambda self, value, sought: f"strpos({value}, {sought}) - 1")
    elif name == "funnel by case":  # every row that meets the condition counts, not every owner
        patch.setattr(aggregate_calls, "SumOfOwners", lambda value, condition, least, most: Count(condition))
    elif name == "concat":
        patch.setattr(text_functions, "TextCoalesce", lambda values: values[0])
    elif name == "distinct from":
        patch.setattr(conditions.simplifier, "is_truth", lambda operand, truth: operand)
    elif name == "anti-join":  # the owner of a row that was not found is not missing
        patch.setattr(conditions.simplifier, "is_null", lambda value: Truth(False))
    elif name == "covariance":
        patch.setattr(regressions._Pair, "covariance", property(lambda self: exp.Avg(this=self.x.copy())))
    elif name == "any and all":
        patch.setattr(owner_aggregates, "_where", lambda value, condition: Constant(1))
    elif name == "weekdays":
        patch.setitem(time_labels.PARTS, "FM%uay", ("isodow", lambda day: time_labels.DAYS[day - 1]))


@pytest.mark.parametrize(
    "form",
    [
        "median per owner", "split_part", "right", "position", "funnel by case", "concat", "distinct from", "anti-join",
        "covariance", "any and all", "weekdays",
    ],
)  # fmt: skip
def test_planted_forms_that_are_wrong_are_noticed(curator: Any, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    broken(form, monkeypatch)
    text = FORMS[form]
    ours, theirs = (text, text) if isinstance(text, str) else text
    with pytest.raises((AssertionError, UnsafePlan)):
        check(exact(curator, f"{ours} "), plain(theirs, TABLES), keys_of(ours))  # a text that nobody has read before
