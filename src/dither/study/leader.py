"""The first aggregator leads: it takes reports in, has all others check them with it, and closes the study."""

from __future__ import annotations

import json
import logging
import sqlite3
import threading
from base64 import b64decode, b64encode
from collections.abc import Sequence
from typing import Any

from dither.client.connection import Connection
from dither.errors import DitherError
from dither.study.aggregator import Aggregator, Told
from dither.study.errors import InvalidReport
from dither.study.prio import VerifyState
from dither.study.reports import Report

log = logging.getLogger("dither.study")

_AT_ONCE = 256  # reports that are checked together, if they are small
_BYTES_AT_ONCE = 64 << 20
_LOOK = 1.0  # seconds


class Leader:
    """Aggregator 0, with connections to the others."""

    def __init__(self, aggregator: Aggregator) -> None:
        self.own = aggregator
        word = aggregator.secrets.word("helper")
        self._helpers = [Connection(peer.url, word, timeout=120) for peer in aggregator.study.aggregators[1:]]
        self._working, self._closing = threading.Lock(), threading.Lock()
        self._wake, self._stopping = threading.Event(), False
        self._thread = threading.Thread(target=self._loop, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping = True
        self._wake.set()
        self._thread.join()

    def receive(self, report: Report) -> None:
        if not self.own.receive([report])[0]:
            raise InvalidReport("this report is malformed, or its invitation is unknown or was used before.")
        self._wake.set()

    def close_study(self) -> tuple[int, list[bytes]]:
        """Check what is still to be checked, agree on the batch, then release: the noisy share of each aggregator.

        No report is taken meanwhile: each one that was acknowledged has been checked, and counts if its proof holds.
        """
        with self._closing, self.own.batch.paused():
            return self._close_study()

    def _close_study(self) -> tuple[int, list[bytes]]:
        nonces = self.own.batch.closed_with()
        if nonces is None:
            while self.advance():
                pass
            nonces = [nonce for nonce, _ in self.own.batch.valid()]
        batch = self.own.agreed(nonces)
        body = {"nonces": b64encode(b"".join(nonces)).decode(), "batch": batch.hex()}
        for helper in self._helpers:  # nobody releases or charges anything unless all can
            helper.send("POST", "/agree", body)
        shares = [self.own.release(nonces, batch)]
        shares += [b64decode(json.loads(helper.send("POST", "/release", body))["share"]) for helper in self._helpers]
        return len(nonces), shares

    def advance(self) -> int:
        """Check some reports with all aggregators; returns how many were decided."""
        with self._working:
            begun: list[tuple[Report, list[VerifyState], Told]] = []
            rows = self.own.batch.received(max(1, min(_AT_ONCE, _BYTES_AT_ONCE // self.own.study.report_bytes)))
            for row in rows:
                report = Report.read(json.loads(row.content))
                try:
                    begun.append((report, *self.own.begin(report)))
                except InvalidReport:
                    self.own.batch.decide([(row.nonce, None)])
            if begun:
                self._check(begun)
            return len(rows)

    def _check(self, begun: Sequence[tuple[Report, list[VerifyState], Told]]) -> None:
        told: list[list[Told | None]] = [[words for _, _, words in begun]]
        reports = [report.document() for report, _, _ in begun]
        for helper in self._helpers:
            found = json.loads(helper.send("POST", "/verify", {"reports": reports}))["told"]
            told.append([None if words is None else [b64decode(one) for one in words] for words in found])
        alive = [
            (report, states, [words for words in column if words is not None])
            for (report, states, _), column in zip(begun, zip(*told, strict=True), strict=True)
        ]
        complete = [one for one in alive if len(one[2]) == len(self.own.study.aggregators)]
        asked = [
            {"nonce": report.nonce.hex(), "told": [[b64encode(one).decode() for one in words] for words in column]}
            for report, _, column in complete
        ]
        verdicts = [json.loads(helper.send("POST", "/check", {"reports": asked}))["valid"] for helper in self._helpers]
        decided: dict[bytes, bytes | None] = {report.nonce: None for report, _, _ in begun}
        for place, (report, states, column) in enumerate(complete):
            if all(valid[place] for valid in verdicts):
                try:
                    decided[report.nonce] = self.own.finish(states, column)
                except InvalidReport:
                    continue
        self.own.batch.decide(decided.items())

    def _loop(self) -> None:
        while not self._stopping:
            self._wake.wait(_LOOK)
            self._wake.clear()
            try:
                while not self._stopping and not self.own.batch.closed() and self.advance():
                    pass
            except (DitherError, ValueError, TypeError, LookupError, sqlite3.Error) as error:
                # Another aggregator is away or answers nonsense, or the disk is full: reports wait.
                log.warning("reports wait: %s", getattr(error, "code", type(error).__name__))


def pieces(joined: Any) -> list[bytes]:
    """Nonces that were sent as one text."""
    try:
        plain = b64decode(joined, validate=True)
    except (TypeError, ValueError):
        raise InvalidReport("a batch is a text of nonces.") from None
    return [plain[start : start + 16] for start in range(0, len(plain), 16)]
