"""A `dither` for the shell blocks of pages that need not import everything anew."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest

_spec = importlib.util.spec_from_file_location("docs_warm", Path(__file__).with_name("warm.py"))
_warm = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_warm)


@pytest.fixture(scope="module")
def prelude(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """What each shell of a page begins with."""
    with _warm.warm_process(tmp_path_factory.mktemp("warm")) as function:
        yield function
