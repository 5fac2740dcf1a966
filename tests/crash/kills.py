"""Killing a process at every event of its way to an answer, and what must hold afterwards."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import sqlite3
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import FrameType
from typing import Any

Release = Callable[[bytes], object]


@dataclass(frozen=True)
class Desk:
    """Whatever answers under request ids and charges for it: the ledger itself, or a curator."""

    answer: Callable[[str], bytes]
    spent: Callable[[], Fraction]
    pending: Callable[[], list[Any]]
    verify: Callable[[], object]


# Opens a desk that may be broken: such a one may release bytes by itself.
Opening = Callable[[Release], AbstractContextManager[Desk]]


class Between:
    """A socket to a worker of the engine, with something done before and after each call."""

    def __init__(self, inner: Any, event: Callable[[], None]) -> None:
        self._inner, self._event = inner, event

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if not callable(found):
            return found

        def call(*given: Any, **named: Any) -> Any:
            self._event()
            result = found(*given, **named)
            self._event()
            return result

        return call


class KillAt:
    """Ends the process at the n-th event of a kind."""

    def __init__(self, number: int) -> None:
        self.left = number

    def __call__(self, *_: object) -> None:
        self.left -= 1
        if not self.left:
            os.kill(os.getpid(), signal.SIGKILL)

    def statements(self) -> None:
        """SQL statements of the ledger."""
        connect = sqlite3.connect

        def traced(*given: Any, **named: Any) -> sqlite3.Connection:
            connection = connect(*given, **named)
            connection.set_trace_callback(self)
            return connection

        sqlite3.connect = traced  # type: ignore[assignment]

    def lines(self, *parts: str) -> None:
        """Lines of the ledger's code, or of files whose names have one of these parts."""
        watched = parts or (f"dither{os.sep}ledger",)

        def trace(frame: FrameType, event: str, _: object) -> Any:
            if not any(part in frame.f_code.co_filename for part in watched):
                return None
            if event == "line":
                self()
            return trace

        sys.settrace(trace)

    def calls(self) -> None:
        """Calls on the way to a worker of the engine and back, before and after each."""
        pair = socket.socketpair

        def between(*given: Any, **named: Any) -> tuple[Any, Any]:
            ours, theirs = pair(*given, **named)
            return Between(ours, self), theirs

        socket.socketpair = between  # type: ignore[assignment]


def check_after_kill(opening: Opening, price: Fraction, request: str, before: Fraction, released: bytes) -> None:
    """What must hold after a process died while it asked under that request id."""
    with opening(len) as desk:
        desk.verify()
        spent = desk.spent()
        assert spent in (before, before + price), "charged at most once"
        assert not released or spent == before + price, "released implies charged"
        answer = desk.answer(request)
        assert desk.spent() == before + price, "a retry is charged once in all"
        assert released in (b"", answer), "a retry returns the same bytes"
        assert desk.answer(request) == answer, "every retry returns the same bytes"
        assert desk.spent() == before + price
        assert desk.pending() == []
        desk.verify()


def kill_everywhere(
    events: str, folder: Path, opening: Opening, in_child: Any, *, price: Fraction, stride: int = 1
) -> int:
    """Kill a process at every `stride`-th event between opening and closing; how many kills there were."""
    number, kills = 1, 0
    begun = shutil.copytree(folder, folder.with_name("begun"))
    while True:
        if kills % 50 == 49:  # a long ledger takes long to prove
            shutil.rmtree(folder)
            shutil.copytree(begun, folder)
        with opening(len) as desk:
            before = desk.spent()
        request = f"{events} {number}"

        def work(release: Release, number: int = number, request: str = request) -> None:
            getattr(KillAt(number), events)()
            with opening(release) as desk:
                release(desk.answer(request))

        released, status = in_child(work).ended()
        check_after_kill(opening, price, request, before, released)
        if status == 0:
            assert released
            return kills
        assert status == -signal.SIGKILL
        kills += 1
        number += stride
