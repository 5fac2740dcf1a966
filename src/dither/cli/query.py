"""`dither query` and `dither explain`: SQL in; a noisy table, or its price and error beforehand, out."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from dither.cli.common import Commands, add_folder, add_json, command, print_json
from dither.cli.output import print_raw
from dither.cli.serving.remote import open_asker
from dither.cli.usage import RemoteParser
from dither.errors import ParameterError

if TYPE_CHECKING:
    from dither.answer import Answer

_QUERY = """\
Ask a question and pay for it. The price is charged, durably, before any data are
read. Asking the same question again costs nothing and gives the same answer; a
--request id makes a retry after a crash safe too."""

_QUERY_EXAMPLES = """\
  dither query clinic "SELECT COUNT(*) FROM visits WHERE age >= 65" --epsilon 0.1
  dither query clinic "SELECT region, AVG(fee) FROM visits GROUP BY region" --epsilon 0.5 --analyst alice
  dither query clinic - --epsilon 0.5 --csv < question.sql > answer.csv"""

_EXPLAIN = """\
Show what a question would cost, how it would be answered and how large its error
would be. Nothing is charged and no data are read."""

_EXPLAIN_EXAMPLES = """\
  dither explain clinic "SELECT region, COUNT(*) FROM visits GROUP BY region" --epsilon 0.5"""

_MOST_ROWS = 1000  # of an answer; --csv and --json have all


def add_query(commands: Commands) -> None:
    parser = command(commands, "query", "ask a question in SQL", description=_QUERY, examples=_QUERY_EXAMPLES)
    _add_question(parser)
    parser.add_argument("--request", metavar="ID", help="a name for this request; a retry under it is charged once")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON, with intervals")
    form.add_argument("--csv", action="store_true", help="print CSV, with intervals")
    parser.add_argument(
        "--raw", action="store_true", help="with --csv: texts as they are, formulas and control characters too"
    )
    parser.set_defaults(run=query)


def add_explain(commands: Commands) -> None:
    parser = command(commands, "explain", "price a question", description=_EXPLAIN, examples=_EXPLAIN_EXAMPLES)
    _add_question(parser)
    add_json(parser)
    parser.set_defaults(run=explain)


def query(arguments: argparse.Namespace) -> None:
    """Ask, pay, print."""
    _need_a_price(arguments)
    if arguments.raw and not arguments.csv:
        raise ParameterError("--raw writes the texts of --csv as they are; add --csv, or leave it out.")
    with open_asker(arguments) as asker:
        answer = asker.sql(_text(arguments), request=arguments.request, **_stated(arguments))
    if arguments.json:
        print_json(json.loads(answer.to_json()))
    elif arguments.csv:
        _print_csv(answer, raw=arguments.raw)
    else:
        print(answer.to_text(rows=_MOST_ROWS))


def explain(arguments: argparse.Namespace) -> None:
    """Price, and print."""
    _need_a_price(arguments)
    with open_asker(arguments) as asker:
        explanation = asker.explain(_text(arguments), **_stated(arguments))
    if arguments.json:
        print_json(explanation.to_dict())
    else:
        print(explanation)


def _add_question(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    parser.add_argument("sql", help='the question; "-" reads it from standard input')
    price = parser.add_mutually_exclusive_group()
    price.add_argument("--epsilon", help="the price, for all columns and rows together, such as 0.1")
    price.add_argument("--rho", help="the price in rho, where the budget counts in it")
    price.add_argument("--error", help="instead of a price: how far any number may be off; the least price is paid")
    parser.add_argument(
        "--delta", help="the delta to pay, where a question needs one or may have Gaussian noise for it"
    )
    if not isinstance(parser, RemoteParser):
        parser.add_argument(
            "--analyst", help="who asks, as made by init; without it the curator asks, with what is not reserved"
        )
    parser.add_argument(
        "--dialect", help="the SQL dialect of the question (default postgres), such as mysql or bigquery"
    )
    parser.add_argument(
        "--rows-per-owner", type=int, metavar="K", help="rows of each owner that count (default: chosen by the profile)"
    )
    parser.add_argument(
        "--limit-rows",
        choices=("after_where", "before_where"),
        default="after_where",
        help="whether those are rows that WHERE keeps (default), or, which is quicker, any",
    )
    parser.add_argument("--confidence", default="0.95", help="how likely the shown interval holds (default 0.95)")
    parser.add_argument(
        "--coverage",
        choices=("each", "groups"),
        default="each",
        help="whether that is meant of each number (default), or of so many of the groups: shorter where they are many",
    )


def _need_a_price(arguments: argparse.Namespace) -> None:
    in_text = (arguments.dialect or "").lower() == "bigquery"  # its own clause may state it
    if arguments.epsilon is None and arguments.rho is None and arguments.error is None and not in_text:
        raise ParameterError(
            "a question has a price: add --epsilon 0.1, say, or --rho 0.001 where the budget has rho; or --error 50."
        )


def _text(arguments: argparse.Namespace) -> str:
    return sys.stdin.read() if arguments.sql == "-" else str(arguments.sql)


def _stated(arguments: argparse.Namespace) -> dict[str, Any]:
    names = ("epsilon", "rho", "error", "delta", "confidence", "coverage", "dialect", "rows_per_owner", "limit_rows")
    return {name: getattr(arguments, name) for name in names}


def _print_csv(answer: Answer, *, raw: bool) -> None:
    from dither.answer.document import csv_bytes

    print_raw(csv_bytes(answer, raw=raw).decode())
