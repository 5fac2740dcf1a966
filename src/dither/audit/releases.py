"""Many releases of a mechanism of dither at once."""

from __future__ import annotations

from typing import Any

from dither.audit.sampling import Sampler, one_by_one


def releases(mechanism: Any) -> Sampler:
    """A sampler of what the mechanism's own release publishes."""
    return one_by_one(mechanism.release)
