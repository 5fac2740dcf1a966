"""The tree itself: imports point down, nothing heavy is imported early, no insecure randomness, no registry named."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "dither"
MODULES = sorted(SOURCE.rglob("*.py"))


def imported(path: Path) -> set[str]:
    """Every module name that a file imports, at whatever depth."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def test_import_is_light() -> None:
    heavy = "duckdb sqlglot scipy pyarrow flint"
    code = f"import sys, dither; print([name for name in '{heavy}'.split() if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_insecure_randomness_and_no_pickle(path: Path) -> None:
    assert not imported(path) & {"random", "numpy.random", "pickle", "marshal", "shelve"}


def test_duckdb_stays_in_its_engine() -> None:
    users = {path.relative_to(SOURCE).parts[0] for path in MODULES if "duckdb" in imported(path)}
    assert users <= {"engines", "demo"}


def test_only_mechanisms_open_sealed_aggregates_and_the_audit_of_synthetic_neighbours() -> None:
    users = {path.relative_to(SOURCE) for path in MODULES if "_unseal" in path.read_text(encoding="utf-8")}
    assert {path.as_posix() for path in users if path.parts[0] != "mechanisms"} == {"lab/audit/neighbours/gaps.py"}


def test_imports_point_down() -> None:
    lint = Path(sys.executable).parent / "lint-imports"
    found = subprocess.run([str(lint), "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout


def test_requirements_are_hashed_and_name_no_host() -> None:
    for path in (ROOT / "requirements").glob("*.txt"):
        text = path.read_text(encoding="utf-8")
        assert "--hash=sha256:" in text
        assert not re.search(r"https?://|index-url|find-links", text), path.name


def test_no_validation_by_assert() -> None:
    for path in MODULES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        assert not any(isinstance(node, ast.Assert) for node in ast.walk(tree)), path.name
