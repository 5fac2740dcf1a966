"""How far one record can move a statistic: from anywhere (global), from these data (local), smoothly in between.

Calling a statistic gives its global sensitivity, a property of relation and declared bounds, safe to publish. `.local`,
`.reach`, `.smooth` and `.distance` look at the data: they are secrets that only a mechanism may use.
"""

from __future__ import annotations

from dither.lazy import listing
from dither.sensitivity import brute_force, distance
from dither.sensitivity.centred_sum import centred_sum
from dither.sensitivity.count import count
from dither.sensitivity.counts import counts
from dither.sensitivity.graphs.edges import edges
from dither.sensitivity.graphs.max_degree import max_degree
from dither.sensitivity.graphs.mst_cost import mst_cost
from dither.sensitivity.graphs.triangles import triangles
from dither.sensitivity.histogram import histogram
from dither.sensitivity.max_difference import max_difference
from dither.sensitivity.mean import mean
from dither.sensitivity.norms import Sensitivity
from dither.sensitivity.order.extremes import max_ as max  # a statistic's own name is the public one
from dither.sensitivity.order.extremes import min_ as min
from dither.sensitivity.order.median import median
from dither.sensitivity.order.order_statistic import order_statistic, quantile
from dither.sensitivity.order.trimmed_mean import trimmed_mean
from dither.sensitivity.ratio import ratio
from dither.sensitivity.reciprocal import reciprocal
from dither.sensitivity.sum import sum_ as sum
from dither.sensitivity.variance import variance

__all__ = [
    "Sensitivity",
    "brute_force",
    "centred_sum",
    "count",
    "counts",
    "distance",
    "edges",
    "histogram",
    "max",
    "max_degree",
    "max_difference",
    "mean",
    "median",
    "min",
    "mst_cost",
    "order_statistic",
    "quantile",
    "ratio",
    "reciprocal",
    "sum",
    "triangles",
    "trimmed_mean",
    "variance",
]
__dir__ = listing(__all__)
