"""What commands share: the folder, the anchor, JSON output and help that keeps its line breaks."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dither.escape import json_text

if TYPE_CHECKING:
    from dither import Curator
    from dither.accounting import ApproxDP, PureDP

Commands = Any  # argparse's own type for subparsers is private


class Formatter(argparse.RawDescriptionHelpFormatter):
    """Descriptions and examples are printed as written."""

    def __init__(self, prog: str, **options: Any) -> None:
        super().__init__(prog, max_help_position=32, **options)


def command(commands: Commands, name: str, summary: str, *, description: str, examples: str) -> argparse.ArgumentParser:
    """A command with help that teaches: what it does, its options, examples."""
    made: argparse.ArgumentParser = commands.add_parser(
        name, help=summary, description=description, epilog=f"examples:\n{examples}", formatter_class=Formatter
    )
    return made


def add_folder(parser: argparse.ArgumentParser) -> None:
    """The curator's folder, and its anchor if that is kept elsewhere."""
    parser.add_argument("folder", type=Path, help="the curator's folder")
    parser.add_argument(
        "--anchor",
        type=Path,
        metavar="PATH",
        help="the ledger's anchor file, if it was put outside the folder by init; then it is needed every time",
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")


def open_curator(arguments: argparse.Namespace, *, create: bool = False) -> Curator:
    """The curator of the folder that was named."""
    from dither import Curator

    return Curator.open(arguments.folder, create=create, anchor=arguments.anchor)


def add_budget(parser: argparse.ArgumentParser, *, required: bool = True) -> None:
    """The options that state a budget."""
    parser.add_argument("--epsilon", required=required, help='the epsilon of the budget, such as 4, "0.5" or "1/3"')
    parser.add_argument(
        "--delta", help="the delta of the budget, such as 1e-6; far below one over the number of people"
    )
    parser.add_argument(
        "--pure", action="store_true", help="a budget without delta: epsilons add, and noise is Laplace"
    )
    parser.add_argument(
        "--composition",
        choices=("zcdp", "basic"),
        help="how an approximate budget adds up: zcdp (default) gets several times more questions out of it than basic",
    )


def read_budget(arguments: argparse.Namespace) -> PureDP | ApproxDP:
    """The budget that `add_budget`'s options state."""
    from dither import ApproxDP, PureDP
    from dither.errors import ParameterError
    from dither.exact.parameters import positive

    epsilon = positive(arguments.epsilon, "epsilon")
    if arguments.pure:
        if arguments.delta is not None or arguments.composition is not None:
            raise ParameterError("--pure is a budget of epsilon alone; drop --delta and --composition.")
        return PureDP(epsilon)
    if arguments.delta is None:
        raise ParameterError("give --delta, such as --delta 1e-6, or --pure for a budget without one.")
    return ApproxDP(epsilon, arguments.delta, composition=arguments.composition or "zcdp")


def print_json(document: object) -> None:
    print(json_text(document, indent=2))
