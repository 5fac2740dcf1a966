"""When a table is worth building, and the few kept. Keyed by the public law alone: what was drawn never matters.

The few are shared by all who ask. A table comes in only after some hundred thousand draws of its law, which somebody
paid for, so that pushing out others' tables costs a budget; and building one again costs as much as those draws saved.
"""

from __future__ import annotations

from functools import lru_cache

from dither.noise.integers.distribution import Law
from dither.noise.integers.table import Table, build_table

# A table entry costs about as much to build as this many draws save.
_DRAWS_PER_ENTRY = 500
_ENTRIES_AT_LEAST = 400


def table_if_worthwhile(law: Law, entries: int, draws: int) -> Table | None:
    """The table of a law asked for often enough to repay its `entries`; None until then."""
    asked = _asked(law)
    asked[0] += draws
    if asked[0] < _DRAWS_PER_ENTRY * max(entries, _ENTRIES_AT_LEAST):
        return None
    return kept_table(law)


@lru_cache(maxsize=16)
def kept_table(law: Law) -> Table:
    """The table of a public law, from the few kept last."""
    return build_table(law)


@lru_cache(maxsize=256)
def _asked(law: Law) -> list[int]:
    """How many draws of a law were asked for so far."""
    return [0]
