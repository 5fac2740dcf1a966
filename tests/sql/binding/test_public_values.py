"""Texts of a public table are public keys: all values that the table has are groups, and nothing else is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dither.errors import UnsupportedQuery
from dither.policy.catalog import Catalog, PublicTable, Table
from dither.policy.columns import Category, Int, Text
from dither.sql.binding.reading import read
from dither.sql.bounding.aggregations import plan
from dither.sql.guard.check import UnsafePlan, check
from dither.sql.plan.question import Question

LABELS = {"name": ("ada", "bo"), "city": ("rom", "ulm")}
COLUMNS = {
    "code": Int(0, 9),
    "name": Text(),
    "city": Text(nullable=False, default="ulm"),
    "beds": Int(0, 99),
    "note": Text(),
}
TOWNS = PublicTable("towns", COLUMNS, ("code",), 2, labels=LABELS)
VISITS = Table("visits", "people", "person", 4, {"town": Int(0, 9), "remark": Text(), "day": Int(0, 6)}, 1)
JOIN = "visits v JOIN towns t ON v.town = t.code"
OUTER = "visits v LEFT JOIN towns t ON v.town = t.code"


def asked(text: str, towns: PublicTable = TOWNS) -> Question:
    question = read(text, Catalog({"visits": VISITS}, {"towns": towns}))
    check(plan(question))
    return question


def values(question: Question) -> list[Any]:
    """The labels of each key that has a public list of them, None for a key from the data."""
    return [key.declaration.values if isinstance(key.declaration, Category) else None for key in question.keys]


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT t.name, COUNT(*) FROM {JOIN} GROUP BY t.name",
        f"SELECT COUNT(*), t.name AS n FROM {JOIN} GROUP BY n",
        f"SELECT name, COUNT(*) FROM {JOIN} WHERE name LIKE 'a%' GROUP BY 1",
        f"SELECT name, COUNT(*) FROM {OUTER} GROUP BY name",
        f"SELECT name, day, COUNT(*) FROM {JOIN} GROUP BY day, name",
        f"SELECT n, COUNT(*) FROM (SELECT t.name AS n FROM {JOIN}) x GROUP BY n",
        f"SELECT n, d, COUNT(*) FROM (SELECT t.name AS n, v.day + 1 AS d FROM {JOIN}) x GROUP BY n, d",
        f"SELECT n, COUNT(*) FROM (SELECT t.name AS n, v.day + 1 AS d FROM {OUTER}) x GROUP BY n",
        f"WITH x AS (SELECT * FROM {JOIN}) SELECT name, COUNT(*) FROM x GROUP BY name",
    ],
)
def test_all_values_are_groups(text: str) -> None:
    question = asked(text)
    assert question.public
    (key,) = [key for key in question.keys if isinstance(key.declaration, Category)]
    assert key.declaration.values == LABELS["name"]  # type: ignore[attr-defined]
    assert key.declaration.nullable


@pytest.mark.parametrize(("joined", "nullable"), [(JOIN, False), (OUTER, True)])
def test_a_text_that_is_never_null_is_so_where_no_row_is_found(joined: str, nullable: bool) -> None:
    question = asked(f"SELECT city, COUNT(*) FROM {joined} GROUP BY city")
    assert (values(question), question.keys[0].declaration.nullable) == ([LABELS["city"]], nullable)


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT name, city, COUNT(*) FROM {JOIN} GROUP BY name, city",  # not every combination is a town
        f"SELECT name, beds, COUNT(*) FROM {JOIN} GROUP BY name, beds",
        f"SELECT name, beds + 1 AS b, COUNT(*) FROM {JOIN} GROUP BY name, b",
        f"SELECT n, b, COUNT(*) FROM (SELECT name AS n, beds AS b, day + 1 AS d FROM {JOIN}) x GROUP BY n, b",
        f"SELECT note, COUNT(*) FROM {JOIN} GROUP BY note",  # too many values to list
        f"SELECT remark, COUNT(*) FROM {JOIN} GROUP BY remark",  # of people
        f"SELECT LEFT(name, 1) AS n, COUNT(*) FROM {JOIN} GROUP BY n",
        f"SELECT n, COUNT(*) FROM (SELECT person, name AS n, SUM(day) AS k FROM {JOIN} GROUP BY 1, 2) x GROUP BY n",
    ],
)
def test_other_texts_are_selected_from_the_data(text: str) -> None:
    assert not asked(text).public


def test_of_two_tables_each_has_its_own() -> None:
    twice = "visits v JOIN towns a ON v.town = a.code JOIN towns b ON v.day = b.code"
    question = asked(f"SELECT a.name, b.name AS other, COUNT(*) FROM {twice} GROUP BY a.name, b.name")
    assert values(question) == [LABELS["name"]] * 2


def test_without_labels_nothing_changes() -> None:
    """A snapshot that an older dither made has none, and its questions keep the keys they are stored under."""
    old = PublicTable("towns", COLUMNS, ("code",), 2)
    text = f"SELECT name, COUNT(*) FROM {JOIN} GROUP BY name"
    assert not asked(text, old).public
    assert "_code_" not in asked(text, old).canonical()


def test_places_have_no_name_to_ask_for() -> None:
    with pytest.raises(UnsupportedQuery, match="there is no column '_code_name'"):
        asked(f"SELECT _code_name, COUNT(*) FROM {JOIN} GROUP BY 1")


def test_the_guard_knows_the_places_by_the_declarations() -> None:
    """A plan that names labels which the table does not have is refused."""
    (aggregate,) = plan(asked(f"SELECT name, COUNT(*) FROM {JOIN} GROUP BY name"))
    scan = aggregate.child.public  # type: ignore[attr-defined]
    more = replace(scan, table=replace(TOWNS, labels={**LABELS, "name": ("ada", "bo", "cy")}))
    with pytest.raises(UnsafePlan):
        check((replace(aggregate, child=replace(aggregate.child, public=more)),))  # type: ignore[call-arg]
