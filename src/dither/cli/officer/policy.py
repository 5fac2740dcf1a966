"""`dither plan` and `dither apply`: a policy file that changed, first shown and then done."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dither.cli.accounts import shown
from dither.cli.common import Commands, add_folder, add_json, command, open_curator, print_json
from dither.cli.progress import add_progress, progress_bar

if TYPE_CHECKING:
    from dither.curator.policy_files.changes import Change

_PLAN = """\
Show what a policy file would do: budgets raised and lowered, accounts frozen, thawed,
closed and opened, tables loaded. Nothing is changed. What a file does not name stays."""

_APPLY = """\
Do what a policy file says. In it, epsilon and delta are what an account has in all, and
frozen = true and closed = true stand for what they say. Each change is an entry of the
ledger with the reason; if any budget rises, the officer's key signs."""

_EXAMPLE = "  dither {} clinic clinic.toml"


def add_plan(commands: Commands) -> None:
    parser = _add(commands, "plan", "show what a policy file would do", _PLAN, "")
    parser.set_defaults(run=plan)


def add_apply(commands: Commands) -> None:
    parser = _add(commands, "apply", "do what a policy file says", _APPLY, ' --reason "2027" --key officer.pem')
    parser.add_argument("--reason", required=True, help="why; it stands in the ledger for good")
    parser.add_argument("--key", type=Path, metavar="FILE", help="the officer's private key, if a budget rises")
    parser.add_argument("--strict", action="store_true", help="refuse data if any record does not fit")
    add_progress(parser)
    parser.set_defaults(run=apply)


def _add(commands: Commands, name: str, summary: str, about: str, more: str) -> argparse.ArgumentParser:
    parser = command(commands, name, summary, description=about, examples=_EXAMPLE.format(name) + more)
    add_folder(parser)
    parser.add_argument("policy", type=Path, help="a TOML or YAML file")
    add_json(parser)
    return parser


def plan(arguments: argparse.Namespace) -> None:
    """Print what would change."""
    with open_curator(arguments) as curator:
        found = curator.plan(arguments.policy)
    if arguments.json:
        opened = [_account(*account) for account in found.opened]
        loaded, kept = list(found.loaded), list(found.kept)
        print_json({"changed": _changes(found.changed), "opened": opened, "loaded": loaded, "kept": kept})
    else:
        print(found)


def apply(arguments: argparse.Namespace) -> None:
    """Change, open and load."""
    with open_curator(arguments) as curator, progress_bar(arguments) as bar:
        stated = {"reason": arguments.reason, "key": arguments.key}
        done = curator.apply(arguments.policy, strict=arguments.strict, progress=bar, **stated)
    if arguments.json:
        loaded = [{"table": name, **asdict(report)} for name, report in done.loaded.items()]
        opened = [_account(*account) for account in done.opened]
        print_json({"changed": _changes(done.changed), "opened": opened, "loaded": loaded, "kept": list(done.kept)})
        return
    lines = [*map(str, done.changed), *(f"{shown(account)}: budget opened" for account in done.opened)]
    lines += [f"{name}: {report}" for name, report in done.loaded.items()]
    print("\n".join(lines) or "nothing changed")
    if done.loaded:
        print("These figures are exact: keep them from analysts.")


def _changes(found: tuple[Change, ...]) -> list[dict[str, Any]]:
    return [{"change": one.kind, **_account(one.people, one.analyst), "words": str(one)} for one in found]


def _account(people: str, analyst: str | None) -> dict[str, Any]:
    return {"people": people, "analyst": analyst}
