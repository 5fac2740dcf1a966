"""Who waits for a place is in nobody's way."""

from __future__ import annotations

from typing import Any

import pytest

import dither as dt
from dither.ledger.storage import together


class Looked:
    """An engine or a ledger that looks around before one of its methods."""

    def __init__(self, looked_at: Any, method: str, look: Any) -> None:
        self._looked_at, self._method, self._look = looked_at, method, look

    def __getattr__(self, name: str) -> Any:
        if name == self._method:
            self._look()
        return getattr(self._looked_at, name)


def check_under_way(clinic: dt.Curator) -> None:
    """Whoever commits waits for questions that may join, and not for those that wait until it has committed."""
    seen: list[tuple[str, int]] = []
    for part, method in (("_engine", "place"), ("_ledger", "reserve"), ("_ledger", "settle")):

        def look(method: str = method) -> None:
            seen.append((method, len(together._asking)))

        setattr(clinic._walk, part, Looked(getattr(clinic._walk, part), method, look))
    with together.asking():
        clinic.sql("SELECT COUNT(*) FROM visits", epsilon=1)
    assert seen == [("place", 0), ("reserve", 1), ("settle", 1)]


def test_who_waits_for_a_place_joins_no_commit(clinic: dt.Curator) -> None:
    check_under_way(clinic)


def test_planted_those_who_wait_are_waited_for(clinic: dt.Curator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(together, "apart", together.asking)
    with pytest.raises(AssertionError):
        check_under_way(clinic)
