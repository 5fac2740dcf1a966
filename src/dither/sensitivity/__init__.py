"""Global sensitivities: properties of a statistic, a relation and declared bounds, never of the data."""

from __future__ import annotations

from dither.sensitivity.count import count
from dither.sensitivity.counts import counts
from dither.sensitivity.histogram import histogram
from dither.sensitivity.norms import Sensitivity
from dither.sensitivity.sum import sum_ as sum  # the statistic's own name is the public one

__all__ = ["Sensitivity", "count", "counts", "histogram", "sum"]
