"""The curator is warned once, where the load was asked for: of what was lost, and of a budget too large for so few."""

from __future__ import annotations

import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from dither.accounting import ApproxDP, PureDP
from dither.curator.curator import Curator
from dither.curator.registration import with_budget
from dither.engines.load_report import LoadReport
from dither.errors import LoadWarning
from dither.policy.columns import Int


def about(budget: Any, owners: int) -> str:
    return " ".join(with_budget(LoadReport(owners, owners, 0, {}, {}, 0), budget).warnings)


@pytest.mark.parametrize(
    ("budget", "owners", "words"),
    [
        (PureDP(10), 10**9, ""),
        (PureDP("10.1"), 1, "epsilon 10.1 of the budget is above 10"),
        (ApproxDP(12, "1e-9"), 1, "epsilon 12 of the budget is above 10"),
        (ApproxDP(4, "1e-6"), 100_000, ""),
        (ApproxDP(4, "1e-6"), 100_001, "delta 1e-06 of the budget is not far below 1 in 100,001 owners"),
        (ApproxDP(4, "1e-6"), 10**9, "outright with probability 1"),
        (ApproxDP(4, "1e-3", composition="basic"), 101, "not far below 1 in 101 owners"),
    ],
)
def test_a_budget_too_large(budget: Any, owners: int, words: str) -> None:
    found = about(budget, owners)
    assert words in found
    assert bool(found) == bool(words)


def test_both_at_once() -> None:
    assert about(ApproxDP(Fraction(21, 2), "0.01"), 50).count("of the budget") == 2


@pytest.fixture
def curator(tmp_path: Path) -> Any:
    with Curator.open(tmp_path / "c") as made:
        made.people("people", budget=PureDP(1))
        yield made


FEW, MANY = pa.table({"person": [1, 2], "age": [1, 2]}), pa.table({"person": [1, 1, 1], "age": [1, 2, 300]})


def test_once_for_each_load_and_where_it_was_asked_for(curator: Curator) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", LoadWarning)
        report = curator.register(
            "visits", MANY, people="people", owner="person", max_rows_per_owner=2, columns={"age": Int(0, 99)}
        )
        curator.refresh("visits", FEW)
        curator.refresh("visits", MANY)
    assert [one.filename for one in caught] == [__file__] * 2
    text = str(caught[0].message)
    assert text.startswith("table 'visits': in no answer at all: 1 (33.3%) of the records; clamped to the bounds, age:")
    assert all(words in text for words in report.warnings)


def test_a_public_table_has_no_budget(curator: Curator) -> None:
    with pytest.warns(LoadWarning, match="clamped to the bounds, size"):
        curator.register_public(
            "towns",
            pa.table({"code": [1, 2], "size": [5, 500]}),
            key="code",
            columns={"code": Int(0, 9), "size": Int(0, 9)},
        )
