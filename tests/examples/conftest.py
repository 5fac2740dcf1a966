"""The worked examples, as a table: each test that takes `example` gets the entry that its name claims."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import pytest

TABLE = {entry["id"]: entry for entry in json.loads(Path(__file__).with_name("examples.json").read_text())["examples"]}


def claim(identifier):
    """The name of the one test that reproduces an entry."""
    return "test_" + identifier.replace("-", "_").lower()


@pytest.fixture(scope="session")
def table():
    return TABLE


@pytest.fixture(scope="session")
def name_of():
    return claim


@pytest.fixture
def example(request):
    """inputs and expected values of the entry; near(value) compares within its tolerance."""
    (entry,) = (entry for identifier, entry in TABLE.items() if claim(identifier) == request.function.__name__)
    return SimpleNamespace(
        given=SimpleNamespace(**entry["inputs"]),
        expected=SimpleNamespace(**entry["expected"]),
        near=lambda value: pytest.approx(value, rel=0, abs=entry["tolerance"]),
    )


@pytest.fixture(scope="session")
def fine():
    """A grid on which discrete noise is continuous noise to about twelve digits."""
    return Fraction(1, 10**12)
