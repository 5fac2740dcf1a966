"""The server under load: requests a second and their times, beside bare syncs, a no-op and the same calls in process.

    python bench/server.py [PART ...] [--seconds 10] [--rounds 2] [--requests 100000] [--entries 1000000]

locust makes the load: 64 clients of 8 analysts, over one process that serves. Fresh COUNTs are each charged and stored,
durably, before they are returned; the same server with its syncs stubbed out (by a library that is preloaded, which
counts them otherwise) shows what durability costs. Rates are the best of interleaved rounds, since other work on the
machine only takes from them. Then 1,000 connections are held, memory is looked at over many requests, a long ledger and
one of many accounts are charged, and a repeated answer is read over HTTP and PostgreSQL's protocol (`bench/wire.py`).
Parts are rates, connections, memory, entries, accounts and wire. Exits 1 if a limit is missed.
"""

from __future__ import annotations

import argparse
import json
import mmap
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

import dither as dt
import wire
from dither.curator.principal import Principal
from dither.server.serve import Settings, free_port
from dither.server.store import Store
from dither.server.tokens import Tokens
from server_ledger import long_ledger, many_accounts, rate_of

CLIENTS, ANALYSTS, HELD = 64, 8, 1000
LEAST_DURABLE, LEAST_EXPLAIN, MOST_SYNCS, MOST_OPENING, LEAST_CHARGES = 0.7, 0.5, 0.5, 1.0, 0.8
MOST_GROWTH = 1.1  # of memory, from a fifth of the requests to all of them
COUNT = "SELECT COUNT(*) FROM visits"
SERVE = "import json, sys; from dither.server.serve import Settings, run; run(Settings(**json.loads(sys.argv[1])))"
SYNCS = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
static long *count;
static int stubbed;
__attribute__((constructor)) static void begin(void) {
    int file = open(getenv("SYNCS_COUNTED"), O_RDWR);
    count = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    stubbed = getenv("SYNCS_STUBBED") != 0;
}
static int counted(const char *name, int file) {
    __atomic_add_fetch(count, 1, __ATOMIC_RELAXED);
    if (stubbed) return 0;
    return ((int (*)(int))dlsym(RTLD_NEXT, name))(file);
}
int fsync(int file) { return counted("fsync", file); }
int fdatasync(int file) { return counted("fdatasync", file); }
"""


@dataclass
class Served:
    """A process that serves the folder, with its syncs counted."""

    port: int
    tokens: list[str]
    process: subprocess.Popen[bytes]
    counter: mmap.mmap

    @property
    def syncs(self) -> int:
        return int.from_bytes(self.counter[:8], "little")

    @property
    def memory(self) -> int:
        """Bytes that the process that serves has in memory."""
        (child,) = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()[:1]
        for line in Path(f"/proc/{child}/status").read_text().splitlines():
            if line.startswith("RssAnon"):
                return int(line.split()[1]) * 1024
        raise ValueError(line)

    def load(self, kind: str, seconds: float, clients: int = CLIENTS) -> dict[str, Any]:
        """What locust says of so many seconds."""
        program = Path(__file__).with_name("server_load.py")
        command = [sys.executable, str(program), kind, f"http://127.0.0.1:{self.port}", str(clients), str(seconds)]
        done = subprocess.run([*command, *self.tokens], stdout=subprocess.PIPE, check=True)
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[0])
        assert not found["failed"], f"{kind}: {found['failed']} failed"
        return found


def make(folder: Path) -> list[str]:
    rows = 10_000
    source = pa.table({"patient": range(rows), "visit_key": range(rows)})
    with dt.Curator.open(folder) as curator:
        curator.people("patients", budget=dt.PureDP(9000))
        columns = {"visit_key": dt.Int(0, 2**60)}
        curator.register("visits", source, people="patients", owner="patient", max_rows_per_owner=1, columns=columns)
        names = [f"analyst{number}" for number in range(ANALYSTS)]
        for name in names:
            curator.analyst(name, budget=dt.PureDP(1000))
        curator.limits(dt.Limits(wait_seconds=120))
    store = Store(folder)
    tokens = [Tokens(store).make(Principal.analyst(name)) for name in names]
    store.close()
    return tokens


@contextmanager
def serving(folder: Path, tokens: list[str], library: Path, *, stubbed: bool = False) -> Iterator[Served]:
    counted = folder.parent / "syncs"
    counted.write_bytes(bytes(4096))
    environment = {**os.environ, "LD_PRELOAD": str(library), "SYNCS_COUNTED": str(counted)}
    environment |= {"SYNCS_STUBBED": "1"} if stubbed else {}
    settings = Settings(str(folder), port=free_port("127.0.0.1"), rate=1e9, burst=10**9, threads=CLIENTS)
    process = subprocess.Popen([sys.executable, "-c", SERVE, json.dumps(asdict(settings))], env=environment)
    with counted.open("r+b") as file:
        served = Served(settings.port, tokens, process, mmap.mmap(file.fileno(), 4096))
    try:
        wait(settings.port)
        served.load("fresh", 1, 8)  # workers are started, modules imported
        yield served
    finally:
        process.terminate()
        process.wait()


def wait(port: int) -> None:
    for _ in range(2400):  # two minutes, at least
        with suppress(OSError), socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            if connection.recv(4096):
                return
        time.sleep(0.05)
    raise TimeoutError("the server did not start")


def syncs_a_second(folder: Path, seconds: float) -> float:
    with open(folder / "bare", "wb") as file:

        def sync(_: int) -> None:
            file.write(bytes(4096))
            file.flush()
            os.fdatasync(file.fileno())

        return rate_of(sync, seconds)


def rates(folder: Path, tokens: list[str], library: Path, rounds: int, seconds: float) -> dict[str, dict[str, Any]]:
    """The best of all rounds, for each kind of request; with how many syncs an answer took."""
    best: dict[str, dict[str, Any]] = {}

    def better(name: str, found: dict[str, Any]) -> None:
        if found["rate"] > best.get(name, {"rate": 0})["rate"]:
            best[name] = found

    for _ in range(rounds):
        better("bare fdatasync", {"rate": syncs_a_second(folder.parent, min(seconds, 3))})
        with serving(folder, tokens, library) as served:
            for kind in ("no-op", "explain", "repeat"):
                better(kind, served.load(kind, seconds))
            before = served.syncs
            found = served.load("fresh", seconds)
            better("fresh", found | {"syncs": (served.syncs - before) / found["answered"]})
        with serving(folder, tokens, library, stubbed=True) as served:
            better("fresh, syncs stubbed out", served.load("fresh", seconds))
        with dt.Curator.open(folder) as curator:
            explain = partial(_explain, curator.analyst("analyst0"))
            explain(0)  # imports and plans are made
            better("explain in process", {"rate": rate_of(explain, seconds, 4)})
            ask = partial(_ask, curator.analyst("analyst0"), time.time_ns())
            ask(-1)  # a worker is started
            better("fresh in process", {"rate": rate_of(ask, seconds, 3)})
    return best


def _explain(analyst: Any, _: int) -> None:
    analyst.explain(COUNT, epsilon="0.1")


def _ask(analyst: Any, run: int, number: int) -> None:
    analyst.sql(f"{COUNT} WHERE visit_key <> {run % 2**60} AND visit_key <> {number}", epsilon="0.000001")


def held(served: Served) -> int:
    """How many connections are answered, and answered again while all of them are open; others are, meanwhile.

    Whoever is silent for ten seconds is let go, so nobody is.
    """
    request = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
    connections = []
    for _ in range(HELD):
        connections.append(socket.create_connection(("127.0.0.1", served.port), timeout=120))
        connections[-1].sendall(request)
    for again in (True, False):
        answered = 0
        for connection in connections:
            answered += connection.recv(4096).startswith(b"HTTP/1.1 200")
            if again:
                connection.sendall(request)
        wait(served.port)
    for connection in connections:
        connection.close()
    return answered


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS])
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--entries", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path)
    stated = parser.parse_args()
    kept = []
    with tempfile.TemporaryDirectory(dir=stated.folder) as made:
        folder = Path(made)
        library = folder / "syncs.so"
        command = [os.environ.get("CC", "cc"), "-O1", "-shared", "-fPIC", "-x", "c", "-", "-o", str(library)]
        subprocess.run(command, input=SYNCS.encode(), check=True)
        clinic = folder / "clinic", make(folder / "clinic"), library
        for part in stated.parts or PARTS:
            for said, is_kept in PARTS[part](clinic, stated):
                print(f"{'kept  ' if is_kept else 'MISSED'} {said}", flush=True)
                kept.append(is_kept)
    return 0 if all(kept) else 1


def rates_part(clinic: Any, stated: Any) -> Verdicts:
    found = rates(*clinic, stated.rounds, stated.seconds)
    print("| | a second | p50 | p99 |\n|---|---|---|---|")
    for name, one in found.items():
        times = " | ".join(f"{one[at]:,.0f} ms" if at in one else "" for at in ("p50", "p99"))
        print(f"| {name} | {one['rate']:,.0f} | {times} |", flush=True)
    durable = found["fresh"]["rate"] / found["fresh, syncs stubbed out"]["rate"]
    yield f"fresh durable answers {durable:.2f}x those without syncs", durable >= LEAST_DURABLE
    yield f"{found['fresh']['syncs']:.2f} syncs an answer", found["fresh"]["syncs"] <= MOST_SYNCS
    explain = found["explain"]["rate"] / found["explain in process"]["rate"]
    yield f"explain {explain:.2f}x of that in process", explain >= LEAST_EXPLAIN


def connections_part(clinic: Any, stated: Any) -> Verdicts:
    with serving(*clinic) as served:
        answered = held(served)
        yield f"{answered:,} connections held", answered == HELD


def memory_part(clinic: Any, stated: Any) -> Verdicts:
    with serving(*clinic) as served:
        sizes, asked = list[int](), 0
        for fifth in range(1, 6):
            while asked < stated.requests * fifth // 5:
                for kind in ("explain", "repeat", "fresh"):
                    asked += served.load(kind, stated.seconds)["requests"]
            sizes.append(served.memory)
    shown = ", ".join(f"{size / 2**20:,.0f}" for size in sizes)
    yield f"memory {shown} MB after each fifth of {asked:,} requests", sizes[-1] < MOST_GROWTH * sizes[0]


def entries_part(clinic: Any, stated: Any) -> Verdicts:
    seconds, long, empty = long_ledger(clinic[0].parent, stated.entries)
    yield f"{stated.entries:,} entries opened in {seconds:.2f} s", seconds < MOST_OPENING
    said = f"{long:,.0f} charges and answers a second, {empty:,.0f} of an empty ledger"
    yield said, long >= LEAST_CHARGES * empty


def accounts_part(clinic: Any, stated: Any) -> Verdicts:
    for what, few, many in many_accounts(clinic[0].parent, 10, 10_000):
        said = f"{many:,.0f} charges and answers a second of computing {what} with 10,000 accounts, {few:,.0f} with 10"
        yield said, many >= LEAST_CHARGES * few


def wire_part(clinic: Any, stated: Any) -> Verdicts:
    found = wire.measure()
    for size in wire.QUESTIONS:
        (web, web_rows), (own, own_rows) = found[size, "HTTP, JSON"], found[size, "psycopg, binary"]
        times = f"p50 {own * 1000:.1f} ms, over HTTP {web * 1000:.1f} ms"
        yield f"{size} again over PostgreSQL's protocol: {times}; {own_rows / web_rows:.1f}x its rows a second", True


Verdicts = Iterator[tuple[str, bool]]
PARTS: dict[str, Callable[[Any, Any], Verdicts]] = {
    "rates": rates_part,
    "connections": connections_part,
    "memory": memory_part,
    "entries": entries_part,
    "accounts": accounts_part,
    "wire": wire_part,
}


if __name__ == "__main__":
    sys.exit(main())
