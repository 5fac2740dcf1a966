"""Which files a path means. A path is what the curator wrote; what a folder or a pattern leads to is not."""

from __future__ import annotations

import glob
from pathlib import Path

from dither.errors import PolicyError


def expand(path: str) -> list[str]:
    """The files of a path, a folder of Parquet files, or a pattern.

    A link that is named itself is followed. One that a folder or pattern finds must stay inside of the folder.
    """
    if Path(path).is_dir():
        folder, pattern = Path(path), str(Path(glob.escape(path)) / "*.parquet")
    elif not glob.has_magic(path):
        if not Path(path).is_file():
            raise PolicyError(f"there is no file {path}; check the path.")
        return [path]
    else:
        folder, pattern = _fixed_part(path), path
    found = sorted(glob.glob(pattern))
    if not found or not all(Path(name).is_file() for name in found):
        raise PolicyError(f"there is no file {pattern}; check the path.")
    resolved = [Path(name).resolve() for name in found]
    if not all(_inside(name, folder.resolve()) for name in resolved):
        raise PolicyError(f"{path} has links that lead out of it; name what they lead to by its own path.")
    return list(map(str, resolved))


def _inside(name: Path, folder: Path) -> bool:
    return name.is_relative_to(folder)


def _fixed_part(path: str) -> Path:
    """The folder above the first name that is a pattern."""
    folder = Path(path)
    while glob.has_magic(str(folder)):
        folder = folder.parent
    return folder
