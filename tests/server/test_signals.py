"""A signal ends the server, whenever it comes."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import signal, sys
from dither.server import serve

class Dies:
    '''A server whose processes die at once, and which leaves its handlers behind.'''
    interrupt_signal = False
    def serve(self):
        def handle(*_):
            self.interrupt_signal = True
        signal.signal(signal.SIGTERM, handle)
        print("died", flush=True)
        raise SystemExit(1)

serve._LOOK = 0.2
serve.processes = lambda *_: Dies()
BUG
serve.run(serve.Settings(sys.argv[1]))
"""


def ends(folder: Path, bug: str = "", patience: float = 60) -> bool:
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM.replace("BUG", bug), str(folder)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    for _ in range(2):
        process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    try:
        process.communicate(timeout=patience)
    except subprocess.TimeoutExpired:
        return False
    finally:
        process.kill()
        process.communicate()
    return True


@pytest.mark.parametrize("_", range(3))
def test_between_two_attempts_to_serve(tmp_path: Path, _: int) -> None:
    assert ends(tmp_path)


def test_planted_bug_handlers_of_a_server_that_has_ended(tmp_path: Path) -> None:
    bug = "def _none(): pass\nserve._end_at_signals = _none\nDies.interrupt_signal = property(lambda _: False, len)"
    bug = bug.replace("len)", "lambda *_: None)")
    assert not ends(tmp_path, bug, 3)


ORPHAN = """
import os, time
from dither.server import serve
serve._LOOK = 0.05
gone = os.fork()
if gone == 0:
    os._exit(0)
os.waitpid(gone, 0)
os.environ[serve._PARENT] = str(gone)
BUG
os.environ[serve._VARIABLE] = "{}"
try:
    serve.made()
except TypeError:
    pass  # settings without a folder: it is about what was started before them
print("begun", flush=True)
time.sleep(60)
"""


def status_of_orphan(bug: str = "") -> int | None:
    """How a process ends whose starter was gone before it looked; None if it goes on."""
    process = subprocess.Popen([sys.executable, "-c", ORPHAN.replace("BUG", bug)], stdout=subprocess.DEVNULL)
    try:
        return process.wait(5 if bug else 50)
    except subprocess.TimeoutExpired:
        return None
    finally:
        process.kill()
        process.wait()


def test_a_process_whose_starter_is_gone_already() -> None:
    assert status_of_orphan() == -signal.SIGTERM


def test_planted_bug_the_starter_is_looked_up() -> None:
    assert status_of_orphan("os.environ[serve._PARENT] = str(os.getppid())") is None
