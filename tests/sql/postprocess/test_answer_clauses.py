"""Which names HAVING and ORDER BY can use, what they cost, and what is refused."""

from __future__ import annotations

import pytest

from dither.errors import UnsupportedQuery
from dither.sql.expressions import Stored
from dither.sql.plan.aggregates import Average, Count, Sum
from dither.sql.postprocess.formulas.terms import And, Apply, Compare, CompareText, KeyNumber, Not, Number, Or, Part
from dither.sql.postprocess.row_choice import After, Sorting

X = Stored("x", 0, 100, 0, False)
BY = "FROM t GROUP BY region, age"


def test_nothing_after_the_noise(after):
    assert after(f"SELECT region, COUNT(*) {BY}") == (None, ())


def test_the_same_aggregate_is_one_output_and_another_one_is_hidden(after):
    found, hidden = after(
        f"SELECT region, COUNT(*) AS n {BY} HAVING COUNT(*) > 5 AND SUM(x) < 2.5 ORDER BY AVG(x), SUM(x)"
    )
    assert [output.aggregate for output in hidden] == [Sum(X), Average(X)]
    assert found.having == And((Compare(">", Part(0), Number(5)), Compare("<", Part(1), Number(25, 1))))
    assert found.order == (Sorting(Part(2)), Sorting(Part(1)))
    assert "n" not in {output.name for output in hidden}


@pytest.mark.parametrize("name", ["n", "N", "1 + n - 1"])
def test_aliases_keys_and_formulas(after, name):
    found, hidden = after(f"SELECT region, COUNT(*) AS n {BY} HAVING {name} > 5")
    assert hidden == ()
    assert Part(0) in set(found.having.walk())
    found, hidden = after(f"SELECT COUNT(*) AS n {BY} HAVING SUM(x) / COUNT(*) > age ORDER BY SUM(x) / COUNT(*)")
    assert [output.aggregate for output in hidden] == [Sum(X)]
    ratio = Apply("divide", (Part(1), Part(0)))
    assert found == After(Compare(">", ratio, KeyNumber(1)), (Sorting(ratio),))


def test_names_mean_what_they_mean_in_sql(after):
    """ORDER BY looks at the answer's columns first, all else at grouped columns first."""
    text = f"SELECT region, COUNT(*) AS age {BY}"
    assert after(f"{text} ORDER BY age")[0].order == (Sorting(Part(0)),)
    assert after(f"{text} ORDER BY age + 1")[0].order == (Sorting(Apply("add", (KeyNumber(1), Number(1)))),)
    assert after(f"{text} HAVING age > 1")[0].having == Compare(">", KeyNumber(1), Number(1))


def test_order_by_number_and_nulls_as_in_postgresql(after):
    found, _ = after(f"SELECT region, COUNT(*) {BY} ORDER BY 2 DESC, 1, region DESC NULLS LAST, age NULLS FIRST")
    assert found.order == (
        Sorting(Part(0), descending=True, nulls_first=True),
        Sorting(0),
        Sorting(0, descending=True),
        Sorting(1, nulls_first=True),
    )


def test_limits(after):
    text = f"SELECT COUNT(*) {BY}"
    assert after(f"{text} LIMIT 5 OFFSET 2")[0] == After(limit=5, offset=2)
    assert after(f"{text} OFFSET 2 ROWS FETCH FIRST 3 ROWS ONLY")[0] == After(limit=3, offset=2)
    assert after(f"{text} FETCH NEXT ROW ONLY")[0] == After(limit=1)
    assert after(f"{text} LIMIT 0")[0] == After(limit=0)
    assert after(f"{text} LIMIT 3::INTEGER OFFSET 2::BIGINT")[0] == After(limit=3, offset=2), "as drivers write them"


def test_conditions(after):
    found, _ = after(
        "SELECT COUNT(*) AS n FROM t GROUP BY region HAVING region IN ('a', 'b') OR NOT 3 > n OR n BETWEEN 1 AND 2"
    )
    assert found.having == Or(
        (
            Or((CompareText("=", 0, "a"), CompareText("=", 0, "b"))),
            Not(Compare(">", Number(3), Part(0))),
            And((Compare(">=", Part(0), Number(1)), Compare("<=", Part(0), Number(2)))),
        )
    )
    assert after("SELECT COUNT(*) FROM t GROUP BY region HAVING 'b' < region")[0].having == CompareText(">", 0, "b")


REFUSED = {
    "HAVING nosuch > 1": ("nosuch", "'nosuch' is no column of the answer.*The answer has: count"),
    "HAVING coumt > 1": ("coumt", "Did you mean count"),
    "ORDER BY nosuch": ("nosuch", "'nosuch' is no column"),
    "ORDER BY COUNT(*) + nosuch": ("nosuch", "'nosuch' is no column"),
    "ORDER BY 2": ("2", "no select item of that number"),
    "ORDER BY 0": ("0", "no select item of that number"),
    "ORDER BY 'region'": ("'region'", "no select item of that number"),
    "HAVING SIN(COUNT(*)) > 0": ("SIN", "function SIN is not supported on aggregates. Supported are"),
    "HAVING nosuch(COUNT(*)) > 0": ("nosuch", "function NOSUCH is not supported"),
    "HAVING COUNT(*)": ("COUNT", "no condition"),
    "HAVING region": ("region", "no condition"),
    "HAVING region > 1": ("region", "a text cannot be compared with a number"),
    "HAVING COUNT(*) = 'five'": ("COUNT", "cannot be compared with text"),
    "HAVING COUNT(*) > CAST(COUNT(*) AS TEXT)": ("COUNT", "cast is not supported here"),
    "HAVING region = region": ("region", "with a literal"),
    "HAVING region LIKE 'n%'": ("region", "no condition on an answer"),
    "HAVING COUNT(*) > 1 / 0": ("1 / 0", "divides by zero"),
    "LIMIT ALL": ("", "LIMIT takes a whole number of rows"),
    "LIMIT 1.5": ("1.5", "LIMIT takes a whole number of rows"),
    "LIMIT 3::TEXT": ("3", "LIMIT takes a whole number of rows"),
    "LIMIT 3::INTERVAL YEAR": ("3", "LIMIT takes a whole number of rows"),
    "LIMIT -1": ("1", "LIMIT takes a whole number of rows"),
    "LIMIT 99999999999999999999": ("9999", "LIMIT takes a whole number"),
    "OFFSET 1 + 1": ("1 +", "OFFSET takes a whole number"),
    "FETCH FIRST 3 PERCENT ROWS ONLY": ("3", "a number of rows only"),
    "FETCH FIRST 3 ROWS WITH TIES": ("3", "a number of rows only"),
}


@pytest.mark.parametrize("clause", REFUSED)
def test_refusals_say_where_and_what_instead(after, clause):
    word, message = REFUSED[clause]
    text = f"SELECT COUNT(*) FROM t GROUP BY region {clause}"
    with pytest.raises(UnsupportedQuery, match=message) as caught:
        after(text)
    assert text[caught.value.column - 1 :].startswith(word)


@pytest.mark.parametrize("clause", ["ORDER BY x", "LIMIT 5", "OFFSET 5"])
def test_inside_a_subquery_they_would_act_on_exact_values(after, clause):
    with pytest.raises(UnsupportedQuery, match="cannot stand in a subquery"):
        after(f"SELECT COUNT(*) FROM (SELECT x FROM t {clause}) s")


def test_counting_what_is_not_shown_costs_like_anything_else(after):
    _, hidden = after(
        "SELECT region FROM t GROUP BY region HAVING COUNT(*) > 100".replace("region FROM", "SUM(x) FROM")
    )
    assert [output.aggregate for output in hidden] == [Count()]
