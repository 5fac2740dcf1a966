"""What CONTRIBUTING.md names is there: files, folders, and behind :: what a file defines."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLACES = (ROOT / "src" / "dither", ROOT / "tests", ROOT)
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"```.*?```", re.DOTALL)
QUOTED = re.compile(r"`([^`\s]+)`")
FILE = re.compile(r"[\w./*-]+\.(?:py|md|toml|sql|json|txt)")
LONGEST = 130


def named(text: str) -> list[str]:
    """Whatever a text has in backticks that is a path: it has a slash, or ends as a file does."""
    words = QUOTED.findall(BLOCK.sub("", text))
    return [word for word in words if "/" in word or FILE.fullmatch(word.partition("::")[0])]


@cache
def defined(path: Path) -> frozenset[str]:
    """Functions, classes with their methods, and tables of a file."""
    return frozenset(_defined(ast.parse(path.read_text(encoding="utf-8"))))


def _defined(around: ast.AST, prefix: str = "") -> Iterator[str]:
    for node in ast.iter_child_nodes(around):
        if isinstance(node, ast.FunctionDef):
            yield prefix + node.name
        elif isinstance(node, ast.ClassDef):
            yield prefix + node.name
            yield from _defined(node, f"{prefix}{node.name}.")
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (prefix + target.id for target in targets if isinstance(target, ast.Name))


def exists(word: str) -> bool:
    path, _, name = word.partition("::")
    found = [place / path for place in PLACES if (place / path).exists()]
    return bool(found) and (not name or any(name in defined(one) for one in found if one.suffix == ".py"))


def missing(text: str) -> list[str]:
    """What a text names and nobody finds."""
    return [word for word in named(text) if not exists(word)]


def test_whatever_the_page_names_is_there() -> None:
    assert missing(PAGE) == []
    assert len(named(PAGE)) > 100


@pytest.mark.parametrize(
    "wrong",
    [
        "sql/nothing.py",
        "nothing.py",
        "docs/nothing/",
        "sql/pricing/price.py::nothing",
        "ledger/ledger.py::Ledger.nothing",
        "ledger/ledger.py::reserve",
        "tests/docs/test_contributing.py::test_nothing",
    ],
)
def test_a_wrong_path_is_noticed(wrong: str) -> None:
    right = "`errors.py`, `sql/guard/`, `ledger/ledger.py::Ledger.reserve`, `sql/text/grammar.py::ALLOWED`, `HOMES`"
    assert missing(right) == []
    assert missing(f"{right} and `{wrong}`") == [wrong]


def test_lines_are_short() -> None:
    assert [line for line in BLOCK.sub("", PAGE).split("\n") if len(line) > LONGEST] == []
