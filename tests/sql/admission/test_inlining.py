"""What an engine makes of a short question before it reads a row is bounded; so is what is computed from an answer."""

from __future__ import annotations

import random
import time
from dataclasses import replace
from itertools import pairwise

import duckdb
import pytest

import dither as dt
from dither.accounting.currency.currency import Currency
from dither.policy.catalog import Catalog, Table
from dither.policy.limits import Limits
from dither.sql.admission import gate, inlining
from dither.sql.admission.gate import admit
from dither.sql.admission.work import Work
from dither.sql.binding.reading import read
from dither.sql.bounding import row_flow as flows
from dither.sql.expressions import Divide, Expression, Stored
from dither.sql.lowering.duckdb_dialect import DUCKDB
from dither.sql.plan.nodes import Filter, Node
from dither.sql.pricing.price import price

COLUMNS = {"n": dt.Int(-5, 5), "b": dt.Int(0, 2_000_000), "s": dt.Text(max_length=1_000)}
VISITS = Table("visits", "people", "pid", 20, COLUMNS, 1, owner_type="BIGINT", max_rows=1_000)
CURRENCY = Currency.of(dt.PureDP(1))


def asked(text: str, table: Table = VISITS) -> Work:
    priced = price(read(text, Catalog({"visits": table}, {})), CURRENCY, epsilon="1e-9")
    return admit(priced, Limits(), DUCKDB)


def divisions(levels: int) -> str:
    text = "n"
    for _ in range(levels):
        text = f"(n / {text})"
    return f"SELECT SUM({text}) FROM visits"


def derived(levels: int, where: str = "WHERE y = 'q'", output: str = "COUNT(*)", source: str = "") -> str:
    """Each derived column uses the one before it three times."""
    text = f"WITH c0 AS (SELECT pid, s AS y FROM visits AS v {source})"
    for one, two in pairwise(range(levels + 1)):
        text += f", c{two} AS (SELECT pid, CASE WHEN y = 'a' THEN y ELSE LEFT(y, 5) END AS y FROM c{one})"
    return f"{text} SELECT {output} FROM c{levels} {where}"


def above_a_join(levels: int) -> str:
    source = "WHERE EXISTS (SELECT 1 FROM visits AS i WHERE i.pid = v.pid AND i.b = v.b)"
    return derived(levels, "", "SUM(LENGTH(y))", source)


def chosen(levels: int) -> str:
    return derived(levels, "", "MEDIAN(LENGTH(y))")


def formulas(columns: int) -> str:
    return f"SELECT b, {', '.join(f'COUNT(*) * {i + 2} AS x{i}' for i in range(columns))} FROM visits GROUP BY b"


REFUSED = {
    "divisions": (divisions(20), "written out"),
    "remainders": (divisions(20).replace("/", "%"), "written out"),
    "derived columns": (derived(12), "derived columns"),
    "many conditions": (derived(5, "WHERE " + " AND ".join(f"y <> 'q{i}'" for i in range(300))), "derived columns"),
    "above a join": (above_a_join(12), "derived columns"),
    "chosen": (chosen(12), "derived columns"),
    "formulas": (formulas(100), "columns"),
    "one long formula": (f"SELECT b, {' + '.join(['COUNT(*)'] * 90)} AS x FROM visits GROUP BY b", "steps"),
    "a long HAVING": (
        f"SELECT b, COUNT(*) FROM visits GROUP BY b HAVING {' OR '.join(f'COUNT(*) = {i}' for i in range(90))}",
        "steps",
    ),
    "many statements": (
        f"SELECT {', '.join(f'MEDIAN(n + {i}) AS m{i}' for i in range(150))} FROM visits WHERE s <> '{'x' * 55_000}'",
        "written out",
    ),
    "patterns": (f"SELECT COUNT(*) FROM visits WHERE s LIKE '%a{'_' * 900}b%'", "patterns"),
}


@pytest.mark.parametrize(("text", "said"), REFUSED.values(), ids=REFUSED)
def test_what_an_engine_or_an_answer_could_not_bear_is_refused(text: str, said: str) -> None:
    with pytest.raises(dt.UnsupportedQuery, match=said):
        asked(text)


def test_a_plan_is_no_longer_than_what_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"SELECT {', '.join(f'SUM(n + {i})' for i in range(100))} FROM visits"
    asked(text)
    monkeypatch.setattr(gate, "_RECORDED", 10_000)
    with pytest.raises(dt.UnsupportedQuery, match="to record; at most 10,000 are recorded"):
        asked(text)


@pytest.mark.parametrize(
    "text",
    [divisions(6), derived(5), formulas(8), "SELECT COUNT(*) FROM visits WHERE s LIKE '%a__b%' OR s LIKE 'a_%'"],
    ids=["divisions", "derived columns", "formulas", "patterns"],
)
def test_what_people_ask_is_not(text: str) -> None:
    asked(text)


def test_an_engine_reads_the_longest_that_is_admitted_within_the_limits() -> None:
    with duckdb.connect() as connection:
        connection.execute("ATTACH ':memory:' AS t_visits")
        connection.execute(
            'CREATE TABLE t_visits."rows" ("_owner" BIGINT, n INTEGER, b INTEGER, s VARCHAR, "_rank" INTEGER)'
        )
        connection.execute("""INSERT INTO t_visits."rows" VALUES (1, 3, 2, 'a', 1)""")
        for make in (divisions, derived, above_a_join, chosen):
            sql = [_statement(make(levels)) for levels in range(1, 13)]
            longest = [text for text in sql if text][-1]
            began = time.process_time()
            connection.execute(longest).fetchall()
            assert time.process_time() - began < Limits().statement_seconds


def _statement(text: str) -> str:
    """The statement for a question, or nothing if it is not admitted."""
    try:
        priced = price(read(text, Catalog({"visits": VISITS}, {})), CURRENCY, epsilon="1e-9")
        admit(priced, Limits(), DUCKDB)
    except dt.UnsupportedQuery:
        return ""
    return priced.statements[0].sql


@pytest.mark.parametrize("open_", [2, 6, 12, 50, 300, 900])
def test_a_pattern_takes_no_longer_than_is_claimed(open_: int) -> None:
    """Of text in which a piece with `_` may have begun at every other place; a margin of 2 for a busy machine."""
    drawn = random.Random(1)
    letters, pattern = 50_000, f"%a{'_' * open_}b%c"
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute("CREATE TABLE t AS SELECT ? AS s", ["".join(drawn.choices("ab", k=letters))])
        began = time.process_time()
        connection.execute(f"SELECT COUNT(*) FROM t WHERE {DUCKDB.like('s', pattern)}").fetchall()
        taken = time.process_time() - began
    assert taken < 0.1 + 2 * letters * flows._matching(pattern) / 4 / 100_000_000


def test_columns_are_counted_as_often_as_they_are_written() -> None:
    x, y = (Stored(name, 0, 9, 0, may_be_null=True) for name in "xy")
    assert Divide(y, Divide(y, x)).uses == {"x": 4, "y": 1 + 2}


def _stated(node: Node) -> list[Expression]:
    return [node.predicate] if isinstance(node, Filter) else []


PLANTED = {
    "divisors counted once": ("divisions", lambda patch: patch.setattr(Divide, "times", Expression.times)),
    "derived columns begin anew": (
        "derived columns",
        lambda patch: patch.setattr(inlining, "columns", lambda node: {}),
    ),
    "joins merge nothing": ("above a join", lambda patch: patch.setattr(inlining, "_values", lambda node: ())),
    "choices have no condition": ("chosen", lambda patch: patch.setattr(inlining, "_conditions", _stated)),
    "patterns by their length alone": (
        "patterns",
        lambda patch: patch.setattr(flows, "_matching", lambda pattern: 1 + len(pattern) // 8),
    ),
    "any number of statements": ("many statements", lambda patch: patch.setattr(gate, "_TOGETHER", 2**40)),
    "formulas are free": (
        "formulas",
        lambda patch: patch.setattr("dither.sql.admission.gate._above_when_shown", lambda *given: iter(())),
    ),
}


@pytest.mark.parametrize(("name", "plant"), PLANTED.values(), ids=PLANTED)
def test_planted_bugs_admit_it(name, plant, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    plant(monkeypatch)
    asked(REFUSED[name][0], replace(VISITS))
