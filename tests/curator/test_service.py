"""The one door: what each principal may ask, and that nobody is in another's way there."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

import dither as dt
from dither.curator.principal import Principal
from dither.errors import Stranger
from dither.sql.binding.reading import Readings

COUNT = "SELECT COUNT(*) AS n FROM visits"
CURATOR, ALICE = Principal.curator(), Principal.analyst("Alice")


@pytest.fixture
def service(clinic: dt.Curator) -> Any:
    clinic.analyst("alice", budget=dt.PureDP(1))
    return clinic._service


@pytest.mark.parametrize(
    "make",
    [
        lambda: Principal.analyst(None),  # type: ignore[arg-type]
        lambda: Principal.analyst(""),
        lambda: Principal.analyst("al ice"),
        lambda: Principal("analyst"),
        lambda: Principal("curator", "alice"),
        lambda: Principal("root"),
        lambda: Principal(None),  # type: ignore[arg-type]
    ],
)
def test_a_name_that_got_lost_is_a_stranger_and_never_the_curator(make: Callable[[], Principal]) -> None:
    with pytest.raises(Stranger):
        make()


def test_it_is_what_curator_and_analysts_are_thin_over(clinic: dt.Curator, service: Any) -> None:
    alice = clinic.analyst("alice")
    answer = service.ask(ALICE, COUNT, epsilon="0.5", request="r1")
    assert alice.sql(COUNT, epsilon="0.5", request="r1").to_dicts(intervals=True) == answer.to_dicts(intervals=True)
    assert service.explain(ALICE, COUNT, epsilon=1).to_json() == alice.explain(COUNT, epsilon=1).to_json()
    assert service.budget(ALICE) == service.budget(ALICE, "patients") == alice.budget()
    assert service.budget(CURATOR) == clinic.budget("patients") != service.budget(ALICE)
    assert list(service.history(ALICE)) == alice.history()
    assert list(service.history(CURATOR)) == list(clinic.ledger()) != alice.history()
    assert service.tables(ALICE) == alice.tables() == clinic.tables()
    clinic.profile("visits", share="0.1")
    assert service.profile(ALICE, "visits") == alice.profiled("visits") == clinic.profiled("visits")


def test_a_history_tells_what_was_asked(clinic: dt.Curator, service: Any) -> None:
    clinic.sql(COUNT, epsilon="0.5")
    service.ask(ALICE, COUNT, epsilon="0.25")
    opened, asked = service.history(ALICE)
    assert (opened.kind, asked.kind, asked.sequence) == ("account", "reserve", 2)
    assert asked.body["cost"] == "1/4"
    assert "units" not in asked.body


def remembered(question: Any) -> list[int]:
    """Which results are kept with a question."""
    kept = [known for name, known in vars(question).items() if name.startswith("remembered")]
    return [id(result) for known in kept for _, result in known.values()]


def test_whoever_asks_much_takes_no_room_from_others(
    clinic: dt.Curator, service: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Readings, "MOST", 5)
    clinic.analyst("bob", budget=dt.PureDP(1))
    bob, walk = Principal.analyst("bob"), clinic._walk
    service.explain(bob, COUNT, epsilon="0.5")
    kept = walk.price(COUNT, "bob", epsilon="0.5").question
    plans = remembered(kept)
    assert plans
    for number in range(30):
        service.explain(ALICE, f"{COUNT} WHERE age > {number}", epsilon="0.5")
    assert walk.price(COUNT, "bob", epsilon="0.5").question is kept
    assert remembered(kept) == plans, "and with it what was computed for it"
    assert {who: len(known) for who, known in walk._readings._known.items()} == {"bob": 1, "alice": 5}


def test_planted_one_memory_for_all(clinic: dt.Curator, service: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    sound = Readings.read
    monkeypatch.setattr(Readings, "read", lambda self, asker, *asked, **named: sound(self, None, *asked, **named))
    with pytest.raises(AssertionError, match="is"):
        test_whoever_asks_much_takes_no_room_from_others(clinic, service, monkeypatch)


def test_errors_are_documents(clinic: dt.Curator, service: Any) -> None:
    clinic.people("staff", budget=dt.PureDP(1))
    for ask, code, fields in (
        (
            lambda: service.ask(ALICE, COUNT, epsilon=5),
            "budget_exceeded",
            {"asked": {"epsilon": "5"}, "left": {"epsilon": "1"}, "whose": "analyst"},
        ),
        (lambda: service.ask(CURATOR, COUNT, epsilon="nan"), "parameter_invalid", {"name": "epsilon"}),
        (lambda: service.ask(CURATOR, COUNT, epsilon=1, confidence=2), "parameter_invalid", {"name": "confidence"}),
        (lambda: service.budget(ALICE, "staff"), "cap_missing", {"analyst": "alice", "people": "staff"}),
        (lambda: service.profile(ALICE, "visits"), "profile_missing", {"table": "visits"}),
        (lambda: service.tables(Principal.analyst("mallory")), "stranger", {}),
        (
            lambda: clinic.analyst("bob"),
            "analyst_missing",
            {"analyst": "bob", "known": ["alice"], "people": ["patients", "staff"]},
        ),
        (
            lambda: service.ask(ALICE, "SELECT age\nFROM visits", epsilon=1),
            "query_unsupported",
            None,
        ),
    ):
        with pytest.raises(dt.DitherError) as caught:
            ask()
        document = json.loads(json.dumps(caught.value.document()))
        assert (document["code"], document["message"]) == (code, str(caught.value))
        if fields is None:
            assert (document["fields"]["line"], document["fields"]["column"]) == (1, 8)
            assert document["fields"]["hint"]
        else:
            assert document["fields"] == fields
    clinic.freeze("patients")
    with pytest.raises(dt.PeopleFrozen) as frozen:
        service.ask(ALICE, COUNT, epsilon="0.1")
    assert frozen.value.document()["fields"] == {"people": "patients"}
