"""`dither price`: a written plan is read strictly and priced under every theorem, outward."""

from __future__ import annotations

import itertools
import json
import math
import re
import xml.etree.ElementTree as ElementTree
from fractions import Fraction

import pytest

from dither.accounting import GDP, ApproxDP, PureDP
from dither.accounting.currency import price_plan
from dither.accounting.currency.price_list import growth, prices
from dither.accounting.currency.price_plan import read_plan
from dither.cli.price import _shown, repetitions
from dither.cli.pricing.price_plot import draw
from dither.errors import ParameterError

PLAN = "100 counts at 0.1, 1 median at 0.5"


def test_a_plan_side_by_side(call):
    done = call("price", PLAN, "--delta", "1e-6")
    assert done.code == 0
    lines = done.out.splitlines()
    assert [line.split("  ")[0].strip() for line in lines[1:-1]] == [
        "basic",
        "advanced",
        "zCDP",
        "Renyi",
        "optimal",
        "privacy loss",
    ]
    assert "10.5" in lines[1]
    assert [line.endswith("*") for line in lines] == [False] * 6 + [True, False]
    assert lines[-1] == (
        "The plan as it stands is (5.19135, 1e-6)-DP; if prices are chosen along the way, (5.40149, 1e-6)-DP."
    )
    assert call("price", PLAN, "--delta", "1e-6").out == done.out


def drawn(picture):
    """The lines of a picture."""
    return [element for element in picture.iter() if "theorem:" in element.get("aria-label", "")]


def test_json_and_picture(call, tmp_path):
    done = call("price", "20 counts at 0.1, 2 gaussians at sigma 4", "--delta", "1e-6", "--json", "--plot", "p.svg")
    rows = {row["theorem"]: row for row in json.loads(done.out)["theorems"]}
    assert rows["basic"]["epsilon"] is None
    assert rows["privacy loss"]["lower"] <= rows["privacy loss"]["epsilon"] < rows["Renyi"]["epsilon"]
    picture = ElementTree.parse(tmp_path / "p.svg").getroot()
    words = {element.text for element in picture.iter() if element.tag.endswith("text")}
    assert {"zCDP", "Renyi", "privacy loss", "k"} <= words
    assert len(drawn(picture)) == 3


@pytest.mark.parametrize(
    ("plan", "last"),
    [
        ("20 counts at 0.1", 64),  # epsilon 22.7
        ("1 count at 0.001", 2**15),
        ("1 count at 100", 1),
        ("20 counts at 0.1, 3 tests at 0.1 with 1e-8", 32),  # then the deltas of the tests exceed 1e-6
    ],
)
def test_the_picture_stops_near_epsilon_20(call, tmp_path, plan, last):
    counts = repetitions(read_plan(plan).parts, Fraction("1e-6"))
    assert (counts[0], counts[-1]) == (1, last)
    assert call("price", plan, "--delta", "1e-6", "--plot", "p.svg").code == 0
    picture = ElementTree.parse(tmp_path / "p.svg").getroot()
    assert drawn(picture)


def test_curves_in_the_picture_are_apart():
    parts = read_plan("20 counts at 0.1").parts
    counts = repetitions(parts, Fraction("1e-6"))
    points = draw(counts, growth(parts, "1e-6", counts), 1e-6).data.values
    ends = {point["theorem"]: point["epsilon"] for point in points if point["k"] == counts[-1]}
    assert ends["basic"] > ends["advanced"] > 1.02 * ends["zCDP"] > 1.02 * ends["Renyi"] > 1.02 * ends["optimal"]
    assert ends["privacy loss"] == ends["optimal"]


def test_every_word_of_a_plan():
    parts = read_plan(
        "1_000 counts at 1/10, 1 sum at 0.2, 2 histograms at epsilon 1, 1 laplace at 1, 3 medians at 0.5, "
        "1 choice at 1, 1 quantile at 1, 4 gaussians at rho 0.5, 1 gaussian at mu 1, 1 gaussian at sigma 2, "
        "1 release at 1, "
        "2 tests at 0.5 with 1e-8"
    ).parts
    assert parts[0] == (PureDP("0.1"), 1000)
    assert parts[4][0].zcdp().rho == Fraction(1, 32)
    assert parts[7] == (GDP(1), 4)
    assert parts[9] == (GDP("0.5"), 1)
    assert parts[11] == (ApproxDP("0.5", "1e-8"), 2)


@pytest.mark.parametrize(
    "plan",
    [
        "",
        "delta 1e-6",
        "1 count at 1, delta 1e-6, delta 1e-6",
        "10 counts at 0,1",
        "10 counts at 2,500 sums at 1",
        "0 counts at 0.1",
        "1 count",
        "1 count at",
        "1 count at nan",
        "1 count at 0",
        "1 count at rho 1",
        "1 rumour at 1",
        "1 gaussian at 1",
        "1 test at 1",
        "1 count at 1 with 1e-6",
        "1 test at 1 with 2",
        "1 count at 1,",
        "9999999999999 counts at 1",
    ],
)
def test_what_is_not_understood_is_refused(call, plan):
    done = call("price", plan, "--delta", "1e-6")
    assert done.code == 2
    assert done.err.count("\n") == 1
    with pytest.raises(ParameterError):
        read_plan(plan)


@pytest.mark.parametrize(
    ("plan", "parts"),
    [
        ("100 counts at 0.1, 1 median at 0.5, delta 1e-6", [(PureDP("0.1"), 100), (PureDP("0.5"), 1)]),
        (
            "1,000 counts at 0.1 and a sum at epsilon = 2;3 x means at eps 1",
            [(PureDP("0.1"), 1000), (PureDP(2), 1), (PureDP(1), 3)],
        ),
        ("count at 1, 2x sums at 0.5,500 counts at 0.1", [(PureDP(1), 1), (PureDP("0.5"), 2), (PureDP("0.1"), 500)]),
        ("2 Counts AT 1, 1000 sums at 1", [(PureDP(1), 2), (PureDP(1), 1000)]),
    ],
)
def test_plans_as_people_write_them(plan, parts):
    assert read_plan(plan).parts == parts


def test_a_gaussian_by_its_epsilon_and_delta():
    ((guarantee, _),) = read_plan("1 gaussian at 1 with 1e-6").parts
    assert guarantee.epsilon_at("1e-6") == pytest.approx(1, abs=1e-12)


def test_delta_is_in_the_plan_or_an_option(call):
    inside = call("price", "10 counts at 0.1, delta 1e-6")
    assert inside.code == 0
    assert inside.out == call("price", "10 counts at 0.1", "--delta", "1e-6").out
    assert inside.out == call("price", "10 counts at 0.1, delta 1e-6", "--delta", "0.000001").out
    assert call("price", "10 gaussians at mu 1").code == 2
    assert "Add" in call("price", "10 gaussians at mu 1").err
    assert call("price", "10 counts at 0.1, delta 1e-6", "--delta", "1e-5").code == 2


def test_the_last_line_says_what_holds(call):
    assert (
        call("price", "1 gaussian at mu 1", "--delta", "1e-6")
        .out.splitlines()[-1]
        .startswith("The plan as it stands is (4.8")
    )
    assert call("price", "1 test at 1 with 0.1", "--delta", "1e-6").out.splitlines()[-1].startswith("No theorem")


@pytest.mark.parametrize("delta", ["0", "1", "nan", "-1"])
def test_delta_is_a_probability(call, delta):
    assert call("price", PLAN, f"--delta={delta}").code == 2


def test_figures_are_rounded_outward():
    assert _shown(1.0000001, up=True) == "1.00001"
    assert _shown(1.0000019, up=False) == "1"
    assert _shown(None, up=True) == "-"
    assert _shown(math.inf, up=True) == "inf"
    for value in (0.1, 1 / 3, 12345.678, 9.999999999e-7):
        assert float(_shown(value, up=False)) <= value <= float(_shown(value, up=True))


def test_the_order_of_the_theorems():
    for plan in ([(PureDP("0.1"), 100)], [(PureDP("0.01"), 10_000), (ApproxDP("0.1", "1e-9"), 5)]):
        rows = {row.theorem: row.epsilon for row in prices(plan, "1e-6")}
        assert rows["optimal"] <= rows["Renyi"] * (1 + 1e-3)
        assert rows["Renyi"] <= rows["zCDP"] * (1 + 1e-3)
        assert rows["optimal"] <= rows["advanced"] <= rows["basic"]
    missing = {row.theorem: row for row in prices([(ApproxDP(1, "1e-3"), 1)], "1e-6")}
    assert missing["basic"].epsilon is None
    assert missing["privacy loss"].epsilon == math.inf


def test_growth_has_a_point_for_every_count():
    curves = growth([(PureDP("0.1"), 1)], "1e-6", [1, 10, 100])
    assert all(values == sorted(values) and len(values) == 3 for values in curves.values())
    assert curves["basic"] == pytest.approx([0.1, 1, 10])


def test_a_pure_plan_needs_no_delta(call):
    done = call("price", "1 count at 0.1, 2 medians at 0.25")
    assert done.code == 0
    assert "the plan is 0.6-DP" in done.out
    assert json.loads(call("price", "1 count at 0.1", "--json").out)["theorems"][0]["epsilon"] == pytest.approx(0.1)
    for plan in ("1 gaussian at sigma 4", "1 count at 0.1, 1 test at 0.5 with 1e-8"):
        assert "at which delta" in call("price", plan).err


def test_a_picture_is_svg(call, tmp_path):
    done = call("price", PLAN, "--delta", "1e-6", "--plot", "p.png")
    assert (done.code != 0, "name it p.svg" in done.err) == (True, True)
    assert not (tmp_path / "p.png").exists()


HOSTILE_PLANS = [
    "1 count at" + " " * 60_000,
    "1" + " " * 60_000 + "count" + "\t" * 4_000 + "at 0.1 x",
    "1 count at 0.1 with" + " " * 60_000 + "x y",
    "1 count at rho" + " " * 60_000,
    "delta" + " " * 60_000,
    "at" + " " * 60_000 + "delta x y",
    ("1" + " " * 58) * 1000,
    "1,000" * 10_000,
    ",000" * 15_000,
    "9" * 60_000 + " counts at 0.1",
    "1 count at " + "9" * 60_000,
    "a" * 65_000,
    "a" * 65_000 + " at 0.1",
    " and " * 13_000,
    "\n" * 60_000,
    "x" * 65_537,
    "1 count at 0.1" + "\u00a0" * 60_000 + "x",
]


@pytest.mark.parametrize("plan", HOSTILE_PLANS, ids=range(len(HOSTILE_PLANS)))
def test_hostile_plans_are_refused(plan):
    with pytest.raises(ParameterError) as refused:
        read_plan(plan)
    assert len(str(refused.value)) < 300


def check_single_spaces(items):
    """A pattern with two ways to share out a run of spaces takes time in the square of its length."""
    assert not any(one.isspace() and two.isspace() for item in items for one, two in itertools.pairwise(item))


def test_patterns_see_single_spaces_only():
    for plan in HOSTILE_PLANS:
        check_single_spaces(price_plan._items(plan))
    assert price_plan._items("1,000  counts \t at   0.1 ;2 medians at 1") == ["1000 counts at 0.1", "2 medians at 1"]


def test_planted_runs_of_spaces(monkeypatch):
    monkeypatch.setattr(price_plan, "_SPACES", re.compile("never"))
    with pytest.raises(AssertionError):
        check_single_spaces(price_plan._items("1 count" + " " * 1000 + "at 0.1"))
