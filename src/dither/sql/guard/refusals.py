"""What the guard says of a plan that it cannot prove safe, and what it knows about the columns of a relation."""

from __future__ import annotations

from collections.abc import Mapping

from dither.errors import PolicyError
from dither.sql import expressions as e

Schema = Mapping[str, e.Stored | e.StoredText]  # what a relation's columns are, by their names in the whole query


class UnsafePlan(PolicyError):
    """A plan whose sensitivity cannot be proven. It is never run; if it appears, dither has a fault."""

    code = "plan_unsafe"
