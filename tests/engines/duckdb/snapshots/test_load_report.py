"""A load report reads well, and never rounds a change away."""

from __future__ import annotations

from dither.engines.protocol import LoadReport, expectations
from dither.policy.columns import Category, Date, Int


def test_what_sanitising_did_in_words() -> None:
    report = LoadReport(200_000, 1, 50_000, {"age": 1, "fee": 0}, {"age": 0, "fee": 100_000}, 30_000)
    assert str(report).splitlines() == [
        "200,000 rows of 1 owner",
        "  dropped without an owner: 50,000 (20.0%)",
        "  beyond the rows kept of each owner: 30,000 (15.0%)",
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
        "  did not fit, region: 20 (20.0%); expected exactly the declared labels (letter case and spaces around them "
        "matter)",
    ]


def test_nothing_changed() -> None:
    assert str(LoadReport(1, 1, 0, {"age": 0}, {"age": 0}, 0)) == "1 row of 1 owner"
