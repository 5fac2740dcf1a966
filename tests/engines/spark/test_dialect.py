"""Every spelling in Spark's SQL is total and means what Python computes, at the ends of what may be computed too."""

from __future__ import annotations

import datetime
import itertools
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from dither.engines.duckdb.engine import DuckDBEngine
from dither.engines.spark.engine import SparkEngine
from dither.engines.spark.session import own_session
from dither.policy.catalog import Catalog, PublicTable, Table
from dither.policy.columns import Bool, Category, Date, Fixed, Int, Text
from dither.sql.binding.reading import read
from dither.sql.bounding.aggregations import plan
from dither.sql.expressions import lowered, uppered
from dither.sql.guard.check import check
from dither.sql.guard.ranges import LARGEST
from dither.sql.lowering.dialect import Dialect
from dither.sql.lowering.lower import lower
from dither.sql.lowering.spark_dialect import SPARK, Spark
from dither.sql.text import patterns

pytestmark = pytest.mark.spark

WIDE = SPARK.double_word
ENDS = [0, 1, 2, 3, 7, 10**18, 2**62, 2**63 - 1, 2**63, 2**64 + 1, 10**32, 3 * 10**37, LARGEST - 1]
NUMBERS = sorted({sign * end for sign in (1, -1) for end in ENDS})
TEXTS = [
    "", "a", "ab", "aXb", "it's", "a%b", "50% off", "back\\slash", "${user.home}", "x\0y", "line\nbreak", " a ", "é",
    "É", "ΑΣ", "İ", "ß", "😀", "x😀y", "\uffff", "a-b-c", "--", "kK\u212a", "𐐀",
]  # fmt: skip
PATTERNS = ["a%", "%b", "%a%", "ab", "_", "a_b", "a%b%", "%\\%%", "_😀_", "%\n%", "a%b%c", "%", "", "%a_%c", "k%"]
FIRST, LAST = datetime.date(1, 1, 1), datetime.date(9999, 12, 31)
EPOCH = datetime.date(1970, 1, 1)


@pytest.fixture(scope="module")
def session(spark: Any) -> Any:
    return own_session(spark.session)


def rows(session: Any, columns: dict[str, Any], shown: dict[str, str]) -> list[dict[str, Any]]:
    """Expressions over a table that Spark does not know beforehand, so that nothing is computed while it plans."""
    session.createDataFrame(pa.table(columns)).createOrReplaceTempView("given")
    listed = ", ".join(f"{sql} AS `{name}`" for name, sql in shown.items())
    return session.sql(f"SELECT *, {listed} FROM given").toArrow().to_pylist()


def cut(left: int, right: int) -> int | None:
    if not right:
        return None
    size = abs(left) // abs(right)
    return size if (left < 0) == (right < 0) else -size


def check_double_words(session: Any, dialect: Dialect) -> None:
    pairs = list(itertools.product(NUMBERS, NUMBERS))
    columns = {name: pa.array([str(pair[place]) for pair in pairs]) for place, name in enumerate("ab")}
    a, b = (SPARK.cast(name, WIDE) for name in "ab")
    shown = {
        "divided": dialect.divided(a, b, wide=True),
        "modulo": dialect.modulo(a, b),
        "least": dialect.least(a, b),
        "greatest": dialect.greatest(a, b),
        "negated": dialect.negated(a, wide=True),
        "absolute": dialect.absolute(a, wide=True),
        "constant": f"{a} = {dialect.cast(str(1 - LARGEST), WIDE)}",
        **{f"halved{times}": dialect.halved(SPARK.absolute(a, wide=True), times) for times in (1, 31, 62, 63, 100)},
    }
    for row in rows(session, columns, shown):
        left, right = int(row["a"]), int(row["b"])
        quotient = cut(left, right)
        expected = {
            "divided": quotient,
            "modulo": None if quotient is None else left - quotient * right,
            "least": min(left, right),
            "greatest": max(left, right),
            "negated": -left,
            "absolute": abs(left),
            "constant": left == 1 - LARGEST,
            **{f"halved{times}": abs(left) >> times for times in (1, 31, 62, 63, 100)},
        }
        assert {name: row[name] if row[name] is None else int(row[name]) for name in expected} == expected


def test_double_words_are_exact_up_to_126_bits(session: Any) -> None:
    check_double_words(session, SPARK)


class Dividing(Spark):
    def divided(self, left: str, right: str, *, wide: bool) -> str:
        return f"CAST({left} div NULLIF({right}, 0) AS {WIDE})"


class Rounding(Spark):
    def divided(self, left: str, right: str, *, wide: bool) -> str:
        return f"CAST(try_divide({left}, {right}) AS {WIDE})"


class Signed(Spark):
    def negated(self, value: str, *, wide: bool) -> str:
        return f"(- {value})"


class Absolute(Spark):
    def absolute(self, value: str, *, wide: bool) -> str:
        return f"ABS({value})"


@pytest.mark.parametrize(
    "planted", [Dividing(), Rounding(), Signed(), Absolute()], ids=lambda planted: type(planted).__name__
)
def test_planted_quotients_that_wrap_around_or_lose_digits(session: Any, planted: Spark) -> None:
    with pytest.raises(Exception, match=r"assert|overflow|OVERFLOW|NUMERIC_VALUE_OUT_OF_RANGE"):
        check_double_words(session, planted)


def test_words_sums_and_medians_are_exact(session: Any) -> None:
    word = 2**62
    pairs = list(itertools.product([-word, -7, -1, 0, 1, 7, word], repeat=2))
    shown = {"q": SPARK.divided("a", "b", wide=False), "r": SPARK.modulo("a", "b")}
    columns = {"a": pa.array([a for a, _ in pairs]), "b": pa.array([b for _, b in pairs])}
    for row in rows(session, columns, shown):
        quotient = cut(row["a"], row["b"])
        assert (row["q"], row["r"]) == (quotient, None if quotient is None else row["a"] - quotient * row["b"])
    wide = SPARK.cast("a", WIDE)
    summed = f"SELECT {SPARK.summed(f'{wide} * 9', wide=True)} AS s, {SPARK.lower_median('a')} AS m FROM given"
    (found,) = session.sql(summed).toArrow().to_pylist()
    ordered = sorted(a for a, _ in pairs)
    assert (int(found["s"]), found["m"]) == (9 * sum(ordered), ordered[(len(ordered) + 1) // 2 - 1])
    (empty,) = session.sql(f"SELECT {SPARK.lower_median('a')} AS m FROM given WHERE a > {word}").toArrow().to_pylist()
    assert empty["m"] is None


def check_texts(session: Any, dialect: Dialect) -> None:
    shown = {
        "length": dialect.length("t"),
        "middle": dialect.substring("t", 2, 3),
        "ending": dialect.ending("t", 2),
        "place": dialect.position("t", dialect.text("b")),
        "part": dialect.split_part("t", dialect.text("-"), 2),
        "lower": dialect.letters("t", "lower"),
        "upper": dialect.letters("t", "upper"),
        "trim": dialect.trim("t", True, True),
        "after": dialect.ordered("t") + " > " + dialect.ordered(dialect.text("\uffff")),
        **{f"like {one}": dialect.like("t", one) for one in PATTERNS},
        **{f"not like {one}": dialect.like("t", one, negated=True) for one in PATTERNS},
        **{f"ilike {one}": dialect.ilike("t", one) for one in PATTERNS},
        **{f"is {one}": f"t = {dialect.text(one)}" for one in TEXTS},
    }
    found = rows(session, {"t": pa.array(TEXTS)}, shown)
    assert [row["t"] for row in found] == TEXTS
    for row in found:
        text = row["t"]
        parts = text.split("-")
        expected: dict[str, Any] = {
            "length": len(text),
            "middle": text[1:4],
            "ending": text[-2:],
            "place": text.find("b") + 1,
            "part": parts[1] if len(parts) > 1 else "",
            "lower": lowered(text),
            "upper": uppered(text),
            "trim": text.strip(" "),
            "after": text > "\uffff",
            **{f"is {one}": text == one for one in TEXTS},
        }
        for one in PATTERNS:
            expected[f"like {one}"] = patterns.compiled(one).match(text) is not None
            expected[f"not like {one}"] = patterns.compiled(one).match(text) is None
            expected[f"ilike {one}"] = patterns.compiled(one, any_case=True).match(text) is not None
        assert {name: row[name] for name in expected} == expected


def test_texts_are_code_points(session: Any) -> None:
    check_texts(session, SPARK)


class Lowering(Spark):
    def letters(self, value: str, case: str) -> str:
        return f"{case}({value})"


class Unescaped(Spark):
    def text(self, value: str) -> str:
        return "'" + value.replace("'", "''") + "'"


@pytest.mark.parametrize("planted", [Lowering(), Unescaped()], ids=lambda planted: type(planted).__name__)
def test_planted_texts_of_the_engines_own(session: Any, planted: Spark) -> None:
    with pytest.raises(AssertionError):
        check_texts(session, planted)


def test_days_from_the_year_1_to_9999(session: Any) -> None:
    draw = random.Random(5)
    days = [FIRST, LAST, EPOCH, datetime.date(1582, 10, 10), datetime.date(2000, 2, 29), datetime.date(2021, 1, 3)]
    days += [FIRST + datetime.timedelta(days=draw.randrange((LAST - FIRST).days)) for _ in range(50)]
    day = SPARK.day("n")
    shown = {part: SPARK.date_part(part, day) for part in ("year", "month", "day", "doy", "week", "isoyear")}
    shown |= {f"first {period}": SPARK.first_day(period, day) for period in ("year", "quarter", "month")}
    shown |= {"months": SPARK.add_months(day, -1), "start": SPARK.month_start("m")}
    since = [(one - EPOCH).days for one in days]
    months = [(one.year - 1970) * 12 + one.month - 1 for one in days]
    for one, row in zip(days, rows(session, {"n": pa.array(since), "m": pa.array(months)}, shown), strict=True):
        iso = one.isocalendar()
        first = {"year": one.replace(month=1, day=1), "month": one.replace(day=1)}
        first["quarter"] = one.replace(month=1 + (one.month - 1) // 3 * 3, day=1)
        expected = {"year": one.year, "month": one.month, "day": one.day, "week": iso.week, "isoyear": iso.year}
        expected |= {"doy": (one - one.replace(month=1, day=1)).days + 1, "start": (first["month"] - EPOCH).days}
        expected |= {f"first {period}": (start - EPOCH).days for period, start in first.items()}
        if one != FIRST:
            last = first["month"] - datetime.timedelta(days=1)
            expected["months"] = (last.replace(day=min(last.day, one.day)) - EPOCH).days if last.year else None
        assert {name: row[name] for name in expected} == expected


# The questions of the dialects' fixture, on both engines

COLUMNS = {
    "x": Int(-100, 1000),
    "big": Int(-(2**62), 2**62),
    "h": Int(0, 3, nullable=False, default=0),
    "amount": Fixed(-10, 10, decimals=2),
    "g": Category(["north", "south"]),
    "flag": Bool(),
    "day": Date("2020-01-01", "2029-12-31"),
    "s": Text(max_length=20),
}
TABLES = Catalog(
    {
        "t": Table("t", "people", "uid", 4, COLUMNS, 1, owner_type="BIGINT"),
        "p": Table("p", "people", "uid", 1, {"age": Int(0, 120), "name": Text(max_length=9)}, 7, owner_type="BIGINT"),
    },
    {"pub": PublicTable("pub", {"h": Int(0, 3, nullable=False, default=0), "rate": Int(0, 9)}, ("h",), 2)},
)
FIXTURE = Path(__file__).parents[2] / "sql" / "fixtures" / "dialects.sql"
QUESTIONS = [block.split("\n-->\n")[0] for block in FIXTURE.read_text(encoding="utf-8").strip().split("\n\n")]


def records() -> dict[str, pa.Table]:
    draw = random.Random(3)
    words = ["a", "A", "b", "axxb", "50% off", "été", "ké.x", "a\\b1", "x-dab", " a ", "xd-ab", "b'c", None]
    events = {
        "uid": [draw.randrange(30) for _ in range(400)],
        "x": [draw.choice([None, 0, 3, draw.randrange(-100, 1000)]) for _ in range(400)],
        "big": [draw.choice([None, 2**62, -(2**62), draw.randrange(-(2**62), 2**62)]) for _ in range(400)],
        "h": [draw.randrange(4) for _ in range(400)],
        "amount": [draw.choice([None, draw.randrange(-1000, 1000) / 100]) for _ in range(400)],
        "g": [draw.choice([None, "north", "south"]) for _ in range(400)],
        "flag": [draw.choice([None, True, False]) for _ in range(400)],
        "day": [draw.choice([None, EPOCH + datetime.timedelta(days=draw.randrange(18262, 21914))]) for _ in range(400)],
        "s": [draw.choice(words) for _ in range(400)],
    }
    people = {"uid": list(range(30)), "age": [k * 3 for k in range(30)], "name": [f"n{k % 4}" for k in range(30)]}
    return {"t": pa.table(events), "p": pa.table(people), "pub": pa.table({"h": range(4), "rate": [1, 9, 5, None]})}


def found(result: Any) -> list[Sequence[Any]]:
    listed = [
        tuple(one if isinstance(one, str | None) else int(one) for one in row.values()) for row in result.to_pylist()
    ]
    return sorted(listed, key=repr)


def test_every_question_of_the_fixture_has_the_same_exact_answer_on_both_engines(spark: Any, tmp_path: Path) -> None:
    home = DuckDBEngine(tmp_path / "snapshots")
    other = SparkEngine(spark.session, tmp_path / "lake", tmp_path / "snapshots")
    for name, source in records().items():
        table = TABLES.tables.get(name) or TABLES.public[name]
        home.load(table, source)
        with home.rows(table) as stored:
            other.store(table, stored)
    asked = 0
    for text in QUESTIONS:
        aggregates = plan(read(text, TABLES))
        check(aggregates)
        for aggregate in aggregates:
            here, there = (lower(aggregate, engine.dialect) for engine in (home, other))
            exact = found(home._table(here, here.sql))
            with other.slot() as turn:
                assert found(other._table(turn, there)) == exact, text
            asked += any(any(row) for row in exact)
    home.close()
    assert asked == len(QUESTIONS), "every question must be about something"
