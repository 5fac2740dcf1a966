"""What the planner decides by a profile: shorter whole intervals, never longer ones."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dither as dt
from dither.accounting.currency.currency import Currency
from dither.curator.profiling import Asked
from dither.policy.catalog import Catalog, Table
from dither.policy.columns import Category, Int, Text
from dither.sql.binding.reading import read
from dither.sql.bounding.aggregations import measures
from dither.sql.guard.check import check
from dither.sql.planner import passes
from dither.sql.planner.candidate import Plan
from dither.sql.planner.passes import PASSES, decided
from dither.sql.planner.profile import Profile, quantities
from dither.sql.planner.strategy import Strategy
from dither.sql.postprocess.histograms import Certified, Histogram
from dither.sql.postprocess.measure_errors import MeasureError, errors_of
from dither.sql.pricing.explain import explain
from dither.sql.pricing.explanation_text import to_text
from dither.sql.pricing.price import PricedQuestion, price

M, B = 200, 1000
COLUMNS = {
    "x": Int(0, B, nullable=False, default=0),
    "y": Int(-B, B, nullable=False, default=0),
    "g": Category(["a", "b"]),
}
TABLE = Table("t", "people", "uid", M, COLUMNS, 1)
CATALOG = Catalog({"t": TABLE})
SURE = Fraction(19, 20)
TEXTS = [
    "SELECT COUNT(*) FROM t",
    "SELECT g, COUNT(*) FROM t GROUP BY g",
    "SELECT g, COUNT(*), SUM(x), SUM(y) FROM t GROUP BY g",
    "SELECT SUM(x) FROM t",
    "SELECT SUM(y) FROM t WHERE x > 3",
    "SELECT AVG(x) FROM t",
    "SELECT COUNT(*), AVG(y), VARIANCE(x), MEDIAN(x), COUNT(DISTINCT uid) FROM t",
    "SELECT SUM(x) / COUNT(*) FROM t",
]


def mechanism(kind: str, cost: Fraction) -> dict[str, str]:
    if kind == "zcdp":
        return {"mechanism": "Gaussian", "rho": str(cost), "sensitivity": "1"}
    return {"mechanism": "Laplace", "epsilon": str(cost), "sensitivity": "1"}


def profile(kind: str, cost: Any, columns: tuple[str, ...] = (), rows: int = 20, value: int = 100) -> Profile:
    """Of owners who have up to so many rows, and values up to so much, each number as its exact one, at this price."""
    drawn = np.random.default_rng(3)
    many = drawn.integers(1, rows + 1, 5000)
    high = drawn.integers(1, value + 1, 5000)
    amounts = {"rows": many, "largest": high, "smallest": high, "gains": many * high // 2, "losses": many * high // 2}
    known: dict[str, Certified] = {}

    def find(part: Any) -> bytes | None:
        return None

    for part, _ in Asked(TABLE, columns, Fraction(cost)).parts(find):
        quantity = part.quantity
        before = known[quantity.name].histograms if quantity.name in known else ()
        edges = quantity.second_edges(before[0]) if before else part.edges
        owners = np.bincount(np.searchsorted(edges, amounts[quantity.kind], side="right") - 1, minlength=len(edges))
        made = Histogram(edges, tuple(owners.tolist()), mechanism(kind, part.cost), part.share)
        known[quantity.name] = Certified(quantity.top, (*before, made))
    return Profile("t", 1, M, known)


def planned(text: str, kind: str, cost: Any, known: Profile | None) -> Plan:
    return decided(Plan(read(text, CATALOG), kind, Fraction(cost), SURE, known))


def priced(text: str, known: Profile | None, **stated: Any) -> PricedQuestion:
    stated = stated or {"epsilon": 1}
    return price(read(text, CATALOG), Currency.of(dt.PureDP(100)), profile=known, **stated)


@pytest.mark.parametrize("kind", ["pure", "zcdp"])
@pytest.mark.parametrize("text", TEXTS)
def test_intervals_are_never_longer_with_a_profile(text: str, kind: str) -> None:
    for share in ("1/100", "1", "100"):
        known = profile(kind, Fraction(share), ("x", "y"))
        declared, chosen = planned(text, kind, 1, None), planned(text, kind, 1, known)
        for long, short in zip(declared.lengths, chosen.lengths, strict=True):
            assert short <= long
    assert sum(chosen.lengths) < 0.5 * sum(declared.lengths)


@pytest.mark.parametrize(("kind", "times"), [("pure", 3), ("zcdp", 9)])
@pytest.mark.parametrize("text", [*TEXTS[:2], TEXTS[3]])
@pytest.mark.parametrize("rows", [16, 17, 20])
def test_half_as_long_where_ten_times_too_much_is_declared(text: str, kind: str, times: int, rows: int) -> None:
    """A profile of rows alone that costs three times the question in epsilon, or nine times in rho."""
    known = profile(kind, times, rows=rows)
    declared, chosen = planned(text, kind, 1, None), planned(text, kind, 1, known)
    assert max(short / long for short, long in zip(chosen.lengths, declared.lengths, strict=True)) <= 0.5
    assert chosen.strategy.rows is not None
    assert rows <= chosen.strategy.rows + 1


def test_a_profile_that_is_too_cheap_changes_nothing_and_it_is_said() -> None:
    known = profile("pure", "1/50")
    made = priced(TEXTS[0], known)
    assert made.strategy.rows is None
    assert "the profile is too cheap to help at this price" in made.strategy.why
    assert "it would certify that with probability 99.5% at most" in made.strategy.why
    assert made.left_out.document() == {}
    assert made.recipe() == priced(TEXTS[0], None).recipe()


def test_totals_and_values_are_clamped_where_that_is_certified() -> None:
    known = profile("pure", 300, ("x", "y"))
    made = priced("SELECT g, SUM(x), AVG(y) FROM t GROUP BY g", known)
    bounds = {text: ends for text, *ends in made.strategy.bounds}
    assert [0 <= low <= high < 200 for text, (low, high) in bounds.items() if '"x"' in text] == [True]
    assert [-200 < low < 0 < high < 200 for text, (low, high) in bounds.items() if '"y"' in text] == [True]
    low, high = made.left_out.bounds(made.measures[0].measure.text, Fraction(1, 200))
    assert (low, high is None) == (0, False)
    totalled = [priced("SELECT SUM(x) FROM t", profile("pure", 900, ("x",)), epsilon=cost) for cost in ("0.1", 1, 10)]
    assert any(made.strategy.totals for made in totalled)


def test_only_whole_tables_of_owners_keep_to_a_stated_limit() -> None:
    known = profile("pure", 3)
    stated = priced(TEXTS[0], known, epsilon=1, rows_per_owner=5)
    assert stated.strategy.rows == 5
    low, high = stated.left_out.bounds(stated.measures[0].measure.text, Fraction(1, 200))
    assert (low, high is not None and high > 5000) == (0, True)


def test_the_menu_and_what_could_be_declared() -> None:
    told = explain(priced(TEXTS[0], profile("pure", 3)), SURE)
    menu = told.to_dict()["menu"]
    assert [item["rows_per_owner"] for item in menu if item["chosen"]] == [told.to_dict()["rows_per_owner"]]
    noises, lost = zip(
        *((item["columns"][0]["noise"], item["columns"][0]["left_out"][1]) for item in menu), strict=True
    )
    assert [*noises] == sorted(noises)
    assert [*lost] == sorted(lost, reverse=True)
    assert (menu[-1]["rows_per_owner"], lost[-1]) == (M, 0)
    assert f"With rows_per_owner={M}" in str(told)
    without = explain(priced(TEXTS[0], None), SURE).to_dict()["menu"]
    assert [item["columns"][0]["left_out"][1] for item in without] == [*[None] * (len(without) - 1), 0]
    grouped, few, owners = (
        explain(price(read(text, CATALOG), Currency.of(dt.ApproxDP(4, "1e-6")), rho="0.01"), SURE)
        for text in (
            "SELECT x, COUNT(*) FROM t GROUP BY x",
            TEXTS[1],
            "SELECT x, COUNT(DISTINCT uid) FROM t GROUP BY x",
        )
    )
    (declared,) = grouped.to_dict()["structure"]
    assert declared == {"max_rows_per_owner_in": {"x": 1}, "noise_times": pytest.approx(1 / math.sqrt(M))}
    assert "declare max_rows_per_owner_in={'x': 1}" in str(grouped)
    assert (few.to_dict()["structure"], owners.to_dict()["structure"]) == ([], []), "it would not be true, or no gain"
    assert owners.to_dict()["menu"] == [], "there is no count or sum of rows to choose by"
    assert explain(priced(TEXTS[1], None), SURE).to_dict()["structure"] == [], "Laplace noise covers the sum of all"


def test_the_menu_says_how_many_owners_a_key_needs() -> None:
    def explained(text: str, rows: int | None = None) -> dict[str, Any]:
        budget = Currency.of(dt.ApproxDP(4, "1e-6"))
        found = read(text, Catalog({"t": replace(TABLE, columns={"word": Text(max_length=8)})}))
        return explain(price(found, budget, rho="0.01", rows_per_owner=rows), SURE).to_dict()

    menu = explained("SELECT word, COUNT(*) FROM t GROUP BY word")["menu"]
    for item in menu:
        told = explained("SELECT word, COUNT(*) FROM t GROUP BY word", item["rows_per_owner"])
        assert item["owners_needed"] == told["selected_keys"]["owners_needed"]
    assert len(menu) > 1
    assert f"; a key needs {menu[0]['owners_needed']} owners." in to_text(
        explained("SELECT word, COUNT(*) FROM t GROUP BY word")
    )
    assert [item["owners_needed"] for item in explained("SELECT COUNT(*) FROM t")["menu"]] == [None] * len(menu)


def test_an_error_is_that_of_the_whole_interval() -> None:
    known = profile("pure", 30)
    declared, made = (priced(TEXTS[0], one, error=2000) for one in (None, known))
    assert made.price.cost < 0.7 * declared.price.cost
    (item,) = made.measures
    _, above = made.left_out.bounds(item.measure.text, Fraction(1, 200))
    assert above is not None
    assert above + item.mechanism.error(Fraction(955, 1000)) <= 2000  # type: ignore[union-attr]


def test_decisions_are_read_back() -> None:
    made = priced("SELECT g, SUM(x), AVG(y) FROM t GROUP BY g", profile("pure", 300, ("x", "y")))
    assert made.strategy.bounds
    read_back = Strategy.read(made.strategy.document(), measures(made.question))
    assert read_back.document() == made.strategy.document()


def test_passes_are_taken_one_after_the_other() -> None:
    plan = Plan(read(TEXTS[2], CATALOG), "pure", Fraction(1), SURE, profile("pure", 30, ("x", "y")))
    for one in PASSES:
        after = one(plan)
        assert after.question == plan.question
        plan = after
    assert plan.strategy == decided(Plan(plan.question, "pure", Fraction(1), SURE, plan.profile)).strategy


def test_shares_of_what_may_be_missed_add_up() -> None:
    """Those of all histograms that a profile of the table can have, whichever of them there are."""
    every = [*quantities(TABLE), *(one for name in ("x", "y") for one in quantities(TABLE, name))]
    assert [one.name for one in every] == [
        "rows",
        *("largest x", "gains x"),
        *("largest y", "smallest y", "gains y", "losses y"),
    ]
    assert sum(step for one in every for step in one.steps) == 1


@pytest.mark.parametrize("budget", [dt.PureDP(100), dt.ApproxDP(100, "1e-6")])
@pytest.mark.parametrize("known", ["none", "rows", "stated"])
@pytest.mark.parametrize("text", [text for text in TEXTS if "AVG" not in text and "/" not in text])
def test_planned_lengths_are_those_of_answers(text: str, known: str, budget: Any) -> None:
    """Else a plan could be taken for shorter, and come out longer, than that of everything declared."""
    currency = Currency.of(budget)
    kind, cost = currency.kind, currency.price_of(epsilon="0.1").cost
    stated = 20 if known == "stated" else None
    certified = None if known == "none" else profile(kind, 9 * cost)
    plan = decided(Plan(read(text, CATALOG), kind, cost, SURE, certified, stated))
    made = price(plan.question, currency, epsilon="0.1", profile=certified, rows_per_owner=stated)
    mechanisms = {item.measure: item.mechanism for item in made.measures}
    for output, length in zip(made.answered.outputs, plan.lengths, strict=True):
        needed = output.aggregate.measures()
        told, rest = made.left_out.split([measure.text for measure in needed], 1 - SURE)
        ends = [made.left_out.bounds(measure.text, told) for measure in needed]
        low, high = output.aggregate.remainder([MeasureError(Fraction(0), each) for each in ends])
        assert low is not None
        assert high is not None
        noise = errors_of(output.aggregate, [mechanisms[m] for m in needed], 1 - rest, Fraction(high - low))
        assert float(2 * sum(noise) + high - low) == pytest.approx(length, rel=2e-3)


@pytest.mark.parametrize("kind", ["pure", "zcdp"])
def test_intervals_for_so_many_of_many_groups_are_planned_with_fewer_rows(kind: str) -> None:
    """At most a few of 1,001 groups can lose much of what is left out of all of them."""
    question = read("SELECT x, COUNT(*) FROM t GROUP BY x", CATALOG)
    each = Plan(question, kind, Fraction(1), SURE, profile(kind, "0.2"))
    alone, groups = decided(each), decided(replace(each, over_groups=True))
    assert (groups.strategy.rows or M) < (alone.strategy.rows or M)
    assert groups.lengths[0] < alone.lengths[0] / 2
    owners = read("SELECT x, COUNT(DISTINCT uid) FROM t GROUP BY x", CATALOG)  # one owner can vanish from many
    apart = [decided(replace(each, question=owners, over_groups=over)) for over in (False, True)]
    assert apart[0].strategy == apart[1].strategy


@pytest.mark.parametrize("kind", ["pure", "zcdp"])
def test_plans_are_made_for_the_confidence_that_is_asked_for(kind: str) -> None:
    """None is shorter at its own confidence than the one that was made for it; and they differ here."""
    asked = Plan(read("SELECT COUNT(*) FROM t", CATALOG), kind, Fraction(1, 20), SURE, profile(kind, "0.1"))
    levels = [Fraction(1, 10), Fraction(1, 2), SURE, Fraction(999, 1000)]
    made = {level: decided(replace(asked, confidence=level)) for level in levels}
    for level in levels:
        others = [replace(plan, confidence=level).lengths[0] for plan in made.values()]
        assert made[level].lengths[0] <= min(others) * 1.001
    assert len({plan.strategy.rows for plan in made.values()}) > 1


def check_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planning a question of many sums takes so much for each pass, and forty plans beside."""
    most, taken = 200, 0

    def counted(aggregates: Any, **stated: Any) -> Any:
        nonlocal taken
        taken += sum(len(aggregate.measures) for aggregate in aggregates)
        return check(aggregates, **stated)

    monkeypatch.setattr(passes, "_MOST_WORK", most)
    monkeypatch.setattr("dither.sql.planner.candidate.check", counted)
    many = ", ".join(f"SUM(x + {place})" for place in range(1, 61))
    made = planned(f"SELECT SUM(x), AVG(x), SUM(y), AVG(y), {many} FROM t", "pure", 1, profile("pure", 300, ("x", "y")))
    assert taken <= 3 * most + 40 * len(made.moved), "planning takes more with every step and sum"


def test_planning_is_bounded_work(monkeypatch: pytest.MonkeyPatch) -> None:
    check_work(monkeypatch)


def test_planted_bug_every_step_of_every_sum_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passes, "_some", lambda _, others, parts=1: others)
    with pytest.raises(AssertionError, match="more with every step"):
        check_work(monkeypatch)


RATIO = "SELECT g, 100.0 * COUNT(*) FILTER (WHERE x > 500) / COUNT(*) AS n FROM t GROUP BY g"


def ratio_widths(known: Profile | None, budget: Any, counts: tuple[int, int]) -> float:
    """How wide the interval of a ratio of two noisy counts is."""
    currency = Currency.of(budget)
    made = price(read(RATIO, CATALOG), currency, epsilon="1", profile=known)
    (output,) = made.answered.outputs
    needed = output.aggregate.measures()
    mechanisms = {item.measure: item.mechanism for item in made.measures}
    told, rest = made.left_out.split([measure.text for measure in needed], 1 - SURE)
    noise = errors_of(output.aggregate, [mechanisms[measure] for measure in needed], 1 - rest)
    left = [made.left_out.bounds(measure.text, told) for measure in needed]
    errors = [MeasureError(width, ends) for width, ends in zip(noise, left, strict=True)]
    column = output.finish([np.array([number]) for number in counts], errors)
    assert column.lower is not None
    assert column.upper is not None
    return float(column.upper[0] - column.lower[0])


@pytest.mark.parametrize("budget", [dt.PureDP(100), dt.ApproxDP(100, "1e-6")])
def test_ratios_are_never_wider_with_a_profile(budget: Any) -> None:
    """Whether both ends of the counts count, or the lower one is cut off at zero."""
    currency = Currency.of(budget)
    cost, fewer = currency.price_of(epsilon="1").cost, 0
    for times in (Fraction(place, 20) for place in range(1, 41, 3)):
        known = profile(currency.kind, times * cost)
        for counts in ((0, 9_000), (600, 9_000), (8_000, 9_000)):
            assert ratio_widths(known, budget, counts) <= 1.001 * ratio_widths(None, budget, counts)
        fewer += price(read(RATIO, CATALOG), currency, epsilon="1", profile=known).strategy.rows is not None
    assert 0 < fewer < 14


def test_planted_losses_of_formulas_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def once(plan: Plan, output: Any) -> float:
        by_profile, by_noise = plan.left_out.split([m.text for m in output.aggregate.measures()], 1 - plan.confidence)
        ends = [plan.left_out.bounds(measure.text, by_profile) for measure in output.aggregate.measures()]
        most = max((above or 0) - (below or 0) for below, above in ends)
        return 2 * plan.noise_of(output, float(by_noise), most) + most

    monkeypatch.setattr(Plan, "_length", once)
    for budget in (dt.PureDP(100), dt.ApproxDP(100, "1e-6")):
        with pytest.raises(AssertionError):
            test_ratios_are_never_wider_with_a_profile(budget)
