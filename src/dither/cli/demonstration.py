"""`dither demo`: a clinic is made, attacked through exact answers, registered, and asked five questions privately."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

from dither import Analyst, ApproxDP, Curator
from dither.answer import Answer
from dither.answer.text import table_text
from dither.cli.budget import budget_text
from dither.demo import clinic, folder
from dither.demo.attack import DIAGNOSIS, Differencing, difference

Say = Callable[[str], None]
Progress = Callable[[str, float], None]

BUDGET, CAP = ApproxDP(4, "1e-6"), ApproxDP(2, "5e-7")

QUESTIONS = (  # what is asked, in words and in SQL, and the epsilon offered for it
    (
        "How busy is each department, and how long do people wait?",
        "SELECT department, COUNT(*) AS visits, AVG(wait) AS minutes\nFROM visits\nGROUP BY department",
        "0.5",
    ),
    (
        "What was paid in each region in 2024?",
        "SELECT region, SUM(fee) AS paid\nFROM visits\n"
        "WHERE day BETWEEN DATE '2024-01-01' AND DATE '2024-12-31'\nGROUP BY region",
        "0.5",
    ),
    (
        "How many patients have had each diagnosis?",
        "SELECT diagnosis, COUNT(DISTINCT patient_id) AS patients\nFROM visits\nGROUP BY diagnosis",
        "0.25",
    ),
)


def demonstrate(path: Path, say: Say, progress: Progress | None = None, patients: int = clinic.PATIENTS) -> None:
    """The whole demonstration; everything it writes goes to `path`."""
    again = folder.prepare(path)
    say(f"Everything goes to {path}/" + (", replacing what an earlier demonstration left there." if again else "."))
    raw = path / "visits.parquet"
    rows = clinic.write_visits(raw, patients, progress)
    say(f"A clinic of {patients:,} made-up patients with {rows:,} visits: {raw}")

    attacked = difference(raw)
    _show_attack(attacked, say)
    with Curator.open(path / "clinic", create=True) as curator:
        _register(curator, raw, say, progress)
        _ask(curator, attacked, say)
        _show_budget(curator, say)
    _show_what_next(path, say)


def _show_attack(attacked: Differencing, say: Say) -> None:
    first, second = attacked.exact
    say(_heading("What exact answers give away"))
    say(
        _wrap(
            f"You know someone of {attacked.age} with postcode {attacked.postcode}. "
            "Two statistics over thousands of people, computed exactly:"
        )
    )
    say(f"\n{_indent(attacked.everybody)}\n  -> {first:,}\n\n{_indent(attacked.all_but_one)}\n  -> {second:,}\n")
    say(
        _wrap(
            f"They differ by {first - second}: that person has {DIAGNOSIS}. No count was small; no name was asked for."
        )
    )


def _register(curator: Curator, raw: Path, say: Say, progress: Progress | None) -> None:
    say(_heading("The same clinic behind dither"))
    curator.people("patients", budget=BUDGET)
    report = curator.register(
        "visits",
        raw,
        people="patients",
        owner="patient_id",
        max_rows_per_owner=clinic.MOST_VISITS,
        columns=clinic.COLUMNS,
        progress=progress,
    )
    say(
        _wrap(
            f"{report.rows:,} visits are registered under the privacy of their {report.owners:,} patients, with a "
            "budget of epsilon 4 at delta 1e-6 for everything that will ever be asked about them. Alice may spend "
            "epsilon 2 of it."
        )
    )


def _ask(curator: Curator, attacked: Differencing, say: Say) -> None:
    alice = curator.analyst("alice", budget=CAP)
    first = _answer(alice, "Question 1: the attack, first half", attacked.everybody, "0.1", say, details=True)
    second = _answer(alice, "Question 2: the attack, second half", attacked.all_but_one, "0.1", say)
    noise = sum(int(answer.interval("patients").upper[0] - answer.value) for answer in (first, second))
    say(
        _wrap(
            f"\nThe difference is now {first.value - second.value:,}, and noise alone moves it by {noise:,} either "
            "way: it says nothing about that person."
        )
    )
    for number, (words, text, epsilon) in enumerate(QUESTIONS, start=3):
        _answer(alice, f"Question {number}: {words}", text, epsilon, say, details=number == 3)


def _answer(alice: Analyst, heading: str, text: str, epsilon: str, say: Say, *, details: bool = False) -> Answer:
    answer = alice.sql(text, epsilon=epsilon)
    say(_heading(heading))
    say(f"{_indent(text)}\n")
    say(_indent(table_text(answer, details=details)))
    return answer


def _show_budget(curator: Curator, say: Say) -> None:
    say(_heading("The budget"))
    for who, analyst in (("patients", None), ("alice", "alice")):
        say(budget_text(who, curator.budget("patients", analyst)))
    say(_wrap("Both are on disk: no crash, retry or second process can spend them twice."))


def _show_what_next(path: Path, say: Say) -> None:
    say(_heading("Try next"))
    how, place = program(), path / "clinic"
    question = "SELECT region, AVG(age) AS age FROM visits GROUP BY region"
    for command in (
        f'explain {place} "{question}" --epsilon 0.2',
        f'query {place} "{question}" --epsilon 0.2 --analyst alice',
        f"budget {place}",
        f"ledger verify {place}",
    ):
        say(f"  {how} {command}")


def program() -> str:
    """How the reader can call dither from here."""
    return "dither" if shutil.which("dither") else os.path.relpath(Path(sys.executable).with_name("dither"))


def _heading(text: str) -> str:
    return f"\n{text}\n{'─' * len(text)}"


def _wrap(text: str) -> str:
    return "\n".join(textwrap.fill(line, 100) for line in text.split("\n"))


def _indent(text: str) -> str:
    return textwrap.indent(text, "  ")
