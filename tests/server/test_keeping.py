"""What a server keeps of those who ask is bounded, however much they ask for free."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dither.curator.principal import Principal
from dither.curator.service import Service
from dither.errors import NotComputed, Stranger
from dither.server import store as kept
from dither.server.serve import Server, Settings
from dither.server.store import JobRow, Store

WHO = "analyst alice"


def count(store: Store, table: str) -> int:
    return int(store._read(f"SELECT count(*) FROM {table}")[0][0])


def check_free_answers(store: Store) -> None:
    """The newest stay; what was paid for stays; ids of those that went are free again."""
    store.bind(WHO, "paid", b"d", "{}", 0)
    store.keep(WHO, "paid", "p", b"document")
    for number in range(6):
        for who in (WHO, "analyst bob"):
            store.bind(who, f"r{number}", b"d", "{}", 0)
            store.keep(who, f"r{number}", f"{who[8]}{number}", b"document", free=True)
    found = [store.answer(WHO, f"a{number}") is not None for number in range(6)]
    assert found == [False] * 3 + [True] * 3, "the newest are kept"
    assert store.request(WHO, "r0") is None
    assert store.request(WHO, "r5") == (b"d", "a5", "{}")
    assert store.answer(WHO, "p") == b"document"
    assert store.answer("analyst bob", "b5") is not None
    assert count(store, "requests") == 7


@pytest.mark.parametrize("most", ["MOST_FREE", "MOST_FREE_BYTES"])
def test_free_answers_are_bounded(store: Store, monkeypatch: pytest.MonkeyPatch, most: str) -> None:
    monkeypatch.setattr(kept, most, 3 if most == "MOST_FREE" else 3 * len(b"document"))
    check_free_answers(store)


def test_planted_bug_free_answers_without_end(store: Store) -> None:
    with pytest.raises(AssertionError, match="the newest are kept"):
        check_free_answers(store)


def test_one_answer_is_always_kept(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MOST_FREE_BYTES", 1)
    store.bind(WHO, "r", b"d", "{}", 0)
    assert store.keep(WHO, "r", "a", b"document", free=True) == "a"
    assert store.answer(WHO, "a") == b"document"


def check_jobs(store: Store) -> None:
    for number in range(9):
        assert store.add_job(JobRow(f"j{number}", WHO, "t", "x" * 1000, "queued", None, 1, 0), 100)
        if number != 1:
            row = store.take_job(10, 40)
            assert row is not None
            assert row.body
            store.end_job(row.id, "failed", "{}")
    assert count(store, "jobs") <= 5, "the newest are kept"
    assert store._read("SELECT count(*) FROM jobs WHERE state = 'queued'") == [(1,)], "what waits is never forgotten"
    assert store._read("SELECT count(*) FROM jobs WHERE state = 'failed' AND body <> ''") == [(0,)]


def test_jobs_that_ended_are_bounded(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MOST_ENDED", 3)
    check_jobs(store)


def test_planted_bug_jobs_without_end(store: Store) -> None:
    with pytest.raises(AssertionError, match="the newest are kept"):
        check_jobs(store)


@pytest.mark.parametrize("error", [NotComputed([]), Stranger()])
def test_whatever_refuses_a_question_leaves_nothing(unserved: Any, monkeypatch: pytest.MonkeyPatch, error: Any) -> None:
    from dither.curator.principal import Principal
    from dither.curator.service import Service
    from dither.server.serve import Server, Settings

    def refuse(*_: Any, **__: Any) -> None:
        raise error

    server = Server(Settings(str(unserved.folder)))
    monkeypatch.setattr(Service, "ask", refuse)
    before = count(server.store, "requests")
    with pytest.raises(type(error)):
        server.questions.asked(Principal.analyst("alice"), {"sql": "SELECT 1", "epsilon": 1})
    assert count(server.store, "requests") == before
    server.close()


def test_a_known_secret_under_another_id_waits_with_the_strangers(unserved: Any) -> None:
    """Computing whether a token is one takes a while, which whoever has one token must not have done without end."""
    from dither.server.tokens import Tokens

    store = Store(unserved.folder)
    tokens, token = Tokens(store), unserved.tokens["alice"]
    tokens.holder(token)
    assert tokens.remembered(token) == tokens.holder(token)
    _, identity, secret = token.split("_", 2)
    other = unserved.tokens["bob"].split("_", 2)[1]
    assert identity != other
    assert tokens.remembered(f"dither_{other}_{secret}") is None
    store.close()


def check_nothing_stays(folder: Path) -> None:
    """Of those whom no cap lets ask, say because their token was made before they have one, however often they try."""
    server = Server(Settings(str(folder)))
    try:
        for _ in range(3):
            with pytest.raises(Stranger):
                server.questions.asked(Principal.analyst("mallory"), {"sql": "SELECT COUNT(*) FROM visits"})
        assert count(server.store, "requests") == 0, "strangers fill the disk"
    finally:
        server.close()


def test_what_strangers_ask_is_not_kept(unserved: Any) -> None:
    check_nothing_stays(unserved.folder)


def test_planted_bug_ids_are_bound_before_anybody_looks_who_asks(
    unserved: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    charged, looked = Service.charged, set()

    def careless(self: Service, principal: Principal, request: str) -> bool:
        first = request not in looked
        looked.add(request)
        return False if first else charged(self, principal, request)

    monkeypatch.setattr(Service, "charged", careless)
    with pytest.raises(AssertionError, match="strangers fill"):
        check_nothing_stays(unserved.folder)
