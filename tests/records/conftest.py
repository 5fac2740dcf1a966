"""The folder that an older dither wrote, and the records of many questions as they were first written."""

from __future__ import annotations

import importlib.util
import json
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

_HERE = Path(__file__).parent
if "records_questions" not in sys.modules:  # a helper that tests import by name
    _spec = importlib.util.spec_from_file_location("records_questions", _HERE / "questions.py")
    assert _spec is not None
    assert _spec.loader is not None
    sys.modules["records_questions"] = importlib.util.module_from_spec(_spec)
    _spec.loader.exec_module(sys.modules["records_questions"])


@pytest.fixture(scope="session")
def golden() -> list[dict[str, Any]]:
    """Questions with their records of version 1."""
    found: list[dict[str, Any]] = json.loads((_HERE / "fixtures/questions.json").read_text(encoding="utf-8"))
    return found


@pytest.fixture(params=["clinic1", "clinic3"])
def format_(request: pytest.FixtureRequest) -> str:
    """A folder of each format of ledgers and plans (`fixtures/write.py` makes one)."""
    return str(request.param)


@pytest.fixture
def written(format_: str) -> dict[str, Any]:
    """What was asked in the old folder: answers with the numbers that were shown, and questions left reserved."""
    found: dict[str, Any] = json.loads((_HERE / f"fixtures/{format_}.json").read_text(encoding="utf-8"))
    return found


@pytest.fixture
def old(format_: str, tmp_path: Path) -> Path:
    """A folder of a curator: two tables, a profile, answers, and three open reservations."""
    with tarfile.open(_HERE / f"fixtures/{format_}.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    folder = tmp_path / "clinic"
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o700 if path.is_dir() else 0o600)
    return folder
