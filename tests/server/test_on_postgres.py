"""A server whose ledger, tokens, requests and jobs are in PostgreSQL: it comes back by itself when that dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from threading import Thread
from typing import Any

COUNT = "SELECT COUNT(*) FROM visits WHERE age >= "


def answered(served: Any, who: str, number: int, request: str) -> bytes:
    """Asked again, as clients do, until there is an answer."""
    for _ in range(1200):
        with suppress(OSError):
            reply = served.query(who, f"{COUNT}{number}", request=request)
            if reply.status == 200:
                return bytes(reply.body)
            assert reply.status in (429, 503), reply.body
        time.sleep(0.05)
    raise AssertionError("the server did not come back")


def test_it_serves(own_on_postgres: Any) -> None:
    served = own_on_postgres
    first = served.query("alice", request="r1")
    assert first.status == 200
    spent = served.spent()
    assert served.query("alice", request="r1").body == first.body
    assert served.query("alice", f"{COUNT}3", request="r1").status == 409
    assert served.spent() == spent
    assert not (served.folder / "server.sqlite").exists()
    assert not (served.folder / "ledger.sqlite").exists()
    submitted = served.call("alice", "POST", "/v1/jobs", {"sql": f"{COUNT}4", "epsilon": "0.001"})
    for _ in range(600):
        state = served.call("alice", "GET", f"/v1/jobs/{submitted.json['id']}").json
        if state["state"] == "done":
            break
        time.sleep(0.05)
    assert served.call("alice", "GET", f"/v1/answers/{state['answer']}").status == 200
    assert served.call("auditor", "GET", "/v1/verify").status == 200
    dither = [sys.executable, "-m", "dither.cli.main", "token"]
    revoked = served.tokens["alice"].split("_")[1]
    subprocess.run([*dither, "revoke", str(served.folder), revoked], check=True, capture_output=True)
    assert served.query("alice", request="r1").status == 401


def test_postgresql_killed_while_it_serves(own_on_postgres: Any, cluster: Any) -> None:
    """Each request is charged once and has one answer, however often PostgreSQL dies meanwhile."""
    served, requests, answers = own_on_postgres, 8, {}

    def client(who: str) -> None:
        for number in range(requests):
            answers[who, number] = answered(served, who, number, f"r{number}")

    threads = [Thread(target=client, args=(who,)) for who in ("alice", "bob")]
    for thread in threads:
        thread.start()
    for round_ in range(4):
        time.sleep(0.3)
        if round_ == 2:
            cluster.kill()
            continue
        for process in cluster.processes()[:1]:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
    for thread in threads:
        thread.join()
    for (who, number), answer in answers.items():
        assert answered(served, who, number, f"r{number}") == answer, "a retry returns the same bytes"
    history = served.call("auditor", "GET", "/v1/history").json
    charged = [(entry["body"]["analyst"], entry["body"]["request"]) for entry in history if entry["kind"] == "reserve"]
    assert len(charged) == len({*charged}) == 2 * requests, "each request is charged once"
    assert served.call("auditor", "GET", "/v1/verify").status == 200
