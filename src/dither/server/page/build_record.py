"""Whether the files of the page were built from the sources as they are: `web/build.mjs` records their digest."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

RECORD = Path(__file__).parent / "assets" / "built.json"
_NAMES = ("build.mjs", "package.json", "package-lock.json")


def digest(web: Path) -> str:
    """Of every file that the build reads, by its name and content."""
    found = sha256()
    for path in sorted([*(web / "src").iterdir(), *(web / name for name in _NAMES)], key=lambda path: path.name):
        found.update(f"{path.name}\n{sha256(path.read_bytes()).hexdigest()}\n".encode())
    return found.hexdigest()
