"""The examples in the docstrings of dt.graph are true."""

from __future__ import annotations

import doctest
import importlib

import pytest


@pytest.mark.parametrize("name", ["edges", "max_degree", "mst_cost", "triangles"])
def test_examples(name):
    found = doctest.testmod(importlib.import_module(f"dither.graph.{name}"))
    assert found.failed == 0
    assert found.attempted
