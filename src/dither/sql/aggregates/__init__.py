"""What an analyst can ask of a group, one aggregate a file: the measures it needs, and its value from noisy ones."""

from __future__ import annotations

from dither.sql.aggregates.aggregator import Aggregator, bounded
from dither.sql.aggregates.average import Average
from dither.sql.aggregates.count import Count
from dither.sql.aggregates.count_owners import CountDistinctOwner
from dither.sql.aggregates.sum import Sum
from dither.sql.aggregates.value import ValueColumn

__all__ = ["Aggregator", "Average", "Count", "CountDistinctOwner", "Sum", "ValueColumn", "bounded"]
