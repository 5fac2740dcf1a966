"""Counts of requests and jobs in Prometheus' text form: nothing of questions, answers, times or rows is in them.

Processes that serve send what they count to the one that shows it, so that a scrape sees the sum of all of them.
"""

from __future__ import annotations

import json
import socket
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Protocol

_HELP = {
    "dither_requests_total": "Requests by endpoint, role and status.",
    "dither_jobs_ended_total": "Jobs by how they ended.",
}
Counted = tuple[str, tuple[tuple[str, str], ...]]  # a name, and its labels


class Metrics(Protocol):
    """Whatever counts."""

    def count(self, name: str, **labels: str) -> None: ...


@dataclass
class Sums:
    """What was counted since the start, by this process and by those who send to it."""

    _counts: Counter[Counted] = field(default_factory=Counter)
    _lock: Lock = field(default_factory=Lock)

    def count(self, name: str, **labels: str) -> None:
        with self._lock:
            self._counts[name, tuple(labels.items())] += 1

    def receive(self, path: str) -> None:
        """Add what arrives at a socket, for ever."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as here:
            here.bind(path)
            while True:
                with suppress(OSError, ValueError):
                    self.add(here.recv(2**20))

    def add(self, sent: bytes) -> None:
        """Add the counts of one message."""
        with self._lock:
            for name, labels, number in json.loads(sent):
                self._counts[name, tuple((key, value) for key, value in labels)] += number

    def text(self) -> str:
        """All counts, in Prometheus' words."""
        with self._lock:
            counts = sorted(self._counts.items())
        lines = []
        for name, about in _HELP.items():
            lines += [f"# HELP {name} {about}", f"# TYPE {name} counter"]
            for (counted, labels), number in counts:
                if counted == name:
                    written = ",".join(f'{key}="{value}"' for key, value in labels)
                    lines.append(f"{name}{{{written}}} {number}")
        return "\n".join(lines) + "\n"


class Sender:
    """Counts for the process that listens at a path; without one, for nobody."""

    def __init__(self, path: str | None) -> None:
        self._path, self._lock = path, Lock()
        self._unsent: Counter[Counted] = Counter()
        self._socket: Any = None if path is None else socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        if self._socket is not None:
            self._socket.setblocking(False)

    def count(self, name: str, **labels: str) -> None:
        """Never waits: what cannot be sent now goes with the next."""
        if self._socket is None:
            return
        with self._lock:
            self._unsent[name, tuple(labels.items())] += 1
            with suppress(OSError):
                batch = [[*counted, number] for counted, number in self._unsent.items()]
                self._socket.sendto(json.dumps(batch).encode(), self._path)
                self._unsent.clear()

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
