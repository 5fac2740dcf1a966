"""Loads the questions and the engines that they are asked of, so that tests can import them by name."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

for _name in ("rows", "questions", "engines", "postgresql"):
    _module = f"dialects_{_name}"
    if _module not in sys.modules:
        _spec = importlib.util.spec_from_file_location(_module, Path(__file__).with_name(f"{_name}.py"))
        _loaded = importlib.util.module_from_spec(_spec)
        sys.modules[_module] = _loaded
        _spec.loader.exec_module(_loaded)

import dialects_engines as engines  # noqa: E402
import dialects_postgresql as postgresql  # noqa: E402
import dialects_rows as rows  # noqa: E402


@pytest.fixture(scope="session")
def dither() -> Iterator[rows.Exact]:
    """The table as dither stores it, asked without noise."""
    made = rows.make_exact()
    yield made
    made.connection.close()


@pytest.fixture(scope="session")
def duckdb_engine() -> Iterator[engines.Engine]:
    made = engines.make_duckdb()
    yield made
    made.close()


@pytest.fixture(scope="session")
def sqlite_engine() -> Iterator[engines.Engine]:
    made = engines.make_sqlite()
    yield made
    made.close()


@pytest.fixture(scope="session")
def postgres_engine() -> Iterator[engines.Engine]:
    made = postgresql.make_postgresql()
    yield made
    made.close()
