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

_SERVED = 20_000  # patients of the clinic that is served

_EXAMPLES = """\
  dither demo
  dither demo --folder /tmp/clinic --patients 20000
  dither demo --serve"""


def add(commands: Commands) -> None:
    parser = command(commands, "demo", "see it work", description=_DESCRIPTION, examples=_EXAMPLES)
    parser.add_argument("--folder", type=Path, help="where to (default: dither-demo; dither-served with --serve)")
    parser.add_argument("--patients", type=int, help=f"how many (default: {PATIENTS:,}; {_SERVED:,} with --serve)")
    parser.add_argument("--serve", action="store_true", help="serve the clinic with its web page on this machine")
    parser.add_argument("--port", type=int, default=8000, help="of the server; 0 for a free one (default: 8000)")
    add_progress(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Run the demonstration, with the bar cleared before each thing it says."""
    if arguments.serve:
        from dither.cli.demonstration import program
        from dither.demo.clinic_server import serve

        patients = whole(_given(arguments.patients, _SERVED), "--patients", least=500, most=1_000_000)
        return serve(arguments.folder or Path("dither-served"), arguments.port, patients, program())
    from dither.cli.demonstration import demonstrate

    patients = whole(_given(arguments.patients, PATIENTS), "--patients", least=5_000, most=1_000_000)
    with progress_bar(arguments) as bar:
        demonstrate(arguments.folder or Path("dither-demo"), lambda text: _say(text, bar), bar, patients)
    return None


def _given(stated: int | None, default: int) -> int:
    return default if stated is None else stated


def _say(text: str, bar: ProgressBar | None) -> None:
    if bar is not None:
        bar.clear()
    print(text, flush=True)
