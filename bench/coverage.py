"""How often stated intervals hold the exact answer, on data whose owners have very different numbers of rows.

    python bench/coverage.py [--repetitions 200] [--only WORD ...] [--results FILE] [--report] [--picture FILE]

Every repetition has a fresh curator and a fresh profile (what is production code there and what is a shortcut says
coverage_repetitions.py), asks each question once, and reads its intervals at 50%, 90%, 95% and 99%. The exact answer
(coverage_tables.py) is that on the declared data, by plain SQL. Exact binomial tests, group by group, and Holm's
correction over all of them (coverage_statistics.py) say whether a coverage is below its level: all together err with
probability 1e-3 at most.

`--only` takes names of tables ("flights"), budgets ("PureDP"), prices ("0.1"), profiles ("none", "rows", "columns") and
kinds ("SUM"). Figures are appended to FILE, and `--report` shows those of all runs in it without a new one: so
that 2,000 repetitions, which 99% needs, can be made in parts. Exits 1 if a coverage is too low.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

from coverage_picture import draw
from coverage_repetitions import BUDGETS, Setting, Template, measure
from coverage_report import PROFILES, TENFOLD, read, report
from coverage_tables import TABLES
from coverage_visits import VISITS

SUBJECTS = {**TABLES, **VISITS}
EPSILONS = ("0.1", "1")


def settings(only: Sequence[str], name: str, budget: str) -> Iterator[Setting]:
    """Of rows alone a profile is for the table whose declared maximum is ten times too large, unless it is named."""
    usual = ("none", "columns") if name != TENFOLD else tuple(PROFILES)
    chosen = [profile for profile in PROFILES if profile in only] or usual
    for epsilon, profile in product([e for e in EPSILONS if e in only] or EPSILONS, chosen):
        yield Setting(budget, epsilon, profile)


def run(name: str, budget: str, only: Sequence[str], repetitions: int, results: Path) -> None:
    """All settings of one table under one budget, written as they are done."""
    subject = SUBJECTS[name]
    kinds = {one.kind for one in subject.asked if one.kind in only}
    with tempfile.TemporaryDirectory(prefix="dither-coverage-") as scratch:
        data, folder = Path(scratch) / "data", Path(scratch) / "curators"
        data.mkdir()
        folder.mkdir()
        subject.make(data)
        exact = subject.exact(data)
        template = Template(subject, budget, data, folder)
        for setting in settings(only, name, budget):
            asked = [
                one
                for one in subject.asked
                if (not kinds or one.kind in kinds) and not (one.private_keys and budget == "PureDP")
            ]
            started = time.process_time()
            tallies = measure(template, exact, setting, asked, repetitions)
            by_text = {one.sql: one for one in asked}
            with results.open("a", encoding="utf-8") as file:
                for (text, column, level), tally in tallies.items():
                    named = {
                        "table": name,
                        "budget": budget,
                        "epsilon": setting.epsilon,
                        "profile": setting.profile,
                        "kind": by_text[text].kind,
                        "sql": text,
                    }
                    place = {"column": column, "level": level, "selects": by_text[text].selects}
                    file.write(json.dumps({**named, **place, **tally.to_dict()}) + "\n")
            print(f"{name}, {setting}: {time.process_time() - started:.0f} s", file=sys.stderr)
        template.engine.end()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=200)
    parser.add_argument("--only", nargs="+", default=[], metavar="WORD")
    parser.add_argument("--results", type=Path, default=Path("coverage.jsonl"))
    parser.add_argument("--report", action="store_true", help="show what FILE has, and measure nothing")
    parser.add_argument("--picture", type=Path, help="an SVG to draw")
    options = parser.parse_args(arguments)
    if not options.report:
        for name, budget in product(SUBJECTS, BUDGETS):
            named, held = (any(word in options.only for word in words) for words in (SUBJECTS, BUDGETS))
            if (name in options.only or not named) and (budget in options.only or not held):
                run(name, budget, options.only, options.repetitions, options.results)
    figures = read(options.results)
    if options.picture is not None:
        draw(figures, options.picture)
    return report(figures)


if __name__ == "__main__":
    sys.exit(main())
