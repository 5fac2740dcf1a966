"""What commands share: the folder, the anchor, JSON output and help that keeps its line breaks."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dither.cli.usage import RemoteParser
from dither.errors import ParameterError
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
    """The curator's folder, and its anchor if that is kept elsewhere; neither, where a server is asked."""
    if isinstance(parser, RemoteParser):
        return
    parser.add_argument("folder", type=Path, help="the curator's folder")
    where = "the ledger's anchor, if it was put outside the folder by init: a file, or postgresql://HOST/DATABASE"
    add_anchor(parser, f"{where}; then it is needed every time")
    parser.add_argument(
        "--weak-anchor", action="store_true", help="accept an anchor in the PostgreSQL cluster that the ledger is in"
    )


def add_anchor(parser: argparse.ArgumentParser, about: str) -> None:
    """Where the anchor of a ledger is."""
    parser.add_argument("--anchor", type=_file_or_address, metavar="PATH", help=about)


def _file_or_address(text: str) -> Path | str:
    return text if "://" in text else Path(text)


def add_engine(
    parser: argparse.ArgumentParser, flag: str, help_: str, engines: tuple[str, ...], *, required: bool = False
) -> None:
    """An engine, and where it is found if the folder does not know it yet."""
    parser.add_argument(flag, choices=engines, dest="engine", required=required, help=help_)
    parser.add_argument(
        "--dsn-env",
        metavar="NAME",
        help="the environment variable that has the address of the PostgreSQL database; the folder remembers its name",
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")


def open_curator(arguments: argparse.Namespace, *, create: bool = False) -> Curator:
    """The curator of the folder that was named."""
    from dither import Curator

    stated = {"anchor": arguments.anchor, "weak_anchor": arguments.weak_anchor}
    ledger, engines = getattr(arguments, "ledger", None), _engines(arguments)
    return Curator.open(arguments.folder, create=create, ledger=ledger, engines=engines, **stated)


def _engines(arguments: argparse.Namespace) -> dict[str, Any]:
    if getattr(arguments, "dsn_env", None) is None:
        return {}
    from dither import LivePostgreSQL, PostgreSQL

    if arguments.engine == "live":
        return {"live": LivePostgreSQL(arguments.dsn_env, str(arguments.source).partition(".")[0])}
    if arguments.engine != "postgres":
        raise ParameterError("--dsn-env says where PostgreSQL is; it needs that engine, postgres, or live.")
    return {"postgres": PostgreSQL(arguments.dsn_env)}


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
