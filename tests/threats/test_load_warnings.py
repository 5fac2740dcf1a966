"""Threat 63: a load that warns its curator and one that does not, one record apart, look the same to analysts."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from dither.accounting import ApproxDP
from dither.curator import registration
from dither.curator.curator import Curator
from dither.errors import DitherError, LoadWarning
from dither.noise import entropy
from dither.policy import tables
from dither.policy.columns import Category, Int, Text

COLUMNS = {"age": Int(0, 99), "region": Category(["north", "south"]), "town": Text()}
ASKED = (
    "SELECT region, COUNT(*), SUM(age) FROM visits GROUP BY region",
    "SELECT town, COUNT(*) FROM visits GROUP BY town",
    "SELECT MEDIAN(age) FROM visits",
)
REFUSED = ("SELECT nothing FROM visits", "SELECT town FROM visits", "SELECT COUNT(*) FROM elsewhere")


def records(beyond: int) -> list[dict[str, Any]]:
    """A hundred rows that count, and some of one owner that do not: alike, so that the others stay the same."""
    found = [{"person": n, "age": n % 90, "region": "north", "town": "a"} for n in range(97)]
    return found + [{"person": 4217, "age": 50, "region": "south", "town": "b"}] * (3 + beyond)


def clamped(out_of_range: int) -> list[dict[str, Any]]:
    """A hundred rows at the bound, of which some were beyond it."""
    return [{"person": n, "age": 99 + (n < out_of_range), "region": "north", "town": "a"} for n in range(100)]


# Beside each other: one record or value in twenty, and one more. What is stored and counts is the same.
PAIRS: dict[str, tuple[list[dict[str, Any]], list[dict[str, Any]]]] = {
    "rows beyond the limit": (records(5), records(6)),
    "clamped values": (clamped(5), clamped(6)),
    "an owner less": (records(6)[:97], records(6)),
}


def same_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel's bytes again from the beginning."""
    drawn = 0

    def bytes_of(count: int) -> bytes:
        nonlocal drawn
        drawn += 1
        return hashlib.shake_128(drawn.to_bytes(8, "little")).digest(count)

    monkeypatch.setattr(entropy.os, "urandom", bytes_of)


def analysts_view(curator: Curator, answers: bool) -> list[str]:
    """Everything that alice is shown, and with `answers` the noisy numbers too."""
    alice = curator.analyst("alice", budget=ApproxDP(1, "1e-7"), people="people")
    asks: list[Callable[[], Any]] = [alice.tables, lambda: alice.budget("people"), lambda: alice.profiled("visits")]
    asks += [lambda text=text: alice.explain(text, epsilon="0.2") for text in ASKED]  # type: ignore[misc]
    asks += [lambda text=text: alice.sql(text, epsilon="0.2") for text in REFUSED]  # type: ignore[misc]
    if answers:
        asks += [lambda text=text: alice.sql(text, epsilon="0.2") for text in ASKED]  # type: ignore[misc]
        asks += [lambda: [str(entry.body) for entry in alice.history()]]
    shown = [repr(alice)]
    for ask in asks:
        try:
            found = ask()
            shown += [repr(found), str(found)]
            if hasattr(found, "to_json"):
                shown.append(found.to_json())
        except DitherError as error:
            shown.append(f"{type(error).__name__}: {error}")
    return shown


def check_look_alike(folder: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One load warns and the other does not; byte by byte, analysts see the same."""
    seen, heard = [], []
    for place, rows in enumerate(PAIRS[name]):
        with monkeypatch.context() as patch:
            same_noise(patch)  # of the rank key too
            with Curator.open(folder / f"{name} {place}") as curator, warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                curator.people("people", budget=ApproxDP(4, "1e-6"))
                source = pa.Table.from_pylist(rows)
                report = curator.register(
                    "visits", source, people="people", owner="person", max_rows_per_owner=3, columns=COLUMNS
                )
                same_noise(patch)
                seen.append(analysts_view(curator, answers=name != "an owner less"))
        told = [warning for warning in caught if issubclass(warning.category, LoadWarning)]
        heard.append((bool(report.warnings), len(told)))
    assert heard == [(False, 0), (True, 1)], "a load warns exactly where it should, once"
    assert seen[0] == seen[1], "an analyst is shown what a load saw"


@pytest.mark.parametrize("name", PAIRS)
def test_a_warning_changes_nothing_for_analysts(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    check_look_alike(tmp_path, name, monkeypatch)


def test_planted_warning_in_the_catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a load warned of is shown with the declarations."""
    said, heard = tables._formatted, list[str]()

    def listening(report: Any, budget: Any) -> Any:
        heard[:] = report.warnings
        return report

    monkeypatch.setattr(registration, "with_budget", listening)
    monkeypatch.setattr(tables, "_formatted", lambda table: "\n".join([said(table), *heard]))
    with pytest.raises(AssertionError, match="an analyst is shown what a load saw"):
        check_look_alike(tmp_path, "rows beyond the limit", monkeypatch)


def test_planted_warning_that_is_not_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registration, "warn", lambda table, report: None)
    with pytest.raises(AssertionError, match="a load warns exactly where it should"):
        check_look_alike(tmp_path, "clamped values", monkeypatch)
