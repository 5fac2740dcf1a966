"""`dither`: read the arguments, run one command, turn errors into one line and an exit code."""

from __future__ import annotations

import argparse
import json
import os
import sys
import warnings
from collections.abc import Sequence
from typing import TextIO

from dither import __version__
from dither.cli import audit, budget, demo, init, ledger, price, profile, query, register, snapshots, tables
from dither.cli.common import Formatter
from dither.cli.error_words import words
from dither.cli.learning import learn
from dither.cli.officer import copies, keys, life_cycle, policy
from dither.cli.output import visible_output
from dither.cli.serving import serve, token
from dither.cli.serving.remote import server_options
from dither.cli.studies import lookup, study
from dither.cli.usage import Parser, RemoteParser, UsageError
from dither.errors import BudgetExceeded, DitherError, LedgerError, LoadWarning, NotComputed, QueryFailed
from dither.escape import visible_lines

COMMANDS = (
    demo.add,
    init.add,
    register.add_register,
    register.add_refresh,
    tables.add_tables,
    tables.add_schema,
    tables.add_copy,
    tables.add_drop,
    snapshots.add,
    profile.add,
    query.add_query,
    query.add_explain,
    budget.add,
    ledger.add,
    life_cycle.add_freeze,
    life_cycle.add_thaw,
    life_cycle.add_lower,
    life_cycle.add_grant,
    life_cycle.add_close,
    keys.add,
    policy.add_plan,
    policy.add_apply,
    copies.add_backup,
    copies.add_restore,
    serve.add_serve,
    token.add_token,
    study.add,
    lookup.add_publish,
    lookup.add_lookup,
    price.add,
    audit.add,
    learn.add,
)

REMOTE = (tables.add_tables, snapshots.add, profile.add, query.add_query, query.add_explain, budget.add, ledger.add)

OK, SYSTEM, REFUSED, BUDGET, LEDGER, FAILED, REFUTED, INTERRUPTED = 0, 1, 2, 3, 4, 5, 6, 130

_DESCRIPTION = """\
Ask questions about people without giving any of them away.

A folder holds a curator: tables, the people they tell about, and a privacy budget
that no crash, race or retry can overrun. Questions are SQL; answers are noisy
tables that say how far the noise can reach and what they cost."""

_EPILOG = """\
from nothing to an answer:
  dither init clinic --people patients --epsilon 4 --delta 1e-6
  dither register clinic visits visits.parquet --people patients --owner patient_id \\
      --max-rows-per-owner 40 --column age=int:0:105 --column region=category:north,south
  dither explain clinic "SELECT region, COUNT(*) FROM visits GROUP BY region" --epsilon 0.5
  dither query clinic "SELECT region, COUNT(*) FROM visits GROUP BY region" --epsilon 0.5
  dither budget clinic

at a server, with a token that its curator gave you:
  dither --url https://dither.example:8443 --token-file token query "SELECT ..." --epsilon 0.5

exit codes: 0 done; 1 a file could not be read or written; 2 refused (usage, a parameter,
the policy, the SQL); 3 over budget; 4 ledger trouble; 5 failed after the charge;
6 an audit refuted a claim.
Nothing is charged on 2 and 3."""


def parser(*, remote: bool = False) -> argparse.ArgumentParser:
    """The whole command line, so that documentation can be checked against it; with `remote`, that of a server."""
    top = (RemoteParser if remote else Parser)(
        prog="dither", description=_DESCRIPTION, epilog=_EPILOG, formatter_class=Formatter
    )
    top.add_argument("--version", action="version", version=f"dither {__version__}")
    top.set_defaults(run=lambda _: top.print_help())
    commands = top.add_subparsers(title="commands", metavar="COMMAND")
    for add in REMOTE if remote else COMMANDS:
        add(commands)
    return top


def _chosen(given: Sequence[str], server: argparse.Namespace) -> argparse.Namespace:
    """The command with all that was stated; of those that ask no server, a word about that."""
    if server.url is None:
        return parser().parse_args(given, server)
    top = parser(remote=True)
    named = next((word for word in given if not word.startswith("-")), "")
    if named in _names(parser()) and named not in _names(top):
        which = f"dither {named} works on a folder or on this machine, and asks no server: leave --url out"
        top.error(f"{which}; what asks one is {', '.join(_names(top))}")
    return top.parse_args(given, server)


def _names(top: argparse.ArgumentParser) -> list[str]:
    return [name for action in top._actions for name in action.choices or ()]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code."""
    for stream in (sys.stdout, sys.stderr):
        _never_fail_on_a_character(stream)
    given = sys.argv[1:] if arguments is None else list(arguments)
    chosen = argparse.Namespace()
    try:
        server, given = server_options(given)
        chosen = _chosen(given, server)
        with visible_output(), warnings.catch_warnings():
            warnings.simplefilter("ignore", LoadWarning)  # the report that is printed says the same
            chosen.run(chosen)
            sys.stdout.flush()
    except DitherError as error:
        message = words(error, getattr(chosen, "folder", "FOLDER"))
        if "--json" in given:
            document = {"error": type(error).__name__, **error.document(), "message": message}
            print(json.dumps(document), file=sys.stderr)
            return _exit_code(error)
        if isinstance(error, UsageError):
            print(visible_lines(error.usage), end="", file=sys.stderr)
        return _complain(message, _exit_code(error))
    except ModuleNotFoundError as error:
        how = "in a checkout of dither `pip install .` brings what asks, `pip install '.[server]'` what serves"
        return _complain(f"this command needs {error.name}: {how}; dither-client only asks servers.", REFUSED)
    except BrokenPipeError:
        _drop_output()  # the reader has gone (`dither ... | head`)
        return OK
    except OSError as error:
        _drop_output()
        return _complain(f"{error.filename or 'a file'}: {error.strerror or error}.", SYSTEM)
    except KeyboardInterrupt:
        return _complain("interrupted; a question that was charged stays charged.", INTERRUPTED)
    return OK


def _drop_output() -> None:
    """Forget what could not be written: flushing it at exit would fail again and hide the exit code."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _exit_code(error: DitherError) -> int:
    if isinstance(error, BudgetExceeded):
        return BUDGET
    if isinstance(error, LedgerError):
        return LEDGER
    if isinstance(error, audit.Refuted):
        return REFUTED
    return FAILED if isinstance(error, (NotComputed, QueryFailed)) else REFUSED


def _complain(message: str, code: int) -> int:
    print(visible_lines(f"dither: {message}"), file=sys.stderr)
    return code


def _never_fail_on_a_character(stream: TextIO) -> None:
    """A terminal that cannot show ± gets a question mark, not a traceback."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="replace")


if __name__ == "__main__":
    sys.exit(main())
