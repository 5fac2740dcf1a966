"""Every command, flag and argument of the command line has its place in docs/start/cli.md, and nothing else has."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from dither.cli.main import parser

PAGE = Path(__file__).parents[2] / "docs" / "start" / "cli.md"


def commands(top: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Every command that can be run, by its full name."""
    below = [action for action in top._actions if isinstance(action, argparse._SubParsersAction)]
    for action in below:
        for child in action.choices.values():
            yield from commands(child)
    if not below:
        yield top.prog, top


def sections() -> dict[str, str]:
    parts = re.split(r"^## `(.+)`$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


COMMANDS = dict(commands(parser()))


def test_the_page_has_a_section_for_each_command_and_no_other() -> None:
    assert list(sections()) == list(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_flag_and_argument_is_described(name: str) -> None:
    section = sections()[name]
    for action in COMMANDS[name]._actions:
        if isinstance(action, argparse._HelpAction):
            continue
        shown = action.option_strings or [action.dest.upper()]
        for word in shown:
            assert re.search(rf"`{re.escape(word)}[` ]", section), f"{name}: {word}"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_flag_on_the_page_exists(name: str) -> None:
    known = {flag for action in COMMANDS[name]._actions for flag in action.option_strings}
    for flag in re.findall(r"`(--[a-z-]+)", sections()[name]):
        assert flag in known, f"{name}: {flag}"


def test_exit_codes_are_described() -> None:
    from dither.cli import main

    for code in (main.OK, main.SYSTEM, main.REFUSED, main.BUDGET, main.LEDGER, main.FAILED, main.INTERRUPTED):
        assert f"| {code} |" in PAGE.read_text(encoding="utf-8")
