"""A load report reads well, and never rounds a change away."""

from __future__ import annotations

from dither.engines.protocol import LoadReport


def test_what_sanitising_did_in_words() -> None:
    report = LoadReport(200_000, 1, 50_000, {"age": 1, "fee": 0}, {"age": 0, "fee": 100_000}, 30_000)
    assert str(report).splitlines() == [
        "200,000 rows of 1 owner",
        "  dropped without an owner: 50,000 (20.0%)",
        "  beyond the rows kept of each owner: 30,000 (15.0%)",
        "  clamped to the bounds, age: 1 (below 0.1%)",
        "  did not fit, fee: 100,000 (50.0%)",
    ]


def test_nothing_changed() -> None:
    assert str(LoadReport(1, 1, 0, {"age": 0}, {"age": 0}, 0)) == "1 row of 1 owner"
