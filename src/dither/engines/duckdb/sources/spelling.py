"""How a source spells the names of its columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from dither.errors import PolicyError


def present(names: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """The source's own spelling of the wanted columns; all names if one is missing, so that an error can list them."""
    lowered = {name.lower() for name in wanted}
    found = [name for name in names if name.lower() in lowered]
    return found if {name.lower() for name in found} == lowered else list(names)


def refuse_duplicates(names: Sequence[str]) -> None:
    """Two columns of one name: nobody can say which of them is meant."""
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        raise PolicyError(f"the source has several columns named {', '.join(map(repr, twice))}; rename all but one.")
