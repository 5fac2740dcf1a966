"""Documentation that runs: every python, sh and console block of the README and of docs/*/*.md, page by page.

The blocks of one page share a namespace and start in an empty folder, as a reader would. In a console block the lines
after a "$ " prompt are commands; the others show what a reader sees and are not compared, since answers are noisy.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*/*.md"))]
RUNNABLE = ("python", "sh", "console")
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    language: str
    code: str
    line: int


def blocks(text: str) -> list[Block]:
    found = [Block(m[1], m[2], text.count("\n", 0, m.start(2)) + 1) for m in FENCE.finditer(text)]
    return [block for block in found if block.language in RUNNABLE]


def run_page(text: str, name: str, folder: Path, prelude: str = "") -> None:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks(text):
        if block.language == "python":
            # Empty lines in front make a traceback point into the page.
            exec(compile("\n" * (block.line - 1) + block.code, name, "exec"), namespace)
        else:
            run_shell(prelude + shell_commands(block), f"{name}:{block.line}", folder)


def shell_commands(block: Block) -> str:
    if block.language == "sh":
        return block.code
    lines, continued = [], False
    for line in block.code.splitlines():
        if continued or line.startswith("$ "):
            lines.append(line if continued else line[2:])
            continued = line.endswith("\\")
    return "\n".join(lines)


def run_shell(commands: str, where: str, folder: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", commands],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    if done.returncode != 0:
        raise AssertionError(f"{where} exits with {done.returncode}\n{done.stdout}\n{done.stderr}")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prelude: str) -> None:
    monkeypatch.chdir(tmp_path)
    run_page(page.read_text(encoding="utf-8"), str(page), tmp_path, prelude)


def test_a_warm_command_is_a_command(tmp_path: Path, prelude: str) -> None:
    """Its exit code, streams, folder and environment are those of a process that the shell has started."""
    commands = """
        ! dither tables nowhere 2> said.txt
        grep -q nowhere said.txt
        mkdir inside && cd inside
        dither init made --people patients --epsilon 1 --pure > /dev/null
        cd ..
        test "$(dither budget inside/made --json | grep -c '"patients"')" -gt 0
        code=0; dither query inside/made "SELECT nonsense" --epsilon 1 2> said.txt || code=$?
        test "$code" -eq 2
        echo "SELECT COUNT(*) FROM x" | { ! dither explain inside/made - --epsilon 1 2> said.txt; }
    """
    run_shell(prelude + commands, "warm", tmp_path)
    with pytest.raises(AssertionError, match="exits with 4"):
        run_shell(prelude + "dither tables nowhere\ntrue", "warm", tmp_path)


def test_the_readme_and_the_tutorial_have_blocks_to_run() -> None:
    for page in ("README.md", "docs/start/tutorial.md", "docs/start/cli.md"):
        assert blocks((ROOT / page).read_text(encoding="utf-8")), page


def test_a_broken_block_is_found(tmp_path: Path) -> None:
    for broken in ("```python\nx = nosuch\n```\n", "```sh\nfalse\ntrue\n```\n", "```console\n$ false\noutput\n```\n"):
        with pytest.raises((NameError, AssertionError)):
            run_page(f"# page\n\n{broken}", "page.md", tmp_path)


def test_blocks_share_names_and_output_is_not_run(tmp_path: Path) -> None:
    text = (
        "```python\nx = 1\n```\n\n```text\nnot code\n```\n\n```python\nassert x == 1\n```\n"
        "```console\n$ echo a \\\n    b > made.txt\nfalse\n```\n"
    )
    run_page(text, "page.md", tmp_path)
    assert (tmp_path / "made.txt").read_text() == "a b\n"
