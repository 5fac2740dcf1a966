"""A shared question is read by those who could ask it, and runs never by itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

import dither as dt
from dither.curator.principal import Principal
from dither.errors import Busy, ParameterError, PolicyError, UnsupportedQuery
from dither.server.endpoints import Asked
from dither.server.page import sharing
from dither.server.page.sharing import Sharing
from dither.server.problems import BodyTooLarge, NotFound
from dither.server.questions import Questions
from dither.server.store import Store
from dither.server.tokens import Tokens

COUNT = {"sql": "SELECT COUNT(*) FROM visits", "epsilon": "0.1"}
STAFF = {"sql": "SELECT COUNT(*) FROM staff WHERE age > 60", "epsilon": "0.1"}
ALICE, BOB, CURATOR = Principal.analyst("alice"), Principal.analyst("bob"), Principal.curator()


@pytest.fixture
def here(tmp_path: Any) -> Iterator[Sharing]:
    """Two peoples' tables: alice may ask about both, bob about visits alone."""
    with dt.Curator.open(tmp_path) as curator:
        for people, table in (("patients", "visits"), ("nurses", "staff")):
            curator.people(people, budget=dt.PureDP(4))
            declared: dict[str, Any] = {"owner": "pid", "max_rows_per_owner": 1, "columns": {"age": dt.Int(0, 120)}}
            curator.register(table, pa.table({"pid": [1, 2], "age": [30, 40]}), people=people, **declared)
            curator.analyst("alice", budget=dt.PureDP(1), people=people)
        curator.analyst("bob", budget=dt.PureDP(1), people="patients")
        store = Store(tmp_path)
        yield Sharing(Questions(curator.service, store, Tokens(store)))
        assert not [entry for entry in curator.ledger() if entry.kind == "reserve"], "nothing ran"
        store.close()


def share(here: Sharing, question: Any, who: Principal = ALICE) -> str:
    return str(here.share(Asked(who, "", body=question))["id"])


def read(here: Sharing, identity: str, who: Principal) -> Any:
    return here.shared(Asked(who, "", {"id": identity}))


def check_readers(here: Sharing) -> None:
    visits, staff = share(here, COUNT), share(here, STAFF)
    assert [read(here, visits, who) for who in (ALICE, BOB, CURATOR)] == [COUNT] * 3
    assert [read(here, staff, who) for who in (ALICE, CURATOR)] == [STAFF] * 2
    with pytest.raises(NotFound):
        read(here, staff, BOB)
    with pytest.raises(NotFound):
        read(here, "0" * 32, ALICE)


def test_those_who_could_ask_it_read_it(here: Sharing) -> None:
    check_readers(here)


def test_planted_bug_the_id_is_enough(here: Sharing, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Sharing, "_check", lambda *_: None)
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        check_readers(here)


def test_only_what_can_be_asked_is_shared(here: Sharing) -> None:
    for question, who, error in (
        ({**COUNT, "sql": "SELECT age FROM visits"}, ALICE, UnsupportedQuery),
        ({"sql": COUNT["sql"]}, ALICE, ParameterError),
        (STAFF, BOB, PolicyError),
        ({**COUNT, "sql": COUNT["sql"] + " " * sharing.MOST_BYTES}, ALICE, BodyTooLarge),
    ):
        with pytest.raises(error):
            share(here, question, who)
    assert here.questions.store._read("SELECT count(*) FROM shared") == [(0,)]


def test_a_server_that_is_busy_says_so(here: Sharing, monkeypatch: pytest.MonkeyPatch) -> None:
    identity = share(here, COUNT)

    def busy(*_: Any) -> None:
        raise Busy(1, 1)

    monkeypatch.setattr(Sharing, "_check", busy)
    with pytest.raises(Busy):
        read(here, identity, ALICE)


def check_room(here: Sharing) -> None:
    others = share(here, COUNT, BOB)
    made = [share(here, {**COUNT, "epsilon": f"0.{number}"}) for number in (1, 2, 3, 4)]
    assert len({others, *made}) == 5, "ids are random"
    assert share(here, {**COUNT, "epsilon": "0.4"}) == made[3], "the same question has the same id"
    shared = here.questions.store.shared
    assert [shared(one) is not None for one in made] == [False, True, True, True], "the newest are kept"
    assert shared(others) is not None, "others keep theirs"


def test_there_is_room_for_so_many_of_each(here: Sharing, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "MOST_SHARED", 3)
    check_room(here)


def test_planted_bug_no_bound(here: Sharing) -> None:
    with pytest.raises(AssertionError, match="the newest are kept"):
        check_room(here)


def test_a_question_is_taken_back_by_who_shares_it(here: Sharing) -> None:
    identity = share(here, COUNT)
    with pytest.raises(NotFound):
        here.unshare(Asked(BOB, "", {"id": identity}))
    assert read(here, identity, BOB) == COUNT
    assert here.unshare(Asked(ALICE, "", {"id": identity})) == {"unshared": identity}
    with pytest.raises(NotFound):
        read(here, identity, ALICE)


def test_through_http(served: Any) -> None:
    spent = served.spent("bob")
    made = served.call("alice", "POST", "/v1/questions", COUNT)
    path = f"/v1/questions/{made.json['id']}"
    assert len(made.json["id"]) == 32
    assert [served.call(who, "GET", path).json for who in ("alice", "bob", "curator")] == [COUNT] * 3
    assert [served.call(who, "GET", path).status for who in ("auditor", "monitor")] == [403] * 2
    assert served.spent("bob") == spent
    own = served.call("administrator", "POST", "/v1/tokens", {"role": "analyst", "name": "bob"}).json["token"]
    assert served.call(own, "GET", path).status == 200
    assert served.call("curator", "DELETE", f"/v1/tokens/{own.split('_')[1]}").status == 200
    assert served.call(own, "GET", path).status == 401, "a revoked token reads none"
    assert served.call(own, "POST", "/v1/questions", COUNT).status == 401
    assert served.call("bob", "DELETE", path).status == 404
    assert served.call("alice", "DELETE", path).status == 200
    assert served.call("bob", "GET", path).status == 404
