"""Advice in refusals names this table's own columns, as they are written, and nothing that is not declared."""

from __future__ import annotations

import pytest

from dither.errors import DitherError, PolicyError, UnsupportedQuery
from dither.policy.catalog import Catalog, Table
from dither.policy.columns import Category, Fixed, Int, Text
from dither.policy.names import listed, meant, quoted
from dither.sql.binding.reading import read
from dither.sql.text.advice import Advice

STAYS = Table(
    "hospital stays",
    "people",
    "Patient ID",
    3,
    {"Ward Name": Category(["ICU", "ER"]), "age": Int(0, 120), "order": Int(0, 9), "far": Int(0, 10**9)},
)
BARE = Table("bare", "people", "owner", 3, {"note": Text(), "paid": Fixed(0, 10, decimals=2)})
CATALOG = Catalog({table.name: table for table in (STAYS, BARE)})


def refused(text: str, catalog: Catalog = CATALOG) -> str:
    with pytest.raises(DitherError) as caught:
        read(text, catalog)
    assert isinstance(caught.value, (UnsupportedQuery, PolicyError))
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('SELECT COUNT(*) FROM "hospital stays" WHERE "Patient ID" = 3', 'COUNT(DISTINCT "Patient ID")'),
        ('SELECT STRING_AGG(age, far) FROM "hospital stays"', 'COUNT(DISTINCT "Patient ID")'),
        ('SELECT SUM(DISTINCT age) FROM "hospital stays"', 'COUNT(DISTINCT "Patient ID")'),
        ('SELECT 1 FROM "hospital stays"', 'COUNT(DISTINCT "Patient ID")'),
        ('SELECT COUNT(*) FROM "hospital stays" WHERE "Ward Name" = "ICU"', "Text goes in single quotes: 'ICU'."),
        ('SELECT COUNT(*) FROM bare WHERE note = "O\'Hara"', "single quotes: 'O''Hara'."),
        ('SELECT AVG(agee) FROM "hospital stays"', 'Did you mean age? Declared are: "Ward Name", age, "order", far.'),
        ('SELECT COUNT("Ward Nam") FROM "hospital stays"', 'Did you mean "Ward Name"?'),
        ('SELECT COUNT(*) FROM "hospital stays" WHERE s.age = 1', 'Write "hospital stays".age.'),
        ("SELECT COUNT(*) FROM bar", "Did you mean bare?"),
        ("SELECT COUNT(*) FROM bare JOIN LATERAL (SELECT 1) ON TRUE", "SELECT COUNT(*) FROM bare WHERE ..."),
        ('SELECT COUNT(*) FROM "hospital stays" s, bare', 's."Patient ID" = bare.owner.'),
        ('SELECT COUNT(*) FROM "hospital stays" s WHERE EXISTS (SELECT 1 FROM bare)', "inner.owner = outer."),
        ('SELECT COUNT(*) FROM "hospital stays" GROUP BY CUBE (age)', 'GROUP BY "Ward Name", "order".'),
        ("SELECT COUNT(*) FROM bare GROUP BY CUBE (x)", "Leave GROUP BY out."),
    ],
)
def test_advice(text: str, words: str) -> None:
    assert words in refused(text)


def test_only_close_names_are_suggested() -> None:
    assert "Did you mean" not in refused("SELECT COUNT(zzz) FROM bare")
    assert "Did you mean" not in refused("SELECT COUNT(*) FROM zzz")
    assert "single quotes" not in refused("SELECT COUNT(*) FROM bare WHERE zzz > 3")


def test_advice_without_any_table() -> None:
    assert "FROM a registered table" in refused("SELECT COUNT(*) FROM a, LATERAL (SELECT 1) AS b", Catalog({}))
    assert "COUNT(DISTINCT owner)" in refused("SELECT STRING_AGG(x, y) FROM a", Catalog({}))
    assert Advice(None).keys == []


@pytest.mark.parametrize("name", ["Patient ID", "order", "Group", "1st", "été", 'a"b', "", "x-y"])
def test_quoted_names_are_found_again(name: str) -> None:
    if not name:
        assert quoted(name) == '""'
        return
    assert quoted(name).startswith('"')
    table = Table("t", "people", "owner", 3, {name: Int(0, 9)})
    question = read(f"SELECT SUM({quoted(name)}) FROM t", Catalog({"t": table}))
    assert question.outputs[0].aggregate.value.name == name


@pytest.mark.parametrize("name", ["age", "Ward_2", "_x", "date", "name"])
def test_plain_names_stay_bare(name: str) -> None:
    assert quoted(name) == name
    read(f"SELECT SUM({name}) FROM t", Catalog({"t": Table("t", "people", "owner", 3, {name: Int(0, 9)})}))


def test_long_lists_are_cut() -> None:
    assert listed(f"c{place}" for place in range(30)).endswith("c23, ...")
    assert listed([]) == "none"


def test_a_long_misspelt_name_is_compared_in_bounded_time() -> None:
    assert meant("x" * 60_000, ["y" * 1000 for _ in range(10_000)]) == ""
