"""Noise scaled to local sensitivity, which is itself a secret."""

from __future__ import annotations

from dither.accounting import PureDP
from dither.lab.museum.draws import cauchy, laplace
from dither.lab.museum.exhibit import Exhibit, Finding, Outputs, Reckoning
from dither.mechanisms import SmoothCauchy
from dither.sensitivity import brute_force, median, triangles

Data = tuple[int, ...]
Edges = frozenset[tuple[int, int]]
_CAUCHY = SmoothCauchy(epsilon=1, relation="replace")


def _middle(x: Data) -> int:
    return sorted(x)[len(x) // 2]


def scaled_to_local_sensitivity(x: Data, size: int) -> Outputs:
    return _middle(x) + laplace(float(median.local(x, 0, 100)), size)


def scaled_to_the_range(x: Data, size: int) -> Outputs:
    return _middle(x) + laplace(100, size)


def local_sensitivity_as_its_own_bound(x: Data, size: int) -> Outputs:
    return _middle(x) + cauchy(float(median.local(x, 0, 100) / _CAUCHY.divisor), size)


def smallest_smooth_bound(x: Data, size: int) -> Outputs:
    return _middle(x) + cauchy(float(median.smooth(x, _CAUCHY.beta, 0, 100) / _CAUCHY.divisor), size)


# Vertices 0 and 1 are not adjacent and share the other three: an edge between them makes three triangles.
GRAPH: Edges = frozenset({(0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (1, 4)})
ALL_PAIRS: Edges = frozenset((a, b) for b in range(5) for a in range(b))


def _most_in_common(pairs: Edges) -> int:
    near = [{a + b - v for a, b in GRAPH if v in (a, b)} for v in range(5)]
    return max(len(near[a] & near[b]) for a, b in pairs)


def _by_toggling_every_edge() -> float:
    return float(brute_force.local(lambda edges: triangles.value(sorted(edges), vertices=5), GRAPH, 5, "edge"))


def adjacent_vertices_only() -> Finding:
    return Finding(claimed=_most_in_common(GRAPH), found=_by_toggling_every_edge())


def all_pairs_of_vertices() -> Finding:
    return Finding(claimed=_most_in_common(ALL_PAIRS), found=_by_toggling_every_edge())


def number_of_rows() -> Finding:
    return Finding(claimed=3, found=float(brute_force.global_(_middle, range(11), 3).l1))


def width_of_the_range() -> Finding:
    claimed = median(0, 10, relation="replace").l1
    return Finding(claimed=float(claimed), found=float(brute_force.global_(_middle, range(11), 3).l1))


EXHIBITS = (
    Exhibit(
        "local sensitivity as the scale",
        "The median of these data hardly moves, so hardly any noise was added. How much was added tells where the data "
        "are: between five zeros and four the local sensitivity jumps from 0 to 100.",
        "Nissim, Raskhodnikova and Smith, Smooth sensitivity and sampling in private data analysis, STOC 2007, "
        "warn of it",
        scaled_to_local_sensitivity,
        scaled_to_the_range,
        (((0, 0, 0, 0, 0, 100, 100), (0, 0, 0, 0, 100, 100, 100)),),
        PureDP(1, "replace"),
    ),
    Exhibit(
        "local sensitivity as its own smooth bound",
        "A lecture prints the condition of smoothness as S(D) <= e^b LS(D), which local sensitivity itself "
        "satisfies. It must be S(D) <= e^b S(D') for neighbours. Both medians are 50, with noise of scales 1 and "
        "50.",
        "a misprint in lecture notes on smooth sensitivity",
        local_sensitivity_as_its_own_bound,
        smallest_smooth_bound,
        (((0, 49, 50, 51, 100), (0, 49, 50, 100, 100)),),
        PureDP(1, "replace"),
    ),
    Reckoning(
        "triangles on existing edges only",
        "How far can one edge move the number of triangles? The ends of every edge that is there were looked at. "
        "An edge that is not there can make more.",
        "written for the museum; every edge is toggled to see",
        "local sensitivity",
        adjacent_vertices_only,
        all_pairs_of_vertices,
    ),
    Reckoning(
        "the median's sensitivity taken for n",
        "Lecture notes say that the median of n rows moves by n. It moves by up to the width of the range.",
        "a slip in lecture notes; all data sets of three values from 0 to 10 are tried",
        "global sensitivity",
        number_of_rows,
        width_of_the_range,
    ),
)
