from __future__ import annotations

import os
import stat
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dither.errors import LedgerCorrupt, LedgerError, PolicyError, QueryFailed
from dither.ledger import Charge, Ledger, Reservation

Reserve = Callable[..., Reservation]
Ask = Callable[..., bytes]
LARGE = bytes(range(256)) * 4000  # a little over a million bytes


def test_from_reserved_to_settled(ledger: Ledger, reserve: Reserve) -> None:
    made = reserve(ledger, "Alice", "1/4", request="r1", plan="plan", snapshot="7")
    assert made == Reservation(
        4, "patients", "alice", "q", "7", "plan", Charge(Fraction(1, 4)), "r1", state="reserved", answer=None
    )
    assert ledger.pending() == [made]
    assert ledger.settle(made.id, b"42") == b"42"
    assert ledger.pending() == []
    assert ledger.verify() == 5
    again = reserve(ledger, "alice", "1/4", request="r1", plan="another plan", snapshot="8")
    assert (again.id, again.state, again.answer, again.plan, again.snapshot) == (4, "settled", b"42", "plan", "7")
    assert ledger.balance("patients").spent.cost == Fraction(1, 4)


def test_the_first_answer_wins(ledger: Ledger, reserve: Reserve) -> None:
    number = reserve(ledger).id
    assert ledger.settle(number, b"first") == b"first"
    assert ledger.settle(number, b"second") == b"first"
    assert ledger.settle(number, LARGE) == b"first"
    ledger.fail(number)
    assert ledger.settle(number, b"third") == b"first"
    assert ledger.verify() == 5


def test_a_failure_stays_charged_and_is_never_reused(ledger: Ledger, reserve: Reserve) -> None:
    number = reserve(ledger, request="r1").id
    ledger.fail(number)
    ledger.fail(number)
    with pytest.raises(QueryFailed):
        ledger.settle(number, b"late")
    assert ledger.balance("patients").spent.cost == Fraction(1, 4)
    assert ledger.find("patients", "alice", "q", "1", Charge(Fraction(1, 4))) is None
    assert reserve(ledger, request="r1").state == "failed"
    assert ledger.pending() == []
    assert ledger.verify() == 5


@pytest.mark.parametrize("number", [0, 1, 3, 99, -1, 2**70, "4", None])
def test_no_such_reservation(ledger: Ledger, number: Any) -> None:
    with pytest.raises(PolicyError, match="there is no reservation"):
        ledger.settle(number, b"x")
    with pytest.raises(PolicyError, match="there is no reservation"):
        ledger.fail(number)


def test_a_request_id_means_one_question_and_one_price(ledger: Ledger, reserve: Reserve) -> None:
    reserve(ledger, request="r1")
    for changes in ({"question": "other"}, {"cost": "1/5"}, {"delta": "1e-9"}):
        with pytest.raises(PolicyError, match="request 'r1' was used before"):
            reserve(ledger, **({"request": "r1"} | changes))
    # Another analyst's request of the same name is another request.
    ledger.open_account("patients", "bob", kind="pure", cap=Charge(Fraction(1)), terms={})
    assert reserve(ledger, "bob", request="r1").id != reserve(ledger, None, request="r1").id
    assert ledger.balance("patients").spent.cost == Fraction(3, 4)


def test_replays_are_charged_once_and_give_the_same_bytes(ledger: Ledger, ask: Ask) -> None:
    """Threats 22 and 46."""
    first = ask(ledger, request="r1")
    assert {ask(ledger, request="r1") for _ in range(200)} == {first}
    assert ledger.balance("patients").spent.cost == Fraction(1, 4)


def test_repeats_are_free_for_the_one_who_paid(ledger: Ledger, ask: Ask) -> None:
    """Threats 23 and 53."""

    def found(analyst: str | None, cost: str = "1/8", question: str = "q", snapshot: str = "1") -> bytes | None:
        return ledger.find("Patients", analyst, question, snapshot, Charge(Fraction(cost)))

    assert found("alice") is None
    cheap = ask(ledger, "alice", "1/8")
    dear = ask(ledger, "alice", "1/2")
    middle = ask(ledger, "alice", "1/4")
    assert found("ALICE") == found("alice", "1/2") == dear not in (cheap, middle)
    assert found("alice", "5/8") is None
    assert found("alice", question="other") is None
    assert found("alice", snapshot="2") is None
    assert found("bob") is None
    assert found(None) is None
    own = ask(ledger, None, "1/8")
    assert found(None) == own
    assert found("alice") == dear
    assert ledger.verify() == 11


def test_the_oldest_of_equally_dear_answers(ledger: Ledger, ask: Ask) -> None:
    first = ask(ledger)
    assert ask(ledger) != first
    assert ledger.find("patients", "alice", "q", "1", Charge(Fraction(1, 4))) == first


def test_exact_prices_decide_between_equal_units(ledger: Ledger, ask: Ask) -> None:
    paid = Fraction(1, 4) + Fraction(1, 10**16)
    answer = ask(ledger, "alice", str(paid))
    assert ledger.find("patients", "alice", "q", "1", Charge(paid)) == answer
    assert ledger.find("patients", "alice", "q", "1", Charge(paid + Fraction(1, 10**17))) is None


def test_a_failure_does_not_hide_a_cheaper_answer(ledger: Ledger, reserve: Reserve, ask: Ask) -> None:
    answer = ask(ledger, "alice", "1/8")
    ledger.fail(reserve(ledger, "alice", "1/4").id)
    reserve(ledger, "alice", "1/4")
    assert ledger.find("patients", "alice", "q", "1", Charge(Fraction(1, 8))) == answer


def test_delta_counts_in_repeats(ledger: Ledger, ask: Ask) -> None:
    ledger.open_account("staff", None, kind="basic", cap=Charge(Fraction(4), Fraction(1, 10)), terms={})
    answer = ask(ledger, None, "1/4", people="staff", delta="1e-3")
    assert ledger.find("staff", None, "q", "1", Charge(Fraction(1, 4), Fraction(1, 1000))) == answer
    assert ledger.find("staff", None, "q", "1", Charge(Fraction(1, 8), Fraction(2, 1000))) is None
    assert ledger.find("patients", None, "q", "1", Charge(Fraction(1, 4))) is None


def test_exact_deltas_decide_between_equal_units(ledger: Ledger, ask: Ask) -> None:
    """A unit of this delta is 10^-16: both prices below are rounded up to the same one."""
    ledger.open_account("staff", None, kind="basic", cap=Charge(Fraction(4), Fraction(1, 10)), terms={})
    paid = Fraction(1, 1000) + Fraction(1, 10**17)
    answer = ask(ledger, None, "1/4", people="staff", delta=str(paid))
    assert ledger.find("staff", None, "q", "1", Charge(Fraction(1, 4), paid)) == answer
    assert ledger.find("staff", None, "q", "1", Charge(Fraction(1, 4), paid + Fraction(1, 10**17))) is None


def test_a_repeat_may_have_more_units_of_delta_than_of_cost(ledger: Ledger, ask: Ask) -> None:
    cap = Charge(Fraction(4), Fraction(1, 1000))
    ledger.open_account("staff", None, kind="basic", cap=cap, terms={})
    answer = ask(ledger, None, "1/4", people="staff", delta="1e-3")
    assert ledger.find("staff", None, "q", "1", Charge(Fraction(1, 4), cap.delta)) == answer


def test_repeats_are_compared_in_the_units_of_the_people(ledger: Ledger, ask: Ask) -> None:
    """alice's own cap of delta, and with it her unit, is a hundredth."""
    for analyst, delta in ((None, Fraction(1, 10)), ("alice", Fraction(1, 1000))):
        ledger.open_account("staff", analyst, kind="basic", cap=Charge(Fraction(4), delta), terms={})
    answer = ask(ledger, "alice", "1/4", people="staff", delta="1e-6")
    assert ledger.find("staff", "alice", "q", "1", Charge(Fraction(1, 4), Fraction(1, 10**6))) == answer


def test_pending_of_one_people(ledger: Ledger, reserve: Reserve) -> None:
    ledger.open_account("staff", None, kind="basic", cap=Charge(Fraction(4)), terms={})
    reserve(ledger)
    one = reserve(ledger, None, people="staff")
    assert ledger.pending("STAFF") == [one]
    assert len(ledger.pending()) == 2


@pytest.mark.parametrize("length", [0, 1, 1_000_000, 1_000_001])
def test_answers_of_any_length(ledger: Ledger, folder: Path, store: str, reserve: Reserve, length: int) -> None:
    answer = os.urandom(length)
    number = reserve(ledger, request="r").id
    assert ledger.settle(number, answer) == answer
    assert ledger.find("patients", "alice", "q", "1", Charge(Fraction(1, 4))) == answer
    assert reserve(ledger, request="r").answer == answer
    files = list((folder / "answers").iterdir())
    assert len(files) == (length > 1_000_000 and store == "sqlite")
    assert all(stat.S_IMODE(file.stat().st_mode) == 0o600 for file in files)
    assert ledger.verify() == 5


@pytest.mark.parametrize("store", ["sqlite"])
def test_a_large_answer_changed_or_lost_is_noticed(ledger: Ledger, folder: Path, reserve: Reserve) -> None:
    ledger.settle(reserve(ledger).id, LARGE)
    (file,) = (folder / "answers").iterdir()
    file.write_bytes(LARGE[:-1] + b"!")
    for read in (ledger.verify, lambda: ledger.find("patients", "alice", "q", "1", Charge(Fraction(1, 4)))):
        with pytest.raises(LedgerCorrupt, match="was changed"):
            read()
    file.unlink()
    with pytest.raises(LedgerCorrupt, match="cannot be read"):
        ledger.verify()


@pytest.mark.parametrize("store", ["sqlite"])
def test_a_large_answer_that_cannot_be_stored_leaves_the_reservation_open(
    ledger: Ledger, folder: Path, reserve: Reserve
) -> None:
    number = reserve(ledger).id
    (folder / "answers").rmdir()
    with pytest.raises(LedgerError, match="cannot be written"):
        ledger.settle(number, LARGE)
    assert [reservation.id for reservation in ledger.pending()] == [number]
    assert ledger.settle(number, b"small") == b"small"


def test_a_request_can_be_looked_up_by_the_one_who_made_it(ledger: Ledger, reserve: Reserve) -> None:
    made = reserve(ledger, request="r1")
    found = ledger.requested("patients", "alice", "r1")
    assert found is not None
    assert (found.id, found.state) == (made.id, "reserved")
    assert ledger.requested("patients", "bob", "r1") is None
    assert ledger.requested("patients", "alice", "r2") is None
