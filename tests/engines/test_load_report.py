"""A load report reads well, and never rounds a change away."""

from __future__ import annotations

from typing import Any

import pytest

from dither.engines.load_report import LoadReport, expectations
from dither.policy.columns import Category, Date, Int


def test_what_sanitising_did_in_words() -> None:
    report = LoadReport(200_000, 1, 50_000, {"age": 1, "fee": 0}, {"age": 0, "fee": 100_000}, 30_000)
    assert str(report).splitlines() == [
        "200,000 rows of 1 owner",
        "  dropped without an owner: 50,000 (20.0%)",
        "  beyond the rows kept of each owner: 30,000 (15.0%)",
        "  WARNING: in no answer at all: 80,000 (32.0%) of the records",
        "  clamped to the bounds, age: 1 (below 0.1%)",
        "  WARNING: did not fit, fee: 100,000 (50.0%)",
    ]


def test_what_did_not_fit_says_what_would() -> None:
    columns = {"day": Date("2024-01-01", "2024-12-31"), "region": Category(["north"]), "age": Int(0, 9)}
    replaced = {"day": 21, "region": 20, "age": 0}
    report = LoadReport(100, 50, 0, {}, replaced, 0, unreadable_lines=1, expected=expectations(columns, replaced))
    assert str(report).splitlines() == [
        "100 rows of 50 owners",
        "  dropped as unreadable lines (more or fewer fields than the header, say): 1 (1.0%)",
        "  WARNING: did not fit, day: 21 (21.0%); expected days such as 2024-12-31",
        "  WARNING: did not fit, region: 20 (20.0%); expected exactly the declared labels (letter case and spaces "
        "around them matter)",
    ]


def test_nothing_changed() -> None:
    assert str(LoadReport(1, 1, 0, {"age": 0}, {"age": 0}, 0)) == "1 row of 1 owner"


def test_what_declared_structure_left_out() -> None:
    report = LoadReport(
        90,
        9,
        0,
        {},
        {},
        0,
        beyond_max_rows_per_owner_in={"day": 8, "hour": 0},
        beyond_max_values_per_owner={"region": 2},
    )
    assert str(report).splitlines() == [
        "90 rows of 9 owners",
        "  dropped beyond the values kept of each owner, region: 2 (2.0%)",
        "  dropped beyond the rows kept of each owner and day: 8 (8.0%)",
        "  WARNING: in no answer at all: 10 (10.0%) of the records",
    ]
    assert report.warnings == ("in no answer at all: 10 (10.0%) of the records",)


@pytest.mark.parametrize(
    ("lost", "warned"),
    [
        ({"beyond_max_rows_per_owner": 5}, False),
        ({"beyond_max_rows_per_owner": 6}, True),
        ({"beyond_max_rows_per_owner": 3, "dropped_without_owner": 3}, True),  # together, of 103
        ({"clamped": {"age": 5}}, False),
        ({"clamped": {"age": 6}}, True),
        ({"clamped": {"age": 3}, "replaced": {"age": 3}}, True),
        ({"clamped": {"age": 3}, "replaced": {"fee": 3}}, False),  # of different columns
        ({"replaced": {"fee": 6}}, True),
        ({"about_budget": ("epsilon 12 is large",)}, True),
    ],
)
def test_more_than_one_in_twenty_is_loud(lost: dict[str, Any], warned: bool) -> None:
    plain: dict[str, Any] = {"dropped_without_owner": 0, "clamped": {}, "replaced": {}, "beyond_max_rows_per_owner": 0}
    report = LoadReport(rows=100, owners=10, **plain | lost)
    assert bool(report.warnings) == warned
    assert ("WARNING" in str(report)) == warned


def test_in_a_terminal_it_says_what_it_would_print() -> None:
    report = LoadReport(
        rows=100, owners=10, dropped_without_owner=2, clamped={}, replaced={}, beyond_max_rows_per_owner=0
    )
    assert repr(report) == f"<loaded: {'; '.join(line.strip() for line in str(report).splitlines())}>"
    assert repr(report).startswith("<loaded: 100 rows of 10 owners; ")
