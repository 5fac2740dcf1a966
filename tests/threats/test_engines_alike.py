"""Threats 11, 18, 36 and 55 on PostgreSQL: the exact numbers are DuckDB's, and nothing shows that depends on one owner.

The rows are the same and so are their ranks, so that every exact number must agree, whatever the values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
import threats_extremes as extremes
import threats_harness as harness
import threats_population as population
import threats_queries as queries
from threats_generator import Generator, supported
from threats_harness import Leak, Side, check_neighbours
from threats_limits_generator import Aiming

from dither.curator.curator import Curator
from dither.engines.routing import Engines
from dither.sql.lowering.postgresql_dialect import PostgreSQL

RANDOM = 30 * population.CAMPAIGN
FORMS = [*(queries.FORMS | queries.NASTY).values()]
STEP = 1 if population.CAMPAIGN > 1 else 4
Pair = tuple[Side, Side]


def moved(side: Side, settings: Any) -> Side:
    """The same database with its private tables on PostgreSQL."""
    curator: Curator = side.curator
    engine: Any = side.engine
    engines: Engines = engine._engine
    engines._given["postgres"] = settings
    curator._engine = engines
    while left := [table.name for table in curator.tables() if getattr(table, "engine", "") == "duckdb"]:
        curator.copy(left[0], to="postgres")
    return Side.of(curator)


def alike(sides: Pair, text: str, **stated: Any) -> str:
    """Raise Leak unless both engines say the same, down to the exact numbers; what both say: answered or refused."""
    seen, beside = (replace(harness.observe(side, text, explained=False, **stated), statements=()) for side in sides)
    if seen != beside or seen.exact != beside.exact:
        different = [name for name, value in vars(seen).items() if value != vars(beside)[name]]
        raise Leak(f"engines: {different} on {text!r}")
    return seen.status


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory, clusters: Any) -> Iterator[dict[str, Side]]:
    """One database on DuckDB and on PostgreSQL; there also without one owner."""
    folder, rows = tmp_path_factory.mktemp("alike"), population.few()
    one = harness.make_side(folder / "duckdb", rows)
    other = moved(harness.make_side(folder / "postgres", rows, one), clusters("first").settings())
    gone = population.without(rows, population.NASTY)
    without = moved(harness.make_side(folder / "without", gone, one), clusters("first").settings())
    yield {"duckdb": one, "postgres": other, "without": without}
    for side in (one, other, without):
        side.curator.close()


@pytest.fixture(scope="module")
def extreme(tmp_path_factory: pytest.TempPathFactory, clusters: Any) -> Iterator[Pair]:
    """A database at the ends of all that is declared: years 1 and 9999, words, long texts of letters of four bytes."""
    folder = tmp_path_factory.mktemp("extreme")
    one = extremes.make_side(folder / "duckdb", "all mixed", gone=False)
    other = extremes.make_side(folder / "postgres", "all mixed", gone=False, like=one)
    beside = replace(other, engine=moved(other, clusters("first").settings()).engine)
    yield one, replace(beside, run=beside.engine.run)
    for side in (one, other):
        side.curator.close()


def test_forms(few: dict[str, Side]) -> None:
    for text in FORMS[::STEP]:
        assert alike((few["duckdb"], few["postgres"]), text) == "answered"


def test_random_questions(few: dict[str, Side]) -> None:
    generator = Generator(population.SEED, population.declared(), supported())
    limits: list[dict[str, Any]] = [{"epsilon": 1}, {"epsilon": 1, "rows_per_owner": 2}]
    sides = few["duckdb"], few["postgres"]
    went = Counter(alike(sides, generator.question(), **limits[at % 2]) for at in range(RANDOM))
    assert went["answered"] > RANDOM / 2


def test_at_the_ends_of_everything_declared(extreme: Pair) -> None:
    aiming = Aiming(population.SEED)
    went = Counter(alike(extreme, aiming.question()) for _ in range(RANDOM))
    assert went["answered"] > RANDOM / 4


def test_nothing_shows_one_owner(few: dict[str, Side]) -> None:
    """The neighbour harness on PostgreSQL: statements, shapes and sizes agree, and gaps are within what was proven."""
    for text in FORMS[1::STEP]:
        assert check_neighbours(few["postgres"], few["without"], text, explained=False).status == "answered"


# Spellings that mean something else in PostgreSQL, or fail, each caught by the same check.

# Whichever rows of an owner count, these differ.
PLANTED: dict[str, tuple[str, Callable[..., str], str]] = {
    "remainders that follow the divisor": (
        "modulo",
        lambda self, left, right: f"MOD(MOD({left}, NULLIF({right}, 0)) + {right}, NULLIF({right}, 0))",
        "SELECT SUM((-3 - h) % 7) FROM t",
    ),
    "division that rounds": (
        "divided",
        lambda self, left, right, *, wide: f"CAST(ROUND(CAST({left} AS NUMERIC) / NULLIF({right}, 0)) AS BIGINT)",
        "SELECT SUM((h * 2 + 1) / 2) FROM t",
    ),
    "division by zero": (
        "divided",
        lambda self, left, right, *, wide: f"({left} / {right})",
        "SELECT SUM(h / (h * 0)) FROM t",
    ),
    "LIKE without regard to case": (
        "like",
        lambda self, value, pattern, *, negated=False: f"({value} ILIKE {self.text(pattern)})",
        "SELECT COUNT(*) FROM t WHERE ('a' || word) LIKE 'A%'",
    ),
    "letters of ASCII alone": (
        "letters",
        lambda self, value, case: f'{case}({value} COLLATE "C")',
        "SELECT COUNT(*) FROM t WHERE UPPER(word || 'ü') LIKE '%Ü'",
    ),
    "characters counted in bytes": (
        "length",
        lambda self, value: f"OCTET_LENGTH({value})",
        "SELECT SUM(LENGTH(word || 'ü')) FROM t",
    ),
    "another part of a day": (
        "date_part",
        lambda self, part, day: f"EXTRACT({part.upper().replace('DOY', 'YEAR')} FROM {day})",
        "SELECT SUM(EXTRACT(DOY FROM at)) FROM t",
    ),
}


@pytest.mark.parametrize(("spelling", "planted", "text"), PLANTED.values(), ids=PLANTED)
def test_planted_spellings_are_found(
    few: dict[str, Side], monkeypatch: pytest.MonkeyPatch, spelling: str, planted: Callable[..., str], text: str
) -> None:
    pair = few["duckdb"], few["postgres"]
    assert alike(pair, text) == "answered"
    monkeypatch.setattr(PostgreSQL, spelling, planted)
    with pytest.raises(Leak, match="engines"):
        alike(pair, text)
