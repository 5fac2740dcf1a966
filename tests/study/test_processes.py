"""The parties as real processes: an aggregator that is killed loses no report and publishes nothing twice."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dither.cli.main import main
from dither.client.connection import Connection
from dither.errors import DitherError
from dither.study.demonstration import await_aggregators, command_line, demonstrate
from dither.study.keys import make_key
from dither.study.organiser import init_study
from dither.study.remote import Participant, collect
from dither.study.study import Study


@contextmanager
def aggregator(folder: Path, files: Path, number: int, port: int) -> Iterator[subprocess.Popen[bytes]]:
    arguments = ["study", "aggregate", str(folder), "--number", str(number), "--port", str(port)]
    arguments += ["--study", str(files / "study.json"), "--secrets", str(files / "secrets.json")]
    process = subprocess.Popen(command_line(arguments), start_new_session=True)
    try:
        yield process
    finally:
        with_children(process, signal.SIGKILL)


def with_children(process: subprocess.Popen[bytes], number: int) -> None:
    """To the process and those it has started."""
    import os

    if process.poll() is None:
        os.killpg(process.pid, number)
        process.wait()


def made(tmp_path: Path, ports: list[int]) -> Study:
    keys = [make_key(tmp_path / str(number)) for number in range(2)]
    peers = [{"url": f"http://127.0.0.1:{port}", "key": key.hex()} for port, key in zip(ports, keys, strict=True)]
    stated = {"name": "kills", "epsilon": 8, "questions": [{"name": "yes", "kind": "yes/no"}], "aggregators": peers}
    return init_study(stated, tmp_path / "files", 40)


def test_kills_lose_nothing_and_publish_nothing_twice(tmp_path: Path, free_ports: list[int]) -> None:
    study, files = made(tmp_path, free_ports), tmp_path / "files"
    tokens = [bytes.fromhex(line) for line in (files / "invitations.txt").read_text().split()]
    word = (files / "collector.txt").read_text()
    participant = Participant(study)
    for round in range(3):  # each time other processes, killed while reports are being checked
        with aggregator(tmp_path / "0", files, 0, free_ports[0]), aggregator(tmp_path / "1", files, 1, free_ports[1]):
            await_aggregators(study.aggregators)
            for token in tokens[10 * round : 10 * round + 10]:
                participant.report(token, {"yes": "yes"})
    with aggregator(tmp_path / "0", files, 0, free_ports[0]), aggregator(tmp_path / "1", files, 1, free_ports[1]):
        await_aggregators(study.aggregators)
        result = collect(study, word)
        assert result.reports == 30
        assert abs(result.counts("yes")["yes"] - 30) <= result.error("yes", "0.999999999999")
        assert collect(study, word).sums == result.sums
        with pytest.raises(DitherError, match="closed"):
            participant.report(tokens[30], {"yes": "yes"})
    with aggregator(tmp_path / "0", files, 0, free_ports[0]), aggregator(tmp_path / "1", files, 1, free_ports[1]):
        await_aggregators(study.aggregators)
        assert collect(study, word).sums == result.sums


def test_strangers_are_refused(tmp_path: Path, free_ports: list[int]) -> None:
    study, files = made(tmp_path, free_ports), tmp_path / "files"
    with aggregator(tmp_path / "1", files, 1, free_ports[1]):
        url = study.aggregators[1].url
        await_aggregators(study.aggregators[1:])
        assert json.loads(Connection(url, "anybody").send("GET", "/study"))["id"] == study.id.hex()
        for path in ("/verify", "/check", "/agree", "/release", "/close"):
            with pytest.raises(DitherError, match="for the collector"):
                Connection(url, "anybody").send("POST", path, {"reports": []})
        with pytest.raises(DitherError, match="first aggregator"):
            Connection(url, "anybody").send("POST", "/reports", {"nonce": "00" * 16})


def test_what_is_wrong_is_said_before_anything_listens(
    tmp_path: Path, free_ports: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    made(tmp_path, free_ports)
    files = tmp_path / "files"
    (tmp_path / "empty.json").write_text("{}")

    def said(number: str, secrets: Path, *more: str) -> str:
        stated = ["--number", number, "--port", str(free_ports[0]), "--study", str(files / "study.json"), *more]
        assert main(["study", "aggregate", str(tmp_path / "0"), *stated, "--secrets", str(secrets)])
        return capsys.readouterr().err

    assert "not that of aggregator 1" in said("1", files / "secrets.json")
    assert "numbered from 0 to 1" in said("-1", files / "secrets.json")
    assert "no secrets.json" in said("0", tmp_path / "empty.json")
    assert "in the clear" in said("0", files / "secrets.json", "--host", "0.0.0.0")


def test_long_reports_are_not_read(tmp_path: Path, free_ports: list[int]) -> None:
    study, files = made(tmp_path, free_ports), tmp_path / "files"
    with aggregator(tmp_path / "0", files, 0, free_ports[0]):
        await_aggregators(study.aggregators[:1])
        connection = Connection(study.aggregators[0].url, "anybody")
        for wrong in ({"nonce": "0" * study.report_bytes}, b"[" * 2000, b"null"):
            with pytest.raises(DitherError, match=r"at most|not what is asked|no report"):
                connection.send("POST", "/reports", wrong)


def test_the_demonstration(capsys: pytest.CaptureFixture[str]) -> None:
    result, ratios = demonstrate(60)
    assert result.reports == 60
    assert set(ratios) == {"smokers", "non-smokers"}
    assert "Neither can read an answer" in capsys.readouterr().out
