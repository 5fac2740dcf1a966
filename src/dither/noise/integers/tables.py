"""When a table is worth building, and the few kept. Keyed by the public distribution alone: what was drawn never
matters.

The few are shared by all who ask. A table comes in only after some hundred thousand draws of its distribution, which
somebody paid for, so that pushing out others' tables costs a budget; and building one again costs as much as those
draws saved.
"""

from __future__ import annotations

from functools import lru_cache

from dither.noise.integers.distribution import Distribution
from dither.noise.integers.table import Table, build_table

# A table entry costs about as much to build as this many draws save.
_DRAWS_PER_ENTRY = 500
_ENTRIES_AT_LEAST = 400


def table_if_worthwhile(distribution: Distribution, entries: int, draws: int) -> Table | None:
    """The table of a distribution asked for often enough to repay its `entries`; None until then."""
    asked = _asked(distribution)
    asked[0] += draws
    if asked[0] < _DRAWS_PER_ENTRY * max(entries, _ENTRIES_AT_LEAST):
        return None
    return kept_table(distribution)


@lru_cache(maxsize=16)
def kept_table(distribution: Distribution) -> Table:
    """The table of a public distribution, from the few kept last."""
    return build_table(distribution)


@lru_cache(maxsize=256)
def _asked(distribution: Distribution) -> list[int]:
    """How many draws of a distribution were asked for so far."""
    return [0]
