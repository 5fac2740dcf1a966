"""The menu of an explanation, drawn."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest

import dither as dt

BY_REGION = "SELECT region, COUNT(*) AS n, SUM(cost) AS paid FROM visits GROUP BY region"


def _name(item):
    return f"{item['rows_per_owner']} row{'s' * (item['rows_per_owner'] > 1)}{' (this plan)' * item['chosen']}"


@pytest.fixture
def clinic(tmp_path):
    visits = pa.table({"patient": [1, 2, 3] * 50, "region": ["north", "south"] * 75, "cost": [-5, 3, 40] * 50})
    columns = {"region": dt.Category(["north", "south"]), "cost": dt.Int(-10, 90, nullable=False, default=0)}
    with dt.Curator.open(tmp_path / "clinic") as curator:
        curator.people("patients", budget=dt.ApproxDP(8, "1e-6"))
        curator.register("visits", visits, people="patients", owner="patient", max_rows_per_owner=100, columns=columns)
        yield curator


def test_every_row_of_the_menu_is_drawn_as_it_is_told(clinic, drawn, saved):
    clinic.profile("visits", share="0.5")
    told = clinic.explain(BY_REGION, epsilon="0.01")
    content, chart = told.to_dict(), told.plot()
    bars = drawn(chart, "lower", "upper", "part")
    for place, column in enumerate(("n", "paid")):
        for item in content["menu"]:
            name, shown = _name(item), item["columns"][place]
            assert shown["name"] == column
            mine = [bar for bar in bars if bar["row"] == name and bar["part"] == "noise"]
            assert mine[place] == {"row": name, "lower": -shown["noise"], "upper": shown["noise"], "part": "noise"}
            below, above = shown["left_out"]
            ends = {(-shown["noise"] - below, -shown["noise"]), (shown["noise"], shown["noise"] + above)}
            lost = {(bar["lower"], bar["upper"]) for bar in bars if bar["row"] == name and bar["part"] != "noise"}
            assert {(low, high) for low, high in ends if low < high} <= lost
    assert content["menu"][0]["columns"][1]["left_out"][0] > 0, "values of both signs lose on both sides"
    assert drawn(chart, "end") == [], "all is certified"
    assert {"noise", "left out at most", "n", "paid"} <= set(saved(chart))


def test_what_nothing_certifies_leaves_the_picture(clinic, drawn):
    """A bar without an orange end would say that nothing is left out."""
    told = clinic.explain("SELECT COUNT(*) AS n FROM visits", epsilon=1)
    arrows = drawn(told.plot(), "end")
    open_ = [item for item in told.to_dict()["menu"] if item["columns"][0]["left_out"][1] is None]
    assert {(arrow["row"], arrow["end"]) for arrow in arrows} == {(_name(item), "▸") for item in open_}
    assert len(open_) == len(told.to_dict()["menu"]) - 1


def test_structure_that_could_be_declared_is_the_last_row(clinic, drawn):
    told = clinic.explain("SELECT cost, COUNT(*) AS n FROM visits GROUP BY cost", epsilon=1)
    rows = drawn(told.plot(), "lower", "upper", "part")
    whole = next(row for row in rows if "this plan" in row["row"])
    declared = next(row for row in rows if "if declared" in row["row"])
    assert declared["row"] == "100 rows, 1 in each cost, if declared"
    assert declared["upper"] == pytest.approx(whole["upper"] / math.sqrt(100))


def test_fewer_rows_than_declared_need_no_structure_that_has_more_noise(clinic):
    """A plan that reads few rows has less noise than all rows would have, each in another group."""
    clinic.profile("visits", share="0.9")
    told = clinic.explain(BY_REGION, epsilon="0.001", rows_per_owner=5).to_dict()
    assert told["structure"] == []


def test_a_question_without_a_choice_has_no_picture(clinic):
    with pytest.raises(dt.ParameterError, match="nothing to choose"):
        clinic.explain("SELECT AVG(cost) FROM visits", epsilon=1).plot()
