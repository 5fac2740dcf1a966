"""Mutation testing: small bugs are put into one module, one at a time, and its tests should notice each.

    python tools/mutate.py --log mutants.jsonl                       # every module of tools/mutation.toml
    python tools/mutate.py --log mutants.jsonl --only noise/integers/table.py --mutants 50
    python tools/mutate.py --log mutants.jsonl --survivors           # those in the log, again
    python tools/mutate.py --log mutants.jsonl --at ledger/index.py:24 noise/integers/table.py:60
    python tools/mutate.py --log mutants.jsonl --summary

Mutants live in a private copy of a commit, never in the work tree. What the log holds is run again only where that is
asked for; what a mutant came to last is what counts.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import hypothesis
from mutants import Mutant, mutants, sample

ROOT = Path(__file__).resolve().parents[1]
PLAN = ROOT / "tools" / "mutation.toml"
PRELOADED = ("pytest", "numpy", "scipy.stats", "flint", "pyarrow.parquet", "duckdb", "sqlglot")
LONGEST = 1200  # seconds of any run
OVERRUN = (-signal.SIGXCPU, -signal.SIGKILL)
OPTIONS = ["-x", "-q", "-n", "0", "-p", "no:randomly", "-p", "no:cacheprovider", "--tb=no", "-rfE"]
OPTIONS += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # of libraries that are loaded already


def run(copy: Path, tests: list[str], limit: int = LONGEST, compiled: bool = True) -> tuple[str, str, float]:
    """Outcome, the test that failed, and CPU seconds, at most `limit`. A fork saves loading libraries each time."""
    output = copy / "output.txt"
    child = os.fork()
    if not child:
        code = 99
        try:
            os.setsid()
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
            os.chdir(copy)
            sys.path.insert(0, str(copy / "src"))
            os.environ["PYTHONPATH"] = str(copy / "src")
            sys.dont_write_bytecode = compiled  # all but the mutant was compiled by the first run
            os.environ["PYTHONDONTWRITEBYTECODE"] = "1" if compiled else ""
            with open(output, "wb") as file:
                os.dup2(file.fileno(), 1)
                os.dup2(file.fileno(), 2)
            phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)  # a failure need not be made small
            hypothesis.settings.register_profile("quick", phases=phases, deadline=None, database=None)
            hypothesis.settings.load_profile("quick")
            code = int(importlib.import_module("pytest").main([*OPTIONS, *tests]))
        except BaseException:  # noqa: BLE001 - a child must not go on as its parent
            traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    deadline, expired = time.monotonic() + LONGEST, False  # for what waits forever; a busy machine is no reason
    while not (ended := os.wait4(child, os.WNOHANG))[0]:
        if time.monotonic() > deadline and not expired:
            expired = True
            os.killpg(child, signal.SIGKILL)
        time.sleep(0.02)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # what the tests left running
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", output.read_text(errors="replace"), re.MULTILINE)
    status = os.waitstatus_to_exitcode(ended[1])
    outcome = "timed out" if expired or status in OVERRUN else "killed" if status else "survived"
    return outcome, failed[1] if failed else "", ended[2].ru_utime + ended[2].ru_stime


Choice = Callable[[str, str], list[tuple[Mutant, str]]]


def spread(log: Path, most: int, seed: int) -> Choice:
    """A sample of each module, without what the log holds."""
    known = set(read(log))
    return lambda module, source: [
        found for found in sample(mutants(module, source), most, seed) if found[0] not in known
    ]


def survivors(log: Path) -> Choice:
    """Those that the log holds as survivors. Such a one is gone if its line was moved or changed since."""
    wanted = {mutant for mutant, entry in read(log).items() if entry["outcome"] == "survived"}

    def choose(module: str, source: str) -> list[tuple[Mutant, str]]:
        found = [(mutant, text) for mutant, text in mutants(module, source) if mutant in wanted]
        for gone in wanted - {mutant for mutant, _ in found}:
            if gone.module == module:
                print(f"gone: {module}:{gone.line}  {gone.change}", file=sys.stderr)
        return found

    return choose


def lines(places: list[str]) -> tuple[list[str], Choice]:
    """The modules of words such as noise/integers/table.py:60, and every mutant of these lines."""
    wanted = [(module, int(line)) for module, _, line in (place.rpartition(":") for place in places)]
    modules = list(dict.fromkeys(module for module, _ in wanted))
    return modules, lambda module, source: [
        found for found in mutants(module, source) if (module, found[0].line) in wanted
    ]


def campaign(plan: dict[str, list[str]], log: Path, choose: Choice, budget: float, commit: str) -> None:
    """Run the chosen mutants of each module with its tests, at most `budget` CPU seconds of them."""
    for name in PRELOADED:
        importlib.import_module(name)
    used, limits = 0.0, dict[tuple[str, ...], int]()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        archive = subprocess.run(["git", "archive", commit], cwd=ROOT, check=True, capture_output=True).stdout
        subprocess.run(["tar", "-x"], cwd=copy, input=archive, check=True)
        for number, (module, tests) in enumerate(plan.items(), 1):
            target = copy / "src" / "dither" / module
            original = target.read_text(encoding="utf-8")
            left = choose(module, original)
            if not left:
                continue
            if tuple(tests) not in limits:
                outcome, by, seconds = run(copy, tests, compiled=False)
                if outcome != "survived":
                    raise SystemExit(f"{module}: its tests fail before anything was changed: {by}")
                limits[tuple(tests)] = 10 + 5 * math.ceil(seconds)
            for place, (mutant, text) in enumerate(left, 1):
                if used > budget:
                    raise SystemExit("\nstopped at the budget of CPU seconds; run again to go on.")
                target.write_text(text, encoding="utf-8")
                outcome, by, seconds = run(copy, tests, limits[tuple(tests)])
                used += seconds
                with open(log, "a", encoding="utf-8") as file:
                    done = asdict(mutant) | {"outcome": outcome, "by": by, "seconds": round(seconds, 2)}
                    file.write(json.dumps(done) + "\n")
                bar = f"\r[{number}/{len(plan)}] {module}: {place}/{len(left)}, {used:.0f} CPU s"
                print(f"{bar:<78}", end="", file=sys.stderr, flush=True)
            target.write_text(original, encoding="utf-8")
    print(file=sys.stderr)


def read(log: Path) -> dict[Mutant, dict[str, Any]]:
    """What each mutant of a log, which may not exist yet, came to last."""
    entries = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    return {Mutant(*(entry[field.name] for field in fields(Mutant))): entry for entry in entries}


def summary(log: Path) -> None:
    """Counts per module, then every mutant that no test noticed."""
    found = read(log)
    print(f"{'module':<36}{'mutants':>8}{'killed':>8}{'timed out':>11}{'survived':>10}")
    for module in [*dict.fromkeys(mutant.module for mutant in found), ""]:
        counts = Counter(entry["outcome"] for mutant, entry in found.items() if module in (mutant.module, ""))
        numbers = (counts.total(), counts["killed"], counts["timed out"], counts["survived"])
        print(f"{module or 'together':<36}{numbers[0]:>8}{numbers[1]:>8}{numbers[2]:>11}{numbers[3]:>10}")
    print(f"{sum(entry['seconds'] for entry in found.values()):.0f} CPU seconds")
    for mutant, entry in found.items():
        if entry["outcome"] == "survived":
            print(f"{mutant.module}:{mutant.line}  {mutant.change}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--log", type=Path, required=True, help="JSON lines: one per mutant; resumed if it exists")
    parser.add_argument("--plan", type=Path, default=PLAN, help="TOML: each module with its tests, the fastest first")
    parser.add_argument("--only", nargs="+", metavar="MODULE", help="some modules of the plan, below src/dither")
    parser.add_argument("--at", nargs="+", metavar="MODULE:LINE", help="every mutant of these lines, and no other")
    parser.add_argument("--survivors", action="store_true", help="run the log's survivors again, and nothing else")
    parser.add_argument("--tests", nargs="+", help="run these instead of those of the plan")
    parser.add_argument("--mutants", type=int, default=20, help="at most so many a module (default 20)")
    parser.add_argument("--seed", type=int, default=0, help="which of them, if there are more")
    parser.add_argument("--budget", type=float, default=3600, help="CPU seconds after which to stop (default 3600)")
    parser.add_argument("--commit", default="HEAD", help="what is copied (default HEAD)")
    parser.add_argument("--summary", action="store_true", help="only show what the log holds")
    given = parser.parse_args()
    if not given.summary:
        plan: dict[str, list[str]] = tomllib.loads(given.plan.read_text(encoding="utf-8"))
        modules, choose = given.only or list(plan), spread(given.log, given.mutants, given.seed)
        if given.at:
            modules, choose = lines(given.at)
        elif given.survivors:
            choose = survivors(given.log)
        wanted = {module: given.tests or plan[module] for module in modules}
        campaign(wanted, given.log, choose, given.budget, given.commit)
    summary(given.log)


if __name__ == "__main__":
    main()
