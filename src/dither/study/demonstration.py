"""`dither study demo`: does smoking go with cancer? Nobody holds the answers; two aggregators add them up."""

from __future__ import annotations

import csv
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from dither.client.connection import Connection, Unreachable
from dither.errors import DitherError
from dither.noise import uniform_below
from dither.study.keys import make_key
from dither.study.organiser import COLLECTOR, INVITATIONS, SECRETS, STUDY, init_study, read_study
from dither.study.remote import collect
from dither.study.result import Ratio, Result
from dither.study.study import Peer

LABELS = ("smoker with cancer", "smoker without", "non-smoker with cancer", "non-smoker without")
_ATTEMPTS = 15  # of about 20 seconds each
_OF_1000 = (60, 240, 35, 665)  # who the participants of the demonstration are


def demonstrate(participants: int, *, quiet: bool = False) -> tuple[Result, dict[str, Ratio]]:
    """Run the whole study on this machine, each party a process of its own."""

    def tell(text: str) -> None:
        if not quiet:
            print(text, flush=True)

    with tempfile.TemporaryDirectory(prefix="dither-study-") as name, ExitStack() as stack:
        folder = Path(name)
        ports = free_ports(2)
        keys = [make_key(folder / f"aggregator-{number}") for number in range(2)]
        stated = {
            "name": "does smoking go with cancer?",
            "epsilon": 1,
            "least_reports": 10,
            "questions": [{"name": "health", "kind": "choice", "choices": list(LABELS)}],
            "aggregators": [
                {"url": f"http://127.0.0.1:{port}", "key": key.hex()} for port, key in zip(ports, keys, strict=True)
            ],
        }
        init_study(stated, folder / "files", participants)
        study = read_study(folder / "files" / STUDY)
        tell(f"{participants:,} participants are invited; the study costs each epsilon 1.")
        for number, port in enumerate(ports):
            arguments = [str(folder / f"aggregator-{number}"), "--number", str(number), "--port", str(port)]
            arguments += ["--study", str(folder / "files" / STUDY), "--secrets", str(folder / "files" / SECRETS)]
            stack.enter_context(running(["study", "aggregate", *arguments]))
        await_aggregators(study.aggregators)
        tell("Two aggregators run, each with a key of its own. Neither can read an answer.")
        with (folder / "answers.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["health"])
            writer.writerows([_drawn()] for _ in range(participants))
        arguments = ["--csv", str(folder / "answers.csv"), "--study", str(folder / "files" / STUDY), "--json"]
        _run(["study", "report", *arguments, "--invitations", str(folder / "files" / INVITATIONS)])
        tell("All reports are handed in: shares sealed to each aggregator, with a proof that each is one answer.")
        result = collect(study, (folder / "files" / COLLECTOR).read_text())
        ratios = {
            "smokers": result.ratio(("health", LABELS[0]), [("health", LABELS[0]), ("health", LABELS[1])]),
            "non-smokers": result.ratio(("health", LABELS[2]), [("health", LABELS[2]), ("health", LABELS[3])]),
        }
        tell("The collector has added two noisy shares; nothing else was ever put together.\n")
        tell(str(result))
        for who, ratio in ratios.items():
            if ratio.value is not None and ratio.low is not None and ratio.high is not None:
                tell(f"  with cancer among {who}: {ratio.value:.1%}, 95% in [{ratio.low:.1%}, {ratio.high:.1%}]")
        return result, ratios


def await_aggregators(peers: Sequence[Peer]) -> None:
    """Until all of them listen; a machine may be slow to start them."""
    for peer in peers:
        for attempt in range(_ATTEMPTS):
            try:
                Connection(peer.url, "anybody").get("/study")
                break
            except Unreachable:
                if attempt + 1 == _ATTEMPTS:
                    raise


def _drawn() -> str:
    place = uniform_below(1000)
    for label, share in zip(LABELS, _OF_1000, strict=True):
        if place < share:
            return label
        place -= share
    raise AssertionError


def free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [int(probe.getsockname()[1]) for probe in probes]


def command_line(arguments: list[str]) -> list[str]:
    return [sys.executable, "-c", "import sys; from dither.cli.main import main; sys.exit(main())", *arguments]


@contextmanager
def running(arguments: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(command_line(arguments), stdout=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def _run(arguments: list[str]) -> None:
    if subprocess.run(command_line(arguments), stdout=subprocess.DEVNULL, check=False).returncode:
        raise DitherError("a process of the demonstration failed.")
