"""What a plan leaves out, as it is stored with an answer and read back."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dither.errors import LedgerError
from dither.sql.postprocess.histograms import Certified, Histogram
from dither.sql.postprocess.left_out import NOTHING, LeftOut, Side

NOISE = {"mechanism": "Laplace", "epsilon": "1", "sensitivity": "1"}
KNOWN = {
    "rows": Certified(40, (Histogram((1, 8), (90, 2), NOISE, Fraction(3, 4)),)),
    "largest x": Certified(100, (Histogram((0, 50), (90, 0), NOISE, Fraction(1, 8)),)),
    "gains x": Certified(4000, (Histogram((0, 500), (90, 0), NOISE, Fraction(1, 8)),)),
}
SIDES = {
    "count": (NOTHING, Side(7, 40, 1)),
    "owners": (NOTHING, Side(7, 40, 1, owners=True)),
    "sum": (Side(unknown=True), Side(7, 40, 100, 49, "largest x", clamp=49)),
    "total": (NOTHING, Side(totals="gains x", clamp=499)),
}
# Ledgers keep it for good.
WRITTEN = {
    "measures": {
        "count": [{}, {"rows": 7, "most": 40, "each": 1}],
        "owners": [{}, {"rows": 7, "most": 40, "each": 1, "owners": True}],
        "sum": [
            {"unknown": True},
            {"rows": 7, "most": 40, "each": 100, "clamped": 49, "values": "largest x", "clamp": 49},
        ],
        "total": [{}, {"totals": "gains x", "clamp": 499}],
    },
    "histograms": {
        "rows": {"top": 40, "histograms": [{"edges": [1, 8], "owners": [90, 2], "mechanism": NOISE, "share": "3/4"}]},
        "largest x": {
            "top": 100,
            "histograms": [{"edges": [0, 50], "owners": [90, 0], "mechanism": NOISE, "share": "1/8"}],
        },
        "gains x": {
            "top": 4000,
            "histograms": [{"edges": [0, 500], "owners": [90, 0], "mechanism": NOISE, "share": "1/8"}],
        },
    },
}


def test_it_is_written_as_it_first_was_and_read_back() -> None:
    made = LeftOut(SIDES, KNOWN)
    assert made.document() == WRITTEN
    assert LeftOut.read(WRITTEN) == made
    assert LeftOut.read({}) == LeftOut()
    with pytest.raises(LedgerError, match="version 2"):
        LeftOut.read({"version": 2})


def test_the_more_may_be_missed_the_closer_are_bounds() -> None:
    made = LeftOut(SIDES, KNOWN)
    for text in SIDES:
        widths = [made.bounds(text, Fraction(1, 10**place))[1] for place in (1, 3, 9)]
        assert widths == sorted(width or 0 for width in widths)
        assert widths[0] != widths[-1]
    assert made.bounds("sum", Fraction(1, 100))[0] is None
    assert made.bounds("another", Fraction(1, 100)) == (0, 0)


def test_values_of_rows_that_are_read() -> None:
    made, missed = LeftOut(SIDES, KNOWN), Fraction(1, 100)
    assert made.clamped("sum", missed) == (0, 7 * KNOWN["largest x"].excess(49, missed))
    assert made.clamped("count", missed) == (0, 0)


def test_only_histograms_can_fail() -> None:
    made = LeftOut({**SIDES, "open": (NOTHING, Side(unknown=True))}, KNOWN)
    assert [made.certain(text) for text in (*SIDES, "open", "another")] == [False] * 4 + [True, True]


def test_what_may_be_missed_is_split_by_a_constant_and_only_where_a_profile_is_needed() -> None:
    left = LeftOut({"n": (Side(), Side(3, 10, 1))}, {"rows": Certified(10, ())})
    told, rest = left.split(["n", "other"], Fraction(1, 20))
    assert told + rest == Fraction(1, 20)
    assert told == Fraction(1, 200)
    assert left.split(["other"], Fraction(1, 20)) == (0, Fraction(1, 20))
