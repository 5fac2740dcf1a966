"""dt.connect: the local analyst's methods over HTTP, errors and all, without the engine."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import numpy as np
import pytest

import dither as dt
from dither.answer.wire import from_bytes, to_bytes
from dither.client import connect
from dither.client.connection import Connection, Unreachable
from dither.errors import BudgetExceeded, ParameterError, Stranger, UnsupportedQuery
from dither.server.problems import BodyLate, document_of, status_of

GROUPS = "SELECT CASE WHEN age < 40 THEN 0 ELSE 1 END AS half, COUNT(*) AS n, AVG(age) AS mean FROM visits GROUP BY 1"


@pytest.fixture(scope="module")
def alice(served: Any) -> Any:
    return connect(f"http://127.0.0.1:{served.port}", served.tokens["alice"])


def test_an_answer_is_the_answer(served: Any, alice: Any) -> None:
    """The same question is a free repeat at home, so both show the same numbers and say the same about them."""
    answer = alice.sql(GROUPS, epsilon="0.01")
    with dt.Curator.open(served.folder) as curator:
        home = curator.analyst("alice").sql(GROUPS, epsilon="0.01")
    assert answer.charged
    assert not home.charged
    assert answer.to_arrow(intervals=True).equals(home.to_arrow(intervals=True))
    assert (answer.notes, answer.claim, answer.price) == (home.notes, home.claim, home.price)
    assert str(replace(answer, charged=False)) == str(home)


def test_everything_else_is_as_at_home(served: Any, alice: Any) -> None:
    with dt.Curator.open(served.folder) as curator:
        home = curator.analyst("alice")
        assert str(alice.explain(GROUPS, epsilon="0.02")) == str(home.explain(GROUPS, epsilon="0.02"))
        assert alice.tables() == home.tables()
        assert str(alice.budget()) == str(home.budget())
        assert [entry.body for entry in alice.history()] == [dict(entry.body) for entry in home.history()]
        assert alice.name == "alice"


def test_errors_are_the_same_classes(alice: Any) -> None:
    with pytest.raises(UnsupportedQuery, match="line 1") as refused:
        alice.sql("SELECT * FROM visits", epsilon=1)
    assert (refused.value.line, refused.value.column) == (1, 8)
    with pytest.raises(BudgetExceeded) as exceeded:
        alice.sql("SELECT COUNT(*) FROM visits", epsilon=1000)
    assert exceeded.value.whose == "analyst"
    assert exceeded.value.what.startswith("the price epsilon=1000 does not fit into what is left")
    assert exceeded.value.predicate.startswith("does not fit into what is left")
    with pytest.raises(ParameterError):
        alice.sql("SELECT COUNT(*) FROM visits", epsilon="x")


def test_a_stranger_is_one(served: Any) -> None:
    with pytest.raises(Stranger):
        connect(f"http://127.0.0.1:{served.port}", "dither_0000000000000000_" + "A" * 43)


@pytest.mark.parametrize("url", ["", "visits", "ftp://x", "http://dither.example", "https://x/path", "https://x?y=1"])
def test_addresses_are_of_servers_and_private(url: str) -> None:
    with pytest.raises(ParameterError, match="url"):
        connect(url, "token")


def test_a_server_that_is_gone_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dither.client.connection.time.sleep", lambda _: None)
    with pytest.raises(Unreachable, match="charged once"):
        connect("http://127.0.0.1:9", "token")


def test_a_broken_connection_is_asked_again_and_charged_once(own: Any) -> None:
    """The server dies after each answer's bytes have left, say, and comes back: the id finds the answer."""
    alice = connect(f"http://127.0.0.1:{own.port}", own.tokens["alice"])
    first = alice.sql("SELECT COUNT(*) FROM visits", epsilon="0.01", request="mine")
    own.stop()
    own.start()
    again = alice.sql("SELECT COUNT(*) FROM visits", epsilon="0.01", request="mine")
    assert to_bytes(again) == to_bytes(first)


def test_a_body_that_came_late_is_sent_again(monkeypatch: pytest.MonkeyPatch) -> None:
    came: list[bytes] = []

    class Busy(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            came.append(self.rfile.read(int(self.headers["content-length"])))
            content = json.dumps(document_of(BodyLate()) if len(came) == 1 else {}).encode()
            self.send_response(status_of(BodyLate()) if len(came) == 1 else 200)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    monkeypatch.setattr("dither.client.connection.time.sleep", lambda _: None)
    with HTTPServer(("127.0.0.1", 0), Busy) as server:
        serving = Thread(target=server.serve_forever)
        serving.start()
        try:
            said = Connection(f"http://127.0.0.1:{server.server_port}", "token").send("POST", "/query", {"sql": "x"})
        finally:
            server.shutdown()
            serving.join()
    assert (said, came) == (b"{}", [b'{"sql": "x"}'] * 2)


def test_answers_survive_the_wire_whole() -> None:
    from fractions import Fraction

    import pyarrow as pa

    from dither.answer import Answer, Chosen, Key, NoiseScale, Value

    big = np.array([10**30, -(10**25)], dtype=object)
    ends = np.array([10**29, float("-inf")], dtype=object)
    noise = Value("s", big, 2, Fraction(1, 3))
    columns = (
        Key("k", pa.array(["a", None])),
        Key("d", pa.array([1, 2], pa.date32())),
        Chosen("c", pa.array(["x", "y"]), "Exponential"),
        Value(
            "s", big, 2, None, ends, big, "Laplace", (NoiseScale("m", 0.1),), (0.0, float("inf")), True, "2 rows", noise
        ),
        Value("f", np.array([0.1, float("nan")]), lower=np.array([-1.0, -np.inf]), upper=np.array([1.0, np.inf])),
    )
    made = Answer(columns, {"epsilon": "1"}, "g", Fraction(19, 20), ("n",), False, False, "groups", 8)
    read = from_bytes(to_bytes(made))
    assert to_bytes(read) == to_bytes(made)
    assert read.column("s").noise.half_width == Fraction(1, 3)  # type: ignore[union-attr]
    assert read.column("s").lower.tolist() == ends.tolist()  # type: ignore[union-attr]


@pytest.mark.parametrize("data", [b"", b"x" * 100, to_bytes.__doc__.encode()])  # type: ignore[union-attr]
def test_what_is_no_answer_is_refused(data: bytes) -> None:
    with pytest.raises(ParameterError):
        from_bytes(data)


def test_a_client_needs_neither_engine_nor_parser(served: Any) -> None:
    script = f"""
import sys
for name in ("duckdb", "sqlglot", "starlette", "granian", "yaml"):
    sys.modules[name] = None
import dither as dt
alice = dt.connect("http://127.0.0.1:{served.port}", "{served.tokens["alice"]}")
print(alice.sql("SELECT COUNT(*) FROM visits", epsilon="0.01"), alice.budget(), alice.tables(), alice.history())
print(alice.explain("SELECT COUNT(*) FROM visits", epsilon="0.01"))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
