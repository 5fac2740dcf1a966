"""Threat 42: bytes and texts from outside never run code; nothing is unpickled."""

from __future__ import annotations

import ast
import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from threats_clinic import COLUMNS, COUNT, open_clinic

import dither
from dither.answer.noisy_measures import Released
from dither.curator.curator import Curator
from dither.errors import DitherError

Reader = Callable[[Path], object]  # reads a file of an attacker's making
RUNS_CODE = {"pickle", "_pickle", "cPickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "runpy", "code"}


class Bomb:
    """Whoever unpickles this makes a file."""

    def __init__(self, sign: Path) -> None:
        self._sign = sign

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self._sign),)


def hostile_contents(sign: Path) -> list[bytes]:
    """A pickle of each protocol, alone and where a stored plan would be, and YAML that asks for a call."""
    pickles = [pickle.dumps(Bomb(sign), protocol) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)]
    quoted = [json.dumps({"version": 1, "tables": content.decode("latin-1")}).encode() for content in pickles]
    return [f'people: !!python/object/apply:os.mkdir ["{sign}"]'.encode(), *pickles, *quoted]


def check_reader(read: Reader, place: Path, suffix: str = ".bin") -> None:
    """The reader refuses each of them in our own words, and nothing ran."""
    sign = place / "sign"
    for content in hostile_contents(sign):
        path = place / f"hostile{suffix}"
        path.write_bytes(content)
        try:
            read(path)
            refused = False
        except DitherError:
            refused = True
        assert not sign.exists(), "bytes from outside ran code"
        assert refused, "bytes from outside were taken for ours"


def test_stored_answers(tmp_path: Path) -> None:
    check_reader(lambda path: Released.from_bytes(path.read_bytes()), tmp_path)


@pytest.mark.parametrize("suffix", [".toml", ".yaml", ".yml", ".pkl"])
def test_policy_files(clinic: Curator, tmp_path: Path, suffix: str) -> None:
    check_reader(clinic.apply, tmp_path, suffix)


@pytest.mark.parametrize("suffix", [".parquet", ".pkl", ".pickle", ".npy", ".bin"])
def test_sources_of_tables(clinic: Curator, tmp_path: Path, suffix: str) -> None:
    def register(path: Path) -> None:
        clinic.register("more", path, people="patients", owner="patient", max_rows_per_owner=3, columns=COLUMNS)

    check_reader(register, tmp_path, suffix)


def test_the_policy_of_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "clinic"
    open_clinic(folder).close()

    def open_with(path: Path) -> None:
        (folder / "policy.json").write_bytes(path.read_bytes())
        with Curator.open(folder) as curator:
            curator.sql(COUNT, epsilon=1)

    check_reader(open_with, tmp_path)


@pytest.mark.parametrize(
    "read",
    [
        lambda path: pickle.loads(path.read_bytes()),
        lambda path: yaml.load(path.read_text("latin-1"), yaml.UnsafeLoader),
    ],
)
def test_planted_readers_that_run_code(tmp_path: Path, read: Reader) -> None:
    with pytest.raises(AssertionError, match="ran code"):
        check_reader(lambda path: careless(read, path), tmp_path)


def careless(read: Reader, path: Path) -> None:
    """What cannot be read is refused properly, but only then."""
    try:
        read(path)
    except Exception as error:
        raise DitherError("unreadable") from error


def careless_names(source: str) -> set[str]:
    """What a module uses that would run what it reads."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names} & RUNS_CODE
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module.partition(".")[0]} & RUNS_CODE
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            found |= {node.func.id} & {"eval", "exec", "compile", "__import__"}
        elif isinstance(node, ast.keyword):
            found |= {str(node.arg)} & {"allow_pickle"}
        elif isinstance(node, ast.Attribute):
            found |= {node.attr} & {"read_pickle", "to_pickle", "UnsafeLoader", "FullLoader"}
    return found


def test_no_module_runs_what_it_reads() -> None:
    modules = sorted(Path(dither.__file__).parent.rglob("*.py"))
    assert len(modules) > 100
    found = {path.name: names for path in modules if (names := careless_names(path.read_text()))}
    assert found == {"lesson.py": {"eval", "exec", "compile"}}  # the textbook's own examples, texts of the package


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "from marshal import loads",
        "eval(text)",
        "np.load(path, allow_pickle=True)",
        "pd.read_pickle(x)",
    ],
)
def test_planted_modules_are_seen(source: str) -> None:
    assert careless_names(source)
