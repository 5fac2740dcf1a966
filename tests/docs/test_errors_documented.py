"""docs/ask/errors.md lists every error with its code and fields: programs rely on them."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import dither
from dither.errors import DitherError

PAGE = Path(__file__).parents[2] / "docs" / "ask" / "errors.md"
ROW = re.compile(r"^\| `(\w+)` \| `(\w+)` \| (.*?) \| (.+) \|$", re.MULTILINE)


def below(kind: type[DitherError]) -> Iterator[type[DitherError]]:
    for found in kind.__subclasses__():
        if found.__module__.startswith("dither."):  # tests define some of their own
            yield found
            yield from below(found)


def errors() -> set[type[DitherError]]:
    for module in pkgutil.walk_packages(dither.__path__, "dither."):
        importlib.import_module(module.name)
    return set(below(DitherError))


def check_page(text: str, kinds: set[type[DitherError]]) -> None:
    rows = {(code, name, tuple(re.findall(r"\w+", fields))) for code, name, fields, _ in ROW.findall(text)}
    assert rows == {(kind.code, kind.__name__, kind.fields) for kind in kinds}
    for kind in kinds:
        assert "code" in vars(kind), f"{kind.__name__} has no code of its own"
        assert re.fullmatch(r"[a-z]+(_[a-z]+)*", kind.code)
    assert len({kind.code for kind in kinds}) == len(kinds), "two errors have the same code"


def test_every_error_is_listed() -> None:
    check_page(PAGE.read_text(encoding="utf-8"), errors())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("`busy` |", "`engaged` |"),
        ("`share`, `waited`", "`share`"),
        ("| `Stranger` |", "| `Foreigner` |"),
    ],
)
def test_a_wrong_page_is_caught(old: str, new: str) -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert old in text
    with pytest.raises(AssertionError):
        check_page(text.replace(old, new), errors())


def test_an_error_without_a_code_of_its_own_is_caught() -> None:
    kinds = errors()
    lost = type("Lost", (DitherError,), {"__module__": "tests"})
    row = "\n| `error` | `Lost` | - | never |"
    with pytest.raises(AssertionError, match="no code of its own"):
        check_page(PAGE.read_text(encoding="utf-8") + row, kinds | {lost})
