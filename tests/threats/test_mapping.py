"""Every threat is on the page, and every test that the page names exists."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^\| (\d+) \| (.+?) \| (.+?) \| (.+?) \| (.+?) \|$", re.MULTILINE)
TEST = re.compile(r"`([a-z_]+/[a-z_/]+)::(test_\w+)`")
NEEDED = {*range(1, 20), *range(22, 27), 28, *range(32, 38), 40, 41, 44, *range(52, 56)}


def page() -> str:
    return (ROOT / "docs" / "threats.md").read_text(encoding="utf-8")


@cache
def functions(file: str) -> frozenset[str]:
    path = ROOT / "tests" / f"{file}.py"
    if not path.exists():
        return frozenset()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def check_page(text: str) -> None:
    rows = {int(row[0]): row for row in ROW.findall(text)}
    assert sorted(rows) == list(range(1, 56)), "every threat is listed once"
    for number, (_, _, answer, tests, planted) in rows.items():
        for file, name in TEST.findall(tests + planted):
            assert name in functions(file), f"threat {number}: there is no test {file}::{name}"
        assert TEST.search(tests) or "not built yet" in answer or "comes with" in answer, f"threat {number} has no test"
        if number in NEEDED:
            assert TEST.search(tests), f"threat {number} has no test"
            assert TEST.search(planted), f"threat {number} has no planted bug"


def test_the_page_names_existing_tests() -> None:
    check_page(page())


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("::test_hostile_sql`", "::test_nosuch`", "there is no test"),
        ("threats/test_metadata::", "threats/test_nosuch::", "there is no test"),
        ("| 28 | ", "| 29 | ", "listed once"),
        ("`threats/test_budget_games::test_planted_shared_answers`", "-", "threat 53 has no planted bug"),
    ],
)
def test_a_wrong_page_is_caught(old: str, new: str, words: str) -> None:
    assert old in page()
    with pytest.raises(AssertionError, match=words):
        check_page(page().replace(old, new))
