"""`dither serve --pg`: several processes at one port, one folder, one ledger, and an end that cuts nothing off."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from typing import Any

import psycopg


def test_processes_share_a_port(unserved: Any) -> None:
    command = [sys.executable, "-m", "dither.cli.main", "serve", str(unserved.folder), "--port", "0", "--pg", "0"]
    _, identity, secret = unserved.tokens["alice"].split("_", 2)
    with (
        subprocess.Popen([*command, "--processes", "2"], stdout=subprocess.PIPE, text=True) as served,
        ExitStack() as stack,
    ):
        assert served.stdout is not None
        served.stdout.readline()
        told = served.stdout.readline()
        assert told.startswith("PostgreSQL clients at 127.0.0.1, port ")
        known: dict[str, Any] = {"host": "127.0.0.1", "port": told.split()[-1], "user": f"alice.{identity}"}

        def connect() -> Any:
            for _ in range(600):
                try:
                    return psycopg.connect(**known, password=secret, dbname="clinic", autocommit=True)
                except psycopg.OperationalError:
                    assert served.poll() is None
                    time.sleep(0.1)
            raise AssertionError("the server did not start")

        connections = [stack.enter_context(connect()) for _ in range(6)]
        answers = set()
        for connection in connections:
            connection.execute("SET dither.epsilon = '0.01'")
            answers.add(connection.execute("SELECT COUNT(*) FROM visits").fetchone())
            assert connection.execute("SELECT relname FROM pg_class").fetchall() == [("visits",)]
        assert len(answers) == 1  # whichever process: charged once, the same for all
        served.send_signal(signal.SIGTERM)
        assert served.wait(60) == 0
    assert not list(unserved.folder.glob("wire.nonce.*"))
    assert (unserved.folder / "wire.nonce").exists()
