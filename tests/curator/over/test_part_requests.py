"""What a part of a question over answers is charged under: an id that is taken is refused before anything is paid."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import dither as dt
from dither.curator.over import over_walk

Make = Callable[..., dt.Curator]
TWO = "SELECT 'a' AS what, COUNT(*) AS n FROM visits UNION ALL SELECT 'b', COUNT(*) FROM visits WHERE urgent"
OTHER = "SELECT COUNT(*) FROM visits WHERE NOT urgent"
SAME = "SELECT COUNT(*) FROM visits WHERE urgent"  # at another price


def check(clinic: dt.Curator, taken: str) -> None:
    """By a charge, and by a free repeat of it."""
    for request in ("r #2", "s #2"):
        clinic.sql(taken, epsilon="0.25", request=request)
    before = clinic.budget("patients")
    for request in ("r", "s"):
        with pytest.raises(dt.PolicyError, match="#2' was used before"):
            clinic.sql(TWO, epsilon=1, request=request)
        assert clinic.budget("patients") == before, "what is refused is not charged"


@pytest.mark.parametrize("taken", [OTHER, SAME])
def test_what_is_refused_for_a_later_id_is_not_charged(make: Make, taken: str) -> None:
    check(make(), taken)


def test_planted_bug_ids_are_looked_at_when_their_turn_comes(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(over_walk, "check_requests", lambda *_: None)
    with pytest.raises(AssertionError, match="not charged"):
        check(make(), OTHER)


def test_an_id_that_was_cut_short_goes_on(make: Make) -> None:
    """Its own parts are no others: those that were charged are not charged again."""
    clinic = make()
    first = clinic.sql(TWO, epsilon=1, request="r")
    assert clinic.sql(TWO, epsilon=1, request="r").to_dicts() == first.to_dicts()
    clinic.sql("SELECT COUNT(*) AS n FROM visits", epsilon="0.5")
    again = clinic.sql(TWO, epsilon=1, request="t")
    assert clinic.sql(TWO, epsilon=1, request="t").to_dicts() == again.to_dicts()
