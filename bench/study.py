"""Studies and look-ups: cryptography alone beside MPyC and the draft's reference code, the same with HTTP and fsync,
exact errors, and look-ups beside a sum over the bytes. Each aim is printed with what was found.

python bench/study.py

The reference code is not published as a package and needs a newer Python than this project: an environment of its own,
with the folder poc of cfrg/draft-irtf-cfrg-vdaf installed. VDAF_PYTHON names its interpreter; else it is left out.
"""

from __future__ import annotations

import math
import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from dither.client.connection import Connection
from dither.lookup.lwe import SEED, LweClient, LweDatabase
from dither.lookup.xor import XorDatabase
from dither.mechanisms import LocalHashing
from dither.study import init_study, make_key
from dither.study.demonstration import await_aggregators, free_ports, running
from dither.study.noise_shares import reach
from dither.study.price_of_trust import price_of_trust
from dither.study.prio import Circuit, Count, Histogram, Prio3
from dither.study.remote import Participant

CELLS = 10**6
REFERENCE = os.environ.get("VDAF_PYTHON")
AIMS = {"count": (None, 4), "histogram of 100": (20, 8)}  # times as fast as the reference code: client, aggregator
missed: list[str] = []


def aim(what: str, found: float, *, least: float | None = None, most: float | None = None) -> None:
    """Print what was found beside what was aimed at."""
    kept = (least is None or found >= least) and (most is None or found <= most)
    wanted = f"at least {least:,}" if least is not None else f"at most {most:,}"
    print(f"  {'kept' if kept else 'MISSED'}: {what} {found:,.4g} ({wanted})")
    if not kept:
        missed.append(what)


def least(act: Callable[[], object], rounds: int, clock: Callable[[], float] = time.perf_counter) -> float:
    """Seconds of the quickest of several calls."""
    act()
    found = []
    for _ in range(rounds):
        begun = clock()
        act()
        found.append(clock() - begun)
    return min(found)


KINDS: dict[str, tuple[Circuit, int, int, int]] = {
    "count": (Count(), 1, 1, 500),
    "histogram of 100": (Histogram(100, 10), 7, 100, 50),
}


def reports() -> None:
    """What a report costs its participant and each aggregator, and how many pass a second beside MPyC."""
    for name, (circuit, measurement, buckets, count) in KINDS.items():
        function, nonce, key = Prio3(circuit, b"bench"), secrets.token_bytes(16), secrets.token_bytes(32)
        random = secrets.token_bytes(function.randomness)
        public, shares = function.shard(measurement, nonce, random)

        def shard(f: Prio3 = function, m: int = measurement, n: bytes = nonce, r: bytes = random) -> object:
            return f.shard(m, n, r)

        def check(
            f: Prio3 = function, k: bytes = key, n: bytes = nonce, p: bytes = public, s: list[bytes] = shares
        ) -> object:
            """Both aggregators, one after the other."""
            begun = [f.verify_init(k, number, n, p, share) for number, share in enumerate(s)]
            message = f.verifier_shares_to_message([told for _, told in begun])
            return [f.verify_next(state, message) for state, _ in begun]

        client, both = (least(act, 200, time.process_time) for act in (shard, check))  # as the others: of computing
        print(f"{name}: client {client * 1e6:,.0f} us, an aggregator {both / 2 * 1e6:,.0f} us a report", end="; ")
        print(f"{2 / both:,.0f} reports a second")
        if buckets > 1:
            aim("histograms a second on one core", 2 / both, least=2000)
        if REFERENCE:
            for who, ours, theirs, least_ratio in zip(
                ("client", "aggregator"), (client, both / 2), reference(buckets), AIMS[name], strict=True
            ):
                print(f"  reference code, {who}: {theirs * 1e6:,.0f} us, {theirs / ours:.1f}x")
                if least_ratio is not None:
                    aim(f"reference code over ours, {name}, {who}", theirs / ours, least=least_ratio)
        took = mpyc(count, buckets)
        if took is not None:
            each = took / count
            print(f"  MPyC, the same checks: {each * 1e6:,.0f} us a report and party", end=", ")
            print(f"{each / (both / 2):,.1f}x an aggregator, {each / (client + both / 2):,.1f}x with the client's part")


def mpyc(count: int, buckets: int) -> float | None:
    """Seconds of computing of one of its parties for input, check and sum; None if it is not installed."""
    if find_spec("mpyc") is None:
        print("  MPyC is not installed: make bench has it")
        return None
    script = Path(__file__).with_name("study_mpyc.py")
    made = subprocess.run(
        [sys.executable, str(script), "-M3", str(count), str(buckets)], capture_output=True, text=True, check=True
    )
    return float(next(line for line in made.stdout.splitlines() if line.startswith("MPYC")).split()[1])


def reference(buckets: int) -> tuple[float, float]:
    """Seconds of the draft's own code, for a client and for an aggregator."""
    script = Path(__file__).with_name("study_reference.py")
    made = subprocess.run([str(REFERENCE), str(script), str(buckets)], capture_output=True, text=True, check=True)
    _, client, aggregator = made.stdout.split()
    return float(client), float(aggregator)


def served(count: int = 300) -> None:
    """Histograms of 100 through two aggregators as processes: HTTP, HPKE and every commit on disk."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder, ports = Path(name), free_ports(2)
        keys = [make_key(folder / str(number)) for number in range(2)]
        peers = [{"url": f"http://127.0.0.1:{port}", "key": key.hex()} for port, key in zip(ports, keys, strict=True)]
        asked = [{"name": "bucket", "kind": "choice", "choices": [f"b{place}" for place in range(100)]}]
        study = init_study(
            {"name": "bench", "epsilon": 1, "questions": asked, "aggregators": peers}, folder / "files", count
        )
        for number, port in enumerate(ports):
            files = ["--study", str(folder / "files/study.json"), "--secrets", str(folder / "files/secrets.json")]
            where = [str(folder / str(number)), "--number", str(number), "--port", str(port)]
            stack.enter_context(running(["study", "aggregate", *where, *files]))
        await_aggregators(study.aggregators)
        participant, begun = Participant(study), time.perf_counter()
        for token in (folder / "files/invitations.txt").read_text().split():
            participant.report(bytes.fromhex(token), {"bucket": "b7"})
        handed = time.perf_counter() - begun
        leader = Connection(study.aggregators[0].url, "anybody")
        while leader.get("/study")["reports"].get("valid", 0) < count:
            time.sleep(0.01)
        whole = time.perf_counter() - begun
    print(f"with HTTP and fsync, one client: {count / handed:,.0f} histograms a second handed in", end=", ")
    print(f"{count / whole:,.0f} handed in and checked, all parties on this machine")


def errors() -> None:
    """Exactly, from the distributions: no sampling."""
    central, study, shuffled, local = price_of_trust(10_000, 1).values()
    print(f"a count of 10,000 participants at epsilon 1: curator {central:.2f}, study {study:.2f}", end=", ")
    print(f"shuffled {shuffled:.2f} (delta 1e-6), local {local:.2f}")
    q = math.exp(-1 / 2)
    central, study = math.sqrt(2 * q) / (1 - q), 2 * math.sqrt(q) / (1 - q)
    best = 10_000 * math.sqrt(LocalHashing(epsilon=1, values=range(100)).variance(10_000))
    print(f"a histogram of 100: curator {central:.2f}, study {study:.2f}, local {best:.2f}")
    aim("error of a study over a curator's", study / central, most=1.4143)
    aim("error of the local model over a study's", best / study, least=20)
    two, one = (reach(Fraction(1), Fraction(shape), Fraction(1, 20)) for shape in (2, 1))
    print(f"95% of counts are within {two} by a study, {one} by a curator")


def lookups() -> None:
    cells = np.frombuffer(secrets.token_bytes(8 * CELLS), np.uint8).reshape(CELLS, 8)
    pair, single = XorDatabase(cells), LweDatabase(cells, secrets.token_bytes(SEED))
    plain = least(lambda: np.sum(cells), 20)
    hint = single.hint()
    query, _ = LweClient.of(single.layout, hint).query(CELLS // 2)
    first, _ = pair.square.queries(CELLS // 2)
    for name, ratio, sent in (
        ("two servers", least(lambda: pair.answer(first), 20) / plain, 2 * (len(first) + len(pair.answer(first)))),
        ("one server", least(lambda: single.answer(query), 20) / plain, len(query) + len(single.answer(query))),
    ):
        print(f"{name}: {sent:,} bytes a look-up")
        aim("answer over np.sum of the bytes", ratio, most=3)
        aim("of the release, a later look-up", sent / cells.size, most=1 / 25)
        first_one = sent + len(hint) * (name == "one server")
        aim("of the release, a first look-up", first_one / cells.size, most=1 / 8)


if __name__ == "__main__":
    errors()
    reports()
    served()
    lookups()
    if missed:
        sys.exit(f"{len(missed)} aims were missed")
