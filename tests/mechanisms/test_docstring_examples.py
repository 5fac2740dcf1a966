"""Every example in the docstrings of the toolbox runs and says what it says."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import dither.accounting
import dither.mechanisms
import dither.sensitivity
import dither.stats

MODULES = ["dither.exact.parameters", "dither.neighbours"] + [
    found.name
    for package in (dither.accounting, dither.mechanisms, dither.sensitivity, dither.stats)
    for found in pkgutil.walk_packages(package.__path__, package.__name__ + ".")
]


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_the_examples_are_there():
    attempted = sum(doctest.testmod(importlib.import_module(name)).attempted for name in MODULES)
    assert attempted >= 20
