"""Public names: loaded on first use from one explicit table, which type checkers see as plain imports."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path
from types import ModuleType

import pytest

import dither
from dither import mechanisms

PACKAGES = [dither, mechanisms]


def declared(package: ModuleType) -> dict[str, str]:
    """What the `if TYPE_CHECKING:` block imports, and from where."""
    tree = ast.parse(Path(str(package.__file__)).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    found = {}
    for line in block.body:
        assert isinstance(line, ast.ImportFrom)
        for alias in line.names:
            whole = f"{line.module}.{alias.name}"
            found[alias.name] = whole if package.HOMES.get(alias.name) == whole else str(line.module)
    return found


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_the_table_is_what_type_checkers_see(package: ModuleType) -> None:
    assert declared(package) == package.HOMES
    assert sorted(package.__all__) == sorted(package.HOMES)


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_every_name_is_the_one_at_its_home(package: ModuleType) -> None:
    for name, home in package.HOMES.items():
        expected = importlib.import_module(home)
        if not home.endswith(f".{name}"):
            expected = getattr(expected, name)
        assert getattr(package, name) is expected


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_a_home_that_ends_in_the_name_is_a_module_and_has_nothing_of_that_name(package: ModuleType) -> None:
    for name, home in package.HOMES.items():
        if home.endswith(f".{name}"):
            assert isinstance(getattr(package, name), ModuleType)
            assert not hasattr(importlib.import_module(home), name)


def test_an_unknown_name_lists_what_exists() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'Laplas'.*Laplace"):
        _ = dither.Laplas
