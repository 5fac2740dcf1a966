"""A budget over time, drawn from the entries of a ledger."""

from __future__ import annotations

from fractions import Fraction

import pyarrow as pa
import pytest

import dither as dt
from dither.curator.budgets import Amount, BudgetView
from dither.curator.pictures.budget_over_time import budget_chart
from dither.ledger.values import Entry


def view(epsilon: int = 4) -> BudgetView:
    amount = Amount(Fraction(epsilon), None, None)
    return BudgetView("pure", amount, amount, amount, amount)


def entry(number: int, cost: str, analyst: str | None = None, people: str = "patients", **more: object) -> Entry:
    return Entry(number, "reserve", {"people": people, "analyst": analyst, "cost": cost, **more}, 4)


def test_each_question_adds_to_what_its_asker_spent(drawn, saved):
    entries = [entry(1, "1"), entry(2, "1/2", "alice"), entry(3, "1", "bob", "staff"), entry(4, "1/2", "alice")]
    chart = budget_chart(entries, view(), "patients", None)
    spent = {(point["place"], point["who"]): point["spent"] for point in drawn(chart, "spent")}
    assert spent == {
        **{(0, who): 0 for who in ("the curator", "alice")},
        (1, "the curator"): 0.25,
        (1, "alice"): 0,
        (2, "the curator"): 0.25,
        (2, "alice"): 0.125,
        (3, "the curator"): 0.25,
        (3, "alice"): 0.25,
    }
    assert {"The budget of patients", "question", "spent of the budget", "alice", "the curator"} <= set(saved(chart))
    own = budget_chart(entries, view(), "patients", "alice")
    assert [point["spent"] for point in drawn(own, "spent")] == [0, 0.125, 0.25]


def test_times_are_an_axis_where_every_charge_has_one(drawn):
    timed = [entry(1, "1", time=0), entry(2, "1", time=86_400)]
    assert [point["place"] for point in drawn(budget_chart(timed, view(), "patients", None), "spent")] == [
        "1970-01-01T00:00:00+00:00",
        "1970-01-02T00:00:00+00:00",
        "1970-01-02T01:12:00+00:00",  # so that what the last one added has a width
    ]
    mixed = [*timed, entry(3, "1")]
    assert drawn(budget_chart(mixed, view(), "patients", None), "spent")[-1]["place"] == 3


def test_charges_of_one_second_are_not_stacked_twice(drawn):
    timed = [entry(1, "1", time=0), entry(2, "1", "alice", time=0), entry(3, "1", time=0), entry(4, "1", time=9)]
    spent = drawn(budget_chart(timed, view(8), "patients", None), "spent")
    assert len({(point["place"], point["who"]) for point in spent}) == len(spent)
    assert {point["who"]: point["spent"] for point in spent[:2]} == {"the curator": 0.25, "alice": 0.125}
    alone = drawn(budget_chart(timed[:1], view(), "patients", None), "spent")
    assert len({point["place"] for point in alone}) == 2


def test_many_askers_share_a_colour(drawn):
    entries = [entry(number, "1/10", f"analyst {number}") for number in range(12)]
    assert len({point["who"] for point in drawn(budget_chart(entries, view(), "patients", None), "spent")}) == 8


def test_of_a_curator_and_of_an_analyst(tmp_path, drawn):
    with dt.Curator.open(tmp_path / "folder") as curator:
        curator.people("patients", budget=dt.PureDP(4))
        with pytest.raises(dt.ParameterError, match="nothing was spent yet"):
            curator.plot_budget("patients")
        rows, columns = pa.table({"person": [1, 2, 3], "age": [1, 2, 3]}), {"age": dt.Int(0, 120)}
        curator.register("people", rows, people="patients", owner="person", max_rows_per_owner=1, columns=columns)
        alice = curator.analyst("alice", budget=dt.PureDP(1), people="patients")
        alice.sql("SELECT COUNT(*) FROM people", epsilon="0.5")
        curator.sql("SELECT COUNT(*) FROM people", epsilon=1)
        last = drawn(curator.plot_budget("patients"), "spent")[-2:]
        assert {point["who"]: point["spent"] for point in last} == {"alice": 0.125, "the curator": 0.25}
        assert drawn(alice.plot_budget("patients"), "spent")[-1]["spent"] == 0.5
