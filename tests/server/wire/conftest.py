"""Loads the clinic, its clients and a client of raw messages, so that tests of the wire can import them by name."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

for _name in ("places", "clients", "raw_client"):
    _module = f"wire_{_name}"
    if _module not in sys.modules:
        _spec = importlib.util.spec_from_file_location(_module, Path(__file__).with_name(f"{_name}.py"))
        _loaded = importlib.util.module_from_spec(_spec)
        sys.modules[_module] = _loaded
        _spec.loader.exec_module(_loaded)

import wire_places as places  # noqa: E402


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[places.Wired]:
    """A clinic with a listener, for all tests of the wire that change nothing but what is spent."""
    with places.wired(tmp_path_factory.mktemp("wire")) as made:
        yield made


@pytest.fixture
def alice(shared: places.Wired) -> Iterator[Any]:
    """A connection of alice's with a price."""
    with shared.connect(options="-c dither.epsilon=0.01") as connection:
        yield connection
