"""A notebook moves from a folder to a server by one line, and from `dither` to `dither-client` by none."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from importlib.metadata import PathDistribution, distribution
from pathlib import Path
from typing import Any

import pytest

import dither as dt

ROOT = Path(__file__).parents[2]
NOTEBOOK = Path(__file__).with_name("notebook.py")
ABSENT = ("duckdb", "sqlglot", "scipy", "flint", "cryptography", "yaml", "starlette", "granian", "pandas", "polars")


def cells(python: Path | str, line: str, price: str) -> Any:
    command = [str(python), "-I", str(NOTEBOOK), line, price]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def at_home(served: Any) -> Any:
    with dt.Curator.open(served.folder) as curator:
        curator.profile("visits", share="0.02")
    line = f"curator = dt.Curator.open({str(served.folder)!r}); alice = curator.analyst('alice')"
    return cells(sys.executable, line, "0.011")


@pytest.fixture(scope="module")
def connected(served: Any) -> str:
    return f"alice = dt.connect('http://127.0.0.1:{served.port}', {served.tokens['alice']!r})"


def test_the_notebook_uses_every_method() -> None:
    """But not `service`, which is how the curator's own code asks."""
    text = NOTEBOOK.read_text(encoding="utf-8")
    for name in dir(dt.Analyst):
        assert name.startswith("_") or name == "service" or f"alice.{name}" in text, name


def test_one_line_moves_a_notebook(at_home: Any, connected: str) -> None:
    there = cells(sys.executable, connected, "0.012")
    assert len(at_home) > 10
    for name, cell in at_home.items():
        assert there[name] == cell, name


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with dither-client, built from this tree, and what it says it needs; nothing is downloaded."""
    folder = tmp_path_factory.mktemp("client")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT / "client", check=True, capture_output=True)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "venv")], check=True)
    (packages,) = (folder / "venv" / "lib").glob("python*/site-packages")
    (wheel,) = folder.glob("dither_client-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)
    (metadata,) = packages.glob("dither_client-*.dist-info")
    for requirement in PathDistribution(metadata).requires or []:
        if "extra ==" not in requirement:
            _link(requirement.split(">")[0], packages)
    return folder / "venv" / "bin" / "python"


def _link(name: str, packages: Path) -> None:
    """Put a package of this environment into another one; those that it needs in turn are none."""
    found = distribution(name)
    assert not [needed for needed in found.requires or [] if "extra ==" not in needed], name
    for top in {file.parts[0] for file in found.files or [] if file.parts[0] != ".."}:
        link = packages / top
        if not link.exists():
            link.symlink_to(Path(str(found.locate_file(top))).resolve())


def test_the_client_needs_no_engine(client: Path, at_home: Any, connected: str) -> None:
    absent = f"import importlib.util as u; assert not [n for n in {ABSENT} if u.find_spec(n)]"
    subprocess.run([client, "-I", "-c", absent], check=True)
    there = cells(client, connected, "0.013")
    for name, cell in at_home.items():
        assert there[name] == cell, name


def test_the_client_has_the_command_line(client: Path, served: Any, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(served.tokens["alice"])
    server = ["--url", f"http://127.0.0.1:{served.port}", "--token-file", str(tmp_path / "token")]
    for command in (
        ["tables"],
        ["budget"],
        ["ledger", "show"],
        ["explain", "SELECT COUNT(*) FROM visits", "--epsilon", "0.01"],
        ["query", "SELECT COUNT(*) FROM visits", "--epsilon", "0.01", "--csv"],
    ):
        done = subprocess.run(
            [client, "-I", "-m", "dither.cli.main", *server, *command], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, ""), command
        assert done.stdout, command


def test_what_the_client_has_not_is_said(client: Path) -> None:
    command = [client, "-I", "-m", "dither.cli.main", "price", "1 count at 0.1", "--delta", "1e-6"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "`pip install .` brings" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_both_distributions_are_of_the_same_version(client: Path) -> None:
    (metadata,) = client.parents[1].glob("lib/python*/site-packages/dither_client-*.dist-info")
    assert PathDistribution(metadata).version == distribution("dither").version == dt.__version__
