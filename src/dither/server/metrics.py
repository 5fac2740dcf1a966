"""Counts of requests and jobs in Prometheus' text form: nothing of questions, answers, times or rows is in them."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, field
from threading import Lock

_HELP = {
    "dither_requests_total": "Requests by endpoint, role and status.",
    "dither_jobs_ended_total": "Jobs by how they ended.",
}


@dataclass
class Metrics:
    """What this process has counted since it was started."""

    _counts: Counter[tuple[str, tuple[tuple[str, str], ...]]] = field(default_factory=Counter)
    _lock: Lock = field(default_factory=Lock)

    def count(self, name: str, **labels: str) -> None:
        with self._lock:
            self._counts[name, tuple(labels.items())] += 1

    def text(self) -> str:
        """All counts, each with the process that has them: several may serve one folder."""
        with self._lock:
            counts = sorted(self._counts.items())
        lines = []
        for name, about in _HELP.items():
            lines += [f"# HELP {name} {about}", f"# TYPE {name} counter"]
            for (counted, labels), number in counts:
                if counted == name:
                    written = ",".join(f'{key}="{value}"' for key, value in (("process", str(os.getpid())), *labels))
                    lines.append(f"{name}{{{written}}} {number}")
        return "\n".join(lines) + "\n"
