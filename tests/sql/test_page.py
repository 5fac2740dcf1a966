"""The examples of the SQL page do what the page says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dither.columns import Bool, Category, Date, Fixed, Int, Text, Timestamp
from dither.errors import UnsupportedQuery
from dither.sql import grammar, labels, limits, scalar
from dither.sql.bound import plan
from dither.sql.catalog import Catalog, Table
from dither.sql.check import check
from dither.sql.read import read

PAGE = (Path(__file__).parents[2] / "docs" / "sql.md").read_text(encoding="utf-8")
DECLARED = dict(re.findall(r"^\| `(\w+)` \| `(.*)` \|$", PAGE, re.MULTILINE))
KINDS = {kind.__name__: kind for kind in (Bool, Category, Date, Fixed, Int, Text, Timestamp)}


def examples(kind: str) -> list[str]:
    (block,) = re.findall(rf"^```{kind}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return block.strip().split("\n")


@pytest.fixture(scope="module")
def visits() -> Catalog:
    columns = {name: eval(text, dict(KINDS)) for name, text in DECLARED.items()}
    return Catalog({"visits": Table("visits", "patients", "patient_id", 10, columns)})


@pytest.mark.parametrize("text", examples("sql"))
def test_examples_are_answered(visits, text):
    assert check(plan(read(text, visits)))


@pytest.mark.parametrize("text", examples("sql refused"))
def test_refused_examples_are_refused(visits, text):
    with pytest.raises(UnsupportedQuery):
        read(text, visits)


def test_limits_are_those_of_the_code():
    for number in (limits.MOST_BYTES, limits.MOST_TOKENS, limits.MOST_NESTING, grammar.MOST_OPTIONS):
        assert f"{number:,}" in PAGE
    for number in (scalar.MOST_WORDS, labels.MOST_LABELS, labels.MOST_RUNS):
        assert f"{number:,}" in PAGE
