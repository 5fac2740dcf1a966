"""`dither study`: sums over people's answers that nobody holds together."""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator
from pathlib import Path

from dither.cli.common import Commands, add_anchor, add_json, command, print_json
from dither.cli.progress import add_progress, progress_bar
from dither.cli.studies.addresses import add_listening, listening
from dither.errors import ParameterError
from dither.lazy import missing_extra

_STUDY = """\
A study without a trusted curator: every participant's answers are split into shares,
two or more aggregators check and add them up without seeing any, and each adds noise
before anything is released. One honest aggregator is enough."""

_EXAMPLES = """\
  dither study demo                          participants, two aggregators and a collector, here
  dither study key one                       an aggregator makes its key
  dither study init study.toml files --invite 1000
  dither study aggregate one --study files/study.json --secrets files/secrets.json --number 0
  dither study report --study files/study.json --invitation 0123... smokes=yes age=43
  dither study collect --study files/study.json --collector files/collector.txt"""


def add(commands: Commands) -> None:
    study = command(commands, "study", "a study without a trusted curator", description=_STUDY, examples=_EXAMPLES)
    study.set_defaults(run=lambda _: study.print_help())
    actions = study.add_subparsers(title="actions", metavar="ACTION")

    def action(name: str, about: str) -> argparse.ArgumentParser:
        return command(actions, name, about, description=_STUDY, examples=_EXAMPLES)

    demo = action("demo", "the lecture's study of smoking, with real processes")
    demo.add_argument("--participants", type=int, default=1000, help="how many take part (default 1000)")
    key = action("key", "make an aggregator's key")
    key.add_argument("folder", type=Path, help="the aggregator's own folder")
    init = action("init", "make a study from its file")
    init.add_argument("file", type=Path, help="study.toml: questions, epsilon, aggregators")
    init.add_argument("folder", type=Path, help="where the study's files are written")
    init.add_argument("--invite", type=int, required=True, metavar="N", help="how many invitations to make")
    aggregate = action("aggregate", "run one aggregator")
    aggregate.add_argument("folder", type=Path, help="the aggregator's own folder, with its key")
    aggregate.add_argument("--secrets", type=Path, required=True, help="secrets.json, for aggregators only")
    aggregate.add_argument("--number", type=int, required=True, help="0 for the first one of the study's file")
    add_anchor(aggregate, "the ledger's anchor, outside the folder: an older copy of the folder is refused then")
    add_listening(aggregate)
    report = action("report", "take part: hand in one report, or one for each line of a file")
    report.add_argument("answers", nargs="*", metavar="NAME=ANSWER", help="an answer to each question")
    report.add_argument("--invitation", help="the invitation, which can be used once")
    report.add_argument("--csv", type=Path, metavar="FILE", help="answers by column, one participant a line")
    report.add_argument("--invitations", type=Path, metavar="FILE", help="invitations for the lines of --csv")
    add_progress(report)
    collect = action("collect", "close the study and read the noisy sums")
    collect.add_argument("--collector", type=Path, required=True, help="collector.txt, as init has written it")
    for parser, run in (
        (demo, run_demo),
        (key, make_key),
        (init, init_study),
        (aggregate, run_aggregator),
        (report, hand_in),
        (collect, run_collect),
    ):
        if parser in (aggregate, report, collect):
            parser.add_argument("--study", type=Path, required=True, help="study.json")
        if parser is not aggregate:
            add_json(parser)
        parser.set_defaults(run=run)


def run_demo(arguments: argparse.Namespace) -> None:
    from dither.study.demonstration import demonstrate

    if not 10 <= arguments.participants <= 100_000:
        raise ParameterError("--participants takes 10 to 100000.")
    result, ratios = demonstrate(arguments.participants, quiet=arguments.json)
    if arguments.json:
        shown = {name: {"value": one.value, "low": one.low, "high": one.high} for name, one in ratios.items()}
        print_json({**result.document(), "ratios": shown})


def make_key(arguments: argparse.Namespace) -> None:
    from dither.study.keys import make_key

    key = make_key(arguments.folder).hex()
    if arguments.json:
        print_json({"key": key})
    else:
        print(key)


def init_study(arguments: argparse.Namespace) -> None:
    from dither.study.organiser import init_study
    from dither.study.promises import promise
    from dither.study.study import read_toml

    study = init_study(read_toml(arguments.file.read_text()), arguments.folder, arguments.invite)
    if arguments.json:
        print_json({"id": study.id.hex(), "folder": str(arguments.folder), "promise": promise(study)})
        return
    print(f"{study.name} is study {study.id.hex()}.")
    print(f"It promises {promise(study)}")
    print(f"For everybody: {arguments.folder}/study.json. For aggregators only: {arguments.folder}/secrets.json.")
    print(f"For the collector: {arguments.folder}/collector.txt. One line of {arguments.folder}/invitations.txt each.")


def run_aggregator(arguments: argparse.Namespace) -> None:
    try:
        from dither.study.service import run
    except ImportError as error:
        raise ParameterError(missing_extra("an aggregator needs", "study", error)) from None
    run(listening(arguments), arguments.folder, arguments.study, arguments.secrets, arguments.number, arguments.anchor)


def hand_in(arguments: argparse.Namespace) -> None:
    from dither.study.organiser import read_study
    from dither.study.remote import Participant

    study = read_study(arguments.study)
    reports = list(_reports(arguments))
    participant = Participant(study)
    with progress_bar(arguments) as bar:
        for done, (invitation, answers) in enumerate(reports, 1):
            participant.report(invitation, answers)
            if bar is not None:
                bar("handing in reports", done / len(reports))
    if arguments.json:
        print_json({"reports": len(reports)})
    else:
        print("The report is handed in." if len(reports) == 1 else f"{len(reports):,} reports are handed in.")


def _reports(arguments: argparse.Namespace) -> Iterator[tuple[bytes, dict[str, str]]]:
    if (arguments.csv is None) == (arguments.invitation is None):
        raise ParameterError("give --invitation and answers, or --csv and --invitations.")
    if arguments.csv is None:
        pairs = [answer.partition("=") for answer in arguments.answers]
        yield _invitation(arguments.invitation), {name: value for name, _, value in pairs}
        return
    if arguments.invitations is None:
        raise ParameterError("--csv needs --invitations, a file with one for each line.")
    tokens = arguments.invitations.read_text().split()
    with arguments.csv.open(newline="") as file:
        rows = list(csv.DictReader(file))
    if len(rows) > len(tokens):
        raise ParameterError(f"there are {len(rows)} lines and only {len(tokens)} invitations.")
    for token, row in zip(tokens, rows, strict=False):
        yield _invitation(token), row


def _invitation(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise ParameterError("an invitation is a line of invitations.txt.") from None


def run_collect(arguments: argparse.Namespace) -> None:
    from dither.study.organiser import read_study
    from dither.study.remote import collect

    result = collect(read_study(arguments.study), arguments.collector.read_text().strip())
    if arguments.json:
        print_json(result.document())
    else:
        print(result)
