"""How often and how many at once one principal may ask: decided before a body is read."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock

from dither.errors import DitherError


class TooMany(DitherError):
    """The principal asks too often, or too much at once. Nothing was charged."""

    code, fields = "too_many_requests", ("retry_after",)

    def __init__(self, retry_after: int) -> None:
        super().__init__("too many requests; nothing was charged. Try again later.")
        self.retry_after = retry_after


@dataclass
class _Bucket:
    """A token bucket: it holds `full` at most, and refills by `rate` a second."""

    left: float
    seen: float
    running: int = 0


@dataclass
class Throttle:
    """Each principal has `burst` requests at once, `rate` more each second, and at most `concurrent` under way."""

    rate: float = 50.0
    burst: int = 200
    concurrent: int = 32
    now: Callable[[], float] = time.monotonic
    _buckets: dict[str, _Bucket] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    @contextmanager
    def request(self, principal: str) -> Iterator[None]:
        """Room for one request of this principal; TooMany if there is none."""
        with self._lock:
            bucket = self._buckets.setdefault(principal, _Bucket(float(self.burst), self.now()))
            now = self.now()
            bucket.left = min(float(self.burst), bucket.left + (now - bucket.seen) * self.rate)
            bucket.seen = now
            if bucket.left < 1 or bucket.running >= self.concurrent:
                raise TooMany(max(1, round((1 - bucket.left) / self.rate)))
            bucket.left -= 1
            bucket.running += 1
        try:
            yield
        finally:
            with self._lock:
                bucket.running -= 1
