"""What stands over answers in another dialect means what is written beside it; what means something else is refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dither.errors import UnsupportedQuery
from dither.policy.catalog import Catalog, Table
from dither.policy.columns import Bool, Category, Date, Fixed, Int
from dither.sql.over import outer_grammar
from dither.sql.over.engine_text import engine_text
from dither.sql.over.outer_dialects import NODES
from dither.sql.over.over_question import OverQuestion
from dither.sql.over.over_reading import read_over
from dither.sql.text.dialects.vocabularies import VOCABULARIES
from dither.sql.text.dialects.window_rules import WINDOWS

COLUMNS = {
    "a": Int(-100, 100),
    "b": Int(0, 9),
    "m": Fixed(-50, 50, decimals=2),
    "f": Bool(),
    "d": Date("2024-01-01", "2024-03-31"),
    "g": Category(["north", "Ost", "south"]),
}
CATALOG = Catalog({"t": Table("t", "people", "owner_id", 4, COLUMNS)})
M = "SELECT g, d, f, COUNT(*) AS n, SUM(m) AS u, AVG(m) AS v FROM t GROUP BY g, d, f"


def lines(name: str) -> list[tuple[str, ...]]:
    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    return [tuple(re.split(r" +\| +", line.strip())) for line in text.splitlines() if line and not line.startswith("#")]


def over(text: str, dialect: str | None) -> OverQuestion:
    found = read_over(
        text.replace("{m}", M), CATALOG, lambda people: "pure", vocabulary=dialect and VOCABULARIES[dialect]
    )
    assert found is not None
    return found


SAME = [
    (dialect, mine, theirs)
    for given, mine, theirs in lines("dialects.txt")
    for dialect in (VOCABULARIES if given == "*" else [given])
    if VOCABULARIES[dialect].over_answers
]


@pytest.mark.parametrize(
    ("dialect", "mine", "theirs"), SAME, ids=[f"{one[0]} {place}" for place, one in enumerate(SAME)]
)
def test_a_text_means_what_is_beside_it(dialect: str, mine: str, theirs: str) -> None:
    nulls = VOCABULARIES[dialect].nulls
    small, down = "FIRST" if nulls == "small" else "LAST", "FIRST" if nulls == "large" else "LAST"
    found, wanted = over(mine, dialect), over(theirs.replace("{small}", small).replace("{down}", down), None)
    assert [part.question for part in found.parts] == [part.question for part in wanted.parts]
    assert _plain(engine_text(found.outer)) == _plain(engine_text(wanted.outer))
    for part in found.parts:  # what it is asked by alone is the same question in PostgreSQL's words
        again = over(f"SELECT COUNT(*) AS c FROM ({part.text}) q", None).parts[0].question
        assert part.present or again.canonical() == part.question.canonical()


def _plain(text: str) -> str:
    return text.replace("CAST(CAST(n AS DOUBLE) AS DOUBLE)", "CAST(n AS DOUBLE)").replace('"', "")


@pytest.mark.parametrize("parts", lines("refused_dialects.txt"), ids=lambda parts: f"{parts[0]}: {parts[1]}")
def test_what_means_something_else_is_refused_where_it_stands(parts: tuple[str, ...]) -> None:
    dialect, text, at, said = parts
    with pytest.raises(UnsupportedQuery) as caught:
        over(text, dialect)
    assert said in str(caught.value)
    whole = text.replace("{m}", M)
    assert whole[caught.value.column - 1 :].startswith(at.split(" NULLS")[0].strip()), (str(caught.value), at)


def test_what_is_translated_may_stand_over_answers() -> None:
    assert set(outer_grammar.ALLOWED) >= NODES


def test_every_function_of_windows_is_tested() -> None:
    texts = " ".join(mine for given, mine, _ in lines("dialects.txt"))
    assert {name for name in WINDOWS if f"{name}(" not in texts} == set()
