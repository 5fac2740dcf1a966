"""The cost of a minimum spanning tree, when one weight is private and the graph is public."""

from __future__ import annotations

import math
from fractions import Fraction

from dither.exact.parameters import Number, non_negative, positive, whole
from dither.neighbours import Relation
from dither.sensitivity.graphs.graph import GraphLike
from dither.sensitivity.graphs.spanning_tree import cost
from dither.sensitivity.graphs.tree_reach import TreeReach
from dither.sensitivity.graphs.weighted_graph import WeightedGraph
from dither.sensitivity.norms import Sensitivity, only
from dither.sensitivity.smoothing import SLACK, certify, farthest, smoothness


class MstCost:
    """Edge-weight relation: one weight changes within [0, upper].

    >>> square = [("a", "b", 1), ("b", "c", 2), ("c", "d", 3), ("d", "a", 9)]
    >>> MstCost().value(square, 10), MstCost().local(square, 10), MstCost()(10).l1
    (Fraction(6, 1), Fraction(8, 1), Fraction(10, 1))
    """

    def __call__(self, upper: Number, relation: Relation | str = Relation.EDGE_WEIGHT) -> Sensitivity:
        """The largest weight: an edge that every tree needs may cost anything from 0 to it."""
        bound = positive(upper, "the largest weight")
        return Sensitivity.scalar(bound, only(relation, Relation.EDGE_WEIGHT, "Weights belong to a public graph."))

    def value(self, graph: GraphLike, upper: Number) -> Fraction:
        """The cost itself, exact, of the clamped weights."""
        read = WeightedGraph.read(graph, upper)
        return Fraction(cost(read), read.denominator)

    def local(self, graph: GraphLike, upper: Number) -> Fraction:
        """The largest change that one new weight can make."""
        return self.reach(graph, 0, upper)

    def reach(self, graph: GraphLike, k: int, upper: Number) -> Fraction:
        """A^(k): the largest local sensitivity within k changed weights."""
        steps = whole(k, "k", least=0)
        read = WeightedGraph.read(graph, upper)
        return Fraction(TreeReach(read).above(steps, -1), read.denominator)

    def smooth(self, graph: GraphLike, beta: Number, upper: Number) -> Fraction:
        """A beta-smooth upper bound of local sensitivity, exactly smooth as returned.

        For each k only edges that could beat the best so far are looked at, and k ends at the least degree.
        """
        rate = smoothness(beta)
        read = WeightedGraph.read(graph, upper)
        reach, best, steps = TreeReach(read), 0.0, []
        for k in range(farthest(rate, len(read.ends)) + 1):
            # Nothing at or below this can win, even after the rounding of floats.
            share = math.log(best * (1 - SLACK)) + float(rate) * k if best else -math.inf
            if share >= 0:
                break
            enough = math.floor(Fraction(math.exp(share)) * read.upper)
            reached = reach.above(k, enough)
            steps.append((k, Fraction(reached, read.denominator)))
            best = max(best, reached / read.upper * math.exp(-float(rate) * k))
            if reached == read.upper:
                break
        return certify(steps, rate, Fraction(read.upper, read.denominator))

    def distance(self, graph: GraphLike, bound: Number, upper: Number) -> int | float:
        """Changed weights before the local sensitivity exceeds `bound`; infinite if it cannot."""
        proposed = non_negative(bound, "the proposed bound")
        read = WeightedGraph.read(graph, upper)
        level = math.floor(proposed * read.denominator)
        if level >= read.upper:
            return math.inf
        reach = TreeReach(read)
        return next(k for k in range(len(read.ends) + 1) if reach.above(k, level) > level)


mst_cost = MstCost()
