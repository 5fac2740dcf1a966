"""Every entry of the table is reproduced by exactly one test, through the public names only."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

FILES = sorted(path for path in Path(__file__).parent.glob("test_*.py") if path != Path(__file__))


def claims():
    """Names of tests that take an entry of the table."""
    for path in FILES:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                yield from (node.name for argument in node.args.args if argument.arg == "example")


def test_every_entry_is_claimed_once(table, name_of):
    assert Counter(claims()) == Counter(name_of(identifier) for identifier in table)
    assert len(table) == 48


def test_examples_use_public_names_only():
    """And the counter-example of the museum."""
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module != "dither.lab.museum.name_and_shame":
                assert not (node.module or "").startswith("dither"), f"{path.name} imports {node.module}"
            if isinstance(node, ast.Import):
                assert all(not alias.name.startswith("dither.") for alias in node.names), path.name
