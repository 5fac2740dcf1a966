"""Minimum spanning tree, and for every edge the bottleneck between its ends when that edge is left out."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dither.errors import ParameterError
from dither.sensitivity.graphs.weighted_graph import WeightedGraph


class Forest:
    """Disjoint sets joined over time. Union by size keeps paths short, so they are left uncompressed and tell when."""

    def __init__(self, vertices: int) -> None:
        self.parent = list(range(vertices))
        self._size = [1] * vertices
        self._joined = [-1] * vertices  # the time at which a root got its parent

    def root(self, v: int) -> int:
        while self.parent[v] != v:
            v = self.parent[v]
        return v

    def roots(self) -> npt.NDArray[np.int64]:
        """The root of every vertex."""
        found = np.array(self.parent)
        while not np.array_equal(found, further := found[found]):
            found = further
        return found

    def join(self, u: int, v: int, time: int) -> bool:
        """Join the sets of u and v; False if they are one already."""
        u, v = self.root(u), self.root(v)
        if u == v:
            return False
        if self._size[u] > self._size[v]:
            u, v = v, u
        self.parent[u], self._joined[u] = v, time
        self._size[v] += self._size[u]
        return True

    def joined(self, u: int, v: int) -> int:
        """When u and v came into one set: the latest time on the path between them."""
        latest = -1
        while u != v:
            # Times rise towards the root, so the end with the earlier link climbs.
            if self.parent[v] == v or (self.parent[u] != u and self._joined[u] < self._joined[v]):
                latest, u = max(latest, self._joined[u]), self.parent[u]
            else:
                latest, v = max(latest, self._joined[v]), self.parent[v]
        return latest


def spanning_tree(graph: WeightedGraph) -> tuple[list[bool], Forest, list[int]]:
    """Which edges are in a minimum spanning tree, the sets with their times, and the edge of each time."""
    order = graph.by_weight
    forest, chosen = Forest(graph.vertices), [False] * len(graph.ends)
    for time, e in enumerate(order):
        chosen[e] = forest.join(*graph.ends[e], time)
    if sum(chosen) != graph.vertices - 1 or not chosen:
        raise ParameterError("the graph is not connected; a spanning tree needs one component with at least one edge.")
    return chosen, forest, order


def cost(graph: WeightedGraph) -> int:
    """The weight of a minimum spanning tree, over the graph's denominator."""
    chosen, _, _ = spanning_tree(graph)
    return sum(weight for weight, taken in zip(graph.weights, chosen, strict=True) if taken)


def bottlenecks(graph: WeightedGraph) -> list[int]:
    """For each edge, the least heaviest weight of a path between its ends that avoids it; `upper` if there is none."""
    chosen, forest, order = spanning_tree(graph)
    weights, found = graph.weights, [graph.upper] * len(graph.ends)
    tree: list[list[tuple[int, int]]] = [[] for _ in range(graph.vertices)]
    for e, (u, v) in enumerate(graph.ends):
        if chosen[e]:
            tree[u].append((v, e))
            tree[v].append((u, e))
        else:
            found[e] = weights[order[forest.joined(u, v)]]
    above, above_edge, depth = _rooted(tree)
    # The lightest other edge over a tree edge replaces it: light edges first, each covered stretch is skipped later.
    top = list(range(graph.vertices))

    def uncovered(v: int) -> int:
        while top[v] != v:
            top[v] = top[top[v]]
            v = top[v]
        return v

    for e in order:
        if chosen[e]:
            continue
        u, v = map(uncovered, graph.ends[e])
        while u != v:
            if depth[u] < depth[v]:
                u, v = v, u
            found[above_edge[u]] = weights[e]
            top[u] = above[u]
            u = uncovered(u)
    return found


def _rooted(tree: list[list[tuple[int, int]]]) -> tuple[list[int], list[int], list[int]]:
    above, above_edge, depth = ([0] * len(tree) for _ in range(3))
    stack, seen = [0], [True] + [False] * (len(tree) - 1)
    while stack:
        u = stack.pop()
        for v, e in tree[u]:
            if not seen[v]:
                seen[v] = True
                above[v], above_edge[v], depth[v] = u, e, depth[u] + 1
                stack.append(v)
    return above, above_edge, depth
