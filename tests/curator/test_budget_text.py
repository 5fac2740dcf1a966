"""A budget on screen adds up, and what is left is never more than there is."""

from __future__ import annotations

import re
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from dither.curator.budget_text import budget_text
from dither.curator.budgets import CLOSED, Amount, BudgetView

SUM = re.compile(r"^  (\w+): (\S+) granted = (\S+) spent \+ (\S+) (?:left|that nobody spends any more)", re.MULTILINE)
AMOUNTS = st.fractions(min_value=Fraction(1, 10**12), max_value=9000, max_denominator=10**15)


def view(kind: str, cap: Fraction, delta: Fraction, part: Fraction, state: str = "open") -> BudgetView:
    zcdp = kind == "zcdp"

    def amount(cost: Fraction, delta: Fraction) -> Amount:
        return Amount(cost, None if kind == "pure" else delta, cost if zcdp else None)

    keys = delta / 2 if zcdp else delta
    spent = amount(cap * part, keys * part + (delta / 2 if zcdp and part else 0))
    left = amount(cap * (1 - part), keys * (1 - part))
    return BudgetView(kind, amount(cap, delta), spent, left, left, state=state)


@given(
    st.sampled_from(["pure", "basic", "zcdp"]), AMOUNTS, AMOUNTS, st.fractions(min_value=0, max_value=1), st.booleans()
)
def test_granted_is_spent_and_left(kind: str, cap: Fraction, delta: Fraction, part: Fraction, closed: bool) -> None:
    seen = view(kind, cap, delta / 9001, part, CLOSED if closed else "open")
    sums = SUM.findall(budget_text(seen))
    assert [name for name, *_ in sums] == {
        "pure": ["epsilon"],
        "basic": ["epsilon", "delta"],
        "zcdp": ["rho", "delta"],
    }[kind]
    for (_, *texts), exact in zip(sums, (seen.left.adding, seen.left.delta), strict=False):
        granted, spent, left = map(Fraction, texts)
        assert granted == spent + left, "it adds up"
        assert exact is not None
        assert left <= exact, "never more than is left"


def test_the_split_of_delta_is_one_line() -> None:
    lines = budget_text(view("zcdp", Fraction(1, 4), Fraction("1e-6"), Fraction(1, 2))).splitlines()
    assert lines[2:4] == [
        "  delta: 5e-7 granted = 2.5e-7 spent + 2.5e-7 left",
        "  of delta 1e-6, half turns rho into epsilon and half pays for keys from the data",
    ]
    assert lines[1].startswith("  rho: 0.25 granted = 0.125 spent + 0.125 left   [###############.")
