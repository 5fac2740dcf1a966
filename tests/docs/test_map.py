"""The map in CONTRIBUTING.md is that of the tree."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "dither"
_SPEC = importlib.util.spec_from_file_location("tree_map", ROOT / "tools" / "tree_map.py")
tree_map = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(tree_map)

PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
FOLDERS = sorted(path.parent for path in SOURCE.rglob("__init__.py"))


def test_the_map_is_that_of_the_tree() -> None:
    assert tree_map.refreshed(PAGE) == PAGE, "run: python tools/tree_map.py"


def test_a_folder_that_is_missing_on_the_map_is_noticed() -> None:
    lines = tree_map.block().split("\n")
    places = [number for number, line in enumerate(lines) if line.startswith("  ")]
    assert len(places) >= len(FOLDERS) - 1
    for place in places:
        page = PAGE.replace(tree_map.block(), "\n".join(lines[:place] + lines[place + 1 :]))
        assert tree_map.refreshed(page) != page


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.relative_to(ROOT).as_posix())
def test_every_folder_says_what_is_in_it(folder: Path) -> None:
    assert tree_map.said(folder / "__init__.py").strip()
