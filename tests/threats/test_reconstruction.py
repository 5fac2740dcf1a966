"""Threat 50: whoever spends the whole budget on one attack learns who is in a table no better than epsilon allows."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom

from dither.accounting import PureDP
from dither.curator.curator import Curator
from dither.errors import BudgetExceeded
from dither.ledger import Charge, Ledger
from dither.policy.columns import Int, Text

SEATS = 400
EPSILON = 1
FALSE_ALARM = 1e-9
ATTEMPTS = 40  # more than any budget here pays for


def clinic_of(folder: Path, present: list[bool]) -> Curator:
    """One row for each candidate who is there; the seat of a candidate is public, the presence is the secret."""
    seats = [seat for seat in range(SEATS) if present[seat]]
    curator = Curator.open(folder)
    curator.register(
        "visits",
        pa.table({"patient": seats, "seat": seats, "remark": ["none"] * len(seats)}),
        owner="patient",
        max_rows_per_owner=1,
        columns={"seat": Int(0, SEATS - 1, nullable=False, default=0), "remark": Text()},
        budget=PureDP(EPSILON),
    )
    return curator


def guesses(curator: Curator, questions: int) -> np.ndarray:
    """Ask for all seats in ever new words, each at a part of the budget, until the budget is spent; then average."""
    totals, granted = np.zeros(SEATS), 0
    alice = curator.analyst("alice", budget=PureDP(EPSILON))
    for number in range(ATTEMPTS):
        text = f"SELECT seat, COUNT(*) AS n FROM visits WHERE remark <> 'r{number}' GROUP BY seat ORDER BY seat"
        try:
            found = alice.sql(text, epsilon=Fraction(EPSILON, questions)).to_arrow().column("n")
        except BudgetExceeded:
            break
        totals, granted = totals + np.array(found.to_pylist(), dtype=float), granted + 1
    assert granted, "the attack was answered"
    return totals / granted > 0.5


def check_reconstruction(folder: Path, questions: int, kind: type[Ledger] = Ledger) -> int:
    """For presences drawn by fair coins, right guesses are fewer than those of SEATS coins that show e^eps : 1.

    Steinke, Nasr and Jagielski, "Privacy auditing with one (1) training run", theorem for pure privacy.
    """
    drawn = random.SystemRandom()
    present = [drawn.random() < 0.5 for _ in range(SEATS)]
    with clinic_of(folder, present) as curator:
        curator._ledger.__class__ = kind
        right = int((guesses(curator, questions) == np.array(present)).sum())
    limit = binom.isf(FALSE_ALARM, SEATS, math.exp(EPSILON) / (1 + math.exp(EPSILON)))
    assert right <= limit, "the attack learns more than the budget allows"
    return right


def test_the_whole_budget_at_once(tmp_path: Path) -> None:
    """One question at the whole price is the best attack; it must succeed as well as the theory lets it."""
    right = check_reconstruction(tmp_path / "clinic", 1)
    assert right >= binom.ppf(FALSE_ALARM, SEATS, math.exp(EPSILON) / (1 + math.exp(EPSILON))), "a real attack"


def test_the_whole_budget_in_parts(tmp_path: Path) -> None:
    check_reconstruction(tmp_path / "clinic", 10)


class ChargesTooLittle(Ledger):
    """Planted bug: fresh noise for a small part of its price."""

    def reserve(self, people: str, analyst: str | None, charge: Charge, **named: Any) -> Any:
        return replace(super().reserve(people, analyst, Charge(charge.cost / ATTEMPTS), **named), charge=charge)


def test_planted_questions_below_their_price(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="more than the budget allows"):
        check_reconstruction(tmp_path / "clinic", 1, ChargesTooLittle)
