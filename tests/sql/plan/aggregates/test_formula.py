"""Arithmetic of aggregates: measures once, exact integers where they are, intervals that cover."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from sqlglot import exp
from sqlglot.dialects.postgres import Postgres

from dither.errors import ParameterError, UnsupportedQuery
from dither.mechanisms import Gaussian, Laplace
from dither.sql.binding.formula_kinds import is_formula
from dither.sql.binding.formula_syntax import bind_formula
from dither.sql.expressions import IsNull, Not, Stored
from dither.sql.plan.aggregates import Aggregator, Average, Count, CountDistinctOwner, Sum
from dither.sql.plan.aggregates.formula import Formula
from dither.sql.plan.nodes import CountRows, SumRows
from dither.sql.postprocess.measure_errors import MeasureError
from dither.sql.text.source import Source

AGE = Stored("age", 0, 120, 0, False)
COST = Stored("cost", 0, 100_000, 2, True)


def aggregate(node: exp.Expr) -> Aggregator:
    if isinstance(node, exp.Filter):
        return Count(Not(IsNull(COST)))
    if isinstance(node, exp.Count):
        return CountDistinctOwner() if isinstance(node.this, exp.Distinct) else Count()
    if isinstance(node, (exp.Sum, exp.Avg)):
        column = {"age": AGE, "cost": COST}[node.this.name]
        return Sum(column) if isinstance(node, exp.Sum) else Average(column)
    raise UnsupportedQuery("no such aggregate")


def formula(text: str) -> Aggregator:
    source = Source(f"SELECT {text}", tuple(Postgres().tokenize(f"SELECT {text}")))
    tree = Postgres().parser().parse(list(source.tokens), source.text)[0]
    return bind_formula(source, tree.expressions[0], aggregate)


def finished(text: str, *noisy: list[int], errors: list[float | int] | None = None):
    found = formula(text)
    return found.finish(
        [np.array(values) for values in noisy],
        [MeasureError(Fraction(error)) for error in errors or [0] * len(noisy)],
    )


def test_measures_are_the_union_of_the_parts():
    ratio = formula("100.0 * COUNT(*) FILTER (WHERE cost IS NOT NULL) / COUNT(*)")
    assert ratio.measures() == (CountRows(Not(IsNull(COST))), CountRows())
    assert ratio.confidence_split == 2
    shared = formula("AVG(age) * COUNT(*) + SUM(age) - AVG(age)")
    assert len(shared.measures()) == 3
    assert shared.confidence_split == 3
    assert CountRows() in shared.measures()
    assert shared.measures()[-1] == SumRows(AGE)


def test_one_call_is_that_aggregate_and_equal_formulas_are_equal():
    assert formula("(COUNT(*))") == Count()
    first, second = formula("SUM(age) / COUNT(*)"), formula("sum(age)  /  count( * )")
    assert first == second
    assert first.text == second.text
    assert first.text != formula("COUNT(*) / SUM(age)").text
    assert first.size > Count().size


def test_sums_and_products_stay_exact():
    column = finished("SUM(age) + SUM(cost)", [2**62, 5], [2**62, 7], errors=[1, 250])
    assert column.values.tolist() == [2**62 * 101, 507]
    assert (column.decimals, column.lower.tolist()[1], column.upper.tolist()[1]) == (
        2,
        400,
        507 + 350,
    )  # costs are not negative
    product = finished("0.5 * SUM(cost) - 1", [300], errors=[10])
    assert (product.values.tolist(), product.decimals) == ([500], 3)
    assert (product.lower.tolist(), product.upper.tolist()) == ([450], [550])
    assert finished("ROUND(SUM(cost))", [-12350]).values.tolist() == [-124]
    assert finished("GREATEST(COUNT(*), 0)", [-5], errors=[3]).lower.tolist() == [0]


def test_casts_round_or_leave_a_number_as_it_is():
    assert formula("CAST(COUNT(*) AS FLOAT) / SUM(age)") == formula("COUNT(*) / SUM(age)")
    assert formula("SUM(age)::numeric / COUNT(*)") == formula("SUM(age) / COUNT(*)")
    assert finished("SUM(cost)::int", [12350]).values.tolist() == [124]
    assert finished("SUM(cost)::decimal(10, 1)", [12350]).decimals == 1


def test_a_formula_that_grows_when_written_out_is_refused_quickly():
    text = "COUNT(*)"
    for _ in range(20):
        text = f"CASE {text} WHEN 1 THEN 2 WHEN 3 THEN 4 END"
    with pytest.raises(UnsupportedQuery, match="longer than 10,000 words"):
        formula(text)


def test_a_ratio_is_not_cut_to_whole_numbers():
    column = finished("COUNT(DISTINCT owner) / COUNT(*)", [1], [2])
    assert column.values.tolist() == [0.5]
    assert column.values.dtype == np.float64


def test_undefined_is_null_and_unbounded_is_said():
    column = finished("SUM(cost) / SUM(age)", [100, 100, 100], [0, 2, 40], errors=[0, 10])
    assert math.isnan(column.values[0])
    assert column.values.tolist()[1:] == [0.5, 0.025]
    assert np.isinf(column.upper[:2]).all()
    assert np.isfinite(column.upper[2])
    assert math.isnan(finished("LN(COUNT(*) - 5)", [5]).values[0])
    assert finished("COALESCE(SQRT(COUNT(*) - 5), -1)", [4]).values.tolist() == [-1]
    assert finished("CASE WHEN COUNT(*) > 10 THEN SUM(age) / COUNT(*) END", [20], [40]).values.tolist() == [2]
    assert math.isnan(finished("CASE WHEN COUNT(*) > 10 THEN 1 END", [3]).values[0])
    assert math.isnan(finished("EXP(COUNT(*))", [10**6]).values[0])


def test_a_branch_that_the_noise_may_have_decided_is_in_the_interval():
    near = finished("CASE WHEN COUNT(*) > 10 THEN 1 ELSE 0 END", [12, 30], errors=[5])
    assert near.values.tolist() == [1, 1]
    assert near.lower.tolist() == [0, 1]
    assert near.upper.tolist() == [1, 1]


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
@pytest.mark.parametrize(
    "text", ["SUM(cost) / SUM(age)", "100.0 * COUNT(*) FILTER (WHERE x) / COUNT(*)", "AVG(age) - AVG(cost)"]
)
def test_intervals_cover_with_the_confidence_asked_for(law, text):
    """20,000 groups with the same exact measures: the share of intervals that miss is at most 1 - confidence.

    The bound is conservative (a union over the measures, worst cases of a quotient), but it must not be void: with
    noise five times as wide as stated, too many intervals miss.
    """
    groups, confidence = 20_000, Fraction(8, 10)
    found = formula(text)
    exact = {"SUM(cost) / SUM(age)": [5_000, 4_000], "AVG(age) - AVG(cost)": [-900, 300, 8_000, 250]}
    exact_measures = exact.get(text, [40, 300])
    sure = 1 - (1 - confidence) / found.confidence_split

    def missed(factor: int) -> float:
        noisy, errors = [], []
        for value in exact_measures:
            make = Laplace if law == "laplace" else Gaussian
            price = {"epsilon": Fraction(1, 20)} if law == "laplace" else {"rho": Fraction(1, 1000)}
            stated = make(sensitivity=1, **price)
            noise = np.asarray(stated.release(np.full(groups, 0)).value)
            noisy.append(value + factor * noise)
            errors.append(MeasureError(stated.error(sure)))
        column, exactly = found.finish(noisy, errors), [MeasureError(Fraction(0))] * len(errors)
        truth = found.finish([np.array([value]) for value in exact_measures], exactly).values[0]
        covered = (column.lower <= truth + 1e-9) & (column.upper >= truth - 1e-9)
        return float(1 - covered.mean())

    assert missed(1) <= 0.2 + 5 * math.sqrt(0.16 / groups)
    assert missed(5) > 0.3


def test_expected_errors_before_asking():
    linear = formula("2 * SUM(cost) - COUNT(*)")
    assert linear.half_width_at(1000, [Fraction(300), Fraction(4)]) == 2 * 3 + 4
    share = formula("100.0 * COUNT(*) FILTER (WHERE x) / COUNT(*)")
    assert share.half_width_at(1000, [Fraction(10), Fraction(10)]) == Fraction(100 * 10 + 100 * 10, 990)
    assert share.half_width_at(5, [Fraction(10), Fraction(10)]) is None
    assert formula("SUM(cost) / SUM(age)").half_width_at(1000, [Fraction(1), Fraction(1)]) is None
    assert formula("SQRT(COUNT(*))").half_width_at(1000, [Fraction(1)]) is None
    assert formula("ROUND(AVG(age), 1)").half_width_at(1000, [Fraction(1), Fraction(1)]) == pytest.approx(
        0.1 + 61 / 999
    )


@pytest.mark.parametrize("rows", [400, 1000, 10_000])
def test_expected_errors_are_kept(rows):
    """The width stated before asking is at least the one that comes with the answer."""
    share = formula("100.0 * COUNT(*) FILTER (WHERE x) / COUNT(*)")
    errors = [Fraction(10), Fraction(10)]
    column = share.finish([np.array([rows // 2]), np.array([rows])], [MeasureError(error) for error in errors])
    assert (column.upper[0] - column.lower[0]) / 2 <= share.half_width_at(rows, errors) + 1e-9


REFUSED = {
    "SIN(COUNT(*))": ("SIN", "the function SIN is not supported on aggregates. Supported are"),
    "nosuch(COUNT(*))": ("nosuch", "the function NOSUCH is not supported"),
    "COUNT(*) + age": ("age", "'age' stands outside of an aggregate. Columns stand inside"),
    "SUM(age) / 0": ("SUM", "divides by zero"),
    "SUM(age) / 0.0": ("SUM", "divides by zero"),
    "COUNT(*) || 'x'": ("COUNT", r"this cannot stand beside aggregates"),
    "COUNT(*) + 'x'": ("'x'", "a number is needed here, not text"),
    "COUNT(*) > 1": ("COUNT", r"this cannot stand beside aggregates"),
    "ROUND(COUNT(*), 100)": ("100", "from -18 to 18"),
    "ROUND(COUNT(*), COUNT(*))": ("COUNT", "from -18 to 18"),
    "CAST(COUNT(*) AS DATE)": ("COUNT", "cast is not supported here"),
    "CAST(COUNT(*) AS VARCHAR(5))": ("COUNT", "cast is not supported here"),
    "COUNT(*) * 1e99": ("1e99", "number cannot be read"),
    "1 + 1": ("1", "has no aggregate in it"),
    "CASE WHEN age > 1 THEN COUNT(*) END": ("age", "stands outside of an aggregate"),
}


@pytest.mark.parametrize("text", REFUSED)
def test_refusals_say_where_and_what_instead(text):
    word, message = REFUSED[text]
    with pytest.raises(UnsupportedQuery, match=message) as caught:
        formula(text)
    at = f"SELECT {text}"[caught.value.column - 1 :]
    assert at.startswith(word) or text.index(word) + 7 <= caught.value.column


def test_which_items_are_formulas():
    def item(text: str) -> exp.Expr:
        return Postgres().parser().parse(list(Postgres().tokenize(f"SELECT {text}")), text)[0].expressions[0]

    assert is_formula(item("1 + COUNT(*)"))
    assert is_formula(item("ROUND(SUM(x) FILTER (WHERE y), 2)"))
    assert is_formula(item("OWNER_SUM(x, 0, 1) / 2"))
    for text in (
        "COUNT(*)",
        "SUM(x) FILTER (WHERE y)",
        "x + 1",
        "OWNER_SUM(x, 0, 1)",
        "MODE() WITHIN GROUP (ORDER BY x)",
    ):
        assert not is_formula(item(text))


def test_a_formula_needs_all_its_measures():
    with pytest.raises(ParameterError, match="has 2 measures; got 1"):
        formula("SUM(age) / COUNT(*)").finish([np.array([1])], [MeasureError(Fraction(1))])
    assert isinstance(formula("SUM(age) / COUNT(*)"), Formula)
