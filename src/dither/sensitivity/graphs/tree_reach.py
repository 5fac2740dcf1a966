"""A^(k) of the cost of a minimum spanning tree.

Let B_e(c) be the bottleneck between the ends of e, without e, after the c best other edges were raised to `upper`.
Then k changes and one more reach the larger of: the change that e makes as it is, max(B - min(w, B), min(w, B)) at
B = B_e(k); and B_e(k - 1), if one of the changes puts e itself at 0 or `upper`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from dither.sensitivity.graphs.cuts import Adjacency, adjacency, packed_forests, separable
from dither.sensitivity.graphs.spanning_tree import bottlenecks
from dither.sensitivity.graphs.weighted_graph import WeightedGraph

Whole = npt.NDArray[Any]  # int64, or Python ints where sums of two weights need more

_LARGEST_WORD = 1 << 62


class TreeReach:
    """The reach of one weighted graph; values over the graph's denominator."""

    def __init__(self, graph: WeightedGraph) -> None:
        self._graph = graph
        kind: Any = np.int64 if graph.upper < _LARGEST_WORD else object
        self._weights: Whole = np.array(graph.weights, kind)
        self._bottleneck: Whole = np.array(bottlenecks(graph), kind)
        self._ends = np.array(graph.ends, np.int64)
        levels, rank = np.unique(self._weights, return_inverse=True)
        self._levels: list[int] = sorted({*levels.tolist(), graph.upper})
        # Edges around each vertex, light ones first, one vertex after the other; and where each edge is among them.
        edges, vertices = np.tile(np.arange(len(rank)), 2), self._ends.T.ravel()
        order = np.lexsort((edges, np.tile(rank, 2), vertices))
        self._around: Whole = self._weights[edges[order]]
        self._degree = np.bincount(vertices, minlength=graph.vertices)
        self._start = np.cumsum(self._degree) - self._degree
        place = np.empty(order.size, np.int64)
        place[order] = np.arange(order.size)
        self._place = (place - self._start[vertices]).reshape(2, -1)

    @cached_property
    def _adjacent(self) -> Adjacency:
        return adjacency(self._graph)

    def above(self, k: int, enough: int) -> int:
        """A^(k) if it is larger than `enough`; otherwise some number up to A^(k)."""
        graph = self._graph
        best = int(_moved(self._weights, self._easy(k)).max())
        if not k:
            return best  # bottlenecks are exact
        best = max(best, int(self._easy(k - 1).max()))
        for e, own in self._doubtful(k, max(best, enough)):
            # Raised since the list was made: check again that this edge can beat the best.
            wanted = max(best, enough)
            weight = graph.weights[e]
            level = wanted if own or weight > wanted else weight + wanted
            allowed = k - own
            if level < graph.upper and separable(self._adjacent, graph.ends[e], e, level, allowed):
                cut = self._bottleneck_after(e, allowed, level)
                best = max(best, cut if own else max(cut - min(weight, cut), min(weight, cut)))
        return best

    def _easy(self, c: int) -> Whole:
        """Lower bounds of B_e(c) for all e: raise the lightest edges around one end. Exact for c = 0."""
        found = self._bottleneck
        for side in (0, 1) if c else ():
            end = self._ends[:, side]
            place = c + (self._place[side] <= c)  # of the (c + 1)-th lightest besides e
            there = place < self._degree[end]
            weight = self._around[np.where(there, self._start[end] + place, 0)]
            found = np.maximum(found, np.where(there, weight, self._graph.upper))
        return found

    def _doubtful(self, k: int, wanted: int) -> Iterator[tuple[int, bool]]:
        """Edges that may beat `wanted`, as they are or (own) set to 0 or `upper` by one of the k changes.

        An edge beats it only if its ends can be put apart among edges of at most a level: `wanted` itself if it is own
        or heavier, its weight and `wanted` together otherwise.
        """
        graph = self._graph
        if wanted >= graph.upper:
            return
        forests = packed_forests(graph, wanted, k + 2)
        # More than `allowed` disjoint paths, one of which may be e itself: certainly not separable.
        spare = (self._weights <= wanted).astype(np.int64)
        roots = np.stack([forest.roots() for forest in forests[k - 1 :]])
        apart = np.stack([labels[self._ends[:, 0]] != labels[self._ends[:, 1]] for labels in roots])
        every = np.arange(spare.size)
        level = np.where(self._weights > wanted, wanted, self._weights + wanted)
        own = every[apart[spare, every]]
        plain = every[apart[spare + 1, every] & (level < graph.upper)]
        for place in np.sort(np.concatenate([2 * own, 2 * plain + 1])).tolist():
            yield place // 2, place % 2 == 0

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


def _moved(weights: Whole, bottleneck: Whole) -> Whole:
    """How far the cost moves when each weight does, at most."""
    kept = np.minimum(weights, bottleneck)
    farther: Whole = np.maximum(bottleneck - kept, kept)
    return farther
