"""The demonstration's folder: recognised by a marker file, and nobody else's folder is ever touched."""

from __future__ import annotations

import shutil
from pathlib import Path

from dither.errors import PolicyError

_MARKER = "made-by-dither-demo.txt"
_MARKER_TEXT = "dither demo made this folder. Running it again replaces clinic/ and visits.parquet, nothing else.\n"
_MADE = ("clinic", "visits.parquet")


def prepare(folder: Path) -> bool:
    """Make the folder, or empty it of what an earlier demonstration made; True if there was an earlier one."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise PolicyError(f"{folder} is not a plain folder; name another with --folder.")
    again = (folder / _MARKER).is_file()
    if folder.exists() and not again and any(folder.iterdir()):
        raise PolicyError(
            f"{folder} holds files that the demonstration did not make, so it is left alone; "
            "name another with --folder."
        )
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _MARKER).write_text(_MARKER_TEXT, encoding="utf-8")
    for name in _MADE if again else ():
        _remove(folder / name)
    return again


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
