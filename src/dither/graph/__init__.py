"""One-call private statistics of graphs whose vertices are public.

`triangles`, `edges` and `max_degree` protect each edge (relation edge: one edge comes or goes). `mst_cost` protects
each weight (relation edge_weight: the edges are public, one weight changes).
"""

from __future__ import annotations

from dither.graph.edges import edges
from dither.graph.max_degree import max_degree
from dither.graph.mst_cost import mst_cost
from dither.graph.triangles import triangles
from dither.lazy import listing

__all__ = ["edges", "max_degree", "mst_cost", "triangles"]
__dir__ = listing(__all__)
