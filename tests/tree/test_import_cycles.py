"""No module imports itself in a circle, not even by an import inside a function; and none is deferred in vain."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

_SPEC = importlib.util.spec_from_file_location(
    "import_cycles", Path(__file__).parents[2] / "tools" / "import_cycles.py"
)
import_cycles = importlib.util.module_from_spec(_SPEC)
sys.modules["import_cycles"] = import_cycles
_SPEC.loader.exec_module(import_cycles)


@pytest.fixture
def planted(tmp_path: Path):
    """The imports of a small package, given as texts of its files."""

    def write(**files: str):
        for name, text in {"__init__": "", **files}.items():
            path = tmp_path / "p" / f"{name}.py"
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        return import_cycles.read(tmp_path)

    return write


def test_there_is_no_circle() -> None:
    assert import_cycles.cycles(import_cycles.read()) == []


def test_no_import_is_deferred_in_vain() -> None:
    assert import_cycles.vain(import_cycles.read()) == []


@pytest.mark.parametrize(
    "back",
    [
        "import p.a",
        "from p import a",
        "from p.a import x",
        "def f():\n    from p.a import x",
        "class C:\n    def f(self):\n        import p.a",
        "if True:\n    from p import a",
    ],
)
def test_a_planted_circle_is_found(planted, back: str) -> None:
    assert import_cycles.cycles(planted(a="from p.b import y", b=back, c="from p import a, b")) == [["p.a", "p.b"]]


def test_a_longer_circle_is_found_once(planted) -> None:
    found = planted(a="import p.b", b="def f():\n    import p.c", c="from p import a", d="import p.a")
    assert import_cycles.cycles(found) == [["p.a", "p.b", "p.c"]]


def test_what_type_checkers_alone_see_is_no_circle(planted) -> None:
    only_types = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from p.a import x"
    assert import_cycles.cycles(planted(a="from p.b import y", b=only_types)) == []


def test_an_import_deferred_in_vain_is_found(planted) -> None:
    found = planted(a="from p import b\ndef f():\n    from p import c, d", b="import p.c", c="", d="")
    assert import_cycles.vain(found) == [("p.a", "p.c")]
