"""What a reading takes, in operations and in looks at a curve: the same on every machine."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import pytest
from flint import arb

from dither.accounting import PLD
from dither.accounting.pld.crossing import least_above, most_below
from dither.accounting.pld.sampled.panels import NODES, nodes_and_weights
from dither.exact.balls import precision

sys.path.insert(0, str(Path(__file__).parents[1]))
from random_compositions import counted_work


@pytest.mark.parametrize("steps", [100, 1000, 100_000])
def test_the_order_that_costs_less_is_only_compared(steps):
    """Of a record added and one removed, one needs a single look at one line: that it is below the other."""
    spent: list[int] = []
    with counted_work(spent):
        low, high = (PLD.subsampled_laplace(1, "0.01") * steps).bounds_at(delta="1e-6")
    assert high - low <= 2e-4 * high
    assert sum(spent) < 1_500_000


class Tails:
    """ln erfc: readings that are exact."""

    theta, close, looks = 5.0, 2.0**-26, 0

    def log_above(self, epsilon: float) -> float:
        self.looks += 1
        return math.log(math.erfc(epsilon))

    log_below = log_above


@pytest.mark.parametrize("target", [-3.0, -13.8, -40.0, -200.0])
@pytest.mark.parametrize("find", [least_above, most_below])
def test_few_looks_find_a_crossing(find, target):
    tails = Tails()
    found = find(tails, target, 20.0)
    assert tails.looks <= 17
    slack = 4 * tails.close * found
    side = 1 if find is least_above else -1
    assert side * (tails.log_above(found) - target) <= 0 < side * (tails.log_above(found - side * slack) - target)


def test_a_crossing_where_one_already_is_takes_few_looks():
    tails = Tails()
    assert least_above(tails, tails.log_above(3.0), 3.0) <= 3.0
    assert tails.looks <= 4


def test_the_rule_of_panels_is_that_of_legendre():
    roots, weights = nodes_and_weights([-1.0, 1.0])
    assert len(roots) == len(weights) == NODES
    with precision(128):
        for n in range(NODES):
            root, weight = arb.legendre_p_root(NODES, n, weight=True)
            assert roots[n] == float(root.mid())
            assert weights[n] == float(weight.mid())
