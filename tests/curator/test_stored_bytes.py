"""What one answer, and all questions and answers of one analyst, may take to store."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import dither as dt
from dither.ledger.index import recorded
from dither.sql.admission.work import work

Make = Callable[..., dt.Curator]


def most_of(clinic: dt.Curator, text: str) -> int:
    """Bytes of a question at epsilon 0.1, and of its answer at most."""
    priced = clinic._walk.price(text, epsilon="0.1")
    texts = [priced.known_as, priced.snapshot, priced.recipe(), text]
    return work(priced.aggregates).bytes + sum(len(json.dumps(text)) for text in texts)


FACES = "\U0001f600" * 16_000
LONG = f"SELECT COUNT(*) FILTER (WHERE remark <> '{FACES}') FROM visits"  # the literal is in the name of the measure
TEXTS = [
    "SELECT COUNT(*), SUM(paid), AVG(age) FROM visits",
    "SELECT age, region, COUNT(*), MEDIAN(ward) FROM visits GROUP BY age, region",
    "SELECT remark, COUNT(*), SUM(age) FROM visits GROUP BY remark",
    "SELECT LEFT(remark, 3) AS k, ward, COUNT(*) FROM visits GROUP BY k, ward",
    LONG,
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
    (stored,) = [entry for entry in clinic.ledger() if entry.kind == "reserve"]
    assert 0 < clinic._ledger.stored_bytes(None) - recorded(stored.body) <= bound


def test_planted_bug_names_of_measures_that_are_not_counted(
    make: Make, visits: Callable[..., pa.Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dither.sql.admission.work._said", lambda aggregates: 0)
    with pytest.raises(AssertionError):
        test_no_answer_is_larger_than_its_bound(make, visits, LONG, "1")


def test_an_analyst_has_room_for_so_much(clinic: dt.Curator) -> None:
    text, more = "SELECT COUNT(*) FROM visits", "SELECT COUNT(*), SUM(age) FROM visits"
    alice, bob = (clinic.analyst(name, budget=dt.PureDP(1)) for name in ("alice", "bob"))
    first = alice.sql(text, epsilon="0.1")
    used = clinic._ledger.stored_bytes("alice")
    (entry,) = [entry for entry in clinic.ledger() if entry.kind == "reserve"]
    assert used > recorded(entry.body) > 0, "the question and its answer"
    bound = most_of(clinic, more)
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


def ask_until_full(clinic: dt.Curator, most: int) -> int:
    """How many questions that all fail an analyst can record in so many bytes."""
    clinic.limits(dt.Limits(max_stored_bytes=most, max_incidents=10**6))
    alice = clinic.analyst("alice", budget=dt.PureDP(1))
    for number in range(100):
        try:
            alice.sql(f"SELECT COUNT(*) FROM visits WHERE remark <> '{number:0>10000}'", epsilon="0.0001")
        except dt.QueryFailed:
            continue
        except dt.PolicyError:
            return number
    raise AssertionError("an analyst can fill the disk with questions that fail")


def fails(*_: Any) -> None:
    raise ZeroDivisionError


def test_questions_that_fail_take_room(clinic: dt.Curator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threat 58: their plans stay in the ledger for good."""
    monkeypatch.setattr("dither.curator.run.released", fails)
    assert 1 <= ask_until_full(clinic, 500_000) <= 500_000 // 20_000  # the literal is in the plan and in the question
    assert clinic._ledger.stored_bytes("alice") <= 500_000
    clinic.verify()


def test_planted_bug_plans_that_are_not_counted(clinic: dt.Curator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dither.curator.run.released", fails)
    monkeypatch.setattr("dither.ledger.index.recorded", lambda texts: 0)
    with pytest.raises(AssertionError, match="fill the disk"):
        ask_until_full(clinic, 500_000)


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
