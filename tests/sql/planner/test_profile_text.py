"""A profile in ten lines, however many columns and bins it has."""

from __future__ import annotations

from dither.sql.planner.profile_text import short_text, whole_text

BINS = [
    {"from": 1, "to": 1, "owners": 60, "lower": 50, "upper": 70},
    {"from": 2, "to": 3, "owners": 37, "lower": 27, "upper": 47},
    {"from": 4, "to": None, "owners": -4, "lower": 0, "upper": 6},
]
HEAD = {"table": "visits", "snapshot": 1, "price": {"rows": "rho 0.1"}}


def test_one_line_for_each_quantity():
    assert short_text({**HEAD, "histograms": {"rows": [BINS], "largest fee": [BINS[:1]]}}) == (
        "Profile of visits, snapshot 1. Paid: rows: rho 0.1.\n"
        "  rows of an owner: 97 owners, the middle one 1, the 95th of a hundred 2 to 3\n"
        "  the largest value of fee: 60 owners, the middle one 1, the 95th of a hundred 1\n"
        "About, from noisy counts; .details() has every bin with its interval."
    )


def test_ten_lines_at_most():
    many = {f"largest c{number}": [BINS, BINS] for number in range(40)}
    lines = short_text({**HEAD, "histograms": many}).splitlines()
    assert len(lines) == 10
    assert lines[-2] == "  ... and 33 quantities more"
    assert len(whole_text({**HEAD, "histograms": many}).splitlines()) == 1 + 40 * 2 * 5 + 2


def test_nothing_to_tell():
    assert short_text({**HEAD, "price": {}, "histograms": {}}) == "Profile of visits, snapshot 1. Paid: nothing yet."
    assert "no owners to speak of" in short_text({**HEAD, "histograms": {"rows": [BINS[2:]]}})
