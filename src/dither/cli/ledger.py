"""`dither ledger verify`, `show`, `restore`, `copy`: entries checked against key and anchor, read, counted as spent."""

from __future__ import annotations

import argparse
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dither.cli.common import Commands, add_folder, add_json, command, open_curator, print_json
from dither.cli.output import print_raw
from dither.cli.serving.copying import COPY_EXAMPLES, add_copy
from dither.cli.serving.remote import open_asker, remote_service
from dither.cli.usage import RemoteParser
from dither.curator.budgets import decimal_text
from dither.errors import PolicyError
from dither.escape import visible
from dither.policy.names import meant

if TYPE_CHECKING:
    from dither.ledger import Entry

_VERIFY = """\
Check every entry of the ledger against its key, its chain, the budgets and the
anchor. A ledger that was edited, cut or rolled back is reported and not served."""

_VERIFY_EXAMPLES = """\
  dither ledger verify clinic
  dither ledger verify clinic --anchor /safe/clinic.anchor"""

_SHOW = """\
Show the ledger as a bank statement, one line a question: when it was charged (by the
curator's clock, which informs and decides nothing), who asked, the price, what became of
it, the beginning of its answer's SHA-256, and the text as asked. With a number, one question
whole, with the answer that was released. With --entries, everything that the ledger
holds: budgets, tables, decisions. All of it is for the curator; an analyst sees the own."""

_SHOW_EXAMPLES = """\
  dither ledger show clinic
  dither ledger show clinic 17
  dither ledger show clinic --analyst alice --since 2027-01-01 --csv
  dither ledger show clinic --entries --json"""

_RESTORE = """\
Go on with an older copy of a ledger whose newest copy is lost, or with none: everything
that the anchor has seen spent counts as spent. Answers since the copy are lost, and
nothing is answered about anybody until you have looked at the budgets and thawed them
(dither thaw). Use it only if no newer copy can be found: that one is refused from then on."""

_RESTORE_EXAMPLES = """\
  dither ledger restore clinic
  dither ledger restore clinic --anchor /safe/clinic.anchor"""


def add(commands: Commands) -> None:
    examples = f"{_VERIFY_EXAMPLES}\n{_SHOW_EXAMPLES}\n{_RESTORE_EXAMPLES}\n{COPY_EXAMPLES}"
    about = "What can be done with the ledger."
    ledger = command(
        commands, "ledger", "check, show, restore or copy the ledger", description=about, examples=examples
    )
    ledger.set_defaults(run=lambda _: ledger.print_help())
    actions = ledger.add_subparsers(title="actions", metavar="ACTION")
    for name, summary, description, shown, run in (
        ("verify", "check the whole ledger", _VERIFY, _VERIFY_EXAMPLES, verify),
        ("show", "show its entries", _SHOW, _SHOW_EXAMPLES, show),
        ("restore", "count what was lost as spent", _RESTORE, _RESTORE_EXAMPLES, restore),
    ):
        if isinstance(ledger, RemoteParser) and run is restore:
            continue
        parser = command(actions, name, summary, description=description, examples=shown)
        add_folder(parser)
        if run is show:
            _add_show(parser)
        add_json(parser)
        parser.set_defaults(run=run)
    if not isinstance(ledger, RemoteParser):
        add_copy(actions)


def verify(arguments: argparse.Namespace) -> None:
    """Print how many entries were found intact; an error otherwise."""
    if arguments.url is not None:
        where, entries = arguments.url, remote_service(arguments).verify()
    else:
        with open_curator(arguments) as curator:
            where, entries = arguments.folder, curator.verify()
    if arguments.json:
        print_json({"entries": entries, "intact": True})
    else:
        print(f"the ledger of {where} is intact: {entries:,} {_entries(entries)}.")


def restore(arguments: argparse.Namespace) -> None:
    """Count as spent what the anchor has seen and the ledger has not."""
    from dither.ledger import Ledger

    Ledger.restore(arguments.folder, anchor=arguments.anchor, weak_anchor=arguments.weak_anchor)
    if arguments.json:
        print_json({"restored": str(arguments.folder)})
    else:
        print(f"what the anchor of {arguments.folder} has seen spent is spent; all people are frozen.")


def _add_show(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("number", type=int, nargs="?", help="one question, whole")
    if not isinstance(parser, RemoteParser):
        parser.add_argument("--analyst", help="what this analyst sees")
    parser.add_argument("--table", help="only questions about this table")
    parser.add_argument("--since", metavar="DAY", help="only from this day on, such as 2027-01-01; UTC")
    parser.add_argument("--until", metavar="DAY", help="only up to this day, which is included")
    parser.add_argument("--entries", action="store_true", help="every entry of the ledger, not questions alone")
    parser.add_argument("--csv", action="store_true", help="print CSV")


def show(arguments: argparse.Namespace) -> None:
    """Print the statement, one question of it, or the entries behind it."""
    from dither.curator.officer.statement import statement_csv, statement_text

    with open_asker(arguments) as asker:
        if arguments.number is not None:
            found = asker.question(arguments.number)
            print_json(found.document()) if arguments.json else print(found)
            return
        statement = asker._statement()
        if arguments.entries:
            _show_entries(list(statement), arguments)
            return
        lines = statement.between(table=arguments.table, since=arguments.since, until=arguments.until)
        if arguments.table is not None and not lines:
            _check_table(
                arguments.table,
                {table.name for table in asker.tables()}
                | {name for line in statement.questions for name in line.tables},
            )
    if arguments.json:
        print_json([line.document() for line in lines])
    elif arguments.csv:
        print_raw(statement_csv(lines))
    else:
        print(statement_text(lines))


def _check_table(table: str, known: set[str]) -> None:
    """Refuse a name that no table has, nor had when it was asked about."""
    if table.lower() not in {name.lower() for name in known}:
        listed = ", ".join(sorted(known)) or "none"
        raise PolicyError(f"there is no table {table!r}; known are: {listed}. {meant(table, known)}".rstrip())


def _show_entries(entries: list[Entry], arguments: argparse.Namespace) -> None:
    """Print the entries in order."""
    if arguments.json:
        print_json([{"sequence": entry.sequence, "kind": entry.kind, "body": dict(entry.body)} for entry in entries])
        return
    width = len(str(entries[-1].sequence))
    for entry in entries:
        print(visible(f"{entry.sequence:>{width}}  {entry.kind:8}  {_about(entry)}").rstrip())


def _about(entry: Entry) -> str:
    """What an entry says, in words; exact costs are shortened upward."""
    body = entry.body
    whose = str(body.get("people", "")) if body.get("analyst") is None else f"{body['analyst']} (of {body['people']})"
    if entry.kind in ("account", "grant", "lower"):
        terms: Any = body["terms"]
        stated = ", ".join(f"{name} {_figure(terms[name])}" for name in ("epsilon", "delta") if name in terms)
        return (
            f"{whose}: {stated}, {body['kind']}"
            if entry.kind == "account"
            else f"{whose}: {stated} in all: {body['reason']}"
        )
    if entry.kind == "reserve":
        request = "" if body["request"] is None else f", request {body['request']}"
        asked = " ".join(str(body.get("sql", body["question"])).split())
        delta = "" if body["delta"] == "0" else f", delta {_figure(body['delta'])}"
        return f"{whose}: cost {_figure(body['cost'])}{delta}{request}, {body['snapshot']}: {asked}"
    if entry.kind == "restore":
        return f"goes on after entry {body['sequence']}, up to which the anchor has seen what was spent"
    if "reservation" in body:
        return f"question {body['reservation']}"
    return ", ".join(f"{name} {value}" for name, value in body.items())


def _figure(exact: object) -> str:
    return decimal_text(Fraction(str(exact)), up=True)


def _entries(count: int) -> str:
    return "entry" if count == 1 else "entries"
