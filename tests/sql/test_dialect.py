"""The seam between plans and engines: lowering writes standard words only, and asks a dialect for all others."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlglot
from sqlglot import exp

from dither.errors import PolicyError
from dither.policy.catalog import Catalog, PublicTable, Table
from dither.policy.columns import Bool, Category, Date, Fixed, Int, Text
from dither.sql import expressions as e
from dither.sql.binding.reading import read
from dither.sql.bounding.aggregations import plan
from dither.sql.guard.check import check
from dither.sql.guard.ranges import LARGEST
from dither.sql.lowering import blocks, lower, writer
from dither.sql.lowering.dialect import Dialect
from dither.sql.lowering.duckdb_dialect import DUCKDB
from dither.sql.lowering.postgresql_dialect import POSTGRESQL
from dither.sql.lowering.spark_dialect import SPARK
from dither.sql.lowering.statement import Statement
from dither.sql.plan.nodes import Aggregate, Retruncate

FIXTURE = Path(__file__).parent / "fixtures" / "dialects.sql"
TABLES = Catalog(
    {
        "t": Table(
            "t",
            "people",
            "uid",
            4,
            {
                "x": Int(-100, 1000),
                "big": Int(-(2**62), 2**62),
                "h": Int(0, 3, nullable=False, default=0),
                "amount": Fixed(-10, 10, decimals=2),
                "g": Category(["north", "south"]),
                "flag": Bool(),
                "day": Date("2020-01-01", "2029-12-31"),
                "s": Text(max_length=20),
            },
            1,
            owner_type="BIGINT",
        ),
        "p": Table("p", "people", "uid", 1, {"age": Int(0, 120), "name": Text(max_length=9)}, 7, owner_type="BIGINT"),
    },
    {"pub": PublicTable("pub", {"h": Int(0, 3, nullable=False, default=0), "rate": Int(0, 9)}, ("h",), 2)},
)


def pairs() -> list[list[str]]:
    """Blocks parted by blank lines: the query, then behind lines `-->` what it becomes in DuckDB and PostgreSQL."""
    return [block.split("\n-->\n") for block in FIXTURE.read_text(encoding="utf-8").strip().split("\n\n")]


def plans(text: str) -> list[Aggregate]:
    """As they are asked; those of a union also with two rows of each owner, so that rows are ranked."""
    found = [*plan(read(text, TABLES))]
    if "UNION" in text:
        found += [replace(aggregate, child=Retruncate(aggregate.child, 2)) for aggregate in found]
    check(found)
    return found


def written(statement: Statement) -> list[str]:
    return [statement.sql, *([statement.steps.bounds, statement.steps.measures] if statement.steps else [])]


@pytest.mark.parametrize(("text", "duckdb", "postgresql"), pairs())
def test_each_dialect_says_the_same_in_its_own_words(text: str, duckdb: str, postgresql: str) -> None:
    for dialect, expected in ((DUCKDB, duckdb), (POSTGRESQL, postgresql)):
        lowered = [sql for aggregate in plans(text) for sql in written(lower.lower(aggregate, dialect))]
        assert "\n".join(lowered) == expected


# Lowering by itself

STANDARD = re.compile(
    "SELECT|FROM|WHERE|AS|JOIN|LEFT|ON|AND|OR|NOT|IS|NULL|TRUE|FALSE|EXISTS|UNION|ALL|GROUP|ORDER|BY|PARTITION|OVER|"
    "ROW_NUMBER|COUNT|FILTER|DISTINCT|MIN|MAX|CASE|WHEN|THEN|ELSE|END|CAST|COALESCE|ABS|IN|BETWEEN|BOOLEAN|_candidates|"
    r"=|<>|<|<=|>|>=|\+|-|\*|\|\||v|[squwkm]?\d+"
)
# Arguments that are no SQL, by their place.
RAW = {"like": 1, "ilike": 1, "date_part": 0, "first_day": 0, "let": 0, "local": 0, "letters": 1}
asked: set[str] = set()


def _spelled(name: str) -> Callable[..., str]:
    def method(self: Dialect, *given: Any, **named: Any) -> str:
        asked.add(name)
        if name in ("name", "text", "rows"):
            return f"⟦{name}⟧"
        sql = [one for place, one in enumerate(given) if isinstance(one, str) and RAW.get(name) != place]
        return f"⟦{name}⟧({', '.join(sql)})"

    return method


Foreign = type("Foreign", (Dialect,), {name: _spelled(name) for name in Dialect.__abstractmethods__})
FOREIGN = Foreign(
    "Foreign", "⟦word⟧", 2**63, "⟦double⟧", 2**126, (("⟦byte⟧", 8), ("⟦word⟧", 64)), "⟦text⟧", columnar=True
)


def strange_words(text: str) -> set[str]:
    """What lowering writes of its own accord beyond the words that all engines know."""
    found: set[str] = set()
    for aggregate in plans(text):
        for sql in written(lower.lower.__wrapped__(aggregate, FOREIGN)):  # type: ignore[attr-defined]
            words = re.findall(r"\w+|[^\w\s(),.]+", re.sub("⟦[^⟧]*⟧", " ", sql))
            found |= {word for word in words if not STANDARD.fullmatch(word)}
    return found


def test_lowering_writes_standard_words_only() -> None:
    asked.clear()
    for text, *_ in pairs():
        assert strange_words(text) == set(), text
    assert asked == Dialect.__abstractmethods__, "every spelling must be asked for, or this shows little"


PLANTED: dict[str, tuple[str, Callable[[pytest.MonkeyPatch], None]]] = {
    "LEAST": ("LEAST", lambda patch: patch.setitem(writer.NUMBERS, e.Least, writer._call("LEAST"))),
    "a type": ("VARCHAR", lambda patch: patch.setitem(writer.TEXTS, e.TextNull, lambda *_: "CAST(NULL AS VARCHAR)")),
    "a quoted name": (
        '"',
        lambda patch: patch.setattr(blocks.Blocks, "column", lambda self, called, name: f'{called}."{name}"'),
    ),
    "SUM of whatever width": (
        "SUM",
        lambda patch: patch.setattr(
            writer.Writer, "total", lambda self, function, value: f"{function.upper()}({self.number(value)})"
        ),
    ),
}


@pytest.mark.parametrize(("word", "plant"), PLANTED.values(), ids=PLANTED)
def test_planted_words_of_an_engine_are_seen(word: str, plant: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    assert any(word in strange for text, *_ in pairs() for strange in strange_words(text))


# What a dialect states


@pytest.mark.parametrize("dialect", [DUCKDB, POSTGRESQL], ids=lambda dialect: dialect.engine)
def test_a_dialect_holds_what_the_guard_admits(dialect: Dialect) -> None:
    assert dialect.double_word_holds >= LARGEST
    for field, most in (("double_word_holds", LARGEST), ("word_holds", 2**63 - 1)):
        replace(dialect, **{field: most})
        with pytest.raises(
            PolicyError, match=f"{dialect.engine} cannot compute what the guard admits: .* Take a wider"
        ):
            replace(dialect, **{field: most - 1})


def test_nothing_is_inherited_that_an_engine_might_mean_otherwise() -> None:
    partial = type("Partial", (Foreign,), {"summed": Dialect.summed})
    with pytest.raises(TypeError, match="summed"):
        partial("Partial", "BIGINT", 2**63, "NUMERIC", 2**126, (), "TEXT", columnar=False)
    for name, method in inspect.getmembers(Dialect, inspect.isfunction):
        assert name.startswith("__") or name in ("cast", "null", "outside", "stored") or method.__isabstractmethod__


def test_columns_are_stored_in_the_smallest_type() -> None:
    columns = (Int(0, 127), Int(-129, 0), Int(0, 2**31), Category(["a", "b"]), Text())
    assert [DUCKDB.stored(one) for one in columns] == ["TINYINT", "SMALLINT", "BIGINT", "TINYINT", "VARCHAR"]
    assert [POSTGRESQL.stored(one) for one in columns] == ["SMALLINT", "SMALLINT", "BIGINT", "SMALLINT", "TEXT"]


def test_values_outside_a_declaration_are_counted() -> None:
    number, text = Int(0, 9, nullable=False, default=0), Text(max_length=5)
    assert DUCKDB.outside("a", number) == 'COUNT(*) FILTER (WHERE "a" IS NULL OR "a" < 0 OR "a" > 9)'
    assert POSTGRESQL.outside("a", text) == 'COUNT(*) FILTER (WHERE LENGTH("a") > 5)'
    assert SPARK.outside("a", text) == "COUNT(*) FILTER (WHERE char_length(`a`) > 5)"


# PostgreSQL

TYPES = {"BIGINT", "INT", "DECIMAL(38, 0)", "TEXT", "BOOLEAN", "DATE", "TIMESTAMP", "DECIMAL"}  # the last is of DIV
FUNCTIONS = {"MAKE_INTERVAL", "OCTET_LENGTH"}  # beyond those that the parser knows


@pytest.mark.parametrize("text", [text for text, *_ in pairs()])
def test_postgresql_can_be_read(text: str) -> None:
    for aggregate in plans(text):
        for sql in written(lower.lower(aggregate, POSTGRESQL)):
            tree = sqlglot.parse_one(sql, read="postgres")
            assert {kind.sql("postgres") for kind in tree.find_all(exp.DataType)} <= TYPES
            assert {call.name.upper() for call in tree.find_all(exp.Anonymous)} <= FUNCTIONS
            assert not list(tree.find_all(exp.Command))


def test_postgresql_refuses_what_it_would_change() -> None:
    assert POSTGRESQL.name("é" * 31) == f'"{"é" * 31}"'
    with pytest.raises(PolicyError, match="63 bytes"):
        POSTGRESQL.name("é" * 32)
    with pytest.raises(PolicyError, match=r"U\+0000"):
        POSTGRESQL.text("a\0b")
