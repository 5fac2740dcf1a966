"""Every threat is on the page, and every test that the page names exists."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "dither"
ROW = re.compile(r"^\| (\d+) \| (.+?) \| (.+?) \| (.+?) \| (.+?) \|$", re.MULTILINE)
TEST = re.compile(r"`([a-z_]+/[a-z_/]+)::(test_\w+)`")
MISSING = re.compile(r"not built yet: ([^);|]+)")
PARTS = re.compile(r"^\| ([^|:]+?)(?:: [^|]+)? \| ([\d, ]+)[^|]*\|$", re.MULTILINE)
# Where a part will be once it exists.
PLACES = {"PostgreSQL wire": "server/wire", "PostgreSQL engine": "engines/postgres/", "Spark engine": "engines/spark/"}


def page() -> str:
    return (ROOT / "docs" / "evidence" / "threats.md").read_text(encoding="utf-8")


@cache
def functions(file: str) -> frozenset[str]:
    path = ROOT / "tests" / f"{file}.py"
    if not path.exists():
        return frozenset()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def check_page(text: str, source: Path = SOURCE) -> None:
    """Each threat has a test and a planted bug that exist, or names a part that does not exist."""
    rows = {int(row[0]): row for row in ROW.findall(text)}
    assert sorted(rows) == [*range(1, 68), 69], "every threat is listed once"
    parts = {part: {int(number) for number in re.findall(r"\d+", listed)} for part, listed in PARTS.findall(text)}
    for number, (_, _, answer, tests, planted) in rows.items():
        named, bugs = TEST.findall(tests), TEST.findall(planted)
        for file, name in named + bugs:
            assert name in functions(file), f"threat {number}: there is no test {file}::{name}"
        assert not set(named) & set(bugs), f"threat {number}: a test is not its own planted bug"
        missing = [part for words in MISSING.findall(answer) for part in words.split(", ")]
        for part in missing:
            assert number in parts.get(part, ()), f"threat {number}: {part!r} is not listed as a missing part"
        if named or bugs or not missing:
            assert named, f"threat {number} has no test"
            assert bugs, f"threat {number} has no planted bug"
    for part in parts:
        assert part in PLACES, f"nobody knows where {part!r} would be"
        assert not (source / PLACES[part]).exists(), f"{part!r} is built: its threats need tests"


def test_the_page_names_existing_tests() -> None:
    check_page(page())


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("::test_hostile_sql`", "::test_nosuch`", "there is no test"),
        ("threats/test_metadata::", "threats/test_nosuch::", "there is no test"),
        ("| 28 | ", "| 29 | ", "listed once"),
        ("`threats/test_budget_games::test_planted_shared_answers`", "-", "threat 53 has no planted bug"),
        ("`threats/test_budget_games::test_planted_look_alikes`", "-", "threat 48 has no planted bug"),
        ("`threats/test_hostile_corpus::test_planted_bugs` |\n| 50", "- |\n| 50", "threat 49 has no planted bug"),
        ("::test_planted_a_budget_for_each_year", "::test_a_moved_clock_gives_no_budget", "not its own planted bug"),
        ("itself (not built yet: PostgreSQL wire)", "itself (not built yet: radio)", "not listed as a missing"),
        ("| PostgreSQL wire | 49 |", "| PostgreSQL wire | 48 |", "threat 49: 'PostgreSQL wire' is not listed"),
        ("| Spark engine |", "| Hadoop engine |", "nobody knows where"),
    ],
)
def test_a_wrong_page_is_caught(old: str, new: str, words: str) -> None:
    assert old in page()
    with pytest.raises(AssertionError, match=words):
        check_page(page().replace(old, new))


def test_a_row_of_a_missing_part_may_be_empty() -> None:
    """Only all of it at once: no test, no planted bug, and the part that would need them."""
    corpus = "`threats/test_hostile_corpus::test_"
    empty = page().replace(f"{corpus}every_statement_is_refused` | {corpus}planted_bugs`", "- | -")
    assert empty != page()
    check_page(empty)
    with pytest.raises(AssertionError, match="threat 49 has no test"):
        check_page(empty.replace("the protocol itself (not built yet: PostgreSQL wire)", "the protocol itself"))


@pytest.mark.parametrize("part", PLACES)
def test_a_part_that_has_come_is_noticed(tmp_path: Path, part: str) -> None:
    (tmp_path / PLACES[part]).mkdir(parents=True)
    with pytest.raises(AssertionError, match=f"'{part}' is built"):
        check_page(page(), tmp_path)
