"""What a refusal says to write instead of a function is on the list of that dialect, and means what is said of it."""

from __future__ import annotations

import re

import dialects_rows as rows
import pytest

from dither.errors import UnsupportedQuery
from dither.policy.catalog import Catalog, Table
from dither.sql.binding.reading import read
from dither.sql.text import grammar
from dither.sql.text.dialects.vocabularies import VOCABULARIES
from dither.sql.text.dialects.window_rules import WINDOWS

CATALOG = Catalog({"t": Table("t", "people", "owner_id", 4, rows.COLUMNS)})
NAMES = sorted({*grammar.FUNCTIONS, *(name for one in VOCABULARIES.values() for name in one.functions)} - set(WINDOWS))
WRITTEN = re.compile(r"Write (?:the date or time itself: )?([A-Z]\w*\(.*?\)|(?:DATE )?'.*?')(?:[.,:]|$)", re.ASCII)
MEANT = {
    "where 1 is Monday and 7 Sunday": "EXTRACT(ISODOW FROM d)",
    "where 1 is Sunday and 7 Saturday": "EXTRACT(DOW FROM d) + 1",
    "where 0 is Sunday and 6 Saturday": "EXTRACT(DOW FROM d)",
}
WEEKS = ("WEEK", "WEEKOFYEAR", "WEEK_OF_YEAR", "WEEKISO", "TOISOWEEK")


def refused(text: str, dialect: str) -> str:
    try:
        read(text, CATALOG, dialect=dialect)
    except UnsupportedQuery as refusal:
        return str(refusal)
    return ""


def said(dialect: str, name: str) -> str:
    return refused(f"SELECT COUNT(*) FROM t WHERE {name}(d) = 1", dialect)


def is_accepted(form: str, dialect: str) -> bool:
    values = [re.sub(r"\bx\b", column, form) for column in ("a", "b", "m", "d", "ts", "s", "g")]
    texts = [f"SELECT {value} FROM t" for value in values] + [
        f"SELECT COUNT(*) FROM t WHERE {value} {test}" for value in values for test in ("IS NULL", "= d")
    ]
    return any(not refused(text, dialect) for text in texts)


@pytest.mark.parametrize("dialect", VOCABULARIES)
def test_a_form_that_is_said_is_accepted(dialect: str) -> None:
    found = 0
    for name in NAMES:
        for form in WRITTEN.findall(said(dialect, name)):
            assert is_accepted(form, dialect), (name, form)
            found += 1
    assert found >= 1


@pytest.mark.parametrize("dialect", VOCABULARIES)
def test_no_other_words_of_postgresql_are_said(dialect: str) -> None:
    """EXTRACT, DATE_TRUNC, AT TIME ZONE and ILIKE are said by what the list has alone."""
    for name in NAMES:
        hint = said(dialect, name).partition("SELECT")[0]
        for form in ("DATE_TRUNC('month'", "AT TIME ZONE", "ILIKE", "EXTRACT(part", "b - a"):
            assert form not in hint, (name, hint)


@pytest.mark.parametrize("dialect", VOCABULARIES)
def test_the_first_day_of_a_week_is_as_said(dialect: str) -> None:
    for name in ("DAYOFWEEK", "WEEKDAY", "DAY_OF_WEEK", "DOW", "ISODOW"):
        match = re.search(r"Write (.*), (where . is .*)\.", said(dialect, name))
        if match:
            mine = f"SELECT SUM({match[1].replace('x', 'd')}) FROM t"
            assert read(mine, CATALOG, dialect=dialect) == read(f"SELECT SUM({MEANT[match[2]]}) FROM t", CATALOG)


@pytest.mark.parametrize("dialect", VOCABULARIES)
def test_a_week_that_is_said_begins_on_monday(dialect: str) -> None:
    for name in WEEKS:
        match = WRITTEN.search(said(dialect, name))
        if match:
            mine = f"SELECT SUM({match[1].replace('x', 'd')}) FROM t"
            assert read(mine, CATALOG, dialect=dialect) == read("SELECT SUM(EXTRACT(WEEK FROM d)) FROM t", CATALOG)


def test_the_forms_are_found() -> None:
    assert "DAY_OF_WEEK(x)" in said("trino", "DAYOFWEEK")
    assert "EXTRACT(ISOWEEK FROM x)" in said("bigquery", "WEEK")
    assert not is_accepted("EXTRACT(WEEK FROM x)", "bigquery")
    assert is_accepted("DATE '2024-12-31'", "oracle")
    assert not is_accepted("DATE '2024-12-31'", "sqlite")
