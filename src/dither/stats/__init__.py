"""Private statistics of arrays, lists and columns in one call each: sanitised record by record, exact, with intervals.

Every function states its price as epsilon=, as epsilon= and delta=, or as rho=, and the relation under which it holds
(add_remove unless said). What has no finite sensitivity is refused with what to declare. docs/toolbox/stats.md.
"""

from __future__ import annotations

from dither.lazy import listing
from dither.stats.estimate import Estimate
from dither.stats.histogram import histogram
from dither.stats.moments import mean, std, variance
from dither.stats.private_bounds import bounds
from dither.stats.ranks import median, quantile, quantiles
from dither.stats.regression import linear_regression
from dither.stats.selection import mode, model_selection, top_k, vote
from dither.stats.shares import ratio, reciprocal
from dither.stats.totals import count
from dither.stats.totals import sum_ as sum  # a statistic's own name is the public one
from dither.stats.trimmed_mean import trimmed_mean

__all__ = [
    "Estimate",
    "bounds",
    "count",
    "histogram",
    "linear_regression",
    "mean",
    "median",
    "mode",
    "model_selection",
    "quantile",
    "quantiles",
    "ratio",
    "reciprocal",
    "std",
    "sum",
    "top_k",
    "trimmed_mean",
    "variance",
    "vote",
]
__dir__ = listing(__all__)
