"""A repeated answer over PostgreSQL's protocol and over HTTP, in one run: rows a second, and the median time of one."""

from __future__ import annotations

import http.client
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa

import dither as dt
from dither.curator.principal import Principal
from dither.server.store import Store
from dither.server.tokens import Tokens

QUESTIONS = {
    "1 row": "SELECT COUNT(*) FROM visits",
    "1,001 rows": "SELECT place, COUNT(*) AS n FROM visits GROUP BY place",
    "100,001 rows": "SELECT area, COUNT(*) AS n, AVG(age) AS years FROM visits GROUP BY area",
}
TIMES = {"1 row": 120, "1,001 rows": 40, "100,001 rows": 5}
PAUSE = 0.03  # seconds between two: a principal may ask 50 times a second, and psycopg's Describe counts too


def clinic(folder: Path) -> str:
    """A folder with one table; alice's token."""
    with dt.Curator.open(folder) as curator:
        curator.people("patients", budget=dt.ApproxDP(8, "1e-6"))
        people = range(10_000)
        source = {"pid": people, "age": [one % 90 for one in people], "place": [one % 1000 for one in people]}
        source["area"] = [one * 7 for one in people]
        columns = {"age": dt.Int(0, 105), "place": dt.Int(0, 999), "area": dt.Int(0, 99_999)}
        declared: dict[str, Any] = {"owner": "pid", "max_rows_per_owner": 1, "columns": columns}
        curator.register("visits", pa.table(source), people="patients", **declared)
        curator.analyst("alice", budget=dt.ApproxDP(4, "1e-7"))
    store = Store(folder)
    try:
        return Tokens(store).make(Principal.analyst("alice"))
    finally:
        store.close()


def over_http(port: int, token: str) -> Callable[[str], int]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)

    def ask(text: str) -> int:
        body = json.dumps({"sql": text, "epsilon": "0.1"})
        try:
            return send(body)
        except OSError:
            connection.close()
            raise

    def send(body: str) -> int:
        connection.request("POST", "/v1/query", body, {"Authorization": f"Bearer {token}"})
        return len(json.loads(connection.getresponse().read())["rows"])

    return ask


def over_postgres(port: int, token: str, *, binary: bool) -> Callable[[str], int]:
    _, identity, secret = token.split("_", 2)
    connection = psycopg.connect(
        host="127.0.0.1", port=port, user=f"alice.{identity}", password=secret, dbname="clinic", autocommit=True
    )
    connection.execute("SET dither.epsilon = '0.1'; SET dither.intervals = on")
    return lambda text: len(connection.execute(text, binary=binary).fetchall())


def measured(asked: Mapping[str, Callable[[str], int]], text: str, times: int) -> dict[str, tuple[int, float]]:
    """How many rows, and the median seconds, over each way; in turns, so that other work slows all of them alike."""
    rows, taken = {}, dict[str, list[float]]()
    for name, ask in asked.items():
        try:
            rows[name] = ask(text)
        except (OSError, http.client.HTTPException):  # it was closed while others were asked, and is opened anew
            rows[name] = ask(text)
    for _ in range(times):
        for name, ask in asked.items():
            time.sleep(PAUSE)
            start = time.perf_counter()
            rows[name] = ask(text)
            taken.setdefault(name, []).append(time.perf_counter() - start)
    return {name: (rows[name], statistics.median(taken[name])) for name in asked}


def measure() -> dict[tuple[str, str], tuple[float, float]]:
    """Seconds of one answer, and rows a second, by how many rows it has and over what it came; printed, too."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "clinic"
        token = clinic(place)
        command = [sys.executable, "-m", "dither.cli.main", "serve", str(place), "--port", "0", "--pg", "0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as served:
            assert served.stdout is not None
            web = int(served.stdout.readline().rsplit(":", 1)[1])
            wire = int(served.stdout.readline().split()[-1])
            try:
                _wait(web)
                asked = {
                    "HTTP, JSON": over_http(web, token),
                    "psycopg, text": over_postgres(wire, token, binary=False),
                    "psycopg, binary": over_postgres(wire, token, binary=True),
                }
                print("| answer, with intervals | over | p50, ms | rows a second |\n|---|---|---|---|")
                for size, text in QUESTIONS.items():
                    for name, (rows, median) in measured(asked, text, TIMES[size]).items():
                        print(f"| {size} | {name} | {median * 1000:.1f} | {rows / median:,.0f} |", flush=True)
                        found[size, name] = median, rows / median
            finally:
                served.terminate()
    return found


def _wait(port: int) -> None:
    for _ in range(600):
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
            connection.request("GET", "/ready")
            if connection.getresponse().status == 200:
                return
        except OSError:
            time.sleep(0.1)
    raise TimeoutError("the server did not start")


if __name__ == "__main__":
    measure()
