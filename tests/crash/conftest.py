"""Ledgers to attack, processes to kill, and a count of what was done."""

from __future__ import annotations

import importlib.util
import os
import select
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dither.ledger import Charge, Ledger

_UNPACK = "../ledger/fixtures/unpack"

for _name in ("faulty", "kills", "linearizability", "power", "served", _UNPACK):
    _module = f"crash_{_name.rpartition('/')[2]}"
    if _module not in sys.modules:
        _spec = importlib.util.spec_from_file_location(_module, Path(__file__).parent / f"{_name}.py")
        _loaded = importlib.util.module_from_spec(_spec)
        sys.modules[_module] = _loaded
        _spec.loader.exec_module(_loaded)

import crash_faulty as faulty  # noqa: E402

PRICE = Fraction(1, 10)
_PATIENCE = 240  # seconds that a process may be silent
_LONGEST = 900  # seconds of a test; twenty times as long in a campaign
Release = Callable[[bytes], object]


@dataclass(frozen=True)
class Child:
    """A process at work."""

    process: int
    pipe: int
    patience: float

    def kill(self) -> None:
        os.kill(self.process, signal.SIGKILL)

    def released(self, least: int) -> bytes:
        """Wait until it has released that many bytes, or has ended."""
        found = b""
        while len(found) < least and (more := self._read(least - len(found))):
            found += more
        return found

    def ended(self) -> tuple[bytes, int]:
        """Wait for it: the bytes it released, and how it ended."""
        released = b""
        while more := self._read(2**16):
            released += more
        os.close(self.pipe)
        return released, os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])

    def _read(self, most: int) -> bytes:
        if not select.select([self.pipe], [], [], self.patience)[0]:
            raise AssertionError("a process neither ends nor releases anything")
        return os.read(self.pipe, most)


@pytest.fixture
def campaign() -> bool:
    """DITHER_CAMPAIGN above 1 asks for the long runs: every byte, every instant, 200 clients x 500 requests."""
    return int(os.environ.get("DITHER_CAMPAIGN", "1")) > 1


@pytest.fixture
def scale() -> int:
    """How much longer than in CI: 1 there, and from 10 on as long as these runs get."""
    return int(os.environ.get("DITHER_CAMPAIGN", "1"))


@pytest.fixture
def every() -> Callable[[int], int]:
    """How far apart places are tried: as stated, closer in a campaign, and each of them from DITHER_CAMPAIGN=100 on."""
    scale = int(os.environ.get("DITHER_CAMPAIGN", "1"))
    return lambda stride: 1 if scale >= 100 else max(1, stride // scale)


@pytest.fixture
def tally(record_property: Callable[[str, object], None]) -> Callable[..., None]:
    """Count what a test did; the sums are told at the end of the run."""

    def add(**counts: int) -> None:
        for what, number in counts.items():
            record_property(f"crash {what}", number)

    return add


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """What each test did, and the sums."""
    done = {}
    for report in (report for reports in terminalreporter.stats.values() for report in reports):
        if getattr(report, "when", "") == "call":
            counts = Counter[str]()
            for name, number in report.user_properties:
                if name.startswith("crash "):
                    counts[name[6:].replace("_", " ")] += number
            done[report.nodeid.rpartition("/")[2]] = counts
    for name, counts in [*sorted(done.items()), ("crash campaign", sum(done.values(), Counter[str]()))]:
        if counts:
            said = ", ".join(f"{number:,} {what}" for what, number in sorted(counts.items()))
            terminalreporter.write_line(f"{name}: {said}")


@pytest.fixture
def fast(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: these tests change which bytes are there, not how they came there."""
    memory = Path("/dev/shm")
    if not (memory.is_dir() and os.access(memory, os.W_OK)):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        yield Path(folder)


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[faulty.Disk]:
    """A worker whose disk fails on demand."""
    made = faulty.Disk(faulty.build(tmp_path_factory.mktemp("shim")))
    yield made
    made.close()


@pytest.fixture
def rich(tmp_path: Path) -> Path:
    """A folder whose ledger gives the patients enough for tens of thousands of questions, and alice as much."""
    folder = tmp_path / "rich"
    with Ledger.open(folder, create=True) as ledger:
        for analyst in (None, "alice"):
            ledger.open_account("patients", analyst, kind="pure", cap=Charge(Fraction(9000)), terms={})
    return folder


@pytest.fixture
def clinic(tmp_path: Path) -> Path:
    """A folder whose ledger gives the patients epsilon 1 and alice as much."""
    folder = tmp_path / "clinic"
    with Ledger.open(folder, create=True) as ledger:
        for analyst in (None, "alice"):
            ledger.open_account("patients", analyst, kind="pure", cap=Charge(Fraction(1)), terms={"epsilon": "1"})
    return folder


@pytest.fixture
def ask() -> Callable[..., bytes]:
    """The curator's walk around the ledger: reserve, draw fresh noise, settle, return what the ledger read back."""

    def ask(ledger: Ledger, request: str | None = None, question: str = "q", price: Fraction = PRICE) -> bytes:
        reservation = ledger.reserve(
            "patients", "alice", Charge(price), question=question, snapshot="1", plan="{}", request=request
        )
        if reservation.answer is not None:
            return reservation.answer
        return ledger.settle(reservation.id, os.urandom(16))

    return ask


@pytest.fixture(autouse=True)
def watchdog(campaign: bool) -> Iterator[None]:
    """No test hangs: one that takes far longer than any machine needs is ended with what it waits for."""

    def end(*_: object) -> None:
        raise AssertionError("the test hangs")

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, _LONGEST * (20 if campaign else 1))
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def in_child(campaign: bool) -> Iterator[Callable[[Callable[[Release], object]], Child]]:
    """Run a function in a process of its own, giving it a way to release bytes to the outside.

    Processes that are left when the test ends are killed: they would wait for what is gone, for ever.
    """
    started: list[int] = []

    def start(function: Callable[[Release], object]) -> Child:
        read, write = os.pipe()
        process = os.fork()
        if not process:
            status = 1
            try:
                os.close(read)
                function(lambda released: os.write(write, released))
                status = 0
            finally:
                os._exit(status)
        os.close(write)
        started.append(process)
        return Child(process, read, _PATIENCE * (20 if campaign else 1))

    yield start
    for process in started:
        with suppress(ProcessLookupError, ChildProcessError):
            if os.waitpid(process, os.WNOHANG)[0] == 0:  # not waited for yet: the number is still its own
                os.kill(process, signal.SIGKILL)
                os.waitpid(process, 0)


@pytest.fixture
def leave_in_wal(in_child: Any, ask: Any) -> Callable[[Path, int], None]:
    """Ask questions in a process that is killed before it could tidy up: they exist in the write-ahead log only."""

    def leave(folder: Path, questions: int) -> None:
        def work(_: Release) -> None:
            ledger = Ledger.open(folder)
            for number in range(questions):
                ask(ledger, f"r{number}", f"q{number}")
            os.kill(os.getpid(), signal.SIGKILL)

        assert in_child(work).ended() == (b"", -signal.SIGKILL)

    return leave
