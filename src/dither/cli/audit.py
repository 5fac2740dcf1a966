"""`dither audit`: try to refute what is claimed, of our mechanisms, of another library's, or of a curator's tables."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dither.cli.common import Commands, add_json, command, print_json
from dither.cli.progress import ProgressBar, add_progress, progress_bar
from dither.errors import DitherError, ParameterError
from dither.exact.parameters import positive, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_DESCRIPTION = """\
Try to refute every claim, by samples. For each mechanism at least twenty pairs of
neighbours are searched for the output that betrays most, and what it betrays is
certified on fresh samples: the lower bound is below the true epsilon with
probability 0.999 for all rows together. A row whose bound is above the claim is
REFUTED, and the exit code is 6. A mechanism that is tight but was not seen to spend
95 per cent of its claim is SHORT. Every pair is screened with few samples, and the
worst ones get all. Where outputs are slow to draw, fewer samples are taken than
asked for, so that a row takes about --seconds; the table says how many."""

_EXAMPLES = """\
  dither audit
  dither audit --only Laplace --samples 10000000
  dither audit --peer opendp
  dither audit --neighbours clinic
  dither audit --museum"""


class Refuted(DitherError):
    """An audit found a counter-example."""

    code = "claim_refuted"


def add(commands: Commands) -> None:
    parser = command(
        commands, "audit", "attack every claim, ours and others'", description=_DESCRIPTION, examples=_EXAMPLES
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--only", metavar="NAME", help="one mechanism: Laplace, or its second example, Laplace:1")
    what.add_argument("--peer", metavar="LIBRARY", help="audit an installed library: opendp, diffprivlib, pydp")
    what.add_argument(
        "--neighbours",
        type=Path,
        metavar="FOLDER",
        help="a curator's tables and policies, on synthetic neighbours: what shows before the noise must be the same",
    )
    what.add_argument("--museum", action="store_true", help="the bug museum: every exhibit must be caught")
    parser.add_argument("--every", action="store_true", help="every example of each mechanism, not its first only")
    parser.add_argument("--samples", default="1000000", metavar="N", help="samples a side of each pair (default 10^6)")
    parser.add_argument("--seconds", default="8", metavar="S", help="computing time for a row, about (default 8)")
    parser.add_argument(
        "--question",
        action="append",
        default=[],
        metavar="SQL",
        help="with --neighbours: also ask this; may be repeated",
    )
    add_progress(parser)
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """One of the audits, its table, and an error if anything was refuted."""
    if arguments.question and arguments.neighbours is None:
        raise ParameterError("--question is asked of a curator's tables: give --neighbours FOLDER too.")
    with progress_bar(arguments) as bar:
        rows, table = _chosen(arguments)(arguments, bar)
    if arguments.json:
        print_json(rows)
    else:
        print(table)
    refuted = [str(row["name"]) for row in rows if not row["passed"]]
    if refuted:
        raise Refuted(f"{len(refuted)} of {len(rows)} refuted: {', '.join(refuted)}.")


def _chosen(arguments: argparse.Namespace) -> Callable[..., tuple[list[dict[str, Any]], str]]:
    if arguments.museum:
        return _museum
    if arguments.neighbours is not None:
        return _neighbours
    return _mechanisms


def _mechanisms(arguments: argparse.Namespace, bar: ProgressBar | None) -> tuple[list[dict[str, Any]], str]:
    """Ours, or those of another library."""
    from dither.lab.audit.registry_audit import audits, cases, table

    samples = whole(_count(arguments.samples), "samples", least=1000)
    seconds = float(positive(arguments.seconds, "seconds"))
    if arguments.peer is not None:
        from dither.lab.peers import peer_cases

        chosen = list(peer_cases(arguments.peer))
    else:
        chosen = cases(arguments.only, every=arguments.every)
        if not chosen:
            same = cases(arguments.only.partition(":")[0])
            known = ", ".join(case.name if same else case.name.partition(":")[0] for case in same or cases())
            raise ParameterError(f"there is no mechanism {arguments.only!r} in the registry; it has: {known}.")
    rows = [row.document() for row in audits(chosen, samples=samples, seconds=seconds, progress=bar)]
    return rows, table(rows)


def _neighbours(arguments: argparse.Namespace, bar: ProgressBar | None) -> tuple[list[dict[str, Any]], str]:
    from dither.lab.audit.neighbours.rehearsal import rehearse, table

    rows = list(_shown(rehearse(arguments.neighbours, arguments.question), bar))
    return rows, table(rows)


def _shown(rows: Iterator[dict[str, Any]], bar: ProgressBar | None) -> Iterator[dict[str, Any]]:
    for row in rows:
        if bar is not None:
            bar(row["name"], row.pop("done", 0.0))
        yield row


def _museum(arguments: argparse.Namespace, bar: ProgressBar | None) -> tuple[list[dict[str, Any]], str]:
    from dither.lab.museum import table, visit

    found = list(visit(progress=bar))
    return [row.document() for row in found], table(found)


def _count(text: str) -> int:
    """A number of samples as people write it: 1000000, 1e6 or 10**6 cut to what is whole."""
    try:
        return int(float(text)) if "e" in text.casefold() else int(text.replace("_", "").replace(",", ""))
    except (ValueError, OverflowError):
        raise ParameterError(f"--samples must be a whole number, such as 1000000 or 1e6; got {text!r}.") from None
