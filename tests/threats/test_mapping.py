"""Every threat is on the page, and every test that the page names exists."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SERVED = {4, 5, *range(20, 26), 30, *range(41, 47), 48, 51, *range(58, 64), 66, 67, 69}
THROUGH_HTTP = {f"threats/test_http_{what}" for what in ("budgets", "secrets")} | {
    f"crash/test_{what}" for what in ("served", "linearizability")
}
ROW = re.compile(r"^\| (\d+) \| (.+?) \| (.+?) \| (.+?) \| (.+?) \|$", re.MULTILINE)
TEST = re.compile(r"`([a-z_]+/[a-z_/]+)::(test_\w+)`")
STUDY = re.compile(r"^\| S(\d+) \| (.+?) \| (.+?) \| (.+?) \| (.+?) \|$", re.MULTILINE)


def page() -> str:
    return (ROOT / "docs" / "evidence" / "threats.md").read_text(encoding="utf-8")


@cache
def functions(file: str) -> frozenset[str]:
    path = ROOT / "tests" / f"{file}.py"
    if not path.exists():
        return frozenset()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def check_page(text: str) -> None:
    """Each threat has a test and a planted bug that exist."""
    rows = {int(row[0]): row for row in ROW.findall(text)}
    assert sorted(rows) == [*range(1, 68), 69, 70, 71, 72], "every threat is listed once"
    for number, (_, _, _, tests, planted) in rows.items():
        named, bugs = TEST.findall(tests), TEST.findall(planted)
        for file, name in named + bugs:
            assert name in functions(file), f"threat {number}: there is no test {file}::{name}"
        assert not set(named) & set(bugs), f"threat {number}: a test is not its own planted bug"
        assert named, f"threat {number} has no test"
        assert bugs, f"threat {number} has no planted bug"


def check_through_http(text: str) -> None:
    """Each threat that reaches a server has a test and a planted bug that go through HTTP."""
    for row in ROW.findall(text):
        if int(row[0]) in SERVED:
            for cell in row[3:]:
                asked = {file for file, _ in TEST.findall(cell)} & THROUGH_HTTP
                assert asked, f"threat {row[0]} is not tried through HTTP"


def check_studies(text: str) -> None:
    """Studies and look-ups have a table of their own, in which nothing is missing."""
    rows = STUDY.findall(text)
    assert [int(row[0]) for row in rows] == [*range(1, len(rows) + 1)]
    assert rows
    for number, _, _, tests, planted in rows:
        named, bugs = TEST.findall(tests), TEST.findall(planted)
        assert named, f"threat S{number} has no test"
        assert bugs, f"threat S{number} has no planted bug"
        for file, name in named + bugs:
            assert name in functions(file), f"threat S{number}: there is no test {file}::{name}"
        assert not set(named) & set(bugs)


def test_the_page_names_existing_tests() -> None:
    check_page(page())
    check_through_http(page())
    check_studies(page())


def test_a_row_that_is_not_tried_through_http_is_caught() -> None:
    only = "`threats/test_http_budgets::test_planted_bugs_through_http`"
    with pytest.raises(AssertionError, match="not tried through HTTP"):
        check_through_http(page().replace(only, ""))


def test_a_wrong_row_of_studies_is_caught() -> None:
    for old, new in (("::test_planted_proofs_that_nobody_checks`", "::test_nosuch`"), ("| S2 |", "| S1 |")):
        assert old in page()
        with pytest.raises(AssertionError):
            check_studies(page().replace(old, new))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("::test_hostile_sql`", "::test_nosuch`", "there is no test"),
        ("threats/test_metadata::", "threats/test_nosuch::", "there is no test"),
        ("| 28 | ", "| 29 | ", "listed once"),
        ("`threats/test_budget_games::test_planted_shared_answers`", "-", "threat 53 has no planted bug"),
        (
            "`threats/test_budget_games::test_planted_look_alikes`<br>"
            "`threats/test_http_budgets::test_planted_bugs_through_http`",
            "-",
            "threat 48 has no planted bug",
        ),
        ("::test_planted_a_budget_for_each_year", "::test_a_moved_clock_gives_no_budget", "not its own planted bug"),
    ],
)
def test_a_wrong_page_is_caught(old: str, new: str, words: str) -> None:
    assert old in page()
    with pytest.raises(AssertionError, match=words):
        check_page(page().replace(old, new))
