"""The corpus of hostile statements: hostile.sql as texts with their theme and dialect."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_CHARACTER = re.compile(r"\{\{U\+([0-9A-F]+)\}\}")
_REPEATED = re.compile(r"\{\{(\d+)\*(.*?)\}\}(?!\})")


@dataclass(frozen=True)
class Hostile:
    """A statement that must be refused."""

    line: int
    theme: str
    dialect: str | None
    text: str


def corpus() -> Iterator[Hostile]:
    """Every statement, in order."""
    theme, dialect = "", ""
    lines = Path(__file__).with_name("hostile.sql").read_text(encoding="utf-8").split("\n")
    for number, line in enumerate(lines, 1):
        if line.startswith("--# "):
            theme, _, dialect = (part.strip() for part in line[4:].partition("|"))
        elif theme and line:
            yield Hostile(number, theme, dialect or None, _written_out(line))


def _written_out(line: str) -> str:
    characters = _CHARACTER.sub(lambda found: chr(int(found[1], 16)), line)
    return _REPEATED.sub(lambda found: int(found[1]) * found[2], characters)
