"""What one answer and all answers of one analyst may take to store."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest

import dither as dt
from dither.sql.work import work

Make = Callable[..., dt.Curator]
TEXTS = [
    "SELECT COUNT(*), SUM(paid), AVG(age) FROM visits",
    "SELECT age, region, COUNT(*), MEDIAN(ward) FROM visits GROUP BY age, region",
    "SELECT remark, COUNT(*), SUM(age) FROM visits GROUP BY remark",
    "SELECT LEFT(remark, 3) AS k, ward, COUNT(*) FROM visits GROUP BY k, ward",
]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("epsilon", ["0.000001", "1"])
def test_no_answer_is_larger_than_its_bound(
    make: Make, visits: Callable[..., pa.Table], text: str, epsilon: str
) -> None:
    many = visits(300).drop(["remark"]).append_column("remark", pa.array(["remark \U0001f600"] * 300))
    clinic = make(dt.ApproxDP(100, "1e-3", composition="basic"), many, max_rows=300)
    delta = {"delta": "1e-4"} if "remark" in text else {}
    bound = work(clinic._walk.price(text, epsilon=epsilon, **delta).aggregates).bytes
    clinic.sql(text, epsilon=epsilon, **delta)
    assert 0 < clinic._ledger.stored_bytes(None) <= bound


def test_an_analyst_has_room_for_so_much(clinic: dt.Curator) -> None:
    text, more = "SELECT COUNT(*) FROM visits", "SELECT COUNT(*), SUM(age) FROM visits"
    alice, bob = (clinic.analyst(name, budget=dt.PureDP(1)) for name in ("alice", "bob"))
    first = alice.sql(text, epsilon="0.1")
    used = clinic._ledger.stored_bytes("alice")
    assert used > 0
    bound = work(clinic._walk.price(more, epsilon="0.1").aggregates).bytes
    clinic.limits(dt.Limits(max_stored_bytes=used + bound - 1))
    entries = len(list(clinic.ledger()))
    with pytest.raises(dt.PolicyError, match=f"answers have {used:,} bytes, and this one may have {bound:,}"):
        alice.sql(more, epsilon="0.1")
    assert len(list(clinic.ledger())) == entries
    assert alice.sql(text, epsilon="0.1").to_arrow() == first.to_arrow()  # a repeat needs no room
    bob.sql(more, epsilon="0.1")  # what alice has stored is not bob's matter
    clinic.limits(dt.Limits(max_stored_bytes=used + bound))
    alice.sql(more, epsilon="0.1")


def test_planted_bug_bytes_that_are_not_counted(clinic: dt.Curator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dither.ledger.index.count_bytes", lambda page, number, size: None)
    with pytest.raises(AssertionError):
        test_an_analyst_has_room_for_so_much(clinic)


def test_keys_beyond_the_largest_answer_are_left_out(make: Make) -> None:
    """Which keys were selected is known by then, so leaving some out tells nothing more."""
    keys = [f"k{place:03d}" for place in range(200)]
    source = pa.table({"patient": range(200 * 40), "remark": keys * 40})
    clinic = make(dt.ApproxDP(100, "1e-3"), source, columns={"remark": dt.Text()})
    text = "SELECT remark, COUNT(*) FROM visits GROUP BY remark"
    assert len(clinic.sql(text, epsilon=20, delta="1e-4").to_arrow()) == 200
    clinic.limits(dt.Limits(max_answer_bytes=2500))
    few = clinic.sql(text, epsilon=21, delta="1e-4")
    shown = few.to_arrow()["remark"].to_pylist()
    assert 0 < len(shown) < 200
    assert shown == keys[: len(shown)]
    assert any("Only the first" in note for note in few.notes)
