"""Whether a few edges can put two vertices apart, when only edges up to a level count."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from functools import partial

from dither.sensitivity.graphs.spanning_tree import Forest
from dither.sensitivity.graphs.weighted_graph import WeightedGraph

Adjacency = list[list[tuple[int, int, int]]]  # for each vertex: (weight, other end, edge), light edges first


def adjacency(graph: WeightedGraph) -> Adjacency:
    """Edges at each vertex, lightest first."""
    found: Adjacency = [[] for _ in range(graph.vertices)]
    for e, ((u, v), weight) in enumerate(zip(graph.ends, graph.weights, strict=True)):
        found[u].append((weight, v, e))
        found[v].append((weight, u, e))
    for at in found:
        at.sort()
    return found


def separable(graph: Adjacency, ends: tuple[int, int], without: int, level: int, most: int) -> bool:
    """Whether deleting at most `most` edges of weight <= level, besides `without`, puts the ends apart.

    Augmenting paths, one per unit of flow: more than `most` of them and the answer is no (Menger).
    """
    flow: dict[int, int] = {}  # edge -> the vertex it is used from
    return not all(_augment(graph, ends, without, level, flow) for _ in range(most + 1))


def _augment(graph: Adjacency, ends: tuple[int, int], without: int, level: int, flow: dict[int, int]) -> bool:
    """One more path from ends[0] to ends[1], searched from both sides at once."""
    came: tuple[dict[int, tuple[int, int]], ...] = ({ends[0]: (-1, -1)}, {ends[1]: (-1, -1)})
    queues = deque([ends[0]]), deque([ends[1]])
    while queues[0] and queues[1]:
        side = 0 if len(queues[0]) <= len(queues[1]) else 1
        here, there, queue = came[side], came[1 - side], queues[side]
        u = queue.popleft()
        for weight, v, e in graph[u]:
            if weight > level:
                break
            if e == without or v in here:
                continue
            # A used edge can only be taken back, that is, passed against the direction in which it is used.
            if (used := flow.get(e)) is not None and (used == u) == (side == 0):
                continue
            here[v] = (u, e)
            if v in there:
                _push(came, v, flow)
                return True
            queue.append(v)
    return False


def _push(came: tuple[dict[int, tuple[int, int]], ...], meeting: int, flow: dict[int, int]) -> None:
    for side in (0, 1):
        v = meeting
        while came[side][v][1] >= 0:
            u, e = came[side][v]
            if e in flow:
                del flow[e]
            else:
                flow[e] = u if side == 0 else v
            v = u


def packed_forests(graph: WeightedGraph, level: int, count: int) -> list[Forest]:
    """Edge-disjoint forests of the edges up to a level, each as large as what is left allows.

    Two vertices joined in the i-th have at least i edge-disjoint paths between them (Nagamochi, Ibaraki 1992).
    """
    forests = [Forest(graph.vertices) for _ in range(count)]
    for e in graph.by_weight:
        if graph.weights[e] > level:
            break
        # Ends joined in one forest are joined in all before it, so the first that lacks the edge is found by halving.
        first = bisect_left(forests, True, key=partial(_apart, *graph.ends[e]))
        if first < count:
            forests[first].join(*graph.ends[e], 0)
    return forests


def _apart(u: int, v: int, forest: Forest) -> bool:
    return forest.root(u) != forest.root(v)
