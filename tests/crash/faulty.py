"""The failing disk from the side of the tests: built, preloaded into a worker, and told what to do."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from enum import IntEnum, IntFlag
from pathlib import Path
from typing import Any

SHIM = Path(__file__).with_name("shim")


class Action(IntEnum):
    """What the disk does at the chosen operation."""

    NOTHING = 0
    FAIL = 1
    SHORT = 2
    LOSE = 3
    KILL_BEFORE = 4
    KILL_AMID = 5


class On(IntFlag):
    """Classes of operations."""

    WRITES = 1
    SYNCS = 2
    READS = 4
    NAMES = 8
    CHANGES = 11


def compiler() -> list[str]:
    """A C compiler: the machine's own, or the one that `make` installs where there is none."""
    for name in (os.environ.get("CC", ""), "cc", "gcc", "clang"):
        if name and shutil.which(name):
            return [name]
    if importlib.util.find_spec("ziglang"):
        return [sys.executable, "-m", "ziglang", "cc"]
    raise RuntimeError("no C compiler: `make test` and `make crash` install one from requirements/compiler.txt")


def build(folder: Path) -> Path:
    """The shim, compiled into that folder."""
    library = folder / "disk.so"
    flags = ["-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    subprocess.run([*compiler(), *flags, "-o", str(library), str(SHIM / "disk.c")], check=True)
    return library


@dataclass(frozen=True)
class Done:
    """What a process on the failing disk released, and how it ended."""

    released: bytes
    status: int
    counted: int


class Disk:
    """A worker whose disk fails on demand."""

    def __init__(self, library: Path) -> None:
        self._worker = subprocess.Popen(
            [sys.executable, str(SHIM / "worker.py")],
            env={**os.environ, "LD_PRELOAD": str(library)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(
        self,
        folder: Path,
        *requests: str,
        action: Action = Action.NOTHING,
        classes: On = On.CHANGES,
        at: int = 0,
        again: bool = False,
        kind: str = "Ledger",
        record: Path | None = None,
        create: bool = False,
        size: int = 16,
    ) -> Done:
        """Open the ledger, ask these requests and close it, in one process whose disk does as stated."""
        order: dict[str, Any] = {
            "folder": str(folder), "requests": requests, "action": action, "classes": classes, "at": at, "again": again,
            "kind": kind, "record": None if record is None else str(record), "create": create, "bytes": size,
        }  # fmt: skip
        if self._worker.stdin is None or self._worker.stdout is None:
            raise RuntimeError("the worker has no pipes")
        self._worker.stdin.write(json.dumps(order) + "\n")
        self._worker.stdin.flush()
        report = json.loads(self._worker.stdout.readline())
        return Done(bytes.fromhex(report["released"]), report["status"], report["counted"])

    def close(self) -> None:
        self._worker.communicate()
