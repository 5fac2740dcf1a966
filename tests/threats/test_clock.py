"""Threat 45: the clock is moved by ten years, and a budget that was spent stays spent."""

from __future__ import annotations

import datetime
import time
from pathlib import Path
from typing import Any

import pytest
from threats_clinic import COUNT, open_clinic, spent

from dither.accounting import PureDP
from dither.curator.curator import Curator
from dither.errors import BudgetExceeded
from dither.ledger import Charge, Ledger

TEN_YEARS = 10 * 366 * 24 * 3600
BEGAN = int(time.time())


def set_clocks(monkeypatch: pytest.MonkeyPatch, now: int) -> None:
    """Whatever Python reads of the time of day says `now`."""

    class Moved(datetime.datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return datetime.datetime.fromtimestamp(now, tz)

        utcnow = today = now

    class MovedDay(datetime.date):
        @classmethod
        def today(cls) -> Any:
            return datetime.date.fromtimestamp(now)

    monkeypatch.setattr(time, "time", lambda: float(now))
    monkeypatch.setattr(time, "time_ns", lambda: now * 10**9)
    monkeypatch.setattr(datetime, "datetime", Moved)
    monkeypatch.setattr(datetime, "date", MovedDay)


def check_clock(folder: Path, kind: type[Ledger] = Ledger) -> None:
    open_clinic(folder, budget=PureDP(1)).close()
    for number, moved in enumerate((0, TEN_YEARS, -TEN_YEARS, 1)):
        with pytest.MonkeyPatch.context() as clocks, Curator.open(folder) as curator:
            set_clocks(clocks, BEGAN + moved)
            curator._ledger.__class__ = kind
            try:
                curator.sql(f"{COUNT} WHERE age > {number}", epsilon=1)
                granted = True
            except BudgetExceeded:
                granted = False
            unmoved = granted == (number == 0) and spent(curator) == 1
            assert unmoved, "a budget that was spent stays spent, whatever the clock says"
            assert curator.verify()


def test_a_moved_clock_gives_no_budget(tmp_path: Path) -> None:
    check_clock(tmp_path / "clinic")


class OneBudgetAYear(Ledger):
    """Planted bug: what was spent counts for the year in which it was spent."""

    def reserve(self, people: str, analyst: str | None, charge: Charge, **named: Any) -> Any:
        year = f"{people}-{datetime.datetime.now(datetime.UTC).year}"
        self.open_account(year, None, kind="pure", cap=self.balance(people).cap, terms=self.terms(people))
        return super().reserve(year, analyst, charge, **named)


def test_planted_a_budget_for_each_year(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="stays spent"):
        check_clock(tmp_path / "clinic", OneBudgetAYear)
