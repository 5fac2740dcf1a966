"""Every example in a docstring, wherever it is in the tree, runs and says what it says."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

import dither

SOURCE = Path(dither.__file__).parents[1]
LESSONS = SOURCE / "dither" / "lab" / "textbook"  # their examples are run by their own tests
EVERY = [path for path in sorted(SOURCE.rglob("dither/**/*.py")) if LESSONS not in path.parents]
FILES = [path for path in EVERY if ">>> " in path.read_text("utf-8")]
MODULES = [".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__") for path in FILES]


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name):
    found = doctest.testmod(importlib.import_module(name))
    assert found.attempted
    assert found.failed == 0


def test_the_examples_are_there():
    finder = doctest.DocTestFinder()
    modules = [importlib.import_module(name) for name in MODULES]
    assert sum(len(test.examples) for module in modules for test in finder.find(module)) >= 180
