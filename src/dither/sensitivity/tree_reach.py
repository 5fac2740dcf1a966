"""A^(k) of the cost of a minimum spanning tree.

Let B_e(c) be the bottleneck between the ends of e, without e, after the c best other edges were raised to `upper`.
Then k changes and one more reach the larger of: the change that e makes as it is, max(B - min(w, B), min(w, B)) at
B = B_e(k); and B_e(k - 1), if one of the changes puts e itself at 0 or `upper`.
"""

from __future__ import annotations

from collections.abc import Iterator

from dither.sensitivity.cuts import adjacency, packed_forests, separable
from dither.sensitivity.spanning import bottlenecks
from dither.sensitivity.weighted_graph import WeightedGraph


class TreeReach:
    """The reach of one weighted graph; values over the graph's denominator."""

    def __init__(self, graph: WeightedGraph) -> None:
        self._graph, self._adjacent = graph, adjacency(graph)
        self._bottleneck = bottlenecks(graph)
        place = [{e: i for i, (_, _, e) in enumerate(around)} for around in self._adjacent]
        self._places = [(place[u][e], place[v][e]) for e, (u, v) in enumerate(graph.ends)]
        self._levels = sorted({*graph.weights, graph.upper})

    def above(self, k: int, enough: int) -> int:
        """A^(k) if it is larger than `enough`; otherwise some number up to A^(k)."""
        graph = self._graph
        best = max(_moved(graph.weights[e], self._easy(e, k)) for e in range(len(graph.ends)))
        if k:
            best = max(best, max(self._easy(e, k - 1) for e in range(len(graph.ends))))
        if not k:
            return best  # bottlenecks are exact
        for e, own in self._doubtful(k, max(best, enough)):
            # Raised since the list was made: check again that this edge can beat the best.
            wanted = max(best, enough)
            level = self._level(e, wanted, own=own)
            allowed = k - own
            if level < graph.upper and separable(self._adjacent, graph.ends[e], e, level, allowed):
                cut = self._bottleneck_after(e, allowed, level)
                best = max(best, cut if own else _moved(graph.weights[e], cut))
        return best

    def _easy(self, e: int, c: int) -> int:
        """A lower bound of B_e(c): raise the lightest edges around one end. Exact for c = 0."""
        if not c:
            return self._bottleneck[e]
        found = self._bottleneck[e]
        for end, own_place in zip(self._graph.ends[e], self._places[e], strict=True):
            place = c + (own_place <= c)  # of the (c + 1)-th lightest besides e
            around = self._adjacent[end]
            weight = around[place][0] if place < len(around) else self._graph.upper
            if weight > found:
                found = weight
        return found

    def _level(self, e: int, wanted: int, *, own: bool) -> int:
        """Edge e beats `wanted` only if its ends can be put apart among edges of at most this weight."""
        weight = self._graph.weights[e]
        return wanted if own or weight > wanted else weight + wanted

    def _doubtful(self, k: int, wanted: int) -> Iterator[tuple[int, bool]]:
        """Edges that may beat `wanted`, as they are or (own) set to 0 or `upper` by one of the k changes."""
        graph = self._graph
        if wanted >= graph.upper:
            return
        forests = packed_forests(graph, wanted, k + 2)
        for e, (u, v) in enumerate(graph.ends):
            for own in (True, False):
                if self._level(e, wanted, own=own) >= graph.upper:
                    continue
                # More than `allowed` disjoint paths, one of which may be e itself: certainly not separable.
                paths = k - own + 1 + (graph.weights[e] <= wanted)
                if forests[paths - 1].root(u) != forests[paths - 1].root(v):
                    yield e, own

    def _bottleneck_after(self, e: int, c: int, above: int) -> int:
        """B_e(c), known to be larger than `above`: the largest level whose lighter edges can be cut by c deletions."""
        levels = [level for level in self._levels if level > above]
        low, high = 0, len(levels)  # the ends can be put apart among edges lighter than levels[low]
        while high - low > 1:
            middle = (low + high) // 2
            # Lighter than levels[middle] is at most levels[middle - 1].
            if separable(self._adjacent, self._graph.ends[e], e, levels[middle - 1], c):
                low = middle
            else:
                high = middle
        return levels[low]


def _moved(weight: int, bottleneck: int) -> int:
    """How far the cost moves when this weight does, at most."""
    kept = min(weight, bottleneck)
    return max(bottleneck - kept, kept)
