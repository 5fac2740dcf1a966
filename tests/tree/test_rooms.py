"""Rooms that can be kept in mind: short files, few in a folder, and in sql/ no name twice."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "dither"
MOST_LINES, MOST_MODULES = 300, 20


def long_files(source: Path) -> list[str]:
    return [path.name for path in source.rglob("*.py") if len(path.read_text("utf-8").splitlines()) > MOST_LINES]


def crowded_folders(source: Path) -> list[str]:
    modules = Counter(path.parent for path in source.rglob("*.py") if path.name != "__init__.py")
    return [folder.name for folder, count in modules.items() if count > MOST_MODULES]


def repeated_names(source: Path) -> list[str]:
    files = [path for path in (source / "sql").rglob("*.py") if path.name != "__init__.py"]
    names = Counter([path.stem for path in files] + [folder.name for folder in {path.parent for path in files}])
    return [name for name, count in names.items() if count > 1 and name != "sql"]


def test_the_tree_keeps_its_measures() -> None:
    assert long_files(SOURCE) == []
    assert crowded_folders(SOURCE) == []
    assert repeated_names(SOURCE) == []


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    for number in range(MOST_MODULES + 1):
        path = tmp_path / "sql" / "room" / f"m{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n" * (MOST_LINES + (number == 3)))
    (tmp_path / "sql" / "other").mkdir()
    (tmp_path / "sql" / "other" / "m7.py").write_text("")
    (tmp_path / "sql" / "m4.py").write_text("")
    return tmp_path


def test_what_breaks_them_is_noticed(planted: Path) -> None:
    assert long_files(planted) == ["m3.py"]
    assert crowded_folders(planted) == ["room"]
    assert sorted(repeated_names(planted)) == ["m4", "m7"]
