"""The end of a study, and aggregators that answer nonsense: what was acknowledged counts; nobody else decides that."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

import pytest

from dither.study.aggregator import Aggregator
from dither.study.batch import Batch
from dither.study.errors import InvalidReport, StudyClosed, StudyClosing, TooFewReports
from dither.study.leader import Leader
from dither.study.service import Service

Made = Callable[..., Any]


@contextmanager
def served(answer: Callable[[str, Any], Any], port: int) -> Iterator[None]:
    """Something at the address of a helper: what it answers to a path and a body."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            written = json.dumps(answer(self.path.removeprefix("/v1/"), body)).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(written)))
            self.end_headers()
            self.wfile.write(written)

        def log_message(self, *_: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()


def honest(helper: Aggregator) -> Callable[[str, Any], Any]:
    """The helper as it answers over HTTP."""
    service = Service.__new__(Service)
    service.own, service.leader = helper, None
    return lambda path, body: getattr(service, path)(body)


def test_each_report_that_is_acknowledged_counts(
    made: Made, free_ports: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Participants who come while the study is being closed, at the worst moment: after the batch was listed."""
    parties = made(ports=free_ports)
    acknowledged = [parties.report() for _ in range(3)]
    late, agreed = parties.report(), Aggregator.agreed
    with served(honest(parties.aggregators[1]), free_ports[1]):
        leader = Leader(parties.aggregators[0])
        for report in acknowledged:
            leader.receive(report)

        def meanwhile(self: Aggregator, nonces: Any) -> bytes:
            if self is leader.own and not self.batch.closed():
                leader.receive(acknowledged[0])  # again: it was taken, and counts
                try:
                    leader.receive(late)
                    acknowledged.append(late)
                except StudyClosing:
                    pass
            return agreed(self, nonces)

        monkeypatch.setattr(Aggregator, "agreed", meanwhile)
        assert leader.close_study()[0] == len(acknowledged)
        assert leader.close_study()[0] == len(acknowledged)
    leader.receive(acknowledged[0])  # its reply was lost: it counts, and that is what is said
    with pytest.raises(StudyClosed):
        leader.receive(late)


def test_planted_reports_that_are_taken_while_a_study_closes(
    made: Made, free_ports: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Batch, "paused", lambda self: nullcontext())
    with pytest.raises(AssertionError):
        test_each_report_that_is_acknowledged_counts(made, free_ports, monkeypatch)


def test_a_study_that_could_not_be_closed_goes_on(made: Made, free_ports: list[int]) -> None:
    parties = made(ports=free_ports, least_reports=2)
    first, second = parties.report(), parties.report()
    with served(honest(parties.aggregators[1]), free_ports[1]):
        leader = Leader(parties.aggregators[0])
        leader.receive(first)
        with pytest.raises(TooFewReports):
            leader.close_study()
        leader.receive(second)
        assert leader.close_study()[0] == 2


# In this order: those that leave the report undecided, then one that decides it.
NONSENSE: list[tuple[str, Any]] = [
    ("verify", []),
    ("verify", {}),
    ("verify", {"told": None}),
    ("verify", {"told": []}),
    ("verify", {"told": [5]}),
    ("verify", {"told": [["?"]]}),
    ("verify", {"told": [[]]}),
    ("check", {"valid": []}),
    ("verify", {"told": [[]]}),
    ("check", {"valid": [True]}),
]


def test_a_helper_that_answers_nonsense_stops_nothing(
    made: Made, free_ports: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    parties = made(ports=free_ports)
    left, over = list(NONSENSE), Event()

    def answer(path: str, _: Any) -> Any:
        wanted, found = left.pop(0)
        assert wanted == path
        if not left:
            over.set()
        return found

    monkeypatch.setattr("dither.study.leader._LOOK", 0.01)
    with served(answer, free_ports[1]):
        leader = Leader(parties.aggregators[0])
        leader.start()
        leader.receive(parties.report())
        assert over.wait(60)
        while "received" in leader.own.batch.counts() and leader._thread.is_alive():
            pass  # the last answer is being looked at
        assert leader._thread.is_alive()
        leader.stop()
    assert leader.own.batch.counts() == {"refused": 1}


def test_a_leader_that_asks_nonsense_is_told_so(parties: Any) -> None:
    """Fewer or more words than there are questions, from whichever aggregator."""
    leader, helper = parties.aggregators
    for words in ([], None):
        report = parties.report()
        leader.receive([report])
        told = [leader.begin(report)[1], helper.told([report])[0]]
        wrong = told[0] if words is None else words
        assert helper.check([(report.nonce, [[*wrong, b""] if words is None else words, told[1]])]) == [False]
        with pytest.raises(InvalidReport):
            leader.finish(leader.begin(report)[0], [told[0], told[1][:-1]])
