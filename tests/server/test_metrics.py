"""Metrics: the sum over all processes, at a listener of their own, and nothing of questions, answers, times or rows."""

from __future__ import annotations

import os
import re
import signal
import socket
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from dither.server.admin_listener import listener
from dither.server.endpoints import EVERYBODY, MONITOR
from dither.server.metrics import Sender, Sums
from dither.server.serve import Server, Settings, free_port

LINE = re.compile(r'dither_\w+_total\{(\w+="\w+"(?:,\w+="\w+")*)\} [0-9]+')


def scraped(served: Any) -> str:
    return served.call("monitor", "GET", "/v1/metrics", port=served.admin_port).body.decode()  # type: ignore[no-any-return]


def until_counted(served: Any, line: str) -> str:
    """The metrics once they have a line; counts are on their way for an instant."""
    while line not in (found := scraped(served)).splitlines():
        time.sleep(0.05)
    return found


def check_private(text: str, names: set[str]) -> None:
    """Only counters; only the labels that we know, with values that no request chooses."""
    known = {"endpoint": names, "role": {*EVERYBODY, MONITOR, "none"}, "state": {"done", "failed"}}
    for line in text.splitlines():
        if line.startswith("# TYPE"):
            assert line.endswith(" counter"), line
        elif not line.startswith("# HELP"):
            found = LINE.fullmatch(line)
            assert found, line
            for key, value in re.findall(r'(\w+)="(\w+)"', found[1]):
                assert re.fullmatch("[0-9]{3}", value) if key == "status" else value in known[key], line


@pytest.fixture(scope="module")
def names(served: Any) -> set[str]:
    server = Server(Settings(str(served.folder), remote_admin=True))
    server.close()
    return {one.name for one in (*server.endpoints, *listener.endpoints(Sums()))} | {"upload"}


def test_counts_of_all_processes_are_added_up(served: Any) -> None:
    for _ in range(40):  # of two processes, each gets some
        served.call("bob", "GET", "/v1/budget")
    until_counted(served, 'dither_requests_total{endpoint="budget",role="analyst",status="200"} 40')


def test_metrics_have_nothing_of_what_is_asked(served: Any, names: set[str]) -> None:
    served.query("alice", "SELECT COUNT(*) FROM visits WHERE age = 41", request="metrics")
    served.query("alice", "SELECT nosuch FROM visits")
    served.call("alice", "GET", "/v1/answers/sesame")
    served.call("x", "GET", "/v1/tables")
    text = until_counted(served, 'dither_requests_total{endpoint="tables",role="none",status="401"} 1')
    check_private(text, names)
    assert 'endpoint="query",role="analyst",status="400"' in text


@pytest.mark.parametrize(
    "labels",
    [
        {"endpoint": "query", "sql": "SELECT"},
        {"endpoint": "query", "seconds": "3"},
        {"endpoint": "query", "status": "200", "role": "alice"},
        {"endpoint": "query", "rows": "17"},
        {"endpoint": "SELECT 1"},
    ],
)
def test_planted_bugs_labels_that_tell(names: set[str], labels: dict[str, str]) -> None:
    sums = Sums()
    sums.count("dither_requests_total", **labels)
    with pytest.raises((AssertionError, KeyError)):
        check_private(sums.text(), names)


def test_what_cannot_be_sent_now_goes_with_the_next(tmp_path: Path) -> None:
    path = str(tmp_path / "counts")
    sums = Sums()
    with closing(Sender(path)) as sender, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as here:
        for _ in range(3):
            sender.count("dither_jobs_ended_total", state="done")  # nobody listens
        here.bind(path)
        sender.count("dither_jobs_ended_total", state="done")
        sums.add(here.recv(2**16))
    assert 'dither_jobs_ended_total{state="done"} 4' in sums.text()


def test_nobody_waits_for_a_listener_that_reads_nothing(tmp_path: Path) -> None:
    path, sums, number = str(tmp_path / "counts"), Sums(), 5000  # more than any queue of messages holds
    with closing(Sender(path)) as sender, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as here:
        here.bind(path)
        for _ in range(number):
            sender.count("dither_jobs_ended_total", state="done")
        here.setblocking(False)
        while True:
            try:
                sums.add(here.recv(2**16))
            except BlockingIOError:
                break
        sender.count("dither_jobs_ended_total", state="done")
        sums.add(here.recv(2**16))
    assert f'dither_jobs_ended_total{{state="done"}} {number + 1}' in sums.text()


def test_a_listener_that_dies_is_started_again(served: Any) -> None:
    """Killed, it is back by itself; and its process is gone when the server is."""
    port = free_port("127.0.0.1")
    order = {"folder": str(served.folder), "host": "127.0.0.1", "port": port, "certificate": None, "key": None}
    with listener.listening(order):
        served.wait(port)
        (first,) = _children()
        os.kill(first, signal.SIGKILL)
        while not (children := _children() - {first}):
            time.sleep(0.05)
        served.wait(port)
        assert served.call("monitor", "GET", "/v1/metrics", port=port).status == 200
    assert not _children() & children


def _children() -> set[int]:
    """Admin listeners that this very process has started."""
    found = set()
    for task in Path("/proc").glob("[0-9]*"):
        try:
            words = (task / "cmdline").read_bytes().split(b"\0")
            parent = int((task / "stat").read_text().rsplit(")", 1)[1].split()[1])
        except (OSError, ValueError):  # it ended meanwhile
            continue
        if parent == os.getpid() and b"dither.server.admin_listener.process" in words:
            found.add(int(task.name))
    return found


def test_counts_may_come_from_many_threads() -> None:
    sums = Sums()
    threads = [
        threading.Thread(target=lambda: [sums.count("dither_jobs_ended_total", state="done") for _ in range(1000)])
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 'dither_jobs_ended_total{state="done"} 8000' in sums.text()
