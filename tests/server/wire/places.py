"""A clinic that speaks PostgreSQL's protocol, in this process: real connections, one listener."""

from __future__ import annotations

import datetime
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa

import dither as dt
from dither.curator.principal import Principal
from dither.server.metrics import Sums
from dither.server.questions import Questions
from dither.server.store import Store
from dither.server.throttle import Throttle
from dither.server.tokens import Tokens
from dither.server.wire.listener import Listener, Services
from dither.server.wire.login.authentication import Gate, nonce_of

OWNERS = 300
CANARY = "canary4217"
DECLARED: dict[str, Any] = {
    "age": dt.Int(0, 120),
    "fee": dt.Fixed(0, 100, decimals=2),
    "region": dt.Category(["north", "south"]),
    "day": dt.Date("2024-01-01", "2024-01-28"),
    "at": dt.Timestamp("2024-01-01", "2024-12-31"),
    "ok": dt.Bool(),
    "note": dt.Text(),
}


def visits(owners: int = OWNERS) -> pa.Table:
    """One row of each owner; the last one's texts are found nowhere else."""
    people = range(owners)
    days = [1 + owner % 28 for owner in people]
    return pa.table(
        {
            "pid": people,
            "age": [owner % 90 for owner in people],
            "fee": [f"{owner % 50}.25" for owner in people],
            "region": [("north", "south")[owner % 2] for owner in people],
            "day": [datetime.date(2024, 1, day) for day in days],
            "at": [datetime.datetime(2024, 1, day, 3) for day in days],
            "ok": [owner % 3 == 0 for owner in people],
            "note": [CANARY] * owners,
        }
    )


def declare(curator: dt.Curator, source: pa.Table, name: str = "visits", **columns: Any) -> None:
    declared: dict[str, Any] = {"owner": "pid", "max_rows_per_owner": 1, "columns": columns or DECLARED}
    curator.register(name, source, people="patients", **declared)


@dataclass
class Wired:
    """A curator with a listener, and a token for everybody."""

    curator: dt.Curator
    listener: Listener
    tokens: Tokens
    made: dict[str, str]
    metrics: Sums
    store: Store
    options: dict[str, Any] = field(default_factory=dict)

    def user(self, who: str) -> tuple[str, str]:
        """User and password of a token."""
        _, identity, secret = self.made[who].split("_", 2)
        return f"{who}.{identity}", secret

    def connect(self, who: str = "alice", **options: Any) -> psycopg.Connection[Any]:
        user, password = self.user(who)
        given = {"user": user, "password": password, "autocommit": True, **self.options, **options}
        return psycopg.connect(host="127.0.0.1", port=self.listener.port, dbname="clinic", **given)

    def spent(self) -> str:
        return str(self.curator.budget("patients").spent.rho)


@contextmanager
def wired(folder: Path, source: pa.Table | None = None, gate: dict[str, Any] | None = None) -> Iterator[Wired]:
    """A clinic that is served until the block ends."""
    with dt.Curator.open(folder / "clinic") as curator, tempfile.TemporaryDirectory() as cancels:
        curator.people("patients", budget=dt.ApproxDP(20, "1e-6"))
        declare(curator, visits() if source is None else source)
        for name in ("alice", "bob"):
            curator.analyst(name, budget=dt.ApproxDP(8, "1e-7"))
        store = Store(folder / "clinic")
        tokens = Tokens(store)
        principals = {"alice": Principal.analyst("alice"), "bob": Principal.analyst("bob")}
        others = {role: Principal(role) for role in ("curator", "auditor", "monitor")}
        made = {who: tokens.make(one) for who, one in (principals | others).items()}
        metrics = Sums()
        questions = Questions(curator.service, store, tokens)
        entry = Gate(tokens, nonce_of(folder / "clinic"), **(gate or {}))
        services = Services(questions, Throttle(10_000, 10_000), metrics)
        listener = Listener(("127.0.0.1", 0), entry, services, Path(cancels))
        listener.start()
        try:
            yield Wired(curator, listener, tokens, made, metrics, store)
        finally:
            listener.close()
            store.close()
