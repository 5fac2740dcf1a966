"""`dither demo`: see it work on a made-up clinic."""

from __future__ import annotations

import argparse
from pathlib import Path

from dither.cli.common import Commands, command
from dither.cli.progress import ProgressBar, add_progress, progress_bar
from dither.demo.clinic import PATIENTS
from dither.exact.parameters import whole

_DESCRIPTION = """\
Make a synthetic clinic, show how exact answers give one patient away, put the clinic
behind dither and ask five questions. Everything is written to one folder; running it
again replaces what it made there, and it refuses any other folder that is not empty."""

_EXAMPLES = """\
  dither demo
  dither demo --folder /tmp/clinic --patients 20000"""


def add(commands: Commands) -> None:
    parser = command(commands, "demo", "see it work", description=_DESCRIPTION, examples=_EXAMPLES)
    parser.add_argument("--folder", type=Path, default=Path("dither-demo"), help="where to (default: dither-demo)")
    parser.add_argument("--patients", type=int, default=PATIENTS, help=f"how many (default: {PATIENTS:,})")
    add_progress(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Run the demonstration, with the bar cleared before each thing it says."""
    from dither.cli.demonstration import demonstrate

    patients = whole(arguments.patients, "--patients", least=5_000, most=1_000_000)
    with progress_bar(arguments) as bar:
        demonstrate(arguments.folder, lambda text: _say(text, bar), bar, patients)


def _say(text: str, bar: ProgressBar | None) -> None:
    if bar is not None:
        bar.clear()
    print(text, flush=True)
