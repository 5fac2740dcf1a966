"""What noisy histograms of owners certify: the largest histogram within all limits, and limits that hold."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.signal import fftconvolve
from scipy.special import ndtr
from scipy.stats import binom

from dither.mechanisms import Gaussian, Laplace
from dither.sql.postprocess import histograms
from dither.sql.postprocess.histograms import Certified, Histogram, Limit, largest, reach

LAPLACE = {"mechanism": "Laplace", "epsilon": "1/3", "sensitivity": "1"}
GAUSSIAN = {"mechanism": "Gaussian", "rho": "1/18", "sensitivity": "1"}


def random_limits(drawn: random.Random, top: int) -> list[Limit]:
    """Of two or three histograms in bins of their own: limits on each bin, and on everything from some edges on."""
    found: list[Limit] = []
    for _ in range(drawn.randint(1, 3)):
        edges = sorted({0, *(drawn.randint(1, top) for _ in range(drawn.randint(0, 5)))})
        for start, end in zip(edges, [*edges[1:], None], strict=True):
            found.append((start, end, drawn.randint(0, 9)))
            if drawn.random() < 0.6:
                found.append((start, None, drawn.randint(0, 20)))
    return found


def by_linear_program(limits: list[Limit], limit: int, top: int) -> float:
    """Owners at every whole number up to the top, as many as the limits allow, with the most beyond the limit."""
    at = np.arange(top + 1)
    rows = [(at >= start) & (at < (end if end is not None else top + 1)) for start, end, _ in limits]
    solved = linprog(-np.maximum(at - limit, 0.0), np.array(rows, float), [owners for *_, owners in limits])
    return float(-solved.fun)


@pytest.mark.parametrize("seed", range(60))
def test_the_sweep_solves_the_linear_program(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = random.Random(seed)
    top = drawn.randint(1, 24)
    limits = random_limits(drawn, top)
    known = Certified(top, ())
    monkeypatch.setattr(histograms, "_largest", lambda *_: largest(limits, top))
    for limit in {0, 1, top // 2, top - 1, top}:
        assert known.excess(limit, Fraction(1)) == pytest.approx(by_linear_program(limits, limit, top))


def test_owners_above_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(histograms, "_largest", lambda *_: largest([(1, 4, 9), (4, None, 2), (1, None, 8)], 20))
    known = Certified(20, ())
    assert [known.above(limit, Fraction(1)) for limit in (0, 2, 3, 4, 19, 20)] == [8, 8, 2, 2, 2, 0]
    assert known.excess(3, Fraction(1)) == 2 * 17


def law(parameters: dict[str, str], far: int) -> Any:
    at = np.arange(-far, far + 1)
    if parameters["mechanism"] == "Laplace":
        q = math.exp(-float(Fraction(parameters["epsilon"])))
        return (1 - q) / (1 + q) * q ** np.abs(at)
    scale = 1 / math.sqrt(2 * float(Fraction(parameters["rho"])))
    return ndtr((at + 0.5) / scale) - ndtr((at - 0.5) / scale)


@pytest.mark.parametrize("parameters", [LAPLACE, GAUSSIAN])
@pytest.mark.parametrize("several", [1, 2, 5, 14])
@pytest.mark.parametrize("missed", ["1/10", "1/1000"])
def test_sums_of_noises_stay_within_their_reach(parameters: dict[str, str], several: int, missed: str) -> None:
    """By the exact distribution of the sum; and half as far would not do."""
    one = law(parameters, 300)
    total = one
    for _ in range(several - 1):
        total = fftconvolve(total, one)
    middle, far = (len(total) - 1) // 2, reach(tuple(sorted(parameters.items())), several, Fraction(missed))
    assert total[: middle - far].sum() <= float(Fraction(missed)) + 1e-9
    assert total[: middle - math.floor(0.5 * far) + several].sum() > float(Fraction(missed))


EDGES = (1, 2, 4, 8, 16, 33)
OWNERS = (30, 40, 12, 5, 0, 0)
ROWS = [
    height for start, height, owners in zip(EDGES, (1, 3, 7, 15, 32, 32), OWNERS, strict=True) for _ in range(owners)
]
RUNS, MISSED = 400, Fraction(1, 5)


def missed_runs(parameters: dict[str, str]) -> int:
    """How often what is left out of the worst table of this histogram exceeds its bound at any limit."""
    build = {"Laplace": Laplace, "Gaussian": Gaussian}[parameters["mechanism"]]
    mechanism: Any = build(**{name: value for name, value in parameters.items() if name != "mechanism"})
    noise = np.asarray(mechanism.release(np.zeros(RUNS * len(OWNERS), dtype=np.int64)).value).reshape(RUNS, -1)
    found = 0
    for line in noise:
        noisy = tuple(int(exact + more) for exact, more in zip(OWNERS, line, strict=True))
        known = Certified(32, (Histogram(EDGES, noisy, parameters, Fraction(1)),))
        exact = {limit: sum(max(0, rows - limit) for rows in ROWS) for limit in (1, 3, 7, 15)}
        found += any(known.excess(limit, MISSED) < lost for limit, lost in exact.items())
    return found


@pytest.mark.parametrize("parameters", [LAPLACE, GAUSSIAN])
def test_limits_hold_as_often_as_they_say(parameters: dict[str, str]) -> None:
    assert binom.sf(missed_runs(parameters) - 1, RUNS, float(MISSED)) > 1e-9


@pytest.mark.parametrize("parameters", [LAPLACE, GAUSSIAN])
def test_planted_bug_an_estimate_in_place_of_a_limit(
    parameters: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(histograms, "reach", lambda *_: 0)
    histograms._largest.cache_clear()
    assert binom.sf(missed_runs(parameters) - 1, RUNS, float(MISSED)) < 1e-9


def test_all_limits_of_a_histogram_share_what_it_may_miss(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Fraction] = []
    monkeypatch.setattr(histograms, "reach", lambda tag, several, missed: asked.append(missed) or 0)
    for edges in (EDGES, (1,), (1, 2)):
        asked.clear()
        [*Histogram(edges, OWNERS[: len(edges)], LAPLACE, Fraction(1, 3)).limits(Fraction(1, 10))]
        assert sum(asked) == Fraction(1, 30)


def test_a_histogram_is_read_back() -> None:
    known = Certified(32, (Histogram(EDGES, OWNERS, LAPLACE, Fraction(1, 3)),))
    assert Certified.read(known.document()) == known
