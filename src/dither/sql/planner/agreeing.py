"""How often rows of one owner share a group, as far as a released profile tells."""

from __future__ import annotations

import math

from dither.sql.expressions import Stored
from dither.sql.plan import OwnerLimit, Project, Scan
from dither.sql.planner.profile import Profile
from dither.sql.question import Question

_SURE = 2.0  # deviations: with fewer, noise that happens to hide pairs would be believed


def agreeing(question: Question, profile: Profile) -> float | None:
    """The share of pairs of an owner's rows that fall into one group, with what noise and chance may hide of it added.

    Rows in one group agree in every key, so each key that the profile knows of is a bound. None if it knows of none, if
    keys come from the data, and if conditions or joins choose rows: of those it says nothing.
    """
    if not question.public or any(not isinstance(n, (Scan, OwnerLimit, Project)) for n in question.source.walk()):
        return None
    columns = (key.code.name for key in question.keys if isinstance(key.code, Stored))
    known = [found for name in columns if (found := profile.agreeing(name)) is not None]
    return min((_at_most(share, doubt, profile.several) for share, doubt in known), default=None)


def _at_most(share: float, doubt: float, pairs: int) -> float:
    """Of which a sample of pairs, one of each owner, has a share that noise moves by `doubt`."""
    chance = math.sqrt(max(share, 1 / pairs) / pairs)
    return min(1.0, max(0.0, share + _SURE * math.hypot(doubt, chance)))
