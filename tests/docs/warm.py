"""`dither` in the shell blocks of pages: each command is a process, forked from one that has imported everything.

A page has dozens of commands, and each would take a second to import what it needs. A shell function `dither` hands
over arguments, folder and environment; the forked process takes the standard streams of the shell that called it.
"""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_IMPORTED = ("dither.cli.main", "dither.curator.curator", "dither.sql.lowering", "dither.lab.audit", "duckdb")
_IMPORTED += ("sqlglot", "pyarrow.parquet", "pyarrow.csv")
# In processes of their own, so that the shell's streams are its own all the while.
_FUNCTION = """
dither() {
    local asked code
    asked=$(mktemp -p "$DITHER_WARM")
    { printf '%s\\0' "$BASHPID" "$PWD" "$#" "$@"; env -0; } > "$asked"
    mkfifo "$asked.code"
    (echo "$asked" > "$DITHER_WARM/asked")
    code=$(cat "$asked.code")
    return "$code"
}
"""


@contextmanager
def warm_process(folder: Path) -> Iterator[str]:
    """What a shell runs before its commands, while the process is there."""
    os.mkfifo(folder / "asked")
    process = subprocess.Popen([sys.executable, __file__, str(folder)])
    try:
        yield f"export DITHER_WARM={folder}\n{_FUNCTION}"
    finally:
        process.terminate()
        process.wait()


def _serve(folder: Path) -> None:
    for name in _IMPORTED:
        importlib.import_module(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # whoever attends to a command waits for it, and is not waited for
    with (folder / "asked").open("r+b", buffering=0) as pipe:  # for writing too: it does not end between two commands
        while True:
            asked = Path(os.fsdecode(pipe.readline().strip()))
            if not os.fork():
                _attend(asked)


def _attend(asked: Path) -> None:
    """Run one command and say how it ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    if not (child := os.fork()):
        code = 1
        try:
            code = _run(asked.read_bytes().split(b"\0"))
        except Exception:  # noqa: BLE001 - as an interpreter does
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    asked.with_name(asked.name + ".code").write_text(f"{code if code >= 0 else 128 - code}\n")
    os._exit(0)


def _run(words: list[bytes]) -> int:
    shell, folder, count, *rest = words
    for stream, flags in ((2, os.O_WRONLY), (1, os.O_WRONLY), (0, os.O_RDONLY)):
        opened = f"/proc/{int(shell)}/fd/{stream}"
        if Path(opened).is_socket():  # which has no other end to open; nobody types here
            opened = os.devnull
        os.dup2(os.open(opened, flags), stream)
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115 - until the process ends
    os.chdir(folder)
    os.environb.clear()
    os.environb.update(pair.split(b"=", 1) for pair in rest[int(count) :] if pair)
    sys.argv = ["dither", *map(os.fsdecode, rest[: int(count)])]
    from dither.cli.main import main

    try:
        return main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)


if __name__ == "__main__":
    _serve(Path(sys.argv[1]))
