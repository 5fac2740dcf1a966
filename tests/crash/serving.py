"""A program: `dither serve` of a folder whose processes end themselves as it was ordered, one order for each life.

    python serving.py SETTINGS ORDERS LIVES [BUG]

ORDERS is a JSON list of [kind, number]: the first process dies at the `number`-th event of that kind, the second as
the second order says, and so on; those beyond the list live. LIVES is a file that has a byte for each process so far.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import socket
import sqlite3
import sys
import threading
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

# Before the processes are forked, so that each of so many lives begins at once.
import flint  # noqa: F401
import pyarrow  # noqa: F401

import dither.curator.present
import dither.curator.run
import dither.sql.pricing.explain  # noqa: F401
from dither.curator.run import release
from dither.engines.duckdb import workers
from dither.errors import BudgetExceeded
from dither.ledger import Charge, Ledger
from dither.ledger.storage import schema, together
from dither.ledger.units import Units, charge_units
from dither.server import jobs, questions, recovery, serve
from dither.server.endpoints import Asked, Reply
from dither.server.questions import Questions
from dither.server.serve import Settings


class Order:
    """Ends this process at an event; of the process that starts the others, never."""

    kind, left = "", 0

    def begin(self, orders: list[tuple[str, int]], lives: Path) -> None:
        with lives.open("ab") as file:
            file.write(b".")
            file.flush()
            life = os.fstat(file.fileno()).st_size
        if life <= len(orders):
            self.kind, self.left = orders[life - 1]

    def event(self, kind: str) -> None:
        if kind == self.kind:
            self.left -= 1
            if not self.left:
                os.kill(os.getpid(), signal.SIGKILL)


order = Order()


class Channel:
    """A socket to a worker of the engine: an event before and after each call."""

    def __init__(self, inner: socket.socket) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if not callable(found):
            return found

        def call(*given: Any, **named: Any) -> Any:
            order.event("calls")
            result = found(*given, **named)
            order.event("calls")
            return result

        return call


class Sockets:
    """The module of sockets as the engine sees it."""

    socket = socket.socket

    @staticmethod
    def socketpair() -> tuple[Any, Any]:
        ours, theirs = socket.socketpair()
        return Channel(ours), theirs


def hook(orders: list[tuple[str, int]], lives: Path) -> None:
    """Statements of every SQLite file, of the ledger and of the server; and calls to workers of the engine."""
    connect, made = sqlite3.connect, serve.made

    def traced(*given: Any, **named: Any) -> sqlite3.Connection:
        connection = connect(*given, **named)
        connection.set_trace_callback(statement)
        return connection

    def statement(_: str) -> None:
        # Those who look for work again and again are not counted: how often they do depends on how fast the machine is.
        looks = threading.current_thread().name.endswith(("(_work)", "(_renew)", "(_recover)"))
        if not looks or threading.get_ident() in together._asking:
            order.event("statements")

    def begun() -> Any:
        order.begin(orders, lives)
        return made()

    sqlite3.connect = traced  # type: ignore[assignment]
    workers.socket = Sockets  # type: ignore[attr-defined]
    serve.made = begun
    serve._LOOK = 0.05  # processes that die again and again are what this is about
    for module in (jobs, questions, recovery):
        module.LEASE = 2  # type: ignore[attr-defined]


def answers_before_it_is_durable() -> None:
    """Planted bug: the answer is on its way before its charge is in."""
    query = Questions.query

    def early(self: Questions, asked: Asked) -> Reply:
        walk = self.service._walk
        priced = walk.price(asked.body["sql"], asked.principal.name, epsilon=asked.body["epsilon"])
        with walk._engine.slot(asked.principal.name):
            drawn = release(priced, walk._engine).to_bytes()
        threading.Timer(0.3, query, (self, asked)).start()
        return Reply(drawn)

    Questions.query = early  # type: ignore[method-assign]


def charges_a_retry_anew() -> None:
    """Planted bug: the charge is not bound to the request id."""
    asked = Questions.asked

    def forgetful(self: Questions, principal: Any, body: Any, *token: Any) -> str:
        return asked(self, principal, {**body, "request": f"{body['request']} {secrets.token_hex(4)}"}, *token)

    Questions.asked = forgetful  # type: ignore[method-assign]


def leaves_charges_behind() -> None:
    """Planted bug: what a process that died has charged is left as it is."""
    recovery.Recovery.take_up = lambda *_: 0  # type: ignore[method-assign]


def checks_then_updates() -> None:
    """Planted bug: what is left is read first, and charged later without a condition."""
    asked, checking = Questions.asked, threading.Barrier(4)

    def checked(self: Questions, principal: Any, body: Any, *token: Any) -> str:
        ledger, price = self.service._ledger, Fraction(body["epsilon"])
        with ledger._journal.reading() as page:
            left = page.book.accounts["patients", principal.name].left
        if charge_units(Charge(price), Charge(price)).cost > left.cost:
            raise BudgetExceeded("does not fit")
        with suppress(threading.BrokenBarrierError):
            checking.wait(30)  # others check meanwhile, however busy the machine
        return asked(self, principal, body)

    def charged(self: Ledger, page: Any, account: Any, price: Any, charge: Any) -> None:
        page.connection.execute("UPDATE accounts SET spent = spent + ? WHERE opened = ?", (price.cost, account.opened))

    Questions.asked, Ledger._charge = checked, charged  # type: ignore[method-assign]
    Units.fits = lambda *_: True  # type: ignore[assignment, method-assign]
    schema.STATEMENTS = tuple(text.replace("CHECK (spent BETWEEN 0 AND cap)", "") for text in schema.STATEMENTS)


def reads_what_was() -> None:
    """Planted bug: a budget is remembered, though it was spent since."""
    known: dict[str, Any] = {}
    budget = Questions.budget
    Questions.budget = lambda self, asked: known.setdefault(  # type: ignore[method-assign]
        str(asked.principal.name), budget(self, asked)
    )


def main() -> None:
    settings, orders, lives, *bugs = sys.argv[1:]
    hook(json.loads(orders), Path(lives))
    for bug in bugs:
        globals()[bug]()
    serve.run(Settings(**json.loads(settings)))


if __name__ == "__main__":
    main()
