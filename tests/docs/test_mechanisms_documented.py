"""Every public mechanism has a running example on docs/toolbox/mechanisms.md."""

from __future__ import annotations

from pathlib import Path

import pytest

import dither as dt

PAGE = Path(__file__).parents[2] / "docs" / "toolbox" / "mechanisms.md"
MECHANISMS = sorted(name for name, home in dt.HOMES.items() if home == "dither.mechanisms" and name != "REFUSED")


@pytest.mark.parametrize("name", MECHANISMS)
def test_it_is_made_and_used(name: str) -> None:
    blocks = PAGE.read_text(encoding="utf-8").split("```python\n")[1:]
    assert any(f"dt.{name}(" in block.split("```")[0] for block in blocks)


def test_there_are_mechanisms() -> None:
    assert "Laplace" in MECHANISMS
