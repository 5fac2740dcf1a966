"""set_config and current_setting: SET and SHOW as functions, under the same rules."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
import wire_places as places
from wire_raw_client import RawClient, message

from dither.server.wire.command import Word

COUNT = "SELECT COUNT(*) FROM visits WHERE age > 33"


def shown(connection: Any, name: str) -> str:
    return str(connection.execute(f"SHOW {name}").fetchone()[0])


def test_it_sets_and_says_what_is_set(alice: Any) -> None:
    assert alice.execute("SELECT pg_catalog.set_config('search_path', '', false)").fetchone() == ("",)
    assert shown(alice, "search_path") == ""
    both = "SELECT set_config(%s, %s, %s) AS one, set_config('jit', 'on', 'f')"
    cursor = alice.execute(both, ["dither.epsilon", "0.02", False])
    assert [column.name for column in cursor.description] == ["one", "set_config"]
    assert cursor.fetchone() == ("0.02", "on")
    asked = "SELECT current_setting('dither.epsilon'), current_setting('JIT'::varchar)"
    assert alice.execute(asked).fetchone() == ("0.02", "on")
    assert alice.execute("SELECT set_config('jit', NULL, false)").fetchone() == ("off",)


def test_for_a_block_alone(alice: Any) -> None:
    alice.execute("BEGIN")
    alice.execute("SELECT set_config('dither.epsilon', '0.5', true)")
    assert shown(alice, "dither.epsilon") == "0.5"
    alice.execute("COMMIT")
    assert shown(alice, "dither.epsilon") == "0.01"
    alice.execute("SELECT set_config('dither.epsilon', '0.5', true)")
    assert shown(alice, "dither.epsilon") == "0.01", "outside a block it lasts for nothing"


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("SELECT set_config('nosuch', '1', false)", "42704"),
        ("SELECT set_config('dither.epsilon', '-1', false)", "22023"),
        ("SELECT set_config('client_encoding', 'LATIN1', false)", "22023"),
        ("SELECT set_config('jit', 'on', 'perhaps')", "22023"),
        ("SELECT set_config('jit', 'on', NULL)", "22023"),
        ("SELECT set_config(NULL, 'on', false)", "22023"),
        ("SELECT set_config('jit', 'on')", "0A000"),
        ("SELECT set_config('jit', lower('ON'), false)", "0A000"),
        ("SELECT set_config('jit', 'on', false), 1", "0A000"),
        ("SELECT set_config('jit', 'on', false) FROM pg_class", "0A000"),
        ("SELECT set_config('jit', 'on', false) WHERE 1 = 0", "0A000"),
        ("SELECT set_config('jit', 'on', false) LIMIT 0", "0A000"),
        ("SELECT set_config('dither.epsilon', '5', false) FROM visits", "0A000"),
        ("SELECT current_setting('nosuch')", "42704"),
        ("SELECT current_setting('no.such', false)", "42704"),
    ],
)
def test_what_is_refused_sets_nothing(alice: Any, text: str, state: str) -> None:
    with pytest.raises(psycopg.Error) as refused:
        alice.execute(text)
    assert refused.value.sqlstate == state
    assert (shown(alice, "jit"), shown(alice, "dither.epsilon")) == ("off", "0.01")
    assert alice.execute("SELECT current_setting('no.such', true)").fetchone() == (None,)


def check_describing(clinic: places.Wired) -> None:
    with RawClient(clinic.listener.port) as client:

        def epsilon() -> bytes:
            client.send(message(b"Q", b"SHOW dither.epsilon\0"))
            return dict(client.until(b"Z"))[b"D"][6:]

        client.login(*clinic.user("alice"))
        text = b"s\0SELECT set_config('dither.epsilon', '3', false)\0\0\0"
        client.send(message(b"P", text) + message(b"D", b"Ss\0") + message(b"B", b"p\0s\0\0\0\0\0\0\0"))
        client.send(message(b"D", b"Pp\0") + message(b"S"))
        assert [one for kind, one in client.until(b"Z") if kind == b"T" and b"set_config" in one]
        assert epsilon() == b"", "describing sets nothing"
        client.send(message(b"B", b"\0s\0\0\0\0\0\0\0") + message(b"E", b"\0\0\0\0\0") + message(b"S"))
        assert b"D" in dict(client.until(b"Z"))
        assert epsilon() == b"3"


def test_describing_sets_nothing(shared: places.Wired) -> None:
    check_describing(shared)


def test_planted_describing_that_sets(shared: places.Wired, monkeypatch: pytest.MonkeyPatch) -> None:
    columns = Word.columns

    def eager(self: Word) -> Any:
        self.work()
        return columns(self)

    monkeypatch.setattr(Word, "columns", eager)
    with pytest.raises(AssertionError, match="sets nothing"):
        check_describing(shared)


def test_a_session_budget_counts_however_it_is_set(shared: places.Wired) -> None:
    with shared.connect(options="-c dither.epsilon=0.01") as connection:
        connection.execute("SELECT set_config('dither.session_budget', '0.005', false)")
        before = shared.spent()
        with pytest.raises(psycopg.Error) as refused:
            connection.execute(COUNT)
        assert refused.value.sqlstate == "53400"
        assert shared.spent() == before
