"""Mutation testing: small bugs are put into one module, one at a time, and its tests should notice each.

    python tools/mutate.py --log mutants.jsonl                       # every module of tools/mutation.toml
    python tools/mutate.py --log mutants.jsonl --only noise/table.py --mutants 50
    python tools/mutate.py --log mutants.jsonl --summary

Mutants live in a private copy of a commit, never in the work tree. What the log holds is not run again.
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
from contextlib import suppress
from dataclasses import asdict
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


def campaign(plan: dict[str, list[str]], log: Path, most: int, seed: int, budget: float, commit: str) -> None:
    """Run what the log does not hold yet, at most `budget` CPU seconds of it."""
    known = {Mutant(*(entry[field] for field in ("module", "line", "column", "change"))) for entry in read(log)}
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
            chosen = sample(mutants(module, original), most, seed)
            left = [(mutant, text) for mutant, text in chosen if mutant not in known]
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


def read(log: Path) -> list[dict[str, Any]]:
    """The entries of a log that may not exist yet."""
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def summary(log: Path) -> None:
    """Counts per module, then every mutant that no test noticed."""
    counts = Counter((entry["module"], entry["outcome"]) for entry in read(log))
    print(f"{'module':<36}{'mutants':>8}{'killed':>8}{'timed out':>11}{'survived':>10}")
    for module in [*dict.fromkeys(module for module, _ in counts), ""]:
        found = [sum(n for (m, o), n in counts.items() if module in (m, "") and o == outcome)
                 for outcome in ("killed", "timed out", "survived")]  # fmt: skip
        print(f"{module or 'together':<36}{sum(found):>8}{found[0]:>8}{found[1]:>11}{found[2]:>10}")
    for entry in read(log):
        if entry["outcome"] == "survived":
            print(f"{entry['module']}:{entry['line']}  {entry['change']}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--log", type=Path, required=True, help="JSON lines: one per mutant; resumed if it exists")
    parser.add_argument("--plan", type=Path, default=PLAN, help="TOML: each module with its tests, the fastest first")
    parser.add_argument("--only", nargs="+", metavar="MODULE", help="some modules of the plan, below src/dither")
    parser.add_argument("--tests", nargs="+", help="run these instead of those of the plan")
    parser.add_argument("--mutants", type=int, default=20, help="at most so many a module (default 20)")
    parser.add_argument("--seed", type=int, default=0, help="which of them, if there are more")
    parser.add_argument("--budget", type=float, default=3600, help="CPU seconds after which to stop (default 3600)")
    parser.add_argument("--commit", default="HEAD", help="what is copied (default HEAD)")
    parser.add_argument("--summary", action="store_true", help="only show what the log holds")
    given = parser.parse_args()
    if not given.summary:
        plan: dict[str, list[str]] = tomllib.loads(given.plan.read_text(encoding="utf-8"))
        modules = given.only or list(plan)
        wanted = {module: given.tests or plan[module] for module in modules}
        campaign(wanted, given.log, given.mutants, given.seed, given.budget, given.commit)
    summary(given.log)


if __name__ == "__main__":
    main()
