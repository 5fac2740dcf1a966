"""A refusal names what the analyst wrote, where it stands, in words of SQL: never by a class of the parser."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest
from sqlglot import exp

from dither.errors import DitherError, UnsupportedQuery
from dither.policy.catalog import Catalog
from dither.sql.binding.reading import read
from dither.sql.text import parse

REFUSED = Path(__file__).parents[1] / "fixtures" / "refused.sql"
CASES = {
    "SELECT COUNT(*) FROM t a LEFT JOIN (t b JOIN t c ON b.id = c.id) ON a.id = b.id": (
        46,
        "c is joined without an equality of owners",
    ),
    "SELECT COUNT(*) FROM t a FULL JOIN t b ON a.owner_id = b.owner_id JOIN t c ON c.owner_id = a.owner_id": (
        92,
        "Compare with COALESCE(a.owner_id, b.owner_id), which every row has",
    ),
    "SELECT COUNT(*) FROM t a FULL JOIN t b USING (id)": (47, "Write ON a.id = b.id, and COALESCE(a.id, b.id)"),
    "SELECT COUNT(*) FROM t WHERE id > (SELECT MAX(id) FROM t b WHERE b.owner_id > t.owner_id)": (66, "by equalities"),
    "SELECT COUNT(*) FROM (SELECT owner_id, SUM(id) OVER (PARTITION BY owner_id ORDER BY id) AS s FROM t) q": (
        40,
        "SUM over rows of people is not supported",
    ),
    "SELECT COUNT(*) FROM (SELECT owner_id, RANK() OVER (ORDER BY id) AS s FROM t) q": (40, "PARTITION BY owner_id"),
    "WITH q AS (SELECT id FROM t) SELECT COUNT(*) FROM q UNION ALL SELECT COUNT(*) FROM q": (1, "WITH before a UNION"),
    "SELECT SUM(b.owner_id) FROM t a LEFT JOIN t b ON a.owner_id = b.owner_id": (12, "is the owner, not a declared"),
    "SELECT COUNT(*) FROM t WHERE DATE_DIFF('month', day, day) > 1": (30, "for months (EXTRACT(YEAR FROM b)"),
    "SELECT COUNT(*) FROM t WHERE AGE(day, day) > 1": (30, "AGE is not supported"),
    "SELECT DISTINCT region FROM t": (8, "COUNT(*) FROM t WHERE"),
    "SELECT COUNT(*) FROM t WHERE EXTRACT(dayofweek FROM day) = 1": (30, "EXTRACT(DOW FROM x), where 0 is Sunday"),
    "SELECT COUNT(*) FROM t WHERE 'abc' LIKE 'a%'": (30, "not a quoted text"),
    "SELECT COUNT(*) FROM t WHERE POSITION('' IN name) > 1": (39, "POSITION takes what is sought"),
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1) COUNT(*) FROM t": (8, "OWNER_SUM(x, 0, 100) for a SUM"),
    "SELECT COUNT(*) FROM other.t": (22, "there is no schema 'other'"),
    "SELECT COUNT(*) FROM t WHERE TO_CHAR(day, 'J') = '1'": (30, "this format of TO_CHAR"),
    "SELECT COUNT(*) FROM t WHERE DIV(id, 3) > 1": (34, "DIV is not supported"),
    "SELECT COUNT(*) FROM t NATURAL JOIN t": (24, "NATURAL"),
    "SELECT COUNT(*) FROM t PIVOT (SUM(id) FOR few IN (1))": (24, "PIVOT is not supported"),
    "SELECT COUNT(*) FROM t WHERE name[1] = 'a'": (30, "[ ] is not supported"),
    "SELECT COUNT(*) > 3 FROM t": (8, "cannot stand beside aggregates"),
    "SELECT SUM(id) / (SELECT COUNT(*) FROM t) FROM t": (26, "a query as a value"),
    "SELECT COUNT(*) FROM t WHERE at < TIMESTAMP '2024-01-01 10:00:00+02'": (45, "Write TIMESTAMPTZ"),
    "SELECT COUNT(*) FROM t WHERE at < '2024-01-01 10:00Z'::timestamp": (35, "Write TIMESTAMPTZ"),
    "SELECT region, COUNT(*) FROM t GROUP BY region HAVING MAX(at) > TIMESTAMP '2024-01-01 10:00:00 UTC'": (
        75,
        "Write TIMESTAMPTZ",
    ),
    "SELECT COUNT(*) FROM ((t a JOIN t b USING (owner_id)) JOIN t c USING (owner_id))": (
        60,
        "Leave the inner ones out",
    ),
    "SELECT COUNT(*) FROM t a SEMI JOIN t b ON a.owner_id = b.owner_id": (26, "Write WHERE EXISTS (...)"),
    "SELECT COUNT(*) FROM t a LEFT ANTI JOIN t b ON a.owner_id = b.owner_id": (31, "Write WHERE NOT EXISTS (...)"),
    "SELECT COUNT(*) FROM t WHERE STRPOS(name, 'a') > 0": (30, "Write POSITION('a' IN x)"),
    "SELECT COUNT(*) FROM t WHERE TRIM(BOTH FROM name) = 'a'": (35, "Write TRIM(x)"),
    "SELECT COUNT(*) FROM t WHERE TRIM(LEADING FROM name) = 'a'": (30, "LTRIM(x) or RTRIM(x)"),
    "SELECT COUNT(*) FROM t WHERE TO_CHAR(day, 'yyyy-mm') = '2024-01'": (43, "Write the parts of a format in capitals"),
    "SELECT PERCENTILE_CONT([0.5]) WITHIN GROUP (ORDER BY id) FROM t": (24, "Write ARRAY["),
    "SELECT COUNT(*) FROM t WHERE id = 1_000": (35, "run together"),
    "SELECT SUM(IIF(id > 5, 1, 2)) FROM t": (12, "IIF is not supported"),
    "SELECT SUM(DECODE(id, 5, 1, 2)) FROM t": (12, "the function DECODE is not supported"),
    "SELECT GROUP_CONCAT(name, ',') FROM t": (8, "GROUP_CONCAT is not supported"),
    "SELECT REGR_COUNT(id) FROM t": (8, "REGR_COUNT needs more arguments"),
    "SELECT COUNT(*) FROM t WHERE SPLIT_PART(name, '-') = 'a'": (30, "SPLIT_PART needs more arguments"),
    "SELECT COUNT(*) FROM t WHERE id IN (SELECT id FROM t QUALIFY ROW_NUMBER() OVER (ORDER BY id) = 1)": (
        54,
        "QUALIFY is not supported here",
    ),
    "SELECT COUNT(*) FROM t WHERE EXISTS (SELECT 1 FROM t b WHERE b.id = t.id QUALIFY RANK() OVER (ORDER BY id) = 1)": (
        74,
        "QUALIFY is not supported here",
    ),
    "SELECT COUNT(*) FROM t WHERE few > (SELECT MAX(few) FROM t b WHERE b.owner_id = t.owner_id QUALIFY TRUE)": (
        92,
        "QUALIFY is not supported here",
    ),
    "SELECT COUNT(*) FROM (SELECT owner_id, id FROM t QUALIFY id > 3) q": (58, "QUALIFY needs a window"),
    "SELECT COUNT(*) FROM (SELECT id AS few FROM t QUALIFY few > RANK() OVER (PARTITION BY owner_id ORDER BY id)) q": (
        55,
        "is a column and the name of a select item",
    ),
    "SELECT COUNT(*) FROM t WHERE 'a' = 'b'": (30, "a quoted text is compared with another"),
    "SELECT PERCENTILE_CONT(id, 0.5) FROM t": (
        28,
        "Write PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x), or MEDIAN(x)",
    ),
    "SELECT PERCENTILE_DISC(0.5) FROM t": (8, "Write PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY x), or MEDIAN(x)"),
    "SELECT QUANTILE(id, 0.5) FROM t": (8, "Write PERCENTILE_CONT(0.5) WITHIN GROUP"),
    "SELECT APPROX_QUANTILES(id, 4)[1] FROM t": (8, "APPROX_QUANTILES is not supported. Write PERCENTILE_CONT(0.5)"),
    "SELECT APPROX_COUNT_DISTINCT(id) FROM t": (8, "Write COUNT(DISTINCT x)"),
    "SELECT COUNT(*) FROM t WHERE SAFE_DIVIDE(id, few) > 1": (30, "Write x / NULLIF(y, 0)"),
    "SELECT COUNT(*) FROM t WHERE FORMAT_DATE('%Y', day) = '2024'": (30, "Write TO_CHAR(x, 'YYYY-MM')"),
    "SELECT few + 1 AS more, COUNT(*) FROM t WHERE more > 1 GROUP BY more": (
        47,
        "'more' is an alias of SELECT, which WHERE, ON and aggregates do not know. Write what it stands for",
    ),
    "SELECT region, COUNT(*) AS many FROM t WHERE many > 1 GROUP BY region": (46, "stand in HAVING"),
    "SELECT region, COUNT(*) AS many FROM t GROUP BY region HAVING SUM(many) > 1": (67, "'many' is an alias of SELECT"),
    "SELECT nothing AS nothing, COUNT(*) FROM t GROUP BY nothing": (8, "in table 't'. Declared are"),
}
# Names of classes that are no words of SQL or English.
_HUMPS = re.compile(r"[A-Z][a-z]+[A-Z]")
CLASSES = {name for name, kind in inspect.getmembers(exp, inspect.isclass) if _HUMPS.search(name)}


@pytest.mark.parametrize("text", CASES)
def test_poor_messages_stay_mended(catalog: Catalog, text: str) -> None:
    column, said = CASES[text]
    with pytest.raises(UnsupportedQuery) as caught:
        read(text, catalog)
    assert said in str(caught.value)
    assert (caught.value.line, caught.value.column) == (1, column), str(caught.value)


# Names that only the parser gives, and words that have two.
_OTHER_NAMES = {
    *("LENGTH", "LOWER", "UPPER", "SUBSTRING", "POSITION", "TO_CHAR", "DATE_TRUNC", "EXTRACT", "CAST", "NULL"),
    *("WHERE", "FILTER", "SELECT", "OVER", "LIKE", "LTRIM"),
}
_ARGUMENTS = ("", "name", "name, 'a'", "few, 2, 3", "day, day")
CALLED = sorted({*exp.FUNCTION_BY_NAME, *parse.Grammar.FUNCTIONS, *parse.Grammar.FUNCTION_PARSERS})


@pytest.mark.parametrize("arguments", _ARGUMENTS)
def test_every_function_of_the_parser_is_read_or_refused_by_its_name(catalog: Catalog, arguments: str) -> None:
    refusals: list[tuple[str, str, DitherError]] = []
    for name in CALLED:
        text = f"SELECT COUNT(*) FROM t WHERE {name.lower()}({arguments}) IS NOT NULL"
        try:
            read(text, catalog)
        except DitherError as refusal:
            refusals.append((name, text, refusal))
    assert len(refusals) > len(CALLED) // 2
    for name, text, refusal in refusals:
        said = str(refusal).split(": ", 1)[-1].split(". ")[0]
        words = set(re.findall(r"\b[A-Z_]{4,}\b", said)) - _OTHER_NAMES
        assert all(word in text.upper() for word in words), (text, str(refusal))
        if said.removeprefix("the function ") == f"{name} is not supported" and name not in ("DIV", "IF"):
            assert getattr(refusal, "column", 0) == 30, (text, str(refusal))


def classes_named(catalog: Catalog) -> set[str]:
    """The classes of the parser that refusals name."""
    texts = [block.split("\n-->")[0] for block in REFUSED.read_text(encoding="utf-8").split("\n\n")]
    found: set[str] = set()
    for text in [
        *texts,
        *CASES,
        "SELECT COUNT(*) FROM t WHERE (name).x = 1",
        "SELECT COUNT(*) FROM t WHERE id -> 1 = 2",
    ]:
        try:
            read(text, catalog)
        except DitherError as refusal:
            found |= {word for word in re.findall(r"\w+", str(refusal)) if word in CLASSES and word not in text}
    return found


def test_no_class_of_the_parser_is_named(catalog: Catalog) -> None:
    assert len(CLASSES) > 100
    assert classes_named(catalog) == set()


def test_planted_class_names_are_seen(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parse, "unsupported", lambda node, source, advice: (type(node).__name__, ""))
    assert classes_named(catalog) != set()
