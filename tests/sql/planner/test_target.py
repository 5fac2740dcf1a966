"""error=: the smallest price that keeps it, and whether answers do."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from scipy.stats import binom

import dither as dt
from dither.accounting.currency.currency import Currency
from dither.mechanisms import Gaussian, Laplace
from dither.mechanisms.sealed_values import seal
from dither.policy.catalog import Catalog, Table
from dither.policy.columns import Category, Fixed, Int
from dither.sql.binding.reading import read
from dither.sql.pricing.price import PricedQuestion, price

COLUMNS = {
    "x": Int(0, 100, nullable=False, default=0),
    "paid": Fixed(0, 20, decimals=2, nullable=False, default=0),
    "g": Category(["a", "b"]),
}
CATALOG = Catalog({"t": Table("t", "people", "uid", 3, COLUMNS, 1)})
PURE, APPROXIMATE = dt.PureDP(4), dt.ApproxDP(4, "1e-6")
RUNS = 2000


def priced(text: str, budget: Any = PURE, **stated: Any) -> PricedQuestion:
    return price(read(text, CATALOG), Currency.of(budget), **stated)


def widest(made: PricedQuestion, confidence: str = "0.95") -> Fraction:
    from dither.sql.postprocess.measure_errors import errors_of

    by_measure = {item.measure: item.mechanism for item in made.measures}
    found = []
    for output in made.answered.outputs:
        bought = [by_measure[measure] for measure in output.aggregate.measures()]
        width = output.aggregate.half_width_at(0, errors_of(output.aggregate, bought, Fraction(confidence)))
        assert width is not None
        found.append(width)
    return max(found)


@pytest.mark.parametrize("budget", [PURE, APPROXIMATE])
@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) FROM t",
        "SELECT g, COUNT(*), COUNT(DISTINCT uid) FROM t GROUP BY g",
        "SELECT SUM(paid) FROM t",
        "SELECT SUM(x), COUNT(*), SUM(paid) FROM t",
        "SELECT SUM(x) - SUM(paid) FROM t",
    ],
)
def test_the_price_is_the_smallest(text: str, budget: Any) -> None:
    """It keeps the error, and 1% less, split in any of these ways, does not."""
    made = priced(text, budget, error=50)
    assert widest(made) <= 50
    counted = "rho" if budget is APPROXIMATE else "epsilon"
    cheaper = priced(text, budget, strategy=made.strategy, **{counted: made.price.cost * Fraction(99, 100)})
    assert widest(cheaper) > 50
    assert set(made.asked) == {counted}
    assert Fraction(made.asked[counted]) == made.price.cost


@pytest.mark.parametrize("confidence", ["0.9", "0.95", "0.999"])
def test_the_price_of_a_count_in_closed_form(confidence: str) -> None:
    """Against every epsilon in steps of half a per cent, by the mechanism's own exact error."""
    made = priced("SELECT COUNT(*) FROM t", error=50, confidence=confidence)
    found = made.price.cost
    assert Laplace(epsilon=found, sensitivity=3).error(confidence) <= 50
    assert Laplace(epsilon=found * Fraction(995, 1000), sensitivity=3).error(confidence) > 50
    made = priced("SELECT COUNT(*) FROM t", APPROXIMATE, error=50, confidence=confidence)
    assert Gaussian(rho=made.price.cost, sensitivity=3).error(confidence) <= 50
    assert Gaussian(rho=made.price.cost * Fraction(99, 100), sensitivity=3).error(confidence) > 50


@pytest.mark.parametrize("budget", [PURE, APPROXIMATE])
def test_the_error_is_kept(budget: Any) -> None:
    """error=50 on a count: off by more in at most 5% of runs, by the exact binomial law; 10% less money shows."""
    made = priced("SELECT COUNT(*) FROM t", budget, error=50)
    mechanism: Any = made.measures[0].mechanism
    off = sum(abs(int(mechanism.release(seal(1000)).value) - 1000) > 50 for _ in range(RUNS))
    assert binom.sf(off - 1, RUNS, 0.05) > 1e-7
    counted = "rho" if budget is APPROXIMATE else "epsilon"
    cheap: Any = priced("SELECT COUNT(*) FROM t", budget, **{counted: made.price.cost / 2}).measures[0].mechanism
    off = sum(abs(int(cheap.release(seal(1000)).value) - 1000) > 50 for _ in range(RUNS))
    assert binom.sf(off - 1, RUNS, 0.05) < 1e-7


def test_what_is_refused() -> None:
    for text, words in (
        ("SELECT AVG(x) FROM t", "only a profile"),
        ("SELECT SUM(x) / COUNT(*) FROM t", "only a profile"),
        ("SELECT MEDIAN(x) FROM t", "one of ranks"),
    ):
        with pytest.raises(dt.ParameterError, match=words):
            priced(text, error=5)
    for stated in ({"error": 5, "epsilon": 1}, {"error": 5, "rho": 1}, {}):
        with pytest.raises(dt.ParameterError, match="once"):
            priced("SELECT COUNT(*) FROM t", **stated)
    for bad in (0, -1, float("nan"), "much", True):
        with pytest.raises(dt.ParameterError):
            priced("SELECT COUNT(*) FROM t", error=bad)
