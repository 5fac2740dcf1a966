"""In dialects with collations, no two texts of a question are ones that a collation may take for one another."""

from __future__ import annotations

import pytest

from dither.errors import UnsupportedQuery
from dither.policy.catalog import Catalog, Table
from dither.policy.columns import Category, Int
from dither.sql.binding.reading import read
from dither.sql.text import collations

LABELS = ["north", "Nadir", "\u00c9lan", "east ", "S%y"]
CATALOG = Catalog(
    {"t": Table("t", "people", "o", 4, {"r": Category(LABELS), "a": Int(-9, 9), "b": Category(["p", "q"])})}
)
EVERYWHERE = (
    "SELECT CASE WHEN a > 0 THEN 'x' ELSE 'X' END AS k, COUNT(*) FROM t GROUP BY k",
    "SELECT COALESCE(r, 'NORTH') AS k, COUNT(*) FROM t GROUP BY k",
    "SELECT COUNT(*) FROM t WHERE COALESCE(r, 'NORTH') = 'north'",
    "SELECT COUNT(DISTINCT CASE WHEN a > 0 THEN 'x' ELSE 'x ' END) FROM t",
    "SELECT TRIM(r) AS k, COUNT(*) FROM t GROUP BY k ORDER BY k",
    "SELECT TRIM(r) AS k, COUNT(*) FROM t GROUP BY k ORDER BY 1 DESC",
    "SELECT r, COUNT(*) FROM t GROUP BY r HAVING r = 'NORTH'",
    "SELECT COUNT(*) FROM (SELECT CASE WHEN a > 0 THEN 'x' ELSE 'X' END AS k FROM t) u WHERE k = 'x'",
    "SELECT k, COUNT(*) FROM (SELECT 'x' AS k FROM t UNION ALL SELECT 'X' FROM t) u GROUP BY k",
)
MYSQL = (
    "SELECT COUNT(*) FROM t WHERE LEFT(r, 1) = 'n'",
    "SELECT LEFT(r, 1) AS k, COUNT(*) FROM t GROUP BY k",
    "SELECT COUNT(DISTINCT LEFT(r, 1)) FROM t",
    "SELECT CONCAT(r, 'x') AS k, COUNT(*) FROM t GROUP BY k ORDER BY k LIMIT 2",
)
SAME = (
    "SELECT r, COUNT(*) FROM t WHERE r = 'north' OR r IN ('Nadir', 'S%y') GROUP BY r",
    "SELECT UPPER(b) AS k, COUNT(*) FROM t WHERE LOWER(b) = 'p' GROUP BY k ORDER BY k",
    "SELECT COALESCE(b, 'none') AS k, COUNT(*) FROM t GROUP BY k HAVING k <> 'none' ORDER BY COUNT(*)",
    "SELECT CASE WHEN a > 0 THEN 'x' ELSE 'y' END AS k, COUNT(*) FROM t GROUP BY k ORDER BY k",
)
REFUSED = [(dialect, text) for dialect in ("mysql", "tsql") for text in EVERYWHERE] + [
    ("mysql", text) for text in MYSQL
]


def check_refused(dialect: str, text: str) -> None:
    with pytest.raises(UnsupportedQuery, match=r"alike but for case|depends on a collation"):
        read(text, CATALOG, dialect=dialect)


@pytest.mark.parametrize(("dialect", "text"), REFUSED)
def test_texts_that_a_collation_may_take_for_one_are_refused(dialect: str, text: str) -> None:
    read(text.replace("CONCAT(r, 'x')", "r || 'x'"), CATALOG)
    check_refused(dialect, text)


@pytest.mark.parametrize("text", SAME)
@pytest.mark.parametrize("dialect", ["mysql", "tsql"])
def test_texts_that_every_collation_tells_apart_are_compared(dialect: str, text: str) -> None:
    assert read(text, CATALOG, dialect=dialect) is not None


def test_planted_bug_computed_texts_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it was: declared columns alone were looked at."""
    monkeypatch.setattr(collations, "_apart", lambda _: True)
    caught = 0
    for dialect, text in REFUSED:
        try:
            check_refused(dialect, text)
        except pytest.fail.Exception:
            caught += 1
    assert caught > len(REFUSED) / 2


@pytest.mark.parametrize("dialect", ["clickhouse", "sqlite"])
def test_letters_that_keep_their_case_there_are_not_translated(dialect: str) -> None:
    with pytest.raises(UnsupportedQuery, match="LOWER of other texts"):
        read("SELECT COUNT(*) FROM t WHERE LOWER(r) = '\u00e9lan'", CATALOG, dialect=dialect)
    assert read("SELECT COUNT(*) FROM t WHERE LOWER(b) = 'p'", CATALOG, dialect=dialect) is not None
