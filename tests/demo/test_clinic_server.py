"""`dither demo --serve`: the address, the token and the curl line that it prints work."""

from __future__ import annotations

import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import dither as dt
from dither.demo import clinic_server as served
from dither.server import listening

ROOT = Path(__file__).parents[2]


@pytest.fixture
def said(tmp_path: Path) -> Iterator[str]:
    """What is printed until it serves; run twice, the second time with the folder of the first."""
    command = [sys.executable, "-m", "dither.cli.main", "demo", "--serve", "--port", "0", "--patients", "500"]
    for last in (False, True):
        with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            lines = [process.stdout.readline()]
            while lines[-1] and not lines[-1].startswith("serving "):
                lines.append(process.stdout.readline())
            if last:
                yield "".join(lines)
            process.terminate()


def test_what_it_prints_works(said: str, tmp_path: Path) -> None:
    address, token = (line.split()[1] for line in said.splitlines()[:2])
    alice = dt.connect(address, token)  # tries again until it is up
    assert [table.name for table in alice.tables()] == ["visits"]
    curl = shlex.split(said[said.index("curl") : said.index("import dither")].replace("\\\n", ""))
    lines = _as_curl(curl).splitlines()
    assert '"region","visits","visits_lower","visits_upper"' in lines
    assert [line.split(",")[0] for line in lines[-4:]] == ['"north"', '"east"', '"south"', '"west"']
    assert alice.budget().spent.rho
    command = shlex.split(said.split("`")[1])
    made = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert made.stdout.startswith("dither_")
    names = {"dt": dt}
    exec(said[said.index("import dither") :].splitlines()[0], names)
    assert names["alice"].name == "alice"  # type: ignore[attr-defined]


def test_a_port_that_is_taken_is_told_before_anything_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "_PATIENCE", 0.0)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(dt.ParameterError, match="Address already in use; see --port"):
            served.serve(tmp_path / "made", taken.getsockname()[1], 500, "dither")
    assert not (tmp_path / "made").exists(), "no folder, and no token"


def _as_curl(words: list[str]) -> str:
    """What curl would do with this line, for machines that have none."""
    assert [words[0], words[1], words[3]] == ["curl", "-H", "-d"]
    name, _, value = words[2].partition(": ")
    url = urlsplit(words[5])
    connection = HTTPConnection(url.netloc)
    try:
        connection.request("POST", f"{url.path}?{url.query}", words[4], {name: value})
        return connection.getresponse().read().decode()
    finally:
        connection.close()


def test_make_serve_runs_it() -> None:
    recipe = (ROOT / "Makefile").read_text(encoding="utf-8").split("\nserve:")[1].split("\n\n")[0]
    assert "dither demo --serve" in recipe
    assert (ROOT / "requirements" / "server.txt").exists()
