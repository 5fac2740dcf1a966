"""Prices, errors and reasons before paying; and answers that keep what was explained."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest

import dither as dt
from dither.accounting.currency.currency import Currency
from dither.sql.binding.reading import read
from dither.sql.pricing.price import PricedQuestion, mechanism_from, price

COUNT = "SELECT COUNT(*) FROM visits"
ALL = "SELECT region, COUNT(*) AS n, SUM(paid), AVG(age), COUNT(DISTINCT patient) FROM visits GROUP BY region"


def priced(clinic: dt.Curator, text: str, budget: Any = None, **stated: Any) -> PricedQuestion:
    return price(read(text, clinic._policy.catalog()), Currency.of(budget or dt.PureDP(4)), **stated or {"epsilon": 1})


def test_nothing_is_spent(clinic: dt.Curator) -> None:
    alice = clinic.analyst("alice", budget=dt.PureDP(1))
    entries = [*clinic.ledger()]
    clinic.explain(ALL, epsilon=1)
    alice.explain(ALL, epsilon=10**3)  # more than there is: still only explained
    assert [*clinic.ledger()] == entries


def test_the_explanation_of_a_count(clinic: dt.Curator) -> None:
    told = clinic.explain(COUNT, epsilon="0.5").to_dict()
    assert told["tables"] == ["visits"]
    assert told["groups"] == 1
    assert told["rows_per_owner"] == 2
    assert told["price"] == {"epsilon": "0.5"}
    (column,) = told["columns"]
    (measure,) = column["measures"]
    assert (measure["sensitivity"], measure["mechanism"], measure["scale"]) == (2, "Laplace", 4.0)
    expected = dt.Laplace(epsilon="0.5", sensitivity=2).error("0.95")
    assert column["expected_error"] == [{"rows": None, "half_width": float(expected)}]
    assert told["statements"] == ['SELECT COUNT(*) AS m0 FROM "t_visits"."rows" AS s1 WHERE s1."_rank" <= 2']


def test_the_explanation_of_several_columns(clinic: dt.Curator) -> None:
    text = str(clinic.explain(ALL, epsilon=1))
    for words in (
        "3 groups, at most 2 rows of each owner.",
        "at most 2 rows of each owner",
        "Nothing has been spent",
        "Laplace noise of scale",
        "at 1,000 rows",
    ):
        assert words in text
    assert json.loads(clinic.explain(ALL, epsilon=1).to_json()) == clinic.explain(ALL, epsilon=1).to_dict()


def test_figures_are_in_the_units_of_the_column(clinic: dt.Curator) -> None:
    """`paid` has two decimals: an owner's two rows add at most 100.00 each, and an average is taken around 50."""
    (total,) = clinic.explain("SELECT SUM(paid) AS total FROM visits", epsilon=1).to_dict()["columns"]
    (summed,) = total["measures"]
    assert (summed["measure"], summed["sensitivity"], summed["scale"]) == ("sum", 200, 200.0)
    assert summed["why"] == "an owner has at most 2 rows, and each adds at most 100"
    assert "sensitivity 200 (an owner" in str(clinic.explain("SELECT SUM(paid) FROM visits", epsilon=3))
    asked = "SELECT AVG(paid) AS mean FROM visits"
    (mean,) = clinic.explain(asked, epsilon=2).to_dict()["columns"]
    around, counted = mean["measures"]
    assert (around["measure"], around["sensitivity"]) == ("sum of differences from 50", 100)
    assert (around["scale"], counted["scale"]) == (100.0, 2.0)
    assert counted["measure"] == "number of rows with a value"

    (column,) = json.loads(clinic.sql(asked, epsilon=2).to_json())["columns"]
    assert column["scale"] == [
        {"measure": "sum of differences from 50", "scale": 100.0},
        {"measure": "number of rows with a value", "scale": 2.0},
    ]
    (column,) = json.loads(clinic.sql("SELECT SUM(paid) FROM visits", epsilon=1).to_json())["columns"]
    assert column["scale"] == [{"measure": "sum", "scale": 200.0}]
    assert column["half_width"] == pytest.approx(200 * 3, rel=0.01)


def test_a_sum_that_is_always_zero_is_explained(clinic: dt.Curator) -> None:
    assert "sensitivity 2" in str(clinic.explain("SELECT SUM(age * 0) FROM visits", epsilon=1))


def test_owners_alone_are_counted_by_all_declared_rows(clinic: dt.Curator) -> None:
    """One owner adds one, whatever the limit; it says which rows the number is about."""
    owners, declared = "SELECT COUNT(DISTINCT patient) FROM visits", "At most 2 rows of each owner are counted."
    for stated in ({}, {"rows_per_owner": 1}):
        told = clinic.explain(owners, epsilon=1, **stated).to_dict()
        assert told["columns"][0]["measures"][0]["sensitivity"] == 1
        assert told["notes"] == [declared]
    told = clinic.explain("SELECT COUNT(*), COUNT(DISTINCT patient) FROM visits", epsilon=1, rows_per_owner=1).to_dict()
    assert told["rows_per_owner"] == 1
    assert told["notes"][0] == "At most 1 row of each owner is counted."
    assert declared not in told["notes"]


def test_equal_measures_are_paid_once(clinic: dt.Curator) -> None:
    assert len(priced(clinic, "SELECT COUNT(*), COUNT(ward), AVG(ward) FROM visits").measures) == 2
    once = priced(clinic, "SELECT AVG(age) FROM visits")
    twice = priced(clinic, "SELECT AVG(age) AS a, AVG(age) AS b, COUNT(age) FROM visits")
    assert [item.measure for item in once.measures] == [item.measure for item in twice.measures]


def test_a_recipe_is_the_same_for_the_same_question(clinic: dt.Curator) -> None:
    def reserved(text: str, **stated: object) -> tuple[str, str]:
        found = priced(clinic, text, **stated)
        return found.known_as, found.recipe()

    assert reserved(ALL) == reserved(ALL.lower())
    recipes = {reserved(text) for text in (ALL, COUNT, COUNT + " WHERE age > 3")}
    assert len(recipes | {reserved(COUNT, epsilon=2)}) == 4


@pytest.mark.parametrize("budget", [dt.PureDP(4), dt.ApproxDP(4, "1e-6")])
def test_mechanisms_are_read_back_from_text(clinic: dt.Curator, budget: Any) -> None:
    for item in priced(clinic, ALL, budget).measures:
        again = mechanism_from(json.loads(json.dumps(item.parameters())))
        assert again == item.mechanism
        assert again.scale == item.mechanism.scale
    with pytest.raises(dt.ParameterError, match="another version"):
        mechanism_from({"mechanism": "Cauchy", "sensitivity": "1"})


def test_the_answer_has_the_error_that_was_explained(clinic: dt.Curator) -> None:
    told = clinic.explain(ALL, epsilon=1).to_dict()["columns"]
    answer = clinic.sql(ALL, epsilon=1)
    for name, column in (("n", told[0]), ("sum_paid", told[1]), ("count", told[3])):
        width = Fraction(answer.column(name).half_width)
        assert float(width) == column["expected_error"][0]["half_width"]
        assert column["measures"][0]["mechanism"] == answer.column(name).mechanism == "Laplace"


def test_an_answer_is_relabelled_and_widened_for_free(clinic: dt.Curator) -> None:
    first = clinic.sql("SELECT COUNT(*) AS a, SUM(age) AS b FROM visits", epsilon=1)
    again = clinic.sql("SELECT COUNT(*) AS people, SUM(age) FROM visits", epsilon="0.5", confidence="0.999")
    assert again.names == ("people", "sum_age")
    assert [column.values.tolist() for column in again.columns] == [column.values.tolist() for column in first.columns]
    assert again.columns[0].half_width > first.columns[0].half_width
    assert again.price == first.price == {"epsilon": "1"}
    assert clinic.budget("patients").spent.epsilon == 1


def test_columns_stand_in_select_order_and_rows_in_the_order_of_keys(clinic: dt.Curator) -> None:
    answer = clinic.sql("SELECT COUNT(*), ward, SUM(age), region FROM visits GROUP BY region, ward", epsilon=1)
    assert answer.names == ("count", "ward", "sum_age", "region")
    keys = answer.to_arrow().select(["region", "ward"]).to_pylist()
    assert [(key["region"], key["ward"]) for key in keys] == [
        (region, ward) for region in ("north", "south", None) for ward in (1, 2, 3)
    ]


def test_notes_say_how_many_rows_count(clinic: dt.Curator) -> None:
    assert clinic.sql(COUNT, epsilon=1).notes == ("At most 2 rows of each owner are counted.",)
    assert "declared bounds" in clinic.sql("SELECT SUM(age) FROM visits", epsilon=1).notes[1]


def test_one_row_and_one_group_are_singular(make: Any) -> None:
    clinic = make(max_rows_per_owner=1)
    text = str(clinic.explain("SELECT COUNT(*), SUM(age) FROM visits", epsilon=1))
    assert "1 group, at most 1 row of each owner." in text
    assert "an owner has at most 1 row, and each adds at most 120" in text
    assert "At most 1 row of each owner is counted." in text


def test_answers_are_near_the_truth_at_a_high_price(make: Any) -> None:
    """The walk computes what was asked, end to end: with hardly any noise the answers are the exact ones."""
    clinic = make(dt.PureDP(9000))
    answer = clinic.sql(
        "SELECT ward, COUNT(*), SUM(age), AVG(paid), COUNT(DISTINCT patient) FROM visits WHERE age >= 25 GROUP BY ward",
        epsilon=4000,
    )
    rows = [(20 + patient, patient + 0.25, patient % 3 + 1) for patient in range(30) if 20 + patient >= 25]
    for place, ward in enumerate((1, 2, 3)):
        mine = [(age, paid) for age, paid, at in rows if at == ward]
        assert abs(answer["count"][place] - len(mine)) <= 1
        assert abs(answer["sum_age"][place] - sum(age for age, _ in mine)) <= 5
        assert answer["avg_paid"][place] == pytest.approx(sum(paid for _, paid in mine) / len(mine), abs=1)
        assert abs(answer["count_2"][place] - len(mine)) <= 1


@pytest.mark.parametrize(
    ("budget", "words"), [(dt.PureDP(4), "twice the epsilon"), (dt.ApproxDP(4, "1e-6"), "four times the rho")]
)
def test_shares_and_how_price_and_error_trade(make: Any, budget: Any, words: str) -> None:
    told = make(budget).explain(ALL, epsilon=1)
    assert words in told.to_dict()["trade"]
    assert words in str(told)
    parts = [measure["share"] for column in told.to_dict()["columns"] for measure in column["measures"]]
    assert 0 < min(parts) <= max(parts) < 1
    assert "of the price" in str(told)


def test_a_notebook_shows_a_table(clinic: dt.Curator) -> None:
    shown = clinic.explain('SELECT COUNT(*) AS "<b>n</b>", AVG(age), MEDIAN(age) FROM visits', epsilon=1)._repr_html_()
    assert shown.startswith("<table>")
    assert "<b>" not in shown
    assert "&lt;b&gt;n&lt;/b&gt;" in shown
    for words in ("at most left out", "Laplace", "Quantile", "an owner has at most 2 rows", "Nothing has been spent"):
        assert words in shown


def test_a_price_beyond_what_is_left_is_said(clinic: dt.Curator) -> None:
    assert "more than is left" not in str(clinic.explain(COUNT, epsilon=1))
    assert "more than is left" in str(clinic.explain(COUNT, epsilon=10**3))
    assert "more than is left" in str(clinic.analyst("alice", budget=dt.PureDP(1)).explain(COUNT, epsilon="1.1"))
