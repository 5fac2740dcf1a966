"""Smooth bounds that are not smooth, and a divisor that is too large."""

from __future__ import annotations

import math
from collections.abc import Callable

from dither.lab.museum.exhibit import Finding, Reckoning
from dither.mechanisms import SmoothCauchy
from dither.sensitivity import brute_force, median

Data = tuple[int, ...]
BETA, LOW, HIGH = 0.1, 0, 6


def _steepest(bound: Callable[[Data], float], records: int) -> Finding:
    """The largest ln S(D)/S(D') over all neighbours with values 0, 1 and 6; a smooth bound keeps it below beta."""
    values = {x: bound(x) for x in brute_force.datasets((LOW, 1, HIGH), records)}
    ratios = ((values[x], values[y]) for x in values for y in brute_force.replace(x, (LOW, 1, HIGH)))
    steepest = max(math.inf if here > there == 0 else math.log(here / there) for here, there in ratios if here > 0)
    return Finding(claimed=BETA * (1 + 1e-9), found=steepest)


def _at(x: Data, rank: int) -> int:
    return LOW if rank < 1 else HIGH if rank > len(x) else x[rank - 1]


def _printed(x: Data, more: int) -> float:
    """max over k of e^(-beta k) A^(k), with A^(k) = max over t = 0 .. k + more of two differences around the median."""
    m = (len(x) + 1) // 2

    def reach(k: int, t: int) -> int:
        return max(_at(x, m + t) - _at(x, m + t - k - 1), _at(x, m + t + 1) - _at(x, m + t))

    return max(math.exp(-BETA * k) * reach(k, t) for k in range(len(x) + 1) for t in range(k + more + 1))


def one_case_missing() -> Finding:
    return _steepest(lambda x: _printed(x, more=0), records=5)


def one_gap_too_many() -> Finding:
    return _steepest(lambda x: _printed(x, more=1), records=5)


def all_cases() -> Finding:
    return _steepest(lambda x: float(median.smooth(x, str(BETA), LOW, HIGH)), records=5)


def _first_two(x: Data) -> float:
    return max(math.exp(-BETA * k) * float(median.reach(x, k, LOW, HIGH)) for k in range(2))


def scan_cut_short() -> Finding:
    return _steepest(_first_two, records=9)


def scan_with_what_may_follow() -> Finding:
    return _steepest(lambda x: max(_first_two(x), math.exp(-BETA * 2) * (HIGH - LOW)), records=9)


def _epsilon_of_cauchy(divisor: float, beta: float) -> float:
    """Exact: cosh epsilon = max(1 + s^2/2, cosh t + s^2 e^-t / 2)."""
    return math.acosh(max(1 + divisor**2 / 2, math.cosh(beta) + divisor**2 * math.exp(-beta) / 2))


def one_of_two_bounds() -> Finding:
    divisor = math.sqrt(2 * math.exp(0.4) * (math.cosh(1) - math.cosh(0.4)))
    return Finding(claimed=1 + 1e-9, found=_epsilon_of_cauchy(divisor, 0.4))


def both_bounds() -> Finding:
    divisor = float(SmoothCauchy(epsilon=1, beta="0.4").divisor)
    return Finding(claimed=1 + 1e-9, found=_epsilon_of_cauchy(divisor, 0.4))


_LARGEST_RATIO = "largest ln S(D)/S(D')"
EXHIBITS = (
    Reckoning(
        "smooth sensitivity with a case missing",
        "A lecture prints the local sensitivity k changes away with t = 0 .. k; the case t = k + 1 is missing. Then "
        "(0,0,0,0,6) gets 5.43 and its neighbour (0,0,0,0,1) gets 4.45, a ratio of e^0.2 where e^0.1 is promised.",
        "a misprint in lecture notes on smooth sensitivity; the right formula is that of Nissim, Raskhodnikova "
        "and Smith 2007, and all neighbours on a small domain are tried",
        _LARGEST_RATIO,
        one_case_missing,
        all_cases,
    ),
    Reckoning(
        "smooth sensitivity with a gap too many",
        "The same lecture's other formula counts a gap that k changes cannot reach. It is never too small, "
        "and still not smooth: being an upper bound is not enough.",
        "a misprint in lecture notes on smooth sensitivity",
        _LARGEST_RATIO,
        one_gap_too_many,
        all_cases,
    ),
    Reckoning(
        "a scan that stops early",
        "The maximum over all distances was cut after two of them, to be quick. Data at distance two of a jump "
        "get 0 and their neighbours do not. Cutting is fine if what may follow, GS e^(-b(K+1)), is put in its "
        "place.",
        "written for the museum",
        _LARGEST_RATIO,
        scan_cut_short,
        scan_with_what_may_follow,
    ),
    Reckoning(
        "one of two bounds on a divisor",
        "Cauchy noise must cover a shift and a stretch at once. The divisor was solved from the condition for "
        "both, which is not the sharper one for small stretches: the shift alone costs more than epsilon.",
        "written for the museum; the exact loss of Cauchy noise is that of docs/proofs/smoothcauchy.md",
        "epsilon",
        one_of_two_bounds,
        both_bounds,
    ),
)
