"""Questions over HTTP: what a request id stands for is decided once, and everybody sees the own alone."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dither.errors import PolicyError
from dither.server.questions import Questions
from dither.server.tokens import Tokens

COUNT = "SELECT COUNT(*) FROM visits"


def test_an_answer_has_numbers_intervals_and_its_price(served: Any) -> None:
    found = served.query("alice", epsilon="0.05").json
    assert set(found) >= {"id", "columns", "rows", "price", "notes", "guarantee", "confidence"}
    assert found["price"] == {"epsilon": "0.05"}
    assert served.call("alice", "GET", f"/v1/answers/{found['id']}").json == found


def test_a_retry_gets_the_same_bytes_and_is_charged_once(served: Any) -> None:
    first = served.query("alice", request="retry")
    spent = served.spent()
    assert [served.query("alice", request="retry").body for _ in range(3)] == [first.body] * 3
    assert served.spent() == spent


def test_retries_at_the_same_time_get_one_answer(served: Any) -> None:
    text = f"{COUNT} WHERE age < 17"
    with ThreadPoolExecutor(8) as pool:
        found = {reply.body for reply in pool.map(lambda _: served.query("alice", text, request="at once"), range(8))}
    assert len(found) == 1


def check_one_id_at_once(served: Any, request: str) -> None:
    """Two questions race for one id, by clients of two processes: one of them has it, and is charged once."""
    texts = [f"{COUNT} WHERE age < {30 + number % 2}" for number in range(8)]
    spent = Fraction(served.spent())
    with ThreadPoolExecutor(8) as pool:
        replies = [*pool.map(lambda text: served.query("alice", text, request=request), texts)]
    answers = {(text, reply.body) for text, reply in zip(texts, replies, strict=True) if reply.status == 200}
    assert len(answers) == 1, "one question, one answer"
    assert {reply.code for reply in replies if reply.status != 200} == {"request_conflict"}
    ((text, body),) = answers
    once = Fraction(served.spent()) - spent
    assert served.query("alice", text, request=request).body == body
    assert Fraction(served.spent()) - spent == once, "and one charge"


def test_two_questions_race_for_one_id(served: Any) -> None:
    for number in range(3):
        check_one_id_at_once(served, f"race {number}")


def test_planted_bug_ids_are_not_bound_before_the_charge(own: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ledger still charges one question alone, but whoever lost is not told that the id is taken."""
    from dither.curator.curator import Curator
    from dither.curator.principal import Principal
    from dither.server.problems import RequestConflict
    from dither.server.store import Store

    def check() -> None:
        asked = [questions.asked(alice, {"sql": COUNT, "epsilon": "0.01", "request": "r"})]
        with pytest.raises(RequestConflict):
            asked.append(questions.asked(alice, {"sql": f"{COUNT} WHERE age < 3", "epsilon": "0.01", "request": "r"}))

    with Curator.open(own.folder) as curator:
        store, alice = Store(own.folder), Principal.analyst("alice")
        questions = Questions(curator.service, store, Tokens(store))
        check()
        monkeypatch.setattr(Store, "bind", lambda self, whose, request, digest, *_: digest)
        monkeypatch.setattr(Store, "request", lambda *_: None)
        with pytest.raises(PolicyError, match="used before"):
            check()
        store.close()


def test_the_same_id_for_something_else_is_a_conflict(served: Any) -> None:
    served.query("alice", request="taken")
    spent = served.spent()
    for changed in ({"epsilon": "0.002"}, {"text": f"{COUNT} WHERE age > 3"}, {"confidence": "0.9"}):
        reply = served.query("alice", **{"request": "taken", **changed})
        assert (reply.status, reply.code) == (409, "request_conflict")
    assert served.spent() == spent


def test_an_id_under_which_nothing_was_charged_is_free(served: Any) -> None:
    assert served.query("alice", "SELECT", request="typo").status == 400
    assert served.query("alice", request="typo").status == 200


def test_ids_are_the_principals_own(served: Any) -> None:
    one, other = (served.query(who, request="shared") for who in ("alice", "bob"))
    assert one.status == other.status == 200
    assert one.json["id"] != other.json["id"]
    assert served.call("bob", "GET", f"/v1/answers/{one.json['id']}").status == 404


def test_a_free_repeat_binds_its_id(own: Any) -> None:
    """A lost response, a refresh and a retry: without the binding the retry would be a new question."""
    bought = own.query("alice")
    repeat = own.query("alice", request="again")
    assert repeat.json["rows"] == bought.json["rows"]
    spent = own.spent()
    path = own.root / "new.parquet"
    pq.write_table(pa.table({"pid": range(7), "age": [1] * 7}), path)
    assert own.call("curator", "POST", "/v1/tables/visits/refresh", {"source": "new.parquet"}).status == 200
    assert own.query("alice", request="again").body == repeat.body
    assert own.spent() == spent
    assert own.call("curator", "DELETE", "/v1/tables/visits").status == 200
    assert own.query("alice", request="again").body == repeat.body
    assert own.query("alice", request="another").status == 400


def test_the_planted_bug_of_ids_that_free_repeats_leave_unused(own: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `test_a_free_repeat_binds_its_id` would see if only charges bound ids: told apart within this process."""
    from dither.curator.curator import Curator
    from dither.curator.principal import Principal
    from dither.server.store import Store

    with Curator.open(own.folder) as curator:
        store, alice = Store(own.folder), Principal.analyst("alice")
        questions = Questions(curator.service, store, Tokens(store))
        body = {"sql": COUNT, "epsilon": "0.01"}
        questions.asked(alice, body)
        monkeypatch.setattr(Store, "keep", _keep_unbound(Store.keep))
        first = questions.asked(alice, {**body, "request": "again"})
        assert questions.asked(alice, {**body, "request": "again"}) != first
        store.close()


def _keep_unbound(keep: Any) -> Any:
    def kept(self: Any, principal: str, request: str, *given: Any, **stated: Any) -> str:
        found: str = keep(self, principal, request, *given, **stated)
        with self._transaction() as connection:
            connection.execute("UPDATE requests SET answer = NULL WHERE request = ?", (request,))
        return found

    return kept


def test_everybody_sees_the_own_history(served: Any) -> None:
    served.query("bob", f"{COUNT} WHERE age < 40", request="of bob")
    seen = served.call("alice", "GET", "/v1/history").json
    assert {entry["body"]["analyst"] for entry in seen} == {"alice"}
    assert b"of bob" not in served.call("alice", "GET", "/v1/history").body
    assert {"alice", "bob"} <= {
        entry["body"].get("analyst") for entry in served.call("auditor", "GET", "/v1/history").json
    }


def test_history_comes_in_pages(served: Any) -> None:
    for number in range(3):
        served.query("alice", f"{COUNT} WHERE age < {50 + number}", request=f"page {number}")
    whole = served.call("auditor", "GET", "/v1/history").json
    assert len(whole) > 5
    for after in (0, 1, 4, len(whole), 10**9):
        assert served.call("auditor", "GET", f"/v1/history?after={after}").json == whole[after:]
    own = served.call("alice", "GET", "/v1/history").json
    assert served.call("alice", "GET", "/v1/history?after=1").json == own[1:]
    lines = served.call("alice", "GET", "/v1/statement").json
    assert served.call("alice", "GET", f"/v1/statement?after={lines[0]['number']}").json == lines[1:]
    for refused in ("-1", "x", "1e3", "%C2%B2", "9" * 30):
        for path in ("history", "statement"):
            assert served.call("alice", "GET", f"/v1/{path}?after={refused}").status == 400


def test_pages_have_a_most(served: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from dither.curator.curator import Curator
    from dither.curator.principal import Principal
    from dither.server import questions
    from dither.server.endpoints import Asked
    from dither.server.store import Store

    monkeypatch.setattr(questions, "MOST_ENTRIES", 3)
    with Curator.open(served.folder) as curator:
        store = Store(served.folder)
        asked, found, last = Questions(curator.service, store, Tokens(store)), list[Any](), 0
        while page := asked.history(Asked(Principal.curator(), "", query={"after": str(last)})):
            assert len(page) <= 3
            found += page
            last = page[-1]["sequence"]
        assert [entry["sequence"] for entry in found] == [entry.sequence for entry in curator.ledger()]
        found, last = [], 0
        while page := asked.statement(Asked(Principal.curator(), "", query={"after": str(last)})):
            assert len(page) <= 3
            found += page
            last = page[-1]["number"]
        assert [line["number"] for line in found] == [line.number for line in curator.ledger().questions]
        store.close()


def test_explain_charges_nothing(served: Any) -> None:
    spent = served.spent()
    found = served.call("alice", "POST", "/v1/explain", {"sql": COUNT, "epsilon": 0.1}).json
    assert found["price"]["epsilon"] == "0.1"
    assert served.spent() == spent


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"sql": COUNT}, 400, "parameter_invalid"),
        ({"sql": COUNT, "epsilon": "nan"}, 400, "parameter_invalid"),
        ({"sql": COUNT, "epsilon": -1}, 400, "parameter_invalid"),
        ({"sql": COUNT, "epsilon": 100}, 402, "budget_exceeded"),
        ({"sql": "SELECT COUNT(*) FROM nosuch", "epsilon": 1}, 400, None),
        ({"sql": "SELECT * FROM read_csv('/etc/passwd')", "epsilon": 1}, 400, "query_unsupported"),
        ({"sql": COUNT, "epsilon": 1, "nosuch": 1}, 400, "parameter_invalid"),
    ],
)
def test_what_is_refused_is_not_charged(served: Any, body: dict[str, Any], status: int, code: str | None) -> None:
    spent = served.spent()
    reply = served.call("alice", "POST", "/v1/query", body)
    assert reply.status == status
    assert code is None or reply.code == code
    assert served.spent() == spent


def test_pickles_and_forms_are_no_bodies(served: Any) -> None:
    for raw in (b"\x80\x04K\x01.", b"sql=SELECT", b"<xml/>"):
        assert served.call("alice", "POST", "/v1/query", raw=raw).status == 400


def test_bodies_are_bounded(served: Any) -> None:
    assert served.call("alice", "POST", "/v1/query", {"sql": "x" * 2_000_000, "epsilon": 1}).status == 413


def test_jobs_are_answered_later_and_once(served: Any) -> None:
    body = {"sql": f"{COUNT} WHERE age < 60", "epsilon": "0.001"}
    job = served.call("alice", "POST", "/v1/jobs", body)
    assert job.status == 202
    done = _wait(served, job.json["id"])
    assert done["state"] == "done"
    assert json.loads(served.call("alice", "GET", f"/v1/answers/{done['answer']}").body)["price"] == {
        "epsilon": "0.001"
    }
    assert served.call("bob", "GET", f"/v1/jobs/{job.json['id']}").status == 404
    failed = _wait(served, served.call("alice", "POST", "/v1/jobs", {"sql": "SELECT", "epsilon": 1}).json["id"])
    assert (failed["state"], failed["error"]["code"]) == ("failed", "query_unsupported")


def _wait(served: Any, identity: str) -> dict[str, Any]:
    while (found := served.call("alice", "GET", f"/v1/jobs/{identity}").json)["state"] in ("queued", "running"):
        time.sleep(0.1)
    return dict(found)
