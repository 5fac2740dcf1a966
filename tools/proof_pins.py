"""Pins of the proof pages: each names the functions it relies on with a hash of their source.

After changing such a function, read its proof again, correct the page if needed, and then refresh the pins:

    python tools/proof_pins.py
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import re
from pathlib import Path

PAGES = Path(__file__).resolve().parents[1] / "docs" / "proofs"
PIN = re.compile(r"^- `(?P<name>[\w.]+:[\w.]+)` (?P<hash>\S+)$", re.MULTILINE)


def source_hash(name: str) -> str:
    """A hash of the source of `module:function` or `module:Class.method`."""
    module, _, path = name.partition(":")
    found = importlib.import_module(module)
    for part in path.split("."):
        found = inspect.getattr_static(found, part)
    found = getattr(found, "fget", None) or getattr(found, "__func__", None) or getattr(found, "func", None) or found
    return hashlib.sha256(inspect.getsource(inspect.unwrap(found)).encode()).hexdigest()[:16]


def stale(text: str) -> list[str]:
    """The functions whose source is not the one that the page was checked against."""
    return [pin["name"] for pin in PIN.finditer(text) if source_hash(pin["name"]) != pin["hash"]]


def refreshed(text: str) -> str:
    """The page with the hashes of today."""
    return PIN.sub(lambda pin: f"- `{pin['name']}` {source_hash(pin['name'])}", text)


if __name__ == "__main__":
    for page in sorted(PAGES.glob("*.md")):
        for name in stale(page.read_text()):
            print(f"{page.name}: {name}")
        page.write_text(refreshed(page.read_text()))
