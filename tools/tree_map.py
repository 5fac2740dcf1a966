"""The map in CONTRIBUTING.md: every folder of the source tree with the first line of what it says about itself.

python tools/tree_map.py
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "dither"
PAGE = ROOT / "CONTRIBUTING.md"
BLOCK = re.compile(r"```text\nsrc/dither/\n.*?```", re.DOTALL)
# Rooms in the order of a question's walk; others follow by name.
WALK = [
    "curator",
    "policy",
    "sql",
    "records",
    "ledger",
    "engines",
    "mechanisms",
    "noise",
    "exact",
    "accounting",
    "sensitivity",
    "stats",
    "graph",
    "answer",
    "plot",
    "lab",
    "text",
    "binding",
    "scalars",
    "expressions",
    "plan",
    "bounding",
    "guard",
    "planner",
    "pricing",
    "admission",
    "lowering",
    "postprocess",
]
AROUND = """\
tests/            mirrors src, plus conformance/, statistical/, crash/, threats/
docs/             pages whose code blocks run
bench/            side-by-side benchmarks
tools/            what keeps pages and tree true to each other"""


def said(path: Path) -> str:
    """The first line of a module's docstring."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return text.split("\n")[0]


def entries(folder: Path = SOURCE, depth: int = 1) -> Iterator[tuple[str, str]]:
    """Each folder, and at the root each file, with what it says."""
    for path in sorted((path.parent for path in folder.glob("*/__init__.py")), key=_place):
        yield f"{'  ' * depth}{path.name}/", said(path / "__init__.py")
        yield from entries(path, depth + 1)
    if folder == SOURCE:
        for path in sorted(folder.glob("*.py")):
            if path.name != "__init__.py":
                yield f"  {path.name}", said(path)


def _place(folder: Path) -> tuple[int, str]:
    return WALK.index(folder.name) if folder.name in WALK else len(WALK), folder.name


def block() -> str:
    """The map as the page has it."""
    return "\n".join(["```text", "src/dither/", *(f"{name:<17} {words}" for name, words in entries()), AROUND, "```"])


def refreshed(page: str) -> str:
    """The page with the map of today."""
    if len(BLOCK.findall(page)) != 1:
        raise ValueError("the page needs one block that begins with src/dither/.")
    return BLOCK.sub(lambda _: block(), page)


if __name__ == "__main__":
    PAGE.write_text(refreshed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
