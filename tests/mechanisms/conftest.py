"""Loads the common suite, so that tests of mechanisms can import it by name."""

from __future__ import annotations

import importlib.util
import sys
from fractions import Fraction
from pathlib import Path

import pytest

for _name in (
    "enumeration",
    "wrong_parameters",
    "checks_of_noise",
    "checks_of_distributions",
    "checks_of_smooth",
    "check_mechanism",
):
    _module = f"mechanisms_{_name}"
    if _module not in sys.modules:
        _spec = importlib.util.spec_from_file_location(_module, Path(__file__).with_name(f"{_name}.py"))
        _loaded = importlib.util.module_from_spec(_spec)
        sys.modules[_module] = _loaded
        _spec.loader.exec_module(_loaded)

import mechanisms_enumeration  # noqa: E402


@pytest.fixture(scope="session")
def enumeration():
    """Checks of an exact distribution against a claim."""
    return mechanisms_enumeration


@pytest.fixture
def magnitude_weight():
    """From the definition: the public weight of an answer of a quantile, up to a factor that all answers share."""

    def weight(code, q, first, last):
        farthest = max(abs(first), abs(last))
        halvings = 0
        while halvings < 6 and farthest >> (halvings + 1) and abs(code) <= farthest >> (halvings + 1):
            halvings += 1
        most = min(6, max(0, farthest.bit_length() - 1))
        inside = q if code >= 0 else 1 - q
        return Fraction(2) ** ((halvings - most) * (0 if inside <= Fraction(1, 4) else 1 if 4 * inside < 3 else 2))

    return weight
