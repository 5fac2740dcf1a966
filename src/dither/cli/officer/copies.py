"""`dither backup` and `dither restore`: copies of a curator's folder, which open only with its anchor."""

from __future__ import annotations

import argparse
from pathlib import Path

from dither.cli.common import Commands, add_folder, add_json, command, open_curator, print_json

_BACKUP = """\
Copy a curator's folder, while it is used, into a new one: ledger, key, declarations,
snapshots and answers, but never the anchor. All of it is proven before it is there.
A copy is personal data: keep it like them."""

_RESTORE = """\
Make a folder of a backup. It opens only with the anchor that the ledger was made with. If
that has seen more than the backup holds, all that it has seen spent is counted as spent,
and everybody is frozen until you have looked at the budgets and thawed them."""


def add_backup(commands: Commands) -> None:
    example = "  dither backup clinic clinic-monday --anchor /safe/clinic.anchor"
    parser = command(commands, "backup", "copy a folder, but for its anchor", description=_BACKUP, examples=example)
    add_folder(parser)
    parser.add_argument("to", type=Path, help="a folder that is not there yet")
    add_json(parser)
    parser.set_defaults(run=backup)


def add_restore(commands: Commands) -> None:
    example = "  dither restore clinic --from clinic-monday --anchor /safe/clinic.anchor"
    parser = command(commands, "restore", "make a folder of a backup", description=_RESTORE, examples=example)
    add_folder(parser)
    parser.add_argument("--from", dest="copy", type=Path, metavar="BACKUP", required=True, help="the backup")
    add_json(parser)
    parser.set_defaults(run=restore)


def backup(arguments: argparse.Namespace) -> None:
    """Copy the folder that was named."""
    with open_curator(arguments) as curator:
        entries = curator.officer.backup(arguments.to)
    if arguments.json:
        print_json({"backup": str(arguments.to), "entries": entries})
    else:
        print(f"{arguments.to} has everything but the anchor; {entries:,} entries of its ledger are proven.")
        inside = arguments.folder / "ledger.anchor"
        if inside.exists():
            print(f"Without its anchor a copy never opens: keep {inside} on another disk too, or both get lost.")


def restore(arguments: argparse.Namespace) -> None:
    """Copy a backup back, and count as spent what it does not know of."""
    from dither.curator.officer.copies import restore as restored

    behind = restored(arguments.copy, arguments.folder, anchor=arguments.anchor, weak_anchor=arguments.weak_anchor)
    if arguments.json:
        print_json({"restored": str(arguments.folder), "counted_as_spent": behind})
    elif behind:
        print(f"{arguments.folder} is older than its anchor: what that has seen spent is spent; all people are frozen.")
    else:
        print(f"{arguments.folder} is the newest state that its anchor has seen.")
