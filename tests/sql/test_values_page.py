"""Every example of the page on values does what its section says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dither.errors import UnsupportedQuery
from dither.policy.catalog import Catalog, Table
from dither.policy.columns import Bool, Category, Date, Fixed, Int, Text, Timestamp
from dither.sql.binding.reading import read

PAGE = (Path(__file__).parents[2] / "docs" / "ask" / "values.md").read_text(encoding="utf-8")
COLUMNS = {
    "age": Int(0, 120, nullable=False, default=0),
    "cost": Fixed(0, 10_000, decimals=2),
    "region": Category(["north", "south", "east", "west"]),
    "insured": Bool(),
    "day": Date("2020-01-01", "2029-12-31"),
    "seen": Timestamp("2020-01-01", "2029-12-31"),
    "note": Text(),
}
VISITS = Catalog({"visits": Table("visits", "patients", "patient_id", 10, COLUMNS)})


def examples(title: str, column: int = 1) -> list[str]:
    """The code in one column of a section's table."""
    section = PAGE.split(f"## {title}\n")[1].split("\n## ")[0]
    cells = [re.split(r"(?<!\\)\|", line)[column] for line in section.split("\n") if line.startswith("|")]
    return [code.replace("\\|", "|") for cell in cells for code in re.findall(r"`([^`]+)`", cell)]


VALUES = [*examples("Numbers"), *examples("Days and moments"), *examples("Texts")]
KEYS = examples("Group keys")
PRIVATE = re.findall(r"`(GROUP BY [^`]+)`", PAGE.split("Other keys")[1])


@pytest.mark.parametrize("text", VALUES)
def test_values(text):
    assert read(f"SELECT COUNT(*) FROM visits WHERE ({text}) IS NOT NULL", VISITS)


@pytest.mark.parametrize("text", KEYS)
def test_public_keys(text):
    assert read(f"SELECT COUNT(*) FROM visits {text}", VISITS).public


@pytest.mark.parametrize("text", PRIVATE)
def test_private_keys(text):
    assert not read(f"SELECT COUNT(*) FROM visits {text}", VISITS).public


@pytest.mark.parametrize("text", examples("Refused"))
def test_refused(text):
    with pytest.raises(UnsupportedQuery) as caught:
        read(f"SELECT COUNT(*) FROM visits WHERE ({text}) IS NOT NULL", VISITS)
    assert caught.value.hint


@pytest.mark.parametrize("text", [text for text in examples("Refused", 3) if " " in text or "(" in text])
def test_what_to_write_instead(text):
    assert read(f"SELECT COUNT(*) FROM visits WHERE ({text}) IS NOT NULL", VISITS)


def test_the_page_has_many_examples():
    assert len(VALUES) > 35
    assert len(KEYS) > 14
    assert len(PRIVATE) == 4
