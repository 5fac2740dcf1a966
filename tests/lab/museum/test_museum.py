"""Every broken exhibit is caught, and no fixed twin is. DITHER_MUSEUM=20 makes twenty tours."""

from __future__ import annotations

import importlib.util
import json
import os
from dataclasses import FrozenInstanceError, replace
from pathlib import Path

import pytest

from dither.errors import BudgetExceeded, ParameterError
from dither.lab import museum
from dither.lab.museum.books import BUDGET, Keeping, Refunding

ROOT = Path(__file__).resolve().parents[3]
TOURS = int(os.environ.get("DITHER_MUSEUM", "1"))


def exhibit(name):
    return next(one for one in museum.EXHIBITS if one.name == name)


@pytest.mark.parametrize("tour", range(TOURS))
@pytest.mark.parametrize("shown", museum.EXHIBITS, ids=lambda one: one.name)
def test_the_broken_one_is_caught_and_the_fixed_twin_passes(shown, tour):
    (row,) = museum.run([shown])
    assert row.caught, f"not caught: {row}"
    assert row.fixed_passes, f"false alarm: {row}"


def test_there_are_many_and_each_says_what_it_is():
    names = [one.name for one in museum.EXHIBITS]
    assert len(set(names)) == len(names) >= 30
    assert len({one.story for one in museum.EXHIBITS}) == len(names)
    for one in museum.EXHIBITS:
        assert one.source
        assert one.broken is not one.fixed
        with pytest.raises(FrozenInstanceError):
            one.name = "another"


@pytest.mark.parametrize("name", ["noise cut off", "join fan-out"])
def test_the_tour_can_fail(name):
    """An exhibit that is not broken is not caught, and a twin that is not fixed raises the alarm."""
    real = exhibit(name)
    (sound,) = museum.run([replace(real, broken=real.fixed)])
    (unsound,) = museum.run([replace(real, fixed=real.broken)])
    assert (sound.caught, sound.fixed_passes, sound.as_it_should_be) == (False, True, False)
    assert (unsound.caught, unsound.fixed_passes, unsound.as_it_should_be) == (True, False, False)
    text = museum.table([sound, unsound])
    assert "NO" in text
    assert "FALSE ALARM" in text
    assert text.endswith("1 of 2 caught; 1 of 2 fixed twins pass")


def test_the_table_and_the_progress():
    chosen = [exhibit("join fan-out"), exhibit("a scan that stops early"), exhibit("a threshold off by one")]
    heard = []
    rows = museum.run(chosen, progress=lambda what, share: heard.append((what, share)))
    assert heard == [*((one.name, place / 3) for place, one in enumerate(chosen)), ("done", 1.0)]
    lines = museum.table(rows).splitlines()
    assert [line.partition("  ")[0] for line in lines[1:4]] == [one.name for one in chosen]
    assert "infinite" in lines[2]
    assert lines[-1] == "3 of 3 caught; 3 of 3 fixed twins pass"
    assert all(row.as_it_should_be for row in rows)
    written = json.loads(json.dumps([row.document() for row in rows], allow_nan=False))
    assert [row["passed"] for row in written] == [True] * 3
    assert written[1]["found"] == "infinite"


def test_the_accounts_of_the_books():
    """The broken account is an account: it refuses what exceeds its budget, when nobody plays tricks."""
    for account in (Refunding(), Keeping()):
        account.ask("1", lambda: None)
        with pytest.raises(BudgetExceeded):
            account.ask("0.5", lambda: None)
    with pytest.raises(ParameterError):
        Keeping().ask("nan", lambda: None)
    assert BUDGET == 1


def test_the_page_shows_the_exhibits_as_they_are():
    spec = importlib.util.spec_from_file_location("museum_page", ROOT / "tools" / "museum_page.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert tool.PAGE.read_text(encoding="utf-8") == tool.page(), "run: python tools/museum_page.py"
