"""Threat 13: an engine that goes by what it expects of the data. Its optimizer must change no exact number.

DuckDB adds up words in words where, by its statistics, the sum is small. Behind an outer join whose other side is empty
it expects no rows at all: then sums wrap around, for all owners, once one person is gone.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import duckdb
import pytest
import threats_population as population
from threats_harness import Leak, Side, check_neighbours
from threats_limits_generator import Aiming

from dither.errors import DitherError
from dither.sql import expressions as e
from dither.sql.lowering.lower import lower
from dither.sql.lowering.statement import schema_name
from dither.sql.lowering.writer import Writer

Pairs = dict[str, tuple[Side, Side]]
QUESTIONS = 40 * population.CAMPAIGN
JOINED = "FROM t AS a LEFT JOIN t AS b ON a.uid = b.uid AND b.mark = 74"
SUMS = [
    f"SELECT OWNER_SUM(a.top, -74, 75) {JOINED}",
    f"SELECT OWNER_SUM(a.top, -74, 75), SUM(a.half), AVG(a.wide) {JOINED}",
    f"SELECT SUM(a.tiny * b.wide), OWNER_SUM(a.top - 1, -1, 1) {JOINED}",
    f"SELECT SUM(n) FROM (SELECT a.uid, SUM(a.wide) AS n {JOINED} GROUP BY a.uid) q",
    "SELECT OWNER_SUM(x, -74, 75) FROM (SELECT uid, top x FROM t UNION ALL SELECT uid, top FROM t WHERE mark = 74) q",
    "SELECT OWNER_SUM(top, -74, 75) FROM t WHERE EXISTS (SELECT 1 FROM t AS b WHERE t.uid = b.uid AND b.mark = 74)",
]


def check_optimizer(side: Side, text: str) -> int:
    """The exact numbers of a question with and without the optimizer; how many statements it has, 0 if refused."""
    try:
        priced = side.price(text, epsilon="1000", confidence=Fraction("0.95"))
    except DitherError:
        return 0
    engine = side.curator._engine.home
    for aggregate in priced.aggregates:
        statement = lower(aggregate, engine.dialect)
        with duckdb.connect(":memory:") as connection:
            for table in statement.tables:
                path = str(engine._path(table).absolute()).replace("'", "''")
                connection.execute(f"ATTACH IF NOT EXISTS '{path}' AS \"{schema_name(table)}\" (READ_ONLY)")
            found = []
            for setting in ("disabled_optimizers = 'in_clause'", None):  # as workers have it, and none at all
                connection.execute("PRAGMA disable_optimizer" if setting is None else f"SET {setting}")
                rows = connection.execute(statement.sql).fetchall()
                found.append(sorted(rows, key=repr))
            if found[0] != found[1]:
                raise Leak(f"the optimizer changes the exact numbers of {text!r}")
    return len(priced.aggregates)


def check_all(pairs: Pairs, text: str) -> None:
    for one, other in pairs.values():
        check_neighbours(one, other, text, epsilon="1000")


def check_each(pairs: Pairs, text: str) -> None:
    for pair in pairs.values():
        for side in pair:
            assert check_optimizer(side, text)


def narrow(self: Any, function: str, value: e.Numeric) -> str:
    """As it was: SUM of words, which an optimizer may take for a small one."""
    return f"{function.upper()}({self.number(value)})"


@pytest.mark.parametrize("text", SUMS)
def test_sums_do_not_go_by_statistics(extreme_pairs: Pairs, text: str) -> None:
    check_all(extreme_pairs, text)


def test_the_optimizer_changes_no_exact_number(extreme_pairs: Pairs) -> None:
    aiming, sides, asked = Aiming(4000 + population.SEED), [side for pair in extreme_pairs.values() for side in pair], 0
    for number in range(QUESTIONS):
        found = check_optimizer(sides[number % len(sides)], aiming.question())
        aiming.heard(found > 0)
        asked += found > 0
    assert asked > QUESTIONS / 4
    for text in SUMS:
        check_each(extreme_pairs, text)


def test_planted_bug_sums_of_words(extreme_pairs: Pairs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Writer, "total", narrow)
    with pytest.raises(Leak, match="gap"):
        check_all(extreme_pairs, SUMS[0])
    with pytest.raises(Leak, match="the optimizer changes"):
        check_each(extreme_pairs, SUMS[0])
