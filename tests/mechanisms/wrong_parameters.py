"""Parameters that no mechanism takes."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pytest

from dither.errors import ParameterError

HOSTILE = [
    math.nan,
    math.inf,
    -math.inf,
    -1,
    0,
    True,
    np.True_,
    "abc",
    "1e400",
    10**400,
    "1e-320",
    Decimal("nan"),
    b"1",
    [1],
    1j,
]


def check_hostile_parameters_are_refused(entry):
    """Each number that an entry names, with each of these values, before any data are seen."""
    for name, base in entry.numbers.items():
        for value in HOSTILE:
            with pytest.raises(ParameterError):
                entry.make(**dict(base) | {name: value})
