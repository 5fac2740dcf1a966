"""How often stated intervals hold the exact answer, on data whose owners have very different numbers of rows.

    python bench/coverage.py [--repetitions 200] [--levels 0.99] [--only WORD ...] [--results FILE] [--report]
                             [--picture FILE]

Every repetition has a fresh curator and a fresh profile (what is made anew and what is remembered says
coverage_repetitions.py), asks each question once, and reads its intervals at 50%, 90%, 95% and 99%. The exact answer
(coverage_tables.py) is that on the declared data, by plain SQL. Exact binomial tests, group by group, and Holm's
correction over all of them (coverage_statistics.py) say whether a coverage is below its level: all together err with
probability 1e-3 at most.

`--only` takes names of tables ("flights"), budgets ("PureDP"), prices ("0.1"), profiles ("none", "rows", "columns") and
kinds ("SUM"). Every few repetitions what was found is added to FILE; what is there already is not measured again, so
that a run that was stopped goes on where it was. `--levels 0.99 --repetitions 2000` after a run at all levels adds the
repetitions that 99% needs. `--report` shows what FILE has. Exits 1 if a coverage is too low or a width too large.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

from coverage_picture import draw
from coverage_repetitions import BUDGETS, LEVELS, Setting, Template, measure
from coverage_report import PROFILES, TENFOLD, report
from coverage_results import Results
from coverage_tables import TABLES, Asked
from coverage_visits import VISITS

SUBJECTS = {**TABLES, **VISITS}
EPSILONS = ("0.1", "1")
AT_ONCE = 25  # repetitions that are lost at most if a run is stopped
MEMORY = Path("/dev/shm")  # where there is one: folders of curators live for a second, and need no disk


def settings(only: Sequence[str], name: str, budget: str) -> Iterator[Setting]:
    """Of rows alone a profile is for the table whose declared maximum is ten times too large, unless it is named."""
    usual = ("none", "columns") if name != TENFOLD else tuple(PROFILES)
    chosen = [profile for profile in PROFILES if profile in only] or usual
    for epsilon, profile in product([e for e in EPSILONS if e in only] or EPSILONS, chosen):
        yield Setting(budget, epsilon, profile)


def questions(only: Sequence[str], name: str, budget: str) -> list[Asked]:
    asked = SUBJECTS[name].asked
    kinds = {one.kind for one in asked if one.kind in only}
    return [one for one in asked if (not kinds or one.kind in kinds) and not (one.private_keys and budget == "PureDP")]


def run(name: str, budget: str, only: Sequence[str], wanted: int, levels: Sequence[str], results: Results) -> None:
    """All settings of one table under one budget, written as they are done."""
    subject, asked = SUBJECTS[name], questions(only, name, budget)
    missing = {
        setting: wanted - results.least(name, setting, asked, levels) for setting in settings(only, name, budget)
    }
    if not asked or max(missing.values()) <= 0:
        return
    with tempfile.TemporaryDirectory(prefix="dither-coverage-", dir=MEMORY if MEMORY.is_dir() else None) as scratch:
        data, folder = Path(scratch) / "data", Path(scratch) / "curators"
        data.mkdir()
        folder.mkdir()
        subject.make(data)
        exact = subject.exact(data)
        template = Template(subject, budget, data, folder)
        for setting, repetitions in missing.items():
            started = time.process_time()
            for done in range(0, repetitions, AT_ONCE):
                some = min(AT_ONCE, repetitions - done)
                results.add(name, setting, asked, measure(template, exact, setting, asked, some, levels))
            if repetitions > 0:
                taken = time.process_time() - started
                each = f"{1000 * taken / repetitions:.0f} ms each"
                print(f"{name}, {setting}: {repetitions} repetitions, {taken:.0f} s ({each})", file=sys.stderr)
        template.engine.end()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=200)
    parser.add_argument("--levels", nargs="+", default=LEVELS, help="plans are made for the first of them")
    parser.add_argument("--only", nargs="+", default=[], metavar="WORD")
    parser.add_argument("--results", type=Path, default=Path("coverage.jsonl"))
    parser.add_argument("--report", action="store_true", help="show what FILE has, and measure nothing")
    parser.add_argument("--picture", type=Path, help="an SVG to draw")
    options = parser.parse_args(arguments)
    results = Results(options.results)
    if not options.report:
        for name, budget in product(SUBJECTS, BUDGETS):
            named, held = (any(word in options.only for word in words) for words in (SUBJECTS, BUDGETS))
            if (name in options.only or not named) and (budget in options.only or not held):
                run(name, budget, options.only, options.repetitions, options.levels, results)
    if options.picture is not None:
        draw(results.figures, options.picture)
    return report(results.figures)


if __name__ == "__main__":
    sys.exit(main())
