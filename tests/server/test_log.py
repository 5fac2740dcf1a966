"""The log: a line of JSON for each request, with its endpoint, role and status, and nothing else of it."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from dither.server import app

SECRET = "SELECT COUNT(*) FROM visits WHERE age = 41"


def check_log(text: str) -> int:
    """How many lines there are; each has these members alone, and values that no request chooses."""
    lines = [json.loads(line) for line in text.splitlines()]
    for line in lines:
        assert set(line) == {"endpoint", "role", "status"}, "something else is logged"
        assert line["endpoint"].isidentifier()
        assert isinstance(line["status"], int)
    return len(lines)


def test_lines_have_endpoint_role_and_status(unserved: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    log = unserved.folder.parent / "log"
    unserved.options = ("--log",)
    with log.open("w") as stderr:
        sound = subprocess.Popen
        monkeypatch.setattr(subprocess, "Popen", lambda *given, **named: sound(*given, **named, stderr=stderr))
        unserved.start()
        monkeypatch.undo()
        unserved.query("alice", SECRET, request="sesame")
        unserved.query("alice", "SELECT nosuch FROM visits")
        unserved.call("nobody", "GET", "/v1/answers/sesame")
        unserved.stop()
    text = log.read_text()
    assert check_log(text) == 3
    assert '{"endpoint": "query", "role": "analyst", "status": 200}' in text.splitlines()
    assert '{"endpoint": "answer", "role": "none", "status": 401}' in text.splitlines()


def test_planted_bug_the_question_is_logged() -> None:
    script = f"""
import logging
from dither.server import app
logging.basicConfig(format="%(message)s", level=logging.INFO)
app.log.info('{{"endpoint": "query", "role": "analyst", "status": 200, "sql": "%s"}}', {SECRET!r})
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert app.log.name == "dither.server"
    with pytest.raises(AssertionError, match="something else"):
        check_log(done.stderr)
